"""What optimising the measure itself gains over a default learner: one table.

Run it with ``python -m capo.demo``. Digits 5-9 against 0-4 of scikit-learn's digits, half of them
for training, linear models throughout: logistic regression as it comes, the same with its threshold
tuned for the measure, and SVMPerfClassifier trained for the measure, its C chosen by
cross-validation on the measure. Scores are on the other half.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple, TextIO

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.preprocessing import StandardScaler

from . import SVMPerfClassifier, measures, svmperf_path
from .measures import Measure

CASES: list[tuple[str, dict[str, float]]] = [
    ("accuracy", {}),
    ("f1", {}),
    ("mcc", {}),
    ("prbep", {}),
    ("precision_at_k", {"k": 0.2}),
    ("recall_at_precision", {"floor": 0.95}),
    ("roc_auc", {}),
    ("average_precision", {}),
]
CS = 10.0 ** np.arange(0, 5)
TOL = 1e-3


class Data(NamedTuple):
    """Digits 5-9 (True) against 0-4, standardised, in two halves."""

    X: np.ndarray
    X_test: np.ndarray
    y: np.ndarray
    y_test: np.ndarray


class Row(NamedTuple):
    """One line of the table."""

    measure: str
    default: float
    tuned: float | None
    optimised: float
    C: float
    gap: float
    seconds: float


def load() -> Data:
    """Read and split scikit-learn's digits."""
    X, digit = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, digit >= 5, test_size=0.5, random_state=0, stratify=digit)
    scaler = StandardScaler().fit(X)
    return Data(scaler.transform(X), scaler.transform(X_test), y, y_test)


def choose_C(measure: Measure, data: Data, cv: StratifiedKFold) -> float:
    """The C with the best mean score of the measure over the folds."""
    scores = np.zeros(len(CS))
    for train, test in cv.split(data.X, data.y):
        path = svmperf_path(data.X[train], data.y[train], measure=measure, Cs=CS, tol=TOL)
        for i, solution in enumerate(path):
            margin = data.X[test] @ solution.v[:-1] + solution.v[-1]
            scores[i] += measure.score(data.y[test], margin)
    return float(CS[np.argmax(scores)])


def compare(data: Data) -> Iterator[Row]:
    """One row of the table per measure."""
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    learner = LogisticRegression(max_iter=2000)
    held_out = cross_val_predict(learner, data.X, data.y, cv=cv, method="decision_function")
    default = learner.fit(data.X, data.y).decision_function(data.X_test)
    for name, params in CASES:
        measure = measures.get(name, **params)
        start = time.perf_counter()
        C = choose_C(measure, data, cv)
        model = SVMPerfClassifier(measure, C=C, tol=TOL).fit(data.X, data.y)
        yield Row(
            repr(measure).removesuffix("()"),
            measure.score(data.y_test, default),
            _tuned(measure, default, data, held_out),
            model.score(data.X_test, data.y_test),
            C,
            model.gap_ / C,
            time.perf_counter() - start,
        )


def _tuned(measure: Measure, scores: np.ndarray, data: Data, held_out: np.ndarray) -> float | None:
    """The score at the threshold chosen out of fold; None if the measure does not depend on one."""
    if measure.score(data.y, held_out) == measure.score(data.y, held_out - np.median(held_out) - 0.5):
        return None
    return measure.score(data.y_test, scores - measure.threshold(data.y, held_out))


def show(rows: Iterator[Row], write: Callable[[str], object]) -> None:
    """Write the table as its rows come."""
    heading = f"{'measure':<33} {'default':>8} {'tuned':>8} {'capo':>8} {'C':>7} {'gap/C':>9} {'seconds':>8}"
    write(heading + "\n" + "-" * len(heading) + "\n")
    for row in rows:
        values = (row.default, row.tuned, row.optimised)
        best = max(value for value in values if value is not None)
        cells = "".join(
            f"{'-':>8} " if value is None else f" {value:>7.4f}{'*' if value >= best - 1e-12 else ' '}"
            for value in values
        )
        write(f"{row.measure:<33}{cells} {row.C:>7g} {row.gap:>9.1e} {row.seconds:>8.2f}\n")


def main(out: TextIO = sys.stdout) -> None:
    """Print the comparison."""
    data = load()

    def write(text: str) -> None:
        out.write(text)
        out.flush()

    write(
        f"Digits 5-9 against 0-4: {len(data.y)} rows to train, {len(data.y_test)} to test, "
        f"{data.X.shape[1]} features, linear models.\n"
        "default: logistic regression.  tuned: its threshold chosen for the measure, out of fold.\n"
        "capo: SVMPerfClassifier trained for the measure, C by 5-fold cross-validation on it.\n\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        show(compare(data), write)
    write(
        "\n* best of the row.  gap/C: how much better the measure's convex bound could still be on the\n"
        "training rows, proven by the solver.  seconds: cross-validation over 5 C's and the fit.\n"
        "Next: try your own measure, SVMPerfClassifier(lambda tp, fp, fn, tn: 10 * tp - 2 * fp).\n"
    )


if __name__ == "__main__":
    main()
