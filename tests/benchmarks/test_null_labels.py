"""Fits to labels that are pure noise report chance."""

import numpy as np
import pytest

from benchmarks.null_labels.__main__ import Cell, cells, fit_noise, summarize

pd = pytest.importorskip("pandas")
N_SEEDS = 24


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell",
    [
        Cell("cross-fitted", "none", "roc_auc", 100),
        Cell("cross-fitted", "none", "mcc", 100),
        Cell("frozen", "linear", "average_precision", 100),
        Cell("fast", "linear", "roc_auc", 2400),
    ],
)
def test_the_reported_value_of_noise_is_chance(cell):
    fits = [fit_noise(cell, seed) for seed in range(N_SEEDS)]
    excess = np.array([each.value - each.chance for each in fits])
    assert excess.mean() < 2 * excess.std(ddof=1) / np.sqrt(N_SEEDS)


def test_the_table_has_one_line_per_cell():
    one, other = list(cells())[:2]
    rows = [(*cell, seed, 0.5 + 0.1 * seed, 0.5, 0.0) for cell in (one, other) for seed in (0, 1, 2)]
    table = summarize(pd.DataFrame(rows, columns=[*Cell._fields, "seed", "value", "chance", "C"]))
    assert table.excess.tolist() == [0.1, 0.1]
    assert table.standard_error.tolist() == pytest.approx([0.1 / np.sqrt(3)] * 2, abs=1e-4)


def test_a_preset_is_fitted_in_its_own_folds():
    found = list(cells("fast", (300,)))
    assert [cell.measure for cell in found] == ["roc_auc", "f1", "mcc", "average_precision"]
    assert {cell[:2] for cell in found} == {("fast", "linear")}
    excess = fit_noise(found[0], 0)
    assert 0.3 < excess.value < 0.7
    assert 0.45 < excess.chance < 0.55
