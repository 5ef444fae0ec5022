"""Mutated files: a result or a sentence, never a traceback, and nothing half-written."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..strategies import mutated
from .cases import FAST, exit_code, table

pytestmark = pytest.mark.slow
FILES = mutated(table().write_csv().encode())
FUZZ = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))


def check(place, capfd, data, name, output, command):
    """Run a command on a file with these bytes: a result, or one sentence and nothing written."""
    place.mkdir(exist_ok=True)
    (place / name).write_bytes(data)
    code = exit_code(*command, "-o", place / output, "--quiet")
    err = capfd.readouterr().err
    assert code in (0, 2), err
    assert (place / output).exists() == (code == 0)
    assert len(err.splitlines()) == (code == 2), err
    for each in place.iterdir():
        each.unlink()


@FUZZ
@given(data=FILES, name=st.sampled_from(["t.csv", "t", "t.parquet", "t.svm", "t.csv.gz"]))
def test_mutated_files_never_break_a_prediction(data, name, model, tmp_path_factory, capfd):
    place = tmp_path_factory.getbasetemp() / "fuzz_predict"
    check(place, capfd, data, name, "p.csv", ("predict", model, place / name))


@settings(FUZZ, max_examples=200)
@given(data=FILES)
def test_mutated_files_never_break_a_fit(data, tmp_path_factory, capfd):
    place = tmp_path_factory.getbasetemp() / "fuzz_fit"
    check(place, capfd, data, "t.csv", "m.capo", ("fit", place / "t.csv", "-t", "y", *FAST))
