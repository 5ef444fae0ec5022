"""A table gets the same labels from the command line, Python and ONNX, or an error names the column.

Models are trained on either side, from files and from data frames as pandas and polars read them.
"""

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxruntime import InferenceSession, SessionOptions

import capo
from capo.exceptions import InvalidInputError
from capo.export.onnx import onnx_inputs
from tests.cli.cases import exit_code

from .csv_tables import READ_WAYS, VOCABULARIES, make_labels, make_rows, read_csv, to_csv

N_TRAINING = 150
AUXILIARIES = ("linear", "trees", "nb")
#: Where a model is trained: on the command line, or in Python on a table that was read in this way.
SIDES = ("command line", *READ_WAYS)


class Case:
    """A model with its graph, and the text of a file with further rows."""

    def __init__(self, folder, seed, n_rows, kinds, side):
        rng = np.random.default_rng(seed)
        self.folder, self.names = folder, [f"{kind}{i}" for i, kind in enumerate(kinds)]
        training = make_rows(rng, kinds, N_TRAINING)
        text = to_csv(rng, [*self.names, "y"], [*training, make_labels(rng, training)])
        train, self.path, graph = (folder / name for name in ("train.csv", "m.capo", "m.onnx"))
        categories = [name for name in self.names if rng.random() < 0.3]
        auxiliary = AUXILIARIES[seed % len(AUXILIARIES)]
        if side == "command line":
            train.write_text(text, encoding="utf-8")
            options = [part for name in categories for part in ("--category", name)]
            fit = ("fit", train, "-t", "y", "-a", auxiliary, "--delta", "none", "--folds", "2", "-q")
            assert exit_code(*fit, *options, "-o", self.path) == 0
        else:
            table, demanded = read_csv(side, text), dict.fromkeys(categories, "category")
            params = {"delta": None, "cv": 2, "random_state": 0, "column_kinds": demanded}
            model = capo.CAPOClassifier(auxiliaries=[auxiliary], **params).fit(table[self.names], table["y"])
            capo.save(model, self.path)
        assert exit_code("export", self.path, graph, "-q") == 0
        self.model, options = capo.load(self.path), SessionOptions()
        options.intra_op_num_threads = 1
        self.session = InferenceSession(graph.read_bytes(), options, providers=["CPUExecutionProvider"])
        self.text = to_csv(rng, self.names, make_rows(rng, kinds, n_rows, unseen=True))

    def predict(self, file):
        """The labels of ``capo predict``, or None if it rejects the file."""
        found = self.folder / "found.csv"
        if exit_code("predict", self.path, self.folder / file, "-q", "-o", found) != 0:
            return None
        return pl.read_csv(found)["label"].to_numpy()

    def graph_labels(self, table):
        return self.session.run(["label"], onnx_inputs(table, self.session))[0]

    def file_labels(self, table):
        """The labels of ``capo predict`` for the table in a Parquet file."""
        self.model.schema_.select(table)
        (table if isinstance(table, pl.DataFrame) else pl.from_pandas(table)).write_parquet(
            self.folder / "new.parquet"
        )
        return self.predict("new.parquet")


def table_labels(predict, way, text):
    """The labels of a table, with columns that are rejected read as text; None if it is rejected."""
    as_text = []
    while True:
        try:
            return predict(read_csv(way, text, as_text))
        except InvalidInputError as error:
            column = re.match(r"the column '(\w+)' held", message := str(error))
        assert column, message
        if "read this column as text" not in message:
            return None
        assert way in ("polars", "pandas")
        assert column[1] not in as_text
        as_text.append(column[1])


def check_case(case):
    """Compare every way to read the file; return the number of rows that were compared."""
    (case.folder / "new.csv").write_text(case.text, encoding="utf-8")
    expected, n_compared = case.predict("new.csv"), 0
    for way in READ_WAYS:
        for predict in (case.model.predict, case.graph_labels, case.file_labels):
            found = table_labels(predict, way, case.text)
            is_typed = way in ("polars", "pandas")
            if expected is None:  # a reader may have made numbers of True and False
                assert found is None or is_typed, way
                continue
            if found is None and predict == case.file_labels and is_typed:
                continue  # the spelling of codes is lost
            differing = np.flatnonzero(found != expected)
            rows = read_csv("polars text", case.text)[differing[:5].tolist()].rows()
            assert differing.size == 0, (way, predict, rows)
            n_compared += len(expected)
    return n_compared


def kinds_of_columns():
    return st.lists(st.sampled_from(sorted(VOCABULARIES)), min_size=2, max_size=5)


@pytest.mark.filterwarnings("ignore::capo.exceptions.DataWarning")
@pytest.mark.parametrize("kind", sorted(VOCABULARIES))
def test_a_table_gets_the_same_labels_everywhere(tmp_path, capsys, kind):
    number = sorted(VOCABULARIES).index(kind)
    check_case(Case(tmp_path, number, 200, [kind, "numbers"], SIDES[number % len(SIDES)]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::capo.exceptions.DataWarning")
def test_random_tables_get_the_same_labels_everywhere(tmp_path_factory, capsys):
    n_compared = [0]

    @given(kinds=kinds_of_columns(), seed=st.integers(0, 2**32 - 1), side=st.sampled_from(SIDES))
    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def check(kinds, seed, side):
        n_compared[0] += check_case(Case(tmp_path_factory.mktemp("case"), seed, 500, kinds, side))

    check()
    assert n_compared[0] >= 100_000
