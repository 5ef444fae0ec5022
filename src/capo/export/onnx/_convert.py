"""ONNX export: the public functions, which load the packages they need when they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...exceptions import MissingExtraError

if TYPE_CHECKING:
    from onnx import ModelProto


def to_onnx(model: Any, X: Any) -> ModelProto:
    """A fitted model as an ONNX graph, from the raw table to the label, in double precision.

    The graph has one input of shape (n, 1) for each column of a data frame, under the column's name: doubles
    with NaN for what is missing, or strings with "" for what is missing; for an array the one input
    "X". Its outputs are "label", "score" (`decision_function`) and "probability" (of the positive class, if
    the model has `predict_proba`), each of shape (n,). Auxiliaries of weight 0 are left out.

    Parameters
    ----------
    model : CAPOClassifier, SVMPerfClassifier or SVMPerfClassifierCV
        A fitted model.
    X : data frame, array or sparse matrix
        Rows like those that it was trained on, at least one: they tell the columns and their types.

    Returns
    -------
    onnx.ModelProto
        The graph; ``.SerializeToString()`` is the content of an .onnx file.

    Raises
    ------
    ExportError
        An auxiliary, or the delta function, is of a kind that cannot be written as ONNX.

    Examples
    --------
    >>> import numpy as np
    >>> from onnxruntime import InferenceSession
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from capo import CAPOClassifier
    >>> from capo.export import onnx_inputs, to_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier(auxiliaries=[DecisionTreeClassifier(max_depth=3)], random_state=0).fit(X, y)
    >>> session = InferenceSession(to_onnx(model, X).SerializeToString())
    >>> label, probability = session.run(["label", "probability"], onnx_inputs(X))
    >>> bool(np.all(label == model.predict(X)))
    True
    >>> bool(np.allclose(probability, model.predict_proba(X)[:, 1]))
    True
    """
    try:
        import onnx  # noqa: F401, PLC0415 (an extra)
        import skl2onnx  # noqa: F401, PLC0415 (an extra)
    except ImportError as error:
        raise MissingExtraError("ONNX export needs skl2onnx: pip install 'capo-learn[onnx]'.") from error
    from ._model import graph_of  # noqa: PLC0415 (needs the extra)

    return graph_of(model, X)
