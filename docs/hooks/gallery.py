"""The gallery: every ``examples/plot_*.py`` is run and becomes a page with text, code, output and figures.

A script starts with a docstring (a Markdown title and an introduction). ``# %%`` starts a cell; the comment
that follows it is Markdown, the rest is code. HTML files that a script writes are published beside its page.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import os
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

# Before NumPy and pyplot are imported. One thread: small fits only wait for each other.
os.environ |= {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import matplotlib.pyplot as plt
from markdown import markdown
from matplotlib.colors import same_color
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

EXAMPLES = Path(__file__).parents[2] / "examples"
STYLE = Path(__file__).with_name("gallery.mplstyle")
HEADER = "---\nhide: [toc]\n---\n\n"
DARK = {"black": "#e3e4e8", "white": "#1e2129", "#0072B2": "#4ba3d9", "#D55E00": "#f0803c"}


@dataclass
class Example:
    """An executed script: its page, and the files that the page shows."""

    name: str
    title: str
    summary: str
    thumbnail: str = ""
    parts: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)

    def run(self, code: str, namespace: dict[str, object]) -> None:
        """Run a cell; add its code, what it printed and the figures it drew to the page."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, f"{self.name}.py", "exec", dont_inherit=True), namespace)
        self.parts.append(f"```python\n{code.strip()}\n```")
        if out.getvalue().strip():
            self.parts.append(f'```text title="Output"\n{out.getvalue().rstrip()}\n```')
        for number in plt.get_fignums():
            self._add_figure(plt.figure(number))
        plt.close("all")

    def _add_figure(self, figure: plt.Figure) -> None:
        stem = f"{self.name}_{len(self.files) // 2 + 1}"
        titles = [text for axes in figure.axes if (text := axes.get_title())]
        alt = "; ".join(titles) or self.title
        for scheme in ("light", "dark"):
            if scheme == "dark":
                _darken(figure)
            content = io.BytesIO()
            figure.savefig(content, format="png", metadata={"Software": None})
            self.files[f"{stem}_{scheme}.png"] = content.getvalue()
            self.parts.append(f"![{alt}]({stem}_{scheme}.png#only-{scheme})")
        self.thumbnail = self.thumbnail or stem


def _darken(figure: plt.Figure) -> None:
    """Replace the colors that do not suit a dark page."""
    for artist in figure.findobj():
        for name in ("color", "facecolor", "edgecolor"):
            getter = getattr(artist, f"get_{name}", None)
            for old, new in DARK.items():
                with contextlib.suppress(ValueError, TypeError, AttributeError):
                    if getter is not None and same_color(getter(), old):
                        getattr(artist, f"set_{name}")(new)


def _cells(source: str) -> list[tuple[str, str]]:
    """The (text, code) pairs of a script, without its docstring."""
    docstring = ast.parse(source).body[0]
    body = "\n".join(source.splitlines()[docstring.end_lineno :])
    pairs = []
    for cell in ("\n" + body).split("\n# %%"):
        lines = cell.split("\n")[1:]
        n_text = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
        pairs.append(("\n".join(line[2:] for line in lines[:n_text]), "\n".join(lines[n_text:])))
    return pairs


@functools.cache  # a rebuild by `mkdocs serve` runs only what has changed
def run_example(name: str, source: str) -> Example:
    """Run a script cell by cell."""
    docstring = ast.get_docstring(ast.parse(source))
    title, _, introduction = docstring.removeprefix("# ").partition("\n")
    summary = introduction.strip().split("\n\n")[0].replace("\n", " ")
    example = Example(name, title, summary, parts=[HEADER + docstring])
    start, namespace = time.perf_counter(), {"__name__": "__main__"}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        plt.style.context(STYLE),
        warnings.catch_warnings(action="error"),
    ):
        for text, code in _cells(source):
            example.parts.append(text)
            if code.strip():
                example.run(code, namespace)
        pages = {path.name: path.read_bytes() for path in Path(folder).glob("*.html")}
    seconds = time.perf_counter() - start
    example.files |= pages | {f"{name}.py": source.encode()}
    example.parts.append(f"[Download {name}.py]({name}.py){{ download }} (ran in {seconds:.1f} seconds)")
    return example


def _index(examples: list[Example]) -> str:
    cards = [
        f'<a class="card" href="{each.name}.html">'
        + "".join(
            f'<img src="{each.thumbnail}_{scheme}.png#only-{scheme}" alt="" loading="lazy">'
            for scheme in ("light", "dark")
        )
        + f"<b>{each.title}</b>{markdown(each.summary)}</a>"
        for each in examples
    ]
    return f'{HEADER}# Gallery\n\n<div class="gallery">\n' + "\n".join(cards) + "\n</div>\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, figures and scripts of all examples, and the index."""
    names = [path.stem for path in sorted(EXAMPLES.glob("plot_*.py"))]
    order = str(config.nav).partition("'Gallery'")[2]
    names.sort(key=lambda name: order.find(f"gallery/{name}.md") % len(order))  # those of other tabs last
    examples = [run_example(name, (EXAMPLES / f"{name}.py").read_text()) for name in names]
    contents: dict[str, str | bytes] = {"index.md": _index(examples)}
    for each in examples:
        contents |= {f"{each.name}.md": "\n\n".join(each.parts) + "\n", **each.files}
    for name, content in contents.items():
        files.append(File.generated(config, f"gallery/{name}", content=content))
    return files
