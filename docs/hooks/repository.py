"""Pages and files of the repository that lie outside docs/, and llms.txt, an overview for language models."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")
OUTSIDE_LINK = re.compile(r"\]\(\.\./([^)#]+)\)")
TABLE_ROW = re.compile(r"^\|.*", flags=re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are kept in the root of the repository."""
    for name in PAGES:
        files.append(_repository_file(name, config))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Copy each linked file that lies outside docs/ into the site; keep ``1 ± 2`` in tables on one line."""
    if page.file.src_uri in PAGES:
        markdown = markdown.replace("](docs/", "](")
    for path in OUTSIDE_LINK.findall(markdown):
        if (ROOT / path).is_file() and path not in files.src_uris:
            files.append(_repository_file(path, config))
    markdown = TABLE_ROW.sub(lambda row: row[0].replace(" ± ", "\u00a0±\u00a0"), markdown)
    return OUTSIDE_LINK.sub(r"](\1)", markdown)


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    """Remember the navigation, whose pages have their titles when all have been read."""
    config["extra"]["navigation"] = nav


def on_post_build(config: MkDocsConfig) -> None:
    """Write llms.txt: the sections of the navigation, and their pages with titles and addresses."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for item in config["extra"]["navigation"].items:
        pages = item.children or [item]
        lines += [f"## {item.title}", "", *(f"- [{each.title}]({each.canonical_url})" for each in pages), ""]
    Path(config.site_dir, "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def _repository_file(path: str, config: MkDocsConfig) -> File:
    return File(path, str(ROOT), config.site_dir, config.use_directory_urls)
