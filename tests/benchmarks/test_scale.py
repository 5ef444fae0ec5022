"""The model of the cost of a cut."""

import csv

import pytest

pytest.importorskip("distributed")

from benchmarks.scale.cost import BANDWIDTH, LATENCY, N_CORES, N_MESSAGES, CostModel, report

TRUE = CostModel(2e-8, 3e-3, 0.02, 4e-3, 1e5, 3e4)
CELLS = [(1, 50_000, 4), (2, 50_000, 16), (4, 400_000, 16), (1, 400_000, 8), (2, 200_000, 12)]


def rows():
    for workers, n, p in CELLS:
        yield {
            "workers": workers,
            "rows": n,
            "partitions": p,
            "checked": p == 12,
            "worker_seconds": 2e-8 * n + 3e-3 * p,
            "scheduler_seconds": 0.02 + 4e-3 * p,
            "bytes": 1e5 + 3e4 * p,
        }


def test_the_coefficients_are_found_again():
    for found, true in zip(CostModel.fit(list(rows())), TRUE, strict=True):
        assert found == pytest.approx(true, rel=1e-6)


def test_the_time_of_a_cut_is_that_of_a_core_and_of_what_is_not_shared():
    found = TRUE.extrapolate(1e9, 100)
    assert found["product_and_bins"] == pytest.approx(2e-8 * 1e9 / (100 * N_CORES) + 3e-3)
    assert found["scheduling"] == pytest.approx(0.02 + 4e-3 * 100 * N_CORES)
    assert found["network"] == pytest.approx((1e5 + 3e4 * 100 * N_CORES) / BANDWIDTH + N_MESSAGES * LATENCY)
    assert found["seconds"] == pytest.approx(sum(found[name] for name in list(found)[2:5]))


def test_the_report_names_the_cell_that_was_held_out(tmp_path):
    path = tmp_path / "cost.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(next(rows())))
        writer.writeheader()
        writer.writerows(rows())
    lines = list(report(path))
    held_out = [line for line in lines if "held out" in line]
    assert held_out == ["2 workers, 200,000 rows, 12 partitions (held out): model/measured 1.00, 1.00, 1.00"]
