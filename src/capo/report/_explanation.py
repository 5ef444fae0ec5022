"""The sections that explain the model: importance of columns, their effects, the worst errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inspection import ColumnEffect, ColumnImportance, Importance, WorstError
from ..prices import format_money
from . import _formatting as formatting
from ._axes import linear_axis
from ._operating_point import ChartFigure
from ._svg import Chart, draw_interval
from ._templating import Markup

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

#: Limit on the columns in the table of importance.
MAX_COLUMNS = 15
#: Columns whose values are listed for each error.
N_VALUE_COLUMNS = 3


@dataclass(frozen=True)
class ImportanceRow:
    """A column with its importance drawn on a common scale."""

    column: ColumnImportance
    drawing: Markup


@dataclass(frozen=True)
class EffectRow:
    """The mean output for some values of a column."""

    values: str
    output: float
    low: float
    high: float
    share: float
    drawing: Markup


@dataclass(frozen=True)
class EffectFigure:
    """The effect of a column: a chart for plain numbers, otherwise only the table."""

    id: str
    column: str
    others: str
    scale: str
    figure: ChartFigure | None
    rows: list[EffectRow]


@dataclass(frozen=True)
class ImportanceSection:
    """Data for the template importance.html."""

    importance: Importance
    rows: list[ImportanceRow]
    n_more: int
    effects: list[EffectFigure]


@dataclass(frozen=True)
class ErrorRow:
    """An error with its probability, its loss if it has a price, and its values in the strongest columns."""

    row: int
    actual: Any
    probability: float
    loss: str
    values: list[str]


@dataclass(frozen=True)
class ErrorsSection:
    """Data for the template errors.html."""

    positive: Any
    columns: list[str]
    rows: list[ErrorRow]

    @property
    def have_losses(self) -> bool:
        """Whether the errors are those that cost the most."""
        return bool(self.rows[0].loss)


def build_importance(importance: Importance) -> ImportanceSection:
    """Collect the columns, the most important first, and the effects."""
    shown = importance.columns[:MAX_COLUMNS]
    scale = min(0.0, *(each.low for each in shown)), max(0.0, *(each.high for each in shown))
    scale = scale if scale[1] > scale[0] else (0.0, 1.0)
    rows = [
        ImportanceRow(each, draw_interval(each.low, each.value, each.high, scale, mark_zero=True))
        for each in shown
    ]
    effects = [_build_effect(f"effect-{i}", each) for i, each in enumerate(importance.effects, start=1)]
    return ImportanceSection(importance, rows, len(importance.columns) - len(shown), effects)


def _build_effect(id: str, effect: ColumnEffect) -> EffectFigure:
    low, high = min(each.low for each in effect.points), max(each.high for each in effect.points)
    rows = [
        EffectRow(
            each.values,
            each.output,
            each.low,
            each.high,
            each.share,
            draw_interval(each.low, each.output, each.high, (low, high)),
        )
        for each in effect.points
    ]
    figure = _draw_effect(f"{id}-chart", effect) if _has_plain_numbers(effect) else None
    return EffectFigure(id, effect.columns[0], ", ".join(effect.columns[1:]), effect.scale, figure, rows)


def _has_plain_numbers(effect: ColumnEffect) -> bool:
    """Whether the values are numbers without a unit, which an axis can show."""
    numbers = [each for each in effect.points if each.position is not None]
    if len(numbers) < 3:
        return False
    try:
        return all(np.isfinite(float(each.values.split(" to ")[0])) for each in numbers)
    except ValueError:
        return False


def _draw_effect(id: str, effect: ColumnEffect) -> ChartFigure:
    """The mean output by the value of a column of numbers, with a band of its interval."""
    points = [each for each in effect.points if each.position is not None]
    position, output, low, high = (
        np.array([getattr(each, name) for each in points], dtype=np.float64)
        for name in ("position", "output", "low", "high")
    )
    low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    column = formatting.clean_name(effect.columns[0])
    chart = Chart(
        id,
        f"Effect of {column}",
        f"The mean {effect.scale} is {formatting.format_number(output[0])} for the smallest values of "
        f"{column} and {formatting.format_number(output[-1])} for the largest.",
        linear_axis(position, column[:40]),
        linear_axis(np.concatenate((low, high)), "mean probability"),
    )
    elements = [
        chart.band(position, low, high, "area"),
        chart.line(position, output, "curve"),
        *(chart.circle(x, y, "tried-point", radius=2.5) for x, y in zip(position, output, strict=True)),
    ]
    return ChartFigure(chart.title, chart.render(elements))


def build_errors(
    model: CAPOClassifier, errors: Sequence[WorstError], importance: Importance | None
) -> ErrorsSection | None:
    """Collect the worst errors with their values in the strongest columns; None if there is no error."""
    if not errors:
        return None
    known = list(errors[0].values)
    ranked = [name for each in importance.columns for name in each.columns[:1]] if importance else known
    columns = [name for name in ranked if name in known][:N_VALUE_COLUMNS]
    probabilities = model.as_probability(np.array([each.decision for each in errors]))
    rows = [
        ErrorRow(
            each.row, each.actual, probability, _format_loss(each), [each.values[name] for name in columns]
        )
        for each, probability in zip(errors, probabilities.tolist(), strict=True)
    ]
    return ErrorsSection(model.pos_label_, columns, rows)


def _format_loss(error: WorstError) -> str:
    return "" if error.loss is None else format_money(error.loss)
