"""MAPIE's pairs of thresholds for two promises at once, in the environment that has MAPIE.

python -m benchmarks.promises.mapie_pairs FOLDER    reads FOLDER/*.npz, writes a .pairs.csv beside each

`BinaryClassificationController` takes a function that returns 0, 1 or NaN for two thresholds, and a list of
such pairs. The list is up to the user: all pairs of 9, 19 or 49 probabilities in even steps. Of the pairs
that pass, the one with the lowest abstention rate is used. MAPIE refuses a fixed sequence for several risks;
"bonferroni" finds less than "bonferroni_holm".
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from mapie.risk_control import BinaryClassificationController
from mapie.risk_control.methods import compute_hoeffding_bentkus_p_value

from .draws import CONFIDENCE, N_DRAWS, PAIRS, SAMPLE_SIZES, Population, open_population
from .mapie_thresholds import BETAS

N_STEPS = (10, 20, 50)
HOLM, SPLIT = "bonferroni_holm", "split_fixed_sequence"


class Grid(NamedTuple):
    """Probabilities, and the positions of the lower and the upper one in each pair."""

    levels: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def pairs(self) -> np.ndarray:
        return np.column_stack((self.levels[self.lower], self.levels[self.upper]))


def make_grid(n_steps: int) -> Grid:
    levels = np.arange(1, n_steps) / n_steps
    return Grid(levels, *np.triu_indices(len(levels)))


def controller(limits: tuple[float, float], grid: Grid, method: str) -> BinaryClassificationController:
    return BinaryClassificationController(
        lambda p, lower, upper: np.where(p >= upper, 1.0, np.where(p < lower, 0.0, np.nan)),
        ["positive_predictive_value", "negative_predictive_value"],
        list(limits),
        CONFIDENCE,
        best_predict_param_choice="abstention_rate",
        list_predict_params=grid.pairs,
        fwer_method=method,
    )


def p_values(
    p: np.ndarray, y: np.ndarray, limits: tuple[float, float], grid: Grid, *, binary: bool
) -> np.ndarray:
    """MAPIE's p-values of both promises for each pair; those of a pair depend on one threshold each."""
    pos, neg = np.sort(p[y == 1]), np.sort(p[y == 0])
    fn, tn = (np.searchsorted(each, grid.levels, side="left") for each in (pos, neg))
    found = []
    for failures, trials, limit, position in (
        (len(neg) - tn, len(p) - fn - tn, limits[0], grid.upper),
        (fn, fn + tn, limits[1], grid.lower),
    ):
        risk = np.where(trials > 0, failures / np.maximum(trials, 1), 1.0)
        size = np.where(trials > 0, trials, -1)
        alpha = np.array([1 - limit])
        found.append(compute_hoeffding_bentkus_p_value(risk, size, alpha, binary)[position, 0])
    # Where no row has the label, MAPIE's p-value is NaN, and its learned order would start there.
    return np.nan_to_num(np.array(found), nan=1.0)


def holm(p: np.ndarray, delta: float) -> np.ndarray:
    order = np.argsort(p, kind="stable")
    failed = np.append(p[order] > delta / (len(p) - np.arange(len(p))), True)
    return order[: int(np.argmax(failed))]


def learned_order(p: np.ndarray, y: np.ndarray, limits: tuple[float, float], grid: Grid) -> np.ndarray:
    """What `learn_fixed_sequence_order` learns."""
    found = p_values(p, y, limits, grid, binary=False)
    nearest = [np.abs(found - beta).max(axis=0).argmin() for beta in BETAS]
    return np.array(list(dict.fromkeys(int(each) for each in nearest)))


def least_abstention(valid: np.ndarray, p: np.ndarray, grid: Grid) -> tuple[float, float]:
    if len(valid) == 0:
        return float("nan"), float("nan")
    below = np.searchsorted(np.sort(p), grid.levels, side="left")
    best = valid[np.argmin(below[grid.upper[valid]] - below[grid.lower[valid]])]
    return float(grid.levels[grid.lower[best]]), float(grid.levels[grid.upper[best]])


def thresholds(
    p: np.ndarray, y: np.ndarray, limits: tuple[float, float], grid: Grid
) -> Iterator[tuple[str, tuple[float, float]]]:
    joint = p_values(p, y, limits, grid, binary=True).max(axis=0)
    yield HOLM, least_abstention(holm(joint, 1 - CONFIDENCE), p, grid)
    half = len(p) // 2
    order = learned_order(p[:half], y[:half], limits, grid)
    tested = p_values(p[half:], y[half:], limits, grid, binary=True).max(axis=0)[order]
    passed = order[: int(np.argmax(np.append(tested > 1 - CONFIDENCE, True)))]
    yield SPLIT, least_abstention(passed, p[half:], grid)


def check_thresholds() -> None:
    """Compare with MAPIE's own loops, which take seconds for each sample."""
    rng, grid = np.random.default_rng(0), make_grid(10)
    for limits in ((0.7, 0.8), *PAIRS):
        y = (rng.random(600) < 0.4).astype(int)
        p = 1 / (1 + np.exp(-(rng.normal(size=600) * 1.2 + 3 * y - 1.5)))
        for method, found in thresholds(p, y, limits, grid):
            own, rows = controller(limits, grid, method), slice(0, None)
            if method == SPLIT:
                own.learn_fixed_sequence_order(p[:300], y[:300])
                rows = slice(300, None)
            own.calibrate(p[rows], y[rows])
            shares = [
                None
                if pair is None or np.isnan(pair[0])
                else ((p[rows] >= pair[0]) & (p[rows] < pair[1])).mean()
                for pair in (own.best_predict_param, found)
            ]
            assert shares[0] == shares[1], (method, limits, own.best_predict_param, found)


def run(population: Population) -> Iterator[tuple]:
    probability = 1.0 / (1.0 + np.exp(-population.scores))
    for n_rows in SAMPLE_SIZES:
        for number in range(N_DRAWS):
            rows = population.draw(n_rows, number)
            p, y = probability[rows], population.positive[rows].astype(int)
            for limits in PAIRS:
                for n_steps in N_STEPS:
                    for method, pair in thresholds(p, y, limits, make_grid(n_steps)):
                        name = f"{method}, {n_steps} steps"
                        yield (population.name, *limits, n_rows, number, name, *pair)


def main() -> None:
    warnings.simplefilter("ignore")
    check_thresholds()
    for path in sorted(Path(sys.argv[1]).glob("*.npz")):
        results = path.with_suffix(".pairs.csv")
        if results.exists():
            continue
        rows = list(run(open_population(path)))
        with results.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            head = ("population", "precision", "npv", "rows", "draw", "method", "lower", "upper")
            writer.writerows((head, *rows))
        print(f"MAPIE's pairs on {path.stem}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
