"""Classifier adaptation on Dask: what comes from the sample, and what from all other rows."""

import warnings

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier, measures
from capo import load as load_model
from capo import save as save_model
from capo.dask import DaskCAPOClassifier
from capo.dask import _adaptation as adaptation
from capo.dask import _partitions as partitions
from capo.decisions import PlattCalibrator
from capo.exceptions import AuxiliaryError, InvalidInputError
from capo.learning.adaptation import Objective
from capo.learning.center import StackPrior, fit_binary_stack
from capo.learning.combination import AdaptationData

pytestmark = pytest.mark.usefixtures("synchronous")

AUXILIARIES = [("bayes", GaussianNB()), ("logistic", LogisticRegression())]
CHUNKS = (1000, 0, 2400, 600)


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(
        6000, 8, n_informative=4, weights=[0.8], class_sep=0.7, flip_y=0.05, random_state=0
    )
    return X[:4000], y[:4000], X[4000:], y[4000:]


def to_dask(X, y):
    return da.from_array(X, chunks=(CHUNKS, X.shape[1])), da.from_array(y, chunks=(CHUNKS,))


@pytest.fixture(scope="module")
def model(rows):
    with dask.config.set(scheduler="synchronous"):
        classifier = DaskCAPOClassifier(
            "f1", auxiliaries=AUXILIARIES, sample_size=1000, C=5.0, random_state=0
        )
        return classifier.fit(*to_dask(*rows[:2]))


def test_it_is_as_good_as_the_classifier_in_memory_on_new_rows(model, rows):
    X, y, X_test, y_test = rows
    local = CAPOClassifier("f1", auxiliaries=AUXILIARIES, C=5.0, random_state=0).fit(X, y)
    assert model.to_local().score(X_test, y_test) == pytest.approx(local.score(X_test, y_test), abs=0.03)
    assert model.score_ == pytest.approx(model.to_local().score(X_test, y_test), abs=0.06)
    assert 0 < model.gap_ <= 5.0 * 1e-3
    assert min(model.auxiliary_weights_.values()) >= 0
    assert any(model.delta_coef_.values())


def test_probabilities_are_calibrated(model, rows):
    probability = model.predict_proba(rows[2])[:, 1]
    order = np.argsort(probability)
    for part in np.array_split(order, 4):
        assert probability[part].mean() == pytest.approx(rows[3][part].mean(), abs=0.06)


def test_the_local_classifier_saves_and_predicts_alike(model, rows, tmp_path):
    X_test, y_test = rows[2:]
    local = model.to_local()
    assert type(local) is CAPOClassifier
    lazy = da.from_array(X_test, chunks=((500, 0, 1500), 8))
    np.testing.assert_array_equal(model.predict(lazy).compute(), local.predict(X_test))
    np.testing.assert_allclose(model.predict_proba(lazy).compute(), local.predict_proba(X_test))
    np.testing.assert_allclose(model.decision_function(lazy).compute(), local.decision_function(X_test))
    assert local.score(X_test, y_test) == measures.get("f1").score(y_test, local.predict(X_test) - 0.5)
    pytest.importorskip("skops")
    save_model(local, tmp_path / "model.capo")
    loaded = load_model(tmp_path / "model.capo")
    np.testing.assert_array_equal(loaded.predict(X_test), local.predict(X_test))


def test_the_summary_tells_what_the_sample_is(model):
    text = str(model.summary())
    assert "DaskCAPOClassifier for f1: 4,000 rows" in text
    assert model.n_sample_ == pytest.approx(1000, abs=1)
    assert f"a sample of {model.n_sample_:,} rows" in text
    assert f"learned from {4000 - model.n_sample_:,} rows; f1 there, by halves: {model.score_:.4f}" in text


def test_the_same_seed_gives_the_same_result_in_any_order(rows):
    classifier = DaskCAPOClassifier(
        "roc_auc", auxiliaries=AUXILIARIES, sample_size=1000, C=0, delta=None, random_state=1
    )
    first = classifier.fit(*to_dask(*rows[:2]))
    with dask.config.set(scheduler="threads"):
        second = clone(classifier).fit(*to_dask(*rows[:2]))
    np.testing.assert_array_equal(first.combination_.weights.auxiliary, second.combination_.weights.auxiliary)
    assert first.threshold_ == second.threshold_


@pytest.mark.slow
def test_labels_that_are_noise_score_like_chance(rows):
    X = rows[0]
    y = np.random.default_rng(0).random(len(X)) < 0.3
    model = DaskCAPOClassifier(
        "roc_auc", auxiliaries=AUXILIARIES, sample_size=1000, C=100.0, random_state=0
    ).fit(*to_dask(X, y))
    assert model.score_ == pytest.approx(0.5, abs=0.05)
    # Scores of the rows that it was trained on would look better than chance.
    assert roc_auc_score(y, model.decision_function(X)) > model.score_


def test_a_sample_of_all_rows_is_the_classifier_in_memory(rows):
    X, y = rows[0], np.where(rows[1] == 1, "a", "b")
    classifier = DaskCAPOClassifier(
        "mcc", auxiliaries=AUXILIARIES, C=0, pos_label="a", threshold=0.4, sample_size=3900, random_state=0
    )
    model = classifier.fit(*to_dask(X, y))  # fewer than 200 positives are left
    assert (model.n_sample_, model.n_adapted_) == (3900, 0)
    assert model.threshold_ == pytest.approx(0.4)
    assert model.pos_label_ == "a"
    assert model.classes_.tolist() == ["a", "b"]
    assert "too few rows are left outside the sample" in str(model.summary())


def test_a_given_threshold_and_the_smaller_label_as_positive(rows):
    X, y = rows[0], np.where(rows[1] == 1, "a", "b")
    model = DaskCAPOClassifier(
        "f1", auxiliaries=AUXILIARIES, C=0, pos_label="a", threshold=0.35, sample_size=1000, random_state=0
    ).fit(*to_dask(X, y))
    assert model.threshold_ == pytest.approx(0.35)
    probability = model.predict_proba(X)[:, 0]
    np.testing.assert_array_equal(model.predict(X) == "a", probability > 0.35)
    assert roc_auc_score(y == "a", probability) > 0.7


def test_the_stack_of_partitions_is_that_of_all_rows(rows):
    rng = np.random.default_rng(0)
    outputs, positive = rng.normal(size=(500, 3)), rng.random(500) < 0.3
    outputs[:, :2] += 1 + np.outer(positive, [2.0, 1.5])
    outputs[:, 2] = 0.7  # says nothing
    parts = (slice(0, 100), slice(100, 100), slice(100, 500))
    blocks = partitions.Partitions.from_delayed(
        [(dask.delayed(partitions.Block(outputs[part], positive[part]), traverse=False),) for part in parts],
        client=None,
    )
    summary = blocks.reduce(partitions.BlockSummary.merge, partitions.BlockSummary.from_block)
    found = adaptation.fit_center(blocks, 3, summary, StackPrior())
    weights, intercept = fit_binary_stack(AdaptationData(outputs, None, positive, None), nonnegative=True)
    np.testing.assert_allclose(found, [*weights, intercept], atol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("prior", [StackPrior(3.0), StackPrior(3.0, is_external=True)], ids=repr)
def test_the_center_of_partitions_is_that_of_all_rows(prior, sparse):
    rng = np.random.default_rng(1)
    outputs, features, positive = rng.normal(size=(600, 2)), rng.normal(size=(600, 7)), rng.random(600) < 0.3
    outputs[:, 0] += 1 + 2.0 * positive
    features[:, 0] += positive
    columns = np.hstack((outputs, features))
    parts = (slice(0, 150), slice(150, 600))
    tables = [csr_array(columns[part]) if sparse else columns[part] for part in parts]
    blocks = partitions.Partitions.from_delayed(
        [
            (dask.delayed(partitions.Block(table, positive[part]), traverse=False),)
            for table, part in zip(tables, parts, strict=True)
        ],
        client=None,
    )
    summary = blocks.reduce(partitions.BlockSummary.merge, partitions.BlockSummary.from_block)
    found = adaptation.fit_center(blocks, 2, summary, prior)
    data = AdaptationData(outputs, features, positive, None, np.array([0.5, 0.5]))
    expected = prior.classifier(data, Objective(measures.get("f1")))
    assert expected.delta[0] > 0.3
    np.testing.assert_allclose(found, [*expected.auxiliary, *expected.delta, expected.intercept], atol=1e-5)


def test_calibration_by_counts_is_that_of_the_rows():
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=2000), 1)
    positive = rng.random(2000) < 1 / (1 + np.exp(-2 * scores))
    groups, counts = np.unique(np.stack([scores, positive], axis=1), axis=0, return_counts=True)
    found = PlattCalibrator.fit(groups[:, 0], groups[:, 1] > 0, counts=counts.astype(float))
    expected = PlattCalibrator.fit(scores, positive)
    assert found.slope == pytest.approx(expected.slope, rel=1e-3)
    assert found.intercept == pytest.approx(expected.intercept, abs=1e-3)


def test_the_sample_is_stratified_and_repeatable():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 5, (200, 2))
    counts[:, 0] *= 30
    sampled = partitions.allocate_sample(counts, 1500)
    assert (sampled <= counts).all()
    np.testing.assert_allclose(sampled.sum(axis=0), counts.sum(axis=0) * 1500 / counts.sum(), atol=1)
    np.testing.assert_array_equal(partitions.allocate_sample(counts, 10**6), counts)
    positive = rng.random(1000) < 0.1
    groups = partitions.assign_groups(positive, np.array([90, 10]), seed=3, number=7)
    np.testing.assert_array_equal(
        groups, partitions.assign_groups(positive, np.array([90, 10]), seed=3, number=7)
    )
    assert np.count_nonzero(groups[positive] == partitions.SAMPLE) == 10
    assert np.count_nonzero(groups[~positive] == partitions.SAMPLE) == 90
    assert 380 < np.count_nonzero(groups == partitions.FIRST_HALF) < 520
    assert 380 < np.count_nonzero(groups == partitions.SECOND_HALF) < 520


def test_data_frames_with_categories_and_missing_values(rows):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, y = rows[0], rows[1]
    frame = pd.DataFrame(X[:, :3].copy(), columns=["a", "b", "c"])
    frame["kind"] = np.where(X[:, 3] > 0, "high", "low")
    frame.loc[::7, "a"] = np.nan
    model = DaskCAPOClassifier(
        "f1", auxiliaries=["linear"], delta=None, C=0, cv=3, sample_size=1000, random_state=0
    )
    model.fit(dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3))
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "kind"]
    assert model.to_local().score(frame, y) > measures.get("f1").score(y, np.ones(len(y)))


def test_lists_of_delayed_parts_and_frames_of_polars(rows):
    pl = pytest.importorskip("polars")
    X, y = rows[0][:, :3], rows[1]
    parts = [slice(0, 1500), slice(1500, 4000)]
    tables = [dask.delayed(pl.DataFrame)(X[part], schema=["a", "b", "c"]) for part in parts]
    labels = [dask.delayed(y[part], traverse=False) for part in parts]
    classifier = DaskCAPOClassifier(
        "f1", auxiliaries=[GaussianNB()], delta=None, C=0, cv=2, sample_size=500, random_state=0
    )
    model = classifier.fit(tables, labels)
    assert model.n_rows_ == 4000
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    swapped = [tables[0], dask.delayed(pl.DataFrame)(X[parts[1]], schema=["b", "a", "c"])]
    with pytest.raises(InvalidInputError, match="different columns: a, b, c and b, a, c"):
        classifier.fit(swapped, labels)


def test_a_booster_that_was_trained_on_the_cluster_is_applied_by_partition(rows):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, X_test, y_test = rows
    with (
        distributed.LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # those of lightgbm.dask
        booster = lightgbm.DaskLGBMClassifier(n_estimators=20, num_leaves=7, verbose=-1, client=client)
        booster.fit(*to_dask(X, y))
        test = [da.from_array(part, chunks=(1000, *part.shape[1:])) for part in (X_test, y_test)]
        params = {"cv": 2, "C": 0, "delta": None, "sample_size": 500, "random_state": 0, "client": client}
        frozen = FrozenEstimator(booster.to_local())
        model = DaskCAPOClassifier("f1", auxiliaries=[("booster", frozen)], **params).fit(*test)
        # Auxiliaries are trained on one worker, and not by estimators that need a cluster.
        untrained = lightgbm.DaskLGBMClassifier(n_estimators=2, verbose=-1)
        with pytest.raises(AuxiliaryError, match=r"DaskLGBMClassifier\) failed on a fold"):
            DaskCAPOClassifier("f1", auxiliaries=[("booster", untrained)], **params).fit(*test)
    assert model.n_adapted_ == 1500
    # The order of the rows is that of the booster.
    expected = booster.to_local().predict_proba(X_test)[:, 1]
    assert model.auxiliary_weights_["booster"] > 0
    assert roc_auc_score(y_test, model.decision_function(X_test)) == pytest.approx(
        roc_auc_score(y_test, expected)
    )
    assert model.score_ > measures.get("f1").score(y_test, np.ones(len(y_test)))


@pytest.mark.parametrize(
    ("params", "labels", "message"),
    [
        ({"sample_size": 20}, lambda y: np.arange(len(y)) < 3, "contains no row of True: raise sample_size"),
        ({}, lambda y: np.arange(len(y)) % 3, "y has 3 classes"),
        ({"measure": measures.get("recall_at_precision", confidence=0.9)}, lambda y: y, "confidence"),
        ({"sample_size": 1}, lambda y: y, "sample_size"),
    ],
)
def test_what_cannot_be_fitted_is_refused(rows, params, labels, message):
    with pytest.raises((InvalidInputError, ValueError), match=message):
        DaskCAPOClassifier(auxiliaries=AUXILIARIES, **params).fit(*to_dask(rows[0], labels(rows[1])))
