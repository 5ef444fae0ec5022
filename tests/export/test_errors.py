"""Models that cannot be exported raise an error that names the part and the remedy."""

import sys

import lightgbm
import numpy as np
import pytest
import skl2onnx
import xgboost
from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxArgMax, OnnxConcat, OnnxMul, OnnxSigmoid, OnnxSlice
from skl2onnx.common.data_types import Int64TensorType
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier, SVMPerfClassifier
from capo.baselines import PublishedCAPOClassifier
from capo.exceptions import ExportError, InvalidInputError, MissingExtraError
from capo.export.onnx import to_onnx

from .runtime import assert_same_predictions, make_array


class Oracle(ClassifierMixin, BaseEstimator):
    """Predicts from its first column; skl2onnx has no converter for it."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X):
        share = 1 / (1 + np.exp(-X[:, 0]))
        return np.column_stack((1 - share, share))

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


class Registered(Oracle):
    """The same, with a converter that the user registers."""


class WronglyRegistered(Oracle):
    """The same, with a wrong converter."""


class Halves(TransformerMixin, BaseEstimator):
    """A user-defined transformer."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X / 2


def register(kind, slope):
    def shapes(operator):
        width = operator.inputs[0].type
        operator.outputs[0].type = Int64TensorType([None])
        operator.outputs[1].type = type(width)([None, 2])

    def convert(scope, operator, container):
        opset, X = container.target_opset, operator.inputs[0]
        one = np.array([1], dtype=np.int64)
        first = OnnxSlice(X, np.array([0]), one, one, op_version=opset)
        both = OnnxConcat(
            OnnxSigmoid(OnnxMul(first, np.array([-slope]), op_version=opset), op_version=opset),
            OnnxSigmoid(OnnxMul(first, np.array([slope]), op_version=opset), op_version=opset),
            axis=1,
            op_version=opset,
        )
        label = OnnxArgMax(both, axis=1, keepdims=0, op_version=opset, output_names=operator.outputs[:1])
        share = OnnxAdd(both, np.array([0.0]), op_version=opset, output_names=operator.outputs[1:])
        label.add_to(scope, container)
        share.add_to(scope, container)

    skl2onnx.update_registered_converter(
        kind, kind.__name__, shapes, convert, options={"zipmap": [True, False]}, overwrite=True
    )


X, Y = make_array(300, 0)


def fit_capo(auxiliary, **params):
    settings = {"cv": 2, "random_state": 0, "delta": None, "C": 0.0, "prior": "unit", "outputs": "scores"}
    return PublishedCAPOClassifier(auxiliaries=[("mine", auxiliary)], **{**settings, **params}).fit(X, Y)


@pytest.mark.parametrize(
    ("auxiliary", "reason"),
    [
        (Oracle(), "skl2onnx has no converter for Oracle"),
        (QuadraticDiscriminantAnalysis(), "does not export the decision_function of Quadratic"),
        (GaussianProcessClassifier(), "converts GaussianProcessClassifier with Solve"),
        (make_pipeline(FunctionTransformer(np.sin), LogisticRegression()), "FunctionTransformer applies sin"),
        (make_pipeline(Halves(), LogisticRegression()), "skl2onnx cannot convert Halves"),
        (SVC(kernel=lambda a, b: a @ b.T), "its kernel is not one of linear, rbf"),
        (
            xgboost.XGBClassifier(n_jobs=1, n_estimators=2, booster="gblinear", verbosity=0),
            "XGBClassifier has the booster 'gblinear' and",
        ),
        (
            xgboost.XGBClassifier(n_jobs=1, n_estimators=2, missing=-1.0),
            r"XGBClassifier has missing=-1\.0 instead of NaN",
        ),
        (
            xgboost.XGBClassifier(
                n_jobs=1, n_estimators=2, feature_types=["q", "q", "q", "c", "q"], enable_categorical=True
            ),
            "splits on categories: encode them as numbers first",
        ),
        (
            lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1, linear_tree=True),
            "linear models in its leaves",
        ),
        (
            lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1, objective="cross_entropy"),
            "the objective 'cross_entropy' instead of 'binary'",
        ),
    ],
    ids=lambda each: each[:20] if isinstance(each, str) else type(each).__name__,
)
def test_an_auxiliary_that_cannot_be_exported(auxiliary, reason):
    with pytest.raises(
        ExportError, match=rf"^the auxiliary 'mine' cannot be exported to ONNX: .*{reason}"
    ) as got:
        to_onnx(fit_capo(auxiliary), X)
    assert str(got.value).endswith(
        ". Leave it out, replace it, or register a converter with skl2onnx.update_registered_converter."
    )


def test_a_converter_whose_graph_does_not_run():
    bags = BaggingClassifier(KNeighborsClassifier(1), n_estimators=30, max_samples=2, random_state=0)
    with pytest.raises(ExportError, match="its skl2onnx graph cannot be run"):
        to_onnx(fit_capo(bags), X)


def test_a_delta_transformer_that_cannot_be_exported():
    model = fit_capo(GaussianNB(), delta=Halves(), C=1.0)
    with pytest.raises(ExportError, match=r"the delta transformer cannot be exported to ONNX: .* Halves"):
        to_onnx(model, X)


def test_a_callable_kernel():
    model = SVMPerfClassifier("f1", kernel=lambda a, b: a @ b.T).fit(X, Y)
    with pytest.raises(ExportError, match=r"the model cannot be .* Train it with another kernel\.$"):
        to_onnx(model, X)


def test_a_registered_converter_is_used():
    register(Registered, 1.0)
    assert_same_predictions(fit_capo(Registered()), X, make_array(10_000, 1)[0])


def test_a_wrong_converter_is_detected():
    register(WronglyRegistered, 1.1)
    with pytest.raises(
        ExportError, match="the outputs of its skl2onnx graph differ from those of the estimator"
    ):
        to_onnx(fit_capo(WronglyRegistered()), X)


def test_other_models():
    with pytest.raises(InvalidInputError, match=r"to_onnx takes a fitted CAPOClassifier, .*: got GaussianNB"):
        to_onnx(GaussianNB().fit(X, Y), X)


def test_a_model_that_is_not_fitted():
    with pytest.raises(NotFittedError, match="not fitted"):
        to_onnx(CAPOClassifier(), X)


def test_a_table_with_other_columns():
    with pytest.raises(ValueError, match="features"):
        to_onnx(fit_capo(DecisionTreeClassifier()), X[:, :3])


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(
        MissingExtraError, match=r"^ONNX export needs skl2onnx: pip install 'capo-learn\[onnx\]'\.$"
    ):
        to_onnx(None, X)
