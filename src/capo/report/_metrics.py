"""How good the model is: all measures with their intervals, and the comparison with others."""

from __future__ import annotations

from collections.abc import Sequence

from ..inspection import Comparison, Evaluation, MeasureEstimate, MethodResult
from . import _formatting as formatting
from ._svg import interval
from ._tables import Row, Table, section

_SEEN = '<span class="unseen">interval as a drawing</span>'
_UNIT = (
    '<span class="unseen">interval as a drawing, from</span>'
    '<span class="ends"><span>0</span> <span>1</span></span>'
)


def evaluation(found: Evaluation | None) -> str:
    """All measures on these rows."""
    if found is None:
        return ""
    scaled = [each for each in found.estimates if each.low >= 0 and each.high <= 1]
    rows = [
        Row(
            formatting.name(each.name),
            [formatting.figure(each.value), _range(each), _drawn(each) if each in scaled else ""],
        )
        for each in found.estimates
    ]
    columns = ["measure", "value", "interval", _UNIT]
    table = Table("measures", "Measures on these rows", columns, rows, frozenset({3}))
    lead = "<p>Each interval holds what other rows of the same kind could have given, by the bootstrap.</p>"
    return section("evaluation", "All measures", lead, table.html())


def of_measure(found: Evaluation | None, name: str) -> str:
    """The interval of the measure that counts, if it is among those found."""
    values = found.estimates if found else []
    return next((_range(each) for each in values if each.name == name), "")


def _range(each: MeasureEstimate) -> str:
    return f"{formatting.figure(each.low)} to {formatting.figure(each.high)}"


def _drawn(each: MeasureEstimate) -> str:
    return interval(each.low, each.value, each.high, (0.0, 1.0))


def comparison(found: Comparison | None) -> str:
    """The model against other systems, in cross-validation."""
    if found is None:
        return ""
    axis = _axis(found.methods)
    rows = [Row(formatting.name(each.name), _cells(each, axis)) for each in found.methods]
    columns = ["system", formatting.name(found.measure), "spread", "time", _SEEN]
    folds = formatting.many(found.folds, "fold")
    caption = f"Mean over {folds}, and spread between them"
    table = Table("systems", caption, columns, rows, frozenset({4}))
    verdict = f'<p class="verdict">{formatting.said(found.verdict)}</p>'
    return section("comparison", "Against other systems", verdict, table.html())


def _cells(system: MethodResult, axis: tuple[float, float]) -> list[str]:
    mean, spread = system.mean, system.std
    return [
        formatting.figure(mean, 4),
        f"± {formatting.figure(spread, 4)}",
        formatting.seconds(system.seconds),
        interval(mean - spread, mean, mean + spread, axis),
    ]


def _axis(systems: Sequence[MethodResult]) -> tuple[float, float]:
    """A scale that all systems fit on, with a little room."""
    ends = [each.mean + sign * each.std for each in systems for sign in (-1, 1)]
    room = 0.05 * (max(ends) - min(ends)) or 1.0
    return min(ends) - room, max(ends) + room
