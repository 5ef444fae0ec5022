"""The choice of auxiliaries that can be trained within a number of seconds."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import GaussianNB

from capo.exceptions import InvalidInputError
from capo.learning import budget as budget_module
from capo.learning.budget import (
    MIN_ROWS_PER_CLASS,
    SAFETY_FACTOR,
    BudgetChoice,
    _extrapolate,
    _sample_rows,
    choose_within_budget,
)

#: Seconds of a training on any number of rows.
SECONDS = {
    "boosting": 10,
    "quick": 2,
    "full_trees": 6,
    "trees": 4,
    "linear": 1,
    "kernel": 3,
    "svm": 5,
    "nb": 1,
}
N_ROWS = 3_000
#: Trainings of a fit: five folds, and all rows.
N_TRAININGS = 6


@pytest.fixture
def fake_timer(monkeypatch):
    """Trainings that take the seconds above and no time; the list of those that were run."""
    runs = []

    def run(runner, jobs):
        for job in jobs:
            name = runner.auxiliaries[job.auxiliary].name
            runs.append((name, len(job.train_rows)))
            yield SimpleNamespace(seconds=float(SECONDS[name]))

    monkeypatch.setattr(budget_module.JobRunner, "run", run)
    monkeypatch.setattr(budget_module.time, "perf_counter", lambda: 0.0)
    return runs


def data(n_rows=N_ROWS, n_classes=2):
    return np.random.default_rng(0).normal(size=(n_rows, 3)), np.arange(n_rows) % n_classes


def choose(seconds, auxiliaries="auto", n_rows=N_ROWS, n_classes=2, **params) -> BudgetChoice:
    """The choice within a budget in which a training of one second takes one unit."""
    seconds *= SAFETY_FACTOR * N_TRAININGS
    return choose_within_budget(*data(n_rows, n_classes), seconds, auxiliaries, random_state=0, **params)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (24, ["boosting", "full_trees", "trees", "linear", "kernel"]),
        (23, ["boosting", "full_trees", "trees", "linear"]),
        (17, ["boosting", "full_trees", "linear"]),
        (14.5, ["boosting", "linear", "kernel"]),
        (11, ["boosting", "linear"]),
        (10.5, ["quick", "full_trees", "linear"]),
        (8, ["quick", "trees", "linear"]),
        (3, ["quick", "linear"]),
        (0.1, ["quick", "linear"]),
    ],
)
def test_members_of_a_set_are_kept_in_the_order_of_their_worth(seconds, expected, fake_timer):
    choice = choose(seconds)
    assert choice.names == expected
    wanted = {"boosting", "full_trees", "trees", "linear", "kernel"}
    assert set(choice.left_out) == wanted - set(expected)
    assert choice.auxiliaries == (expected if choice.left_out else "auto")


def test_the_cheapest_set_is_used_in_any_case(fake_timer):
    choice = choose(0.1, "fast")
    assert (choice.auxiliaries, choice.names, choice.left_out) == ("fast", ["quick", "linear"], [])


def test_the_members_for_many_classes_and_labels(fake_timer):
    assert choose(0.1, n_classes=3).names == ["trees", "linear"]
    assert choose(0.1, many_classes=True).names == ["trees", "linear"]
    X, y = data()
    assert choose_within_budget(X, np.column_stack([y, 1 - y]), 1).names == ["trees", "linear"]


def test_others_are_kept_in_the_order_in_which_they_are_given(fake_timer):
    given = ["nb", ("kernel", GaussianNB()), "trees"]
    assert choose(8, given).auxiliaries == given
    assert choose(5, given).auxiliaries == ["nb", given[1]]
    assert choose(5, ["nb", "full_trees", "trees"]).auxiliaries == ["nb", "trees"]
    assert choose(0.1, ["trees", "kernel"]).auxiliaries == ["kernel"]


def test_all_trainings_of_all_models_are_counted(fake_timer):
    def linear_seconds(**params):
        return choose(1e6, ["linear"], **params).total_seconds / SAFETY_FACTOR

    assert linear_seconds() == pytest.approx(6)
    assert linear_seconds(n_folds=3) == pytest.approx(4)
    assert linear_seconds(n_models=5) == pytest.approx(30)
    assert linear_seconds(n_rows=1000) == pytest.approx(16)  # and 10 pairs of folds


def test_jobs_are_timed_and_run_in_parallel(fake_timer):
    choice = choose(1e6, ["linear"], n_jobs=3)
    assert fake_timer == [("linear", 375)] * 3 + [("linear", 1500)] * 3
    assert choice.total_seconds == pytest.approx(SAFETY_FACTOR * N_TRAININGS / 3)


def test_what_is_too_slow_on_the_smaller_sample_is_not_tried_on_the_larger(fake_timer):
    choose(5, ["linear", "boosting"])
    assert fake_timer == [("linear", 375), ("linear", 1500), ("boosting", 375)]


def test_the_time_of_the_choice_is_deducted(fake_timer, monkeypatch):
    clock = iter([0.0, 5.0])
    monkeypatch.setattr(budget_module.time, "perf_counter", lambda: next(clock))
    X, y = data()
    needed = SAFETY_FACTOR * N_TRAININGS * 2
    assert choose_within_budget(X, y, needed + 4, ["nb", "linear"]).names == ["nb"]


def test_sparse_matrices_and_real_trainings():
    X, y = data(200)
    choice = choose_within_budget(csr_matrix(np.abs(X)), y, 1e-6, ["linear", "nb"], random_state=0)
    assert len(choice.names) == 1
    assert choice.total_seconds > 1e-6


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_budgets_that_cannot_be_used(seconds):
    with pytest.raises(InvalidInputError, match="the budget must be a positive number of seconds: got"):
        choose_within_budget(*data(), seconds)


@given(
    st.floats(0, 10),
    st.floats(0, 1e-2),
    st.sampled_from([1, 2]),
    st.lists(st.integers(1, 50_000), max_size=5),
)
def test_extrapolation_of_exact_times(constant, slope, power, sizes):
    def seconds(n):
        return constant + slope * n**power

    estimate = _extrapolate(sizes, (100, seconds(100)), (400, seconds(400)), power)
    assert estimate == pytest.approx(sum(map(seconds, sizes)), rel=1e-6, abs=1e-6)


@given(st.floats(0, 10), st.floats(0, 10), st.integers(1, 10_000))
def test_estimates_are_not_negative(small, large, size):
    assert _extrapolate([size], (100, small), (400, large), 1) >= -1e-9
    assert _extrapolate([size], (5, small), (5, large), 1) >= -1e-9  # samples of the same rows


def test_samples_have_rows_of_rare_classes():
    codes = np.r_[np.zeros(5_000, int), np.ones(6, int), 2]
    rows = _sample_rows(codes, 100, np.random.RandomState(0))
    assert np.bincount(codes[rows])[1] >= MIN_ROWS_PER_CLASS
    assert np.bincount(codes[rows])[2] == 1
    assert len(rows) <= 100 + MIN_ROWS_PER_CLASS + 1
    assert len(np.unique(rows)) == len(rows)
