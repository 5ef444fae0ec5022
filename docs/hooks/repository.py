"""Pages and files of the repository that lie outside docs/."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = ("CHANGELOG.md", "CONTRIBUTING.md")
OUTSIDE_LINK = re.compile(r"\]\(\.\./([^)#]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are kept in the root of the repository."""
    for name in PAGES:
        files.append(_repository_file(name, config))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Copy each linked file that lies outside docs/ into the site, and link to the copy."""
    for path in OUTSIDE_LINK.findall(markdown):
        if (ROOT / path).is_file() and path not in files.src_uris:
            files.append(_repository_file(path, config))
    return OUTSIDE_LINK.sub(r"](\1)", markdown)


def _repository_file(path: str, config: MkDocsConfig) -> File:
    return File(path, str(ROOT), config.site_dir, config.use_directory_urls)
