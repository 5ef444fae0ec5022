import json
import re
from pathlib import Path

import numpy as np
import pytest

import capo
from benchmarks.provenance import commit, record_run

RESULTS = sorted((Path(__file__).parents[2] / "benchmarks").glob("*/results/*.csv"))


def test_a_run_is_described_beside_its_results(tmp_path):
    record_run(tmp_path / "speed.csv")
    (run,) = json.loads((tmp_path / "provenance.json").read_text())["speed.csv"]
    assert run["capo"] == capo.__version__
    assert run["numpy"] == np.__version__
    assert run["cores"] >= 1
    assert run["processor"]
    assert run["commit"] == commit()
    assert run["commit"] is None or re.fullmatch(r"[0-9a-f]{40}(-dirty)?", run["commit"])


def test_a_run_replaces_or_adds(tmp_path):
    for append in (False, True, True):
        record_run(tmp_path / "a.csv", append=append)
    record_run(tmp_path / "b.csv")
    record_run(tmp_path / "b.csv")
    runs = json.loads((tmp_path / "provenance.json").read_text())
    assert {name: len(each) for name, each in runs.items()} == {"a.csv": 3, "b.csv": 1}


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: f"{file.parts[-3]}-{file.stem}")
def test_stored_results_have_their_provenance(file):
    runs = json.loads(file.with_name("provenance.json").read_text())[file.name]
    assert all({"commit", "stored_in_commit"} & set(run) for run in runs)
    assert runs
