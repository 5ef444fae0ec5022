"""Columns of vectors: all their forms, their features, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from capo import CAPOClassifier
from capo.exceptions import InvalidInputError
from capo.tables.checks import SeenRows, check_data, duplicate_share
from capo.tables.schema import infer_schema, kind_from_dict
from capo.tables.vectors import TOTAL_VARIANCE, VectorFeatures, VectorKind, read_vectors

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N_ROWS, LENGTH = 60, 5
RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(N_ROWS, LENGTH)).astype(np.float32) * np.float32(0.1)
LABELS = VECTORS[:, 2] > 0


def with_missing(values):
    """The values with a missing one in row 3."""
    return [None if row == 3 else value for row, value in enumerate(values)]


LISTS = with_missing(VECTORS.tolist())
FORMS = {
    "pandas arrays": pd.DataFrame({"v": with_missing(VECTORS)}),
    "pandas doubles": pd.DataFrame({"v": with_missing(VECTORS.astype(np.float64))}),
    "pandas lists": pd.DataFrame({"v": LISTS}),
    "pandas text": pd.DataFrame({"v": [None if each is None else str(each) for each in LISTS]}),
    "numpy's text": pd.DataFrame(
        {"v": [None if each is None else " ".join(map(repr, each)).join("[]") for each in LISTS]}
    ),
    "pandas Arrow": pd.DataFrame({"v": pd.Series(LISTS, dtype=pd.ArrowDtype(pa.list_(pa.float32())))}),
    "polars array": pl.DataFrame({"v": pl.Series(LISTS, dtype=pl.Array(pl.Float32, LENGTH))}),
    "polars list": pl.DataFrame({"v": LISTS}),
    "polars text": pl.DataFrame({"v": [None if each is None else str(each) for each in LISTS]}),
}


def features_of(frame):
    schema = infer_schema(frame)
    return VectorFeatures([schema.columns[0].kind]).fit_transform(schema.parse(frame))


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_are_the_same_vectors(form):
    schema = infer_schema(FORMS[form])
    (column,) = schema.columns
    assert column.kind == VectorKind(str(LENGTH))
    assert column.reason == "its values are lists of 5 numbers"
    assert column.missing_share == pytest.approx(1 / N_ROWS)
    for frame in (FORMS[form], schema.parse(FORMS[form])):
        found = read_vectors(column.kind, column.select(frame))
        assert found.dtype == np.float32
        assert np.isnan(found[3]).all()
        assert_array_equal(np.delete(found, 3, axis=0), np.delete(VECTORS, 3, axis=0))
    assert_array_equal(features_of(FORMS[form]), features_of(FORMS["polars array"]))


@pytest.mark.parametrize("dtype", [pa.list_(pa.float32()), pa.list_(pa.float64(), LENGTH)])
def test_arrow_tables(dtype):
    table = pa.table({"v": pa.array(LISTS, type=dtype), "x": np.arange(N_ROWS) / 7})
    model = CAPOClassifier(auxiliaries=["linear"], cv=3, random_state=0).fit(table, LABELS)
    assert model.schema_.columns[0].kind == VectorKind("5")
    assert model.score(table, LABELS) > 0.8


def test_parsing_again_and_half_precision():
    schema = infer_schema(FORMS["polars list"])
    parsed = schema.parse(FORMS["polars list"])
    assert schema.parse(parsed)["v"].dtype == pl.Array(pl.Float32, LENGTH)
    half = pd.DataFrame({"v": list(VECTORS.astype(np.float16))})
    assert schema.parse(half)["v"][0].dtype == np.float32
    assert_array_equal(schema.parse(half)["v"][1], VECTORS[1].astype(np.float16).astype(np.float32))


def test_a_vector_is_scaled_as_one_block():
    scaled = VECTORS * np.float32([1, 1, 1, 100, 1])
    features = features_of(pd.DataFrame({"v": list(scaled)}))
    assert features.dtype == np.float32
    assert features.var(axis=0).sum() == pytest.approx(TOTAL_VARIANCE, rel=1e-4)
    ratio = features.std(axis=0) / scaled.std(axis=0)
    assert_allclose(ratio, ratio[0], rtol=1e-4)
    assert_allclose(features.mean(axis=0), 0, atol=1e-5)


def test_missing_vectors_are_the_mean_and_marked():
    features = features_of(FORMS["pandas lists"])
    assert features.shape == (N_ROWS, LENGTH + 1)
    assert_array_equal(features[3], [0, 0, 0, 0, 0, 1])
    assert features[:, -1].sum() == 1
    complete = VectorFeatures([VectorKind("5")]).fit(pd.DataFrame({"v": list(VECTORS)}))
    assert not complete.transform(pd.DataFrame({"v": [None, VECTORS[0]]}))[0].any()
    assert complete.get_feature_names_out().tolist() == ["v[0]", "v[1]", "v[2]", "v[3]", "v[4]"]


def test_leading_directions():
    weights = np.linspace(1, 0.01, 40, dtype=np.float32)
    frame = pd.DataFrame({"v": list(RNG.normal(size=(500, 40)).astype(np.float32) * weights)})
    block = np.stack(frame["v"])
    features = VectorFeatures([VectorKind("40")], 4, random_state=0).fit(frame)
    _, sizes, directions = np.linalg.svd(block - block.mean(axis=0), full_matrices=False)
    captured = np.linalg.norm(features.components_[0] @ directions[:8].T)  # of 4 orthonormal directions
    assert captured == pytest.approx(2.0, abs=0.05)
    assert features.transform(frame).shape == (500, 4)
    spread = features.transform(frame).var(axis=0).sum() / TOTAL_VARIANCE
    assert spread == pytest.approx((sizes[:4] ** 2).sum() / (sizes**2).sum(), rel=0.05)


@pytest.mark.parametrize("form", [list, pl.Series])
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1.0, 2.0], "the column 'v' contains vectors of 5 numbers, but row 7 has a vector of 2"),
        ([1.0, 2.0, np.nan, 0.0, 0.0], "the column 'v' has a vector with NaN in row 7"),
        ([1.0, 2.0, np.inf, 0.0, 0.0], "the column 'v' has a vector with infinity in row 7"),
        ([1.0, 2.0, None, 0.0, 0.0], "the column 'v' has a vector with NaN in row 7"),
        ([1.0, 2.0, 1e300, 0.0, 0.0], "the column 'v' has a vector with infinity in row 7"),
        ([], "row 7 has a vector of 0"),
    ],
)
def test_bad_vectors(row, message, form):
    values = VECTORS.tolist()
    values[7] = row
    frame = (pd.DataFrame if form is list else pl.DataFrame)({"v": values})
    with pytest.raises(InvalidInputError, match=message):
        infer_schema(frame)
    schema = infer_schema(frame[:7])
    with pytest.raises(InvalidInputError, match=message.replace("row 7", "row 8")):
        schema.parse(frame, first_row=1)


def test_bad_texts():
    texts = [str(each.tolist()) for each in VECTORS]
    texts[7] = "[0.1, 0.2 ... 0.3]"  # numpy's text of a long array
    frame = pd.DataFrame({"v": texts})
    with pytest.raises(InvalidInputError, match=r"row 7 contains '\[0.1, 0.2 ... 0.3\]'"):
        infer_schema(frame).parse(frame)
    with pytest.raises(InvalidInputError, match="'v' is declared as vectors, but contains 'a b'"):
        infer_schema(pd.DataFrame({"v": ["a b", "c"]}), {"v": "vector"})


def test_lists_of_different_lengths_in_text_are_no_vectors():
    texts = [str(list(range(n % 4))) for n in range(40)]
    assert infer_schema(pd.DataFrame({"v": texts})).columns[0].kind.name != "vector"


def test_given_kinds():
    frame = FORMS["pandas text"]
    for demanded in ("vector", {"kind": "vector"}, {"kind": "vector", "length": "5"}):
        for each in (frame, FORMS["polars list"]):
            (column,) = infer_schema(each, {"v": demanded}).columns
            assert column.kind == VectorKind("5")
            assert column.is_given
    assert kind_from_dict(VectorKind("5").to_dict()) == VectorKind("5")
    with pytest.raises(ValueError, match="must be a whole number, not 'x'"):
        kind_from_dict({"kind": "vector", "length": "x"})


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([None] * N_ROWS, dtype=object),
        pl.Series([None] * N_ROWS, dtype=pl.Array(pl.Float32, 3)),
        pl.Series([None] * N_ROWS, dtype=pl.List(pl.Float32)),
        pd.Series([np.ones(3)] * N_ROWS),
    ],
)
@pytest.mark.filterwarnings("ignore:The column 'x' almost determines the target")
def test_empty_and_constant_vectors_contribute_nothing(column):
    frame = type(column.to_frame())({"x": VECTORS[:, 2], "v": column})
    model = CAPOClassifier(auxiliaries=["linear"], cv=3, random_state=0).fit(frame, LABELS)
    plain = CAPOClassifier(auxiliaries=["linear"], cv=3, random_state=0).fit(frame[["x"]], LABELS)
    assert_allclose(model.auxiliary_outputs(frame), plain.auxiliary_outputs(frame[["x"]]), rtol=1e-3)
    assert CAPOClassifier(auxiliaries=["trees"], cv=3).fit(frame, LABELS).score(frame, LABELS) > 0.9
    topics = [finding.topic for finding in check_data(frame, LABELS) if finding.columns == ("v",)]
    assert topics == ["constant" if column[0] is not None else "empty"]


@pytest.mark.parametrize("scale", [1e-45, 1e-42, 1e-37, 1e-20, 1e30])
def test_vectors_of_any_size(scale):
    frame = pd.DataFrame({"v": list((VECTORS * scale).astype(np.float32))})
    found = VectorFeatures([VectorKind(str(VECTORS.shape[1]))]).fit_transform(frame)
    assert np.isfinite(found).all()
    assert found.var(axis=0).sum() == pytest.approx(TOTAL_VARIANCE if scale > 1e-38 else 0.0, abs=0.01)


def test_a_vector_column_as_the_target():
    frame = pd.DataFrame({"x": VECTORS[:, 0], "v": list(VECTORS)})
    with pytest.raises(InvalidInputError, match="y contains lists or arrays, as a column of vectors does"):
        CAPOClassifier(auxiliaries=["linear"]).fit(frame[["x"]], frame["v"])
    with pytest.raises(InvalidInputError, match="y has several columns with other values than 0 and 1"):
        CAPOClassifier(auxiliaries=["linear"]).fit(frame[["x"]], pl.Series(VECTORS))


def test_another_length_at_prediction():
    frame = pl.DataFrame({"v": pl.Series(VECTORS)})
    model = CAPOClassifier(auxiliaries=["linear"], cv=3, random_state=0).fit(frame, LABELS)
    for wrong in (pl.DataFrame({"v": pl.Series(VECTORS[:, :4])}), pd.DataFrame({"v": list(VECTORS[:, :4])})):
        with pytest.raises(
            InvalidInputError, match="contains vectors of 5 numbers, but row 0 has a vector of 4"
        ):
            model.predict(wrong)
    assert_allclose(
        model.predict_proba(pd.DataFrame({"v": list(VECTORS)})), model.predict_proba(frame), atol=1e-6
    )


def test_copies_of_rows_with_vectors():
    frame = pd.DataFrame({"v": [*VECTORS[:10], *VECTORS[10:30], *VECTORS[:10]]})
    assert duplicate_share(frame, np.arange(40) // 10) == 0.5
    seen = SeenRows.from_rows(FORMS["polars array"])
    assert seen.count_copies(FORMS["pandas lists"]) == N_ROWS
    assert seen.count_copies(pd.DataFrame({"v": list(VECTORS + 1)})) == 0
