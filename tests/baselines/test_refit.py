"""A failed refit of a baseline leaves the fitted model as it was."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from capo.baselines import C45Classifier, CoreVectorMachine, CostSVMClassifier, RBFNetworkClassifier

X, Y = make_classification(150, 5, random_state=0)
FRAME = pd.DataFrame(X, columns=list("abcde"))

#: Each baseline, with the last step of its `fit` as an import path.
BASELINES = [
    pytest.param(C45Classifier(), "capo.baselines._c45.Tree.depth", id="c45"),
    pytest.param(
        CoreVectorMachine(random_state=0),
        "capo.baselines._core_vector_machine.BallProblem.radius",
        id="cvm",
    ),
    pytest.param(
        CostSVMClassifier(Cs=[1.0], costs=[1.0], cv=2, random_state=0),
        "capo.baselines._cost_svm.issparse",
        id="cost",
    ),
    pytest.param(
        RBFNetworkClassifier(random_state=0),
        "capo.baselines._rbf_network.RBFNetworkClassifier._fit_regression",
        id="rbf",
    ),
]


def state(model):
    return {name: repr(value) for name, value in vars(model).items()}


@pytest.mark.parametrize(("model", "last_step"), BASELINES)
@pytest.mark.parametrize("failure", ["nan", "one class", "late"])
def test_a_failed_refit_leaves_the_old_model(model, last_step, failure, monkeypatch):
    model.fit(FRAME, Y)
    before, predictions = state(model), model.predict(FRAME)
    other = pd.DataFrame(X[:, :3] + 1.0, columns=list("xyz"))
    labels = np.where(Y == 1, "yes", "no")
    if failure == "nan":
        other.iloc[0, 0] = np.nan
    elif failure == "one class":
        labels[:] = "yes"
    else:

        def fail(*args, **kwargs):
            raise RuntimeError("a late failure")

        monkeypatch.setattr(last_step, fail)
    with pytest.raises((ValueError, RuntimeError), match=r"NaN|only one class|late"):
        model.fit(other, labels)
    monkeypatch.undo()
    assert state(model) == before
    np.testing.assert_array_equal(model.predict(FRAME), predictions)
