"""``capo demo``: what adaptation to a measure gains, on scikit-learn's handwritten digits.

The task is to tell the digits 3, 8 and 9 from the others with few training rows; scores are on the
remaining rows. The first part compares four methods for several measures: boosted trees, the same with
a tuned threshold, the logistic stack of capo's default auxiliaries with a tuned threshold, and
`CAPOClassifier`. The second part adapts a rule that can only predict yes or no.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, TextIO

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ... import measures
from ..._compat import BoolArray, FloatArray
from ...estimators import CAPOClassifier
from ...inspection import METHODS, ComparedRows, compare_on_fold
from ...measures import Measure
from ..console import ignore_broken_pipe

MEASURES: list[tuple[str, dict[str, float]]] = [
    ("f1", {}),
    ("mcc", {}),
    ("balanced_accuracy", {}),
    ("prbep", {}),
    ("roc_auc", {}),
    ("average_precision", {}),
    ("recall_at_precision", {"floor": 0.98}),
]
#: Random splits into training and test rows.
N_SPLITS = 3
N_TRAINING_ROWS = 400
POSITIVE_DIGITS = (3, 8, 9)
#: Differences below this are ties when the best method is marked.
TIE = 1e-12

_INTRODUCTION = f"""\
Digits 3, 8 and 9 against the others: {N_TRAINING_ROWS} training rows, the rest for testing;
mean of {N_SPLITS} splits.
default learner: boosted trees.
tuned threshold: the same with the threshold chosen out of fold for the measure.
tuned stack: logistic stack of capo's auxiliaries, threshold tuned.
capo: CAPOClassifier(measure).
The first line includes the time to train the auxiliaries; the others reuse them.

"""
_NEXT_STEPS = """
Next, with a table of your own:
  capo compare table.csv --target COLUMN --measure f1      compare capo with simpler methods
  capo fit table.csv --target COLUMN --measure f1 -o model.capo
  capo report model.capo more.csv -o report.html
  capo measures                                            list the measures
or in Python: CAPOClassifier('10 * tp - 2 * fp', auxiliaries=[your_model, another]).fit(X, y)
"""

Write = Callable[[str], object]


class DigitsSplit(NamedTuple):
    """Training and test rows."""

    X: FloatArray
    X_test: FloatArray
    y: BoolArray
    y_test: BoolArray


class SplitResult(NamedTuple):
    """The score of each method for one measure on one split, the fitted model, and its training time."""

    scores: list[float]
    model: CAPOClassifier
    seconds: float


class TwoPixelRule:
    """A rule that is not trained and can only predict: positive if two pixels in the middle are dark."""

    def predict(self, X: FloatArray) -> BoolArray:
        """Whether each row is positive."""
        return np.asarray(X[:, 28] + X[:, 36] > 20)


def run_demo(out: TextIO | None = None) -> None:
    """Print both parts of the demo, to standard output unless `out` is given."""
    stream = out or sys.stdout

    def write(text: str) -> None:
        stream.write(text)
        stream.flush()

    with ignore_broken_pipe():
        splits = [_load_split(seed) for seed in range(N_SPLITS)]
        _write_comparison(splits, write)
        _write_adapted_rule(splits[0], write)
        write(_NEXT_STEPS)


def _load_split(seed: int) -> DigitsSplit:
    X, digit = load_digits(return_X_y=True)
    positive = np.isin(digit, POSITIVE_DIGITS)
    return DigitsSplit(
        *train_test_split(X, positive, train_size=N_TRAINING_ROWS, random_state=seed, stratify=digit)
    )


def _write_comparison(splits: list[DigitsSplit], write: Write) -> None:
    """Write a line for each measure as soon as it is there, and the summary of the first model."""
    write(f"{_INTRODUCTION}{_format_heading()}\n")
    models = []
    with tempfile.TemporaryDirectory() as memory:
        for measure, results in _compare_methods(splits, memory):
            write(_format_line(measure, results))
            models.append(results[0].model)
    write(f"\n* best of the line.  The summary() of the first model:\n\n{models[0].summary()}\n")


def _compare_methods(splits: list[DigitsSplit], memory: str) -> Iterator[tuple[Measure, list[SplitResult]]]:
    for name, parameters in MEASURES:
        measure = measures.get(name, **parameters)
        yield measure, [_score_methods(measure, split, seed, memory) for seed, split in enumerate(splits)]


def _score_methods(measure: Measure, split: DigitsSplit, seed: int, memory: str) -> SplitResult:
    """Score all methods from one fit; `memory` keeps the auxiliaries of a split for the next measure."""
    start = time.perf_counter()
    model = CAPOClassifier(measure, memory=memory, random_state=seed).fit(split.X, split.y)
    seconds = time.perf_counter() - start
    train, test = ComparedRows(split.X, split.y), ComparedRows(split.X_test, split.y_test)
    values, _ = compare_on_fold(model, train, test)
    return SplitResult([values[name] for name in METHODS], model, seconds)


def _format_heading() -> str:
    """The names of the columns on two lines, above a rule."""
    words = [name.rpartition(" ")[::2] for name in METHODS]
    first = f"{'':<34}" + "".join(f"{word:>10}" for word, _ in words)
    second = f"{'measure':<34}" + "".join(f"{word:>10}" for _, word in words) + f"{'seconds':>9}"
    return "\n".join([first.rstrip(), second, "-" * len(second)])


def _format_line(measure: Measure, results: list[SplitResult]) -> str:
    mean = np.mean([each.scores for each in results], axis=0)
    cells = "".join(f"{value:>9.4f}{'*' if value >= mean.max() - TIE else ' '}" for value in mean)
    seconds = sum(each.seconds for each in results)
    return f"{measure.label:<34}{cells}{seconds:>9.1f}\n"


def _write_adapted_rule(split: DigitsSplit, write: Write) -> None:
    """Adapt a rule for F1, and write the scores, the path over C and the certificate."""
    rule, f1 = TwoPixelRule(), measures.get("f1")
    model = CAPOClassifier(f1, auxiliaries=[("rule", rule)], delta="rbf", random_state=0)
    model.fit(split.X, split.y)
    alone = f1.score(split.y_test, rule.predict(split.X_test) - 0.5)
    adapted = model.score(split.X_test, split.y_test)
    title = "A yes-or-no rule adapted"
    write(
        f"\n{title}\n{'-' * len(title)}\n"
        "The rule predicts positive if two pixels in the middle of the image are dark. It gives no\n"
        "probabilities and cannot be trained. CAPOClassifier takes its predictions as they are, and a delta\n"
        "function on the pixels (delta='rbf') learns to correct them for F1.\n\n"
        f"f1 on {len(split.y_test):,} test rows: rule alone {alone:.4f}, adapted {adapted:.4f}\n\n"
        f"{_format_path(model)}\n\n{_format_certificate(model)}\n"
    )


def _format_path(model: CAPOClassifier) -> str:
    """The score of each C that was tried; C = 0 keeps the rule without the delta function."""
    lines = [f"{'C':>9}  f1 out of fold"]
    for C, score in zip(model.cv_results_["param_C"], model.cv_results_["test_score"], strict=True):
        remark = "  <- chosen" if C == model.C_ else "  rule without delta function" if C == 0 else ""
        lines.append(f"{C:>9.3g}  {score:>14.4f}{remark}")
    return "\n".join(lines)


def _format_certificate(model: CAPOClassifier) -> str:
    return (
        f"certificate: primal {model.primal_:.6g}, dual {model.dual_:.6g}, gap {model.gap_:.2g}\n"
        "The primal value is the objective of this model; no weights give a lower one than the dual value."
    )
