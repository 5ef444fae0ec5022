"""Folds in the order of time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit, TimeSeriesSplit

from capo import CAPOClassifier, SVMPerfClassifierCV, TimeFolds
from capo.exceptions import InvalidInputError
from capo.inspection import compare

RNG = np.random.default_rng(0)
N = 240
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + RNG.normal(size=N) > 0).astype(int)
TIMES = RNG.permutation(N)


@given(st.lists(st.integers(0, 30), min_size=8, max_size=60), st.integers(2, 5))
def test_only_earlier_rows_are_trained_on(times, n_splits):
    moments = np.array(times)
    try:
        folds = list(TimeFolds(n_splits).split(moments, groups=moments))
    except InvalidInputError:
        assert len(np.unique(moments)) < len(moments)
        return
    assert len(folds) == TimeFolds(n_splits).get_n_splits() == n_splits
    for train, test in folds:
        assert moments[train].max() < moments[test].min()
        assert set(np.flatnonzero(moments < moments[test].min())) == set(train)
    held_out = np.concatenate([test for _, test in folds])
    assert len(set(held_out.tolist())) == len(held_out)
    assert set(np.flatnonzero(moments >= moments[folds[0][1]].min())) == set(held_out.tolist())


def test_periods_have_about_equally_many_rows():
    sizes = [len(test) for _, test in TimeFolds(5).split(X, groups=TIMES)]
    assert sizes == [40] * 5


def test_errors():
    with pytest.raises(InvalidInputError, match="needs the time of each row"):
        list(TimeFolds(2).split(X))
    with pytest.raises(InvalidInputError, match="5 folds need more than 3 different times"):
        list(TimeFolds(5).split(X, groups=np.arange(N) % 3))


def fit(cv, X=X, y=Y, **params):
    model = CAPOClassifier("roc_auc", auxiliaries=[LogisticRegression()], cv=cv, C=[0.0, 1.0], random_state=0)
    return model.fit(X, y, **params)


@pytest.mark.parametrize("routing", [False, True])
def test_rows_that_are_never_held_out_train_the_auxiliaries_only(routing):
    with config_context(enable_metadata_routing=routing):
        model = fit(TimeFolds(5), groups=TIMES)
    early = TIMES < 40
    assert np.isnan(model.oof_decision_[early]).all()
    assert np.isfinite(model.oof_decision_[~early]).all()
    # The outputs of a held-out period are those of a model of all rows before it.
    before, period = TIMES < 120, (TIMES >= 120) & (TIMES < 160)
    expected = LogisticRegression().fit(X[before], Y[before]).decision_function(X[period])
    np.testing.assert_allclose(model.auxiliary_outputs_[period, 0], expected)
    whole = LogisticRegression().fit(X, Y).decision_function(X)
    np.testing.assert_allclose(model.auxiliary_outputs(X)[:, 0], whole)
    assert "240 rows" in str(model.summary())


def test_sorted_rows_and_time_series_split_agree():
    order = np.argsort(TIMES)
    expected = fit(TimeSeriesSplit(5), X[order], Y[order]).oof_decision_
    np.testing.assert_allclose(fit(TimeFolds(5), groups=TIMES).oof_decision_[order], expected)


def test_comparisons_in_the_order_of_time():
    model = CAPOClassifier(
        "roc_auc", auxiliaries=[LogisticRegression()], cv=TimeFolds(2), C=0.0, random_state=0
    )
    comparison = compare(model, X, Y, groups=TIMES, folds=TimeFolds(3))
    assert comparison.folds == 3
    assert all(method.mean > 0.6 for method in comparison.methods)
    time = np.arange(N)
    reversed_later = np.where(time < N / 2, Y, 1 - Y)
    later = compare(model, X, reversed_later, groups=time, folds=TimeFolds(3))
    assert all(method.mean < 0.5 for method in later.methods)


def test_repeated_rows_are_still_refused():
    with pytest.raises(InvalidInputError, match="every row at most once"):
        fit(ShuffleSplit(3, random_state=0))
    with pytest.raises(InvalidInputError, match="every row exactly once"):
        SVMPerfClassifierCV(cv=TimeSeriesSplit(3)).fit(X, Y)


@pytest.mark.parametrize("kind", ["M8[ns]", "float", "object"])
def test_a_missing_time_is_refused(kind):
    times = TIMES.astype("M8[D]").astype(kind) if kind != "float" else TIMES.astype(float)
    times[7] = np.nan if kind == "float" else np.datetime64("NaT")
    with pytest.raises(InvalidInputError, match=f"groups has missing values, in 1 of {N} rows"):
        list(TimeFolds(3).split(X, groups=times))
