"""MAPIE's thresholds for the draws, in the environment that has MAPIE.

python -m benchmarks.promises.mapie_thresholds FOLDER    reads FOLDER/*.npz, writes a .csv beside each

A population that has its .csv already is left out.

All methods test MAPIE's own grid of 100 probabilities. "fixed_sequence" goes through it upwards, as it is
given; for precision "fixed_sequence, descending" is what a user would have to pass. "split_fixed_sequence"
learns its order on one half of the sample and tests on the other, as MAPIE's documentation describes.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from mapie.risk_control import BinaryClassificationController, control_fwer
from mapie.risk_control.methods import compute_hoeffding_bentkus_p_value

from .draws import CONFIDENCE, CONSTRAINTS, N_DRAWS, SAMPLE_SIZES, Population, open_population

METHODS = ("bonferroni", "bonferroni_holm", "fixed_sequence", "fixed_sequence, descending")
SPLIT = "split_fixed_sequence"
#: MAPIE's default for `learn_fixed_sequence_order`.
BETAS = np.logspace(-25, 0, 1000)


def controller(risk: str, limit: float, method: str) -> BinaryClassificationController:
    return BinaryClassificationController(
        lambda p: np.column_stack((1.0 - p, p)), risk, limit, CONFIDENCE, fwer_method=method
    )


def best(valid: np.ndarray, risk: str) -> float:
    """The threshold MAPIE would choose: the lowest for precision and fpr, the highest for recall."""
    if len(valid) == 0:
        return float("nan")
    return float(valid.max() if risk == "recall" else valid.min())


def thresholds(p: np.ndarray, y: np.ndarray, risk: str, limit: float) -> Iterator[tuple[str, float]]:
    """The p-values do not depend on the method: they are computed once."""
    shared = controller(risk, limit, "bonferroni_holm").calibrate(p, y)
    grid, p_values = shared._predict_params, shared.p_values.ravel()
    for method in METHODS:
        order = slice(None, None, -1 if method.endswith("descending") else 1)
        valid = control_fwer(p_values[order], 1 - CONFIDENCE, method.removesuffix(", descending"))
        yield method, best(grid[order][valid], risk)
    half, split = len(p) // 2, controller(risk, limit, SPLIT)
    split._learned_fixed_sequence = learned_order(split, p[:half], y[:half])
    split.calibrate(p[half:], y[half:])
    yield SPLIT, best(np.asarray(split.valid_predict_params, dtype=float), risk)


def learned_order(split: BinaryClassificationController, p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What `learn_fixed_sequence_order` learns, which takes a second for each sample in its own loops."""
    grid = split._predict_params
    predictions = split._get_predictions_per_param(p, grid, is_calibration_step=True)
    r_hat, n_obs = split._get_risk_values_and_eff_sample_sizes(y, predictions, split._risk)
    p_values = compute_hoeffding_bentkus_p_value(r_hat[0], n_obs[0], split._alpha[:1])[:, 0]
    nearest = np.abs(p_values[None, :] - BETAS[:, None]).argmin(axis=1)
    return grid[list(dict.fromkeys(nearest.tolist()))].astype(object)


def check_learned_order() -> None:
    """Compare `learned_order` with MAPIE's own."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    p = np.clip(0.3 * rng.random(400) + 0.6 * y * rng.random(400), 0, 1)
    for risk, limit in CONSTRAINTS:
        own = controller(risk, limit, SPLIT).learn_fixed_sequence_order(p, y)._learned_fixed_sequence
        assert own.tolist() == learned_order(controller(risk, limit, SPLIT), p, y).tolist()


def run(population: Population) -> Iterator[tuple]:
    probability = 1.0 / (1.0 + np.exp(-population.scores))
    for n_rows in SAMPLE_SIZES:
        for number in range(N_DRAWS):
            rows = population.draw(n_rows, number)
            for risk, limit in CONSTRAINTS:
                found = thresholds(probability[rows], population.positive[rows].astype(int), risk, limit)
                for method, threshold in found:
                    yield population.name, risk, limit, n_rows, number, method, threshold


def main() -> None:
    folder = Path(sys.argv[1])
    warnings.simplefilter("ignore")
    check_learned_order()
    for path in sorted(folder.glob("*.npz")):
        results = path.with_suffix(".csv")
        if results.exists():
            continue
        rows = list(run(open_population(path)))
        with results.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("population", "rate", "limit", "rows", "draw", "method", "threshold"))
            writer.writerows(rows)
        print(f"MAPIE on {path.stem}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
