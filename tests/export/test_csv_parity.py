"""A CSV file gets the same labels from ``capo predict`` and from its graph, or an error names the column."""

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxruntime import InferenceSession, SessionOptions

from capo.exceptions import InvalidInputError
from capo.export.onnx import onnx_inputs
from tests.cli.cases import exit_code

from .csv_tables import READ_WAYS, VOCABULARIES, make_labels, make_rows, read_csv, to_csv

N_TRAINING = 150
AUXILIARIES = ("linear", "trees", "nb")


class Case:
    """A model of ``capo fit`` with its graph, and the text of a file with further rows."""

    def __init__(self, folder, seed, n_rows, kinds):
        rng = np.random.default_rng(seed)
        self.folder, self.names = folder, [f"{kind}{i}" for i, kind in enumerate(kinds)]
        training = make_rows(rng, kinds, N_TRAINING)
        labels = make_labels(rng, training)
        train, model, graph = (folder / name for name in ("train.csv", "m.capo", "m.onnx"))
        train.write_text(to_csv(rng, [*self.names, "y"], [*training, labels]), encoding="utf-8")
        categories = [name for name in self.names if rng.random() < 0.3]
        options = [part for name in categories for part in ("--category", name)]
        auxiliary = AUXILIARIES[seed % len(AUXILIARIES)]
        fit = ("fit", train, "-t", "y", "-a", auxiliary, "--delta", "none", "--folds", "2", "-q", "-o", model)
        assert exit_code(*fit, *options) == 0
        assert exit_code("export", model, graph, "-q") == 0
        self.model, options = model, SessionOptions()
        options.intra_op_num_threads = 1
        self.session = InferenceSession(graph.read_bytes(), options, providers=["CPUExecutionProvider"])
        self.text = to_csv(rng, self.names, make_rows(rng, kinds, n_rows, unseen=True))

    def predict(self):
        """The labels of ``capo predict``, or None if it rejects the file."""
        new, found = self.folder / "new.csv", self.folder / "found.csv"
        new.write_text(self.text, encoding="utf-8")
        if exit_code("predict", self.model, new, "-q", "-o", found) != 0:
            return None
        return pl.read_csv(found)["label"].to_numpy()

    def labels(self, inputs):
        return self.session.run(["label"], inputs)[0]


def graph_labels(case, way):
    """The graph's labels, with rejected columns read as text; None if the file itself is rejected."""
    as_text = []
    while True:
        try:
            return case.labels(onnx_inputs(read_csv(way, case.text, as_text), case.session))
        except InvalidInputError as error:
            message = str(error)
        column = re.match(r"the column '(\w+)' was (text|numeric) in training, but", message)
        assert column, message
        if "read this column as text" not in message:
            return None
        assert way in ("polars", "pandas")
        assert column[1] not in as_text
        as_text.append(column[1])


def check_case(case):
    """Compare every way to read the file; return the number of rows that were compared."""
    expected, n_compared = case.predict(), 0
    for way in READ_WAYS:
        found = graph_labels(case, way)
        if expected is None:
            assert found is None, way
            continue
        differing = np.flatnonzero(found != expected)
        assert differing.size == 0, (way, read_csv("polars text", case.text)[differing[:5].tolist()].rows())
        n_compared += len(expected)
    return n_compared


def kinds_of_columns():
    return st.lists(st.sampled_from(sorted(VOCABULARIES)), min_size=2, max_size=5)


@pytest.mark.parametrize("kind", sorted(VOCABULARIES))
def test_a_csv_file_gets_the_labels_of_predict(tmp_path, capsys, kind):
    check_case(Case(tmp_path, 0, 200, [kind, "numbers"]))


@pytest.mark.slow
def test_random_csv_files_get_the_labels_of_predict(tmp_path_factory, capsys):
    n_compared = [0]

    @given(kinds=kinds_of_columns(), seed=st.integers(0, 2**32 - 1))
    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def check(kinds, seed):
        n_compared[0] += check_case(Case(tmp_path_factory.mktemp("case"), seed, 500, kinds))

    check()
    assert n_compared[0] >= 100_000
