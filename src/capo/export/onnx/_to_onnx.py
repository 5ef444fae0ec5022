"""The public function for ONNX export, which imports the optional packages only when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...exceptions import MissingExtraError
from ...tables.kinds import ColumnKind
from ._graph import CANONICAL, UNCHANGED

if TYPE_CHECKING:
    from onnx import ModelProto


def to_onnx(
    model: Any,
    X: Any,
    *,
    canonical_values: bool = False,
    column_kinds: Mapping[str, ColumnKind] | None = None,
) -> ModelProto:
    """Convert a fitted model to an ONNX graph, from the raw table to the label, in double precision.

    For a data frame the graph has one input of shape (n, 1) for each column, with the column's name: doubles
    with NaN for a missing value (dates: seconds since 1970), or strings with "" for a missing value. For an
    array it has the single
    input "X". `onnx_inputs` makes the inputs from a table. The outputs are "label", "score" and, if the model
    has `predict_proba`, "probability", each of shape (n,). Both are about the positive class: "score" is
    `positive_decision` (`decision_function` of a model without `pos_label`), and positive above 0. With more
    than two classes, "probability" and "score" (the expected gain) have one column for each class; with
    several labels per row, all outputs have one column for each label.
    Auxiliaries with weight 0 are left out.

    Parameters
    ----------
    model : CAPOClassifier, SVMPerfClassifier or SVMPerfClassifierCV
        A fitted model.
    X : data frame, array or sparse matrix
        At least one row with the columns and data types of the training table.
    canonical_values : bool, default=False
        Whether the model was trained on canonical values, as ``capo fit`` reads them from a file: "true"
        for True, "1" for 1.0. `onnx_inputs` then converts the rows of a table in the same way. ``capo
        export`` sets it.
    column_kinds : mapping of str to ColumnKind, optional
        The kinds of columns of canonical values, so that `onnx_inputs` can parse dates, amounts of money and
        the like from text. ``capo export`` sets it.

    Returns
    -------
    onnx.ModelProto
        The graph; ``.SerializeToString()`` gives the content of an .onnx file.

    Raises
    ------
    ExportError
        If an auxiliary or the delta transformer cannot be exported to ONNX.

    Examples
    --------
    >>> import numpy as np
    >>> from onnxruntime import InferenceSession
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from capo import CAPOClassifier
    >>> from capo.export.onnx import onnx_inputs, to_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier(auxiliaries=[DecisionTreeClassifier(max_depth=3)], random_state=0).fit(X, y)
    >>> session = InferenceSession(to_onnx(model, X).SerializeToString())
    >>> label, probability = session.run(["label", "probability"], onnx_inputs(X, session))
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
    from ._models import convert_model  # noqa: PLC0415 (needs the extra)

    return convert_model(model, X, CANONICAL if canonical_values else UNCHANGED, column_kinds or {})
