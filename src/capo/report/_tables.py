"""Tables as HTML: a caption, named columns, named rows; wide ones scroll in their own box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """A row's name and its cells, as HTML."""

    name: str
    cells: Sequence[str]
    marked: bool = False


@dataclass(frozen=True)
class Table:
    """A table; `wide` columns hold drawings, all others numbers."""

    id: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Row]
    wide: frozenset[int] = field(default_factory=frozenset)

    def html(self) -> str:
        """The table in its box."""
        head = "".join(f'<th scope="col"{self._css(i)}>{each}</th>' for i, each in enumerate(self.columns))
        body = "".join(map(self._row, self.rows))
        return (
            f'<div class="scroll" role="group" aria-labelledby="{self.id}-caption"><table id="{self.id}">'
            f'<caption id="{self.id}-caption"><span>{self.caption}</span></caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def _row(self, row: Row) -> str:
        css = ' class="marked"' if row.marked else ""
        cells = "".join(f"<td{self._css(i)}>{each}</td>" for i, each in enumerate(row.cells, 1))
        return f'<tr{css}><th scope="row">{row.name}</th>{cells}</tr>'

    def _css(self, column: int) -> str:
        return "" if column == 0 else ' class="wide"' if column in self.wide else ' class="number"'


def terms(pairs: Sequence[tuple[str, str]], css: str) -> str:
    """Terms and what they are, as a list."""
    inner = "".join(f"<div><dt>{term}</dt><dd>{text}</dd></div>" for term, text in pairs)
    return f'<dl class="{css}">{inner}</dl>'


def section(id: str, heading: str, *parts: str, css: str = "") -> str:
    """A part of the page with its heading."""
    kind = f' class="{css}"' if css else ""
    inner = "".join(parts)
    return f'<section{kind} aria-labelledby="{id}"><h2 id="{id}">{heading}</h2>{inner}</section>'
