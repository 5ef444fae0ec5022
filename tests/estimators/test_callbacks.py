"""Callbacks of scikit-learn 1.9, and links to the documentation."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import BernoulliNB, GaussianNB

import capo
from capo import CAPOClassifier, SVMPerfClassifier
from capo.baselines import C45Classifier
from capo.exceptions import InvalidInputError

X, Y = make_classification(200, 5, random_state=0)


class Recorder:
    """Records the events of a fit, and asks to stop after some iterations."""

    def __init__(self, max_iterations=np.inf):
        self.events, self.gaps, self.max_iterations = [], [], max_iterations

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.events.append(f"end {context.task_name}")
        if metadata:
            self.gaps.append(metadata["gap"])
        return len(self.gaps) >= self.max_iterations


@pytest.fixture
def recorder():
    pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks")
    return Recorder()


def test_each_iteration_reports_its_gap(recorder):
    model = SVMPerfClassifier("f1", C=100.0).set_callbacks(recorder).fit(X, Y)
    assert recorder.gaps == [each.gap for each in model.solution_.history]
    assert recorder.events[:2] == ["setup", "begin fit"]
    assert recorder.events[-2:] == ["end fit", "teardown"]


def test_a_callback_stops_the_solver(recorder):
    recorder.max_iterations = 3
    assert SVMPerfClassifier("f1", C=100.0).set_callbacks(recorder).fit(X, Y).n_iter_ == 3


def test_each_model_that_is_trained_is_a_task(recorder):
    auxiliaries = [("first", GaussianNB()), ("second", BernoulliNB())]
    model = CAPOClassifier("f1", auxiliaries=auxiliaries, cv=3, delta=None, random_state=0)
    model.set_callbacks(recorder).fit(X, Y)
    for name in ("first", "second"):
        assert recorder.events.count(f"end {name}") == 3 + 1 + 3  # folds, all rows, pairs of folds
    assert recorder.events.count("end train auxiliaries") == 1
    assert recorder.events[-2:] == ["end fit", "teardown"]


def test_a_failed_fit_ends_the_callbacks(recorder):
    with pytest.raises(InvalidInputError):
        SVMPerfClassifier("f1").set_callbacks(recorder).fit(X, np.zeros(200))
    assert recorder.events == ["setup", "begin fit", "teardown"]


def test_callbacks_are_not_saved(recorder, tmp_path):
    model = SVMPerfClassifier("f1").set_callbacks(recorder).fit(X, Y)
    capo.save(model, tmp_path / "model.capo")
    loaded = capo.load(tmp_path / "model.capo")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert not hasattr(loaded, "_skl_callbacks")


@pytest.mark.parametrize(
    ("estimator", "page"),
    [
        (CAPOClassifier(), "api/capo.html#capo.CAPOClassifier"),
        (C45Classifier(), "api/capo.baselines.html#capo.baselines.C45Classifier"),
    ],
)
def test_the_diagram_links_to_the_api_reference(estimator, page):
    assert page in estimator._repr_html_()
