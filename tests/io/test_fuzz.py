"""Mutated files: each is read as a table or raises an error about the input."""

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capo.exceptions import InvalidInputError
from capo.io.formats import TableReader
from capo.io.source import SparseRows
from capo.io.table_schema import ColumnRoles, TableSchema, infer_features, infer_table_schema
from capo.tables.schema import FeatureSchema

from ..strategies import mutated

pytestmark = pytest.mark.slow
N = 40
FRAME = pl.DataFrame(
    {"id": range(N), "x": np.linspace(-1, 1, N), "word": ["a", "b"] * (N // 2), "y": ["no", "yes"] * (N // 2)}
)
LINES = "".join(f"{1 if i % 2 else -1} 1:{i / 7:.3f} {i + 2}:1\n" for i in range(N))
FILES = st.one_of(mutated(FRAME.write_csv().encode()), mutated(LINES.encode()))


@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=FILES, name=st.sampled_from(["t.csv", "t", "t.svm", "t.tsv"]))
def test_mutated_files_are_tables_or_raise_input_errors(data, name, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data)
    try:
        batch = TableReader(str(path)).read()
        if isinstance(batch.rows, SparseRows):
            schema = TableSchema(FeatureSchema(()), batch.rows.X.shape[1])
        else:
            roles = ColumnRoles(batch.rows.columns[-1])
            schema = infer_table_schema(batch, roles, infer_features(batch, roles))
        X, y = schema.features(batch), schema.labels(batch)
    except InvalidInputError:
        return
    assert X.shape == (len(batch), schema.n_features)
    assert len(y) == len(batch) > 0
    again = TableReader(str(path)).read()
    assert len(again) == len(batch)
