"""Auxiliaries that share features have the outputs that each has by itself."""

from typing import ClassVar

import numpy as np
import pytest
from joblib import Memory
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from capo.learning.cross_fit import Auxiliary, JobRunner, TrainingSet, cross_fit
from capo.learning.outputs import ScoreOutput

N_FOLDS = 3
#: In the folds, on all rows, and without each pair of folds.
N_FITS = 7
RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = (X[:, 0] + RNG.normal(size=90) > 0).astype(int)
SPLITS = list(StratifiedKFold(N_FOLDS).split(X, Y))


class CountedScaler(StandardScaler):
    """Counts how often it is fitted and applied."""

    calls: ClassVar[list[str]] = []

    def fit(self, X, y=None, sample_weight=None):
        self.calls.append("fit")
        return super().fit(X, y, sample_weight)

    def transform(self, X, copy=None):
        self.calls.append("transform")
        return super().transform(X, copy)


class RandomShift(BaseEstimator):
    """Adds a random number; it has no `fit_transform`."""

    shifts: ClassVar[list[int]] = []

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        self.shifts.append(1)
        self.shift_ = np.random.default_rng(self.random_state).normal()
        return self

    def transform(self, X):
        return X + self.shift_


MODELS = {
    "trees": make_pipeline(CountedScaler(), ExtraTreesClassifier(5, random_state=0)),
    "linear": make_pipeline("passthrough", CountedScaler(), LogisticRegression()),
    "longer": make_pipeline(CountedScaler(), StandardScaler(), LogisticRegression(C=0.1)),
    "nested": make_pipeline(make_pipeline(CountedScaler(), StandardScaler()), LogisticRegression(C=0.1)),
    "other": make_pipeline(CountedScaler(with_mean=False), LogisticRegression()),
    "alone": GaussianNB(),
}

LAST = {"linear": LogisticRegression(), "bayes": GaussianNB()}


def run(models, **params):
    auxiliaries = [Auxiliary(name, clone(model), {}) for name, model in models.items()]
    return cross_fit(
        JobRunner(auxiliaries, TrainingSet(X, Y, np.array([0, 1]), SPLITS), ScoreOutput(), **params)
    )


def test_shared_features_give_the_outputs_of_each_model_by_itself():
    found = run(MODELS)
    for number, (name, model) in enumerate(MODELS.items()):
        alone = run({name: model})
        np.testing.assert_array_equal(found.raw_outputs[:, number], alone.raw_outputs[:, 0])
        for train, test in SPLITS:
            expected = ScoreOutput().predict(clone(model).fit(X[train], Y[train]), X[test], np.array([0, 1]))
            np.testing.assert_allclose(found.raw_outputs[test, number], expected, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(found.models[number].predict(X), clone(model).fit(X, Y).predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_do_not_depend_on_processes(n_jobs):
    np.testing.assert_array_equal(run(MODELS, n_jobs=n_jobs).raw_outputs, run(MODELS).raw_outputs)


def test_equal_transformers_are_fitted_once_in_each_fold():
    CountedScaler.calls.clear()
    run({name: MODELS[name] for name in ("trees", "linear", "longer")})
    assert CountedScaler.calls.count("fit") == N_FITS
    # `fit_transform` of a scaler transforms too
    assert CountedScaler.calls.count("transform") == 2 * N_FITS - 1


def test_models_of_a_cache_are_shared_with_new_ones(tmp_path):
    memory = Memory(tmp_path, verbose=0)
    both = {name: MODELS[name] for name in ("trees", "linear")}
    run({"trees": MODELS["trees"]}, memory=memory)
    CountedScaler.calls.clear()
    found = run(both, memory=memory)
    assert CountedScaler.calls.count("fit") == N_FITS
    np.testing.assert_array_equal(
        found.raw_outputs, run({n: MODELS[n] for n in ("trees", "linear")}).raw_outputs
    )


@pytest.mark.parametrize(("seed", "n_fits"), [(None, 2), (0, 1)])
def test_random_transformers_are_not_shared(seed, n_fits):
    RandomShift.shifts.clear()
    pipelines = {name: make_pipeline(RandomShift(seed), each) for name, each in LAST.items()}
    run(pipelines)
    assert len(RandomShift.shifts) == n_fits * N_FITS


def test_weights_and_memories_are_kept():
    weight = np.where(Y, 3.0, 1.0)
    params = {"logisticregression__sample_weight": weight}
    model = make_pipeline(CountedScaler(), LogisticRegression())
    training = TrainingSet(X, Y, np.array([0, 1]), SPLITS)
    found = cross_fit(JobRunner([Auxiliary("linear", model, params)], training, ScoreOutput())).models[0]
    np.testing.assert_array_equal(
        found.decision_function(X), clone(model).fit(X, Y, **params).decision_function(X)
    )
    assert found.memory is None
