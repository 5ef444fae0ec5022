"""Hostile files that open are harmless in use: nothing that a file names is opened or called."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.svm import SVC
from xgboost import XGBClassifier

import capo
from capo import CAPOClassifier
from capo.io.model_file import read_manifest
from capo.learning.auxiliaries import to_dense

from .archives import edit_json, read_parts, rewrite

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="needs a named pipe")]
ROOT = Path(__file__).parents[3]


def on_numbers(*steps):
    return make_pipeline(make_column_transformer(("passthrough", ["a", "b"])), *steps)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A model with estimators that could open files, and a table of rows that it has not seen."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("good")
    table = pl.DataFrame(
        {
            "a": rng.normal(size=160),
            "b": rng.normal(size=160),
            "words": [" ".join(rng.choice(["late", "early", "fine", "lost"], 4)) for _ in range(160)],
        }
    )
    target = np.where(table["a"] + 0.5 * rng.normal(size=160) > 0, "yes", "no")
    path = folder / "table.csv"
    table.with_columns(y=pl.Series(target))[80:].write_csv(path)
    command = [sys.executable, "-m", "capo", "fit", path, "-t", "y", "-a", "nb", "-o", folder / "base.capo"]
    subprocess.run(command, check=True, capture_output=True)
    grid = GridSearchCV(on_numbers(LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}, cv=2)
    auxiliaries = [
        ("texts", make_pipeline(make_column_transformer((CountVectorizer(), "words")), LogisticRegression())),
        (
            "codes",
            make_pipeline(
                make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["words"])),
                LogisticRegression(),
            ),
        ),
        ("lgbm", on_numbers(LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1, max_bin=15))),
        ("xgb", on_numbers(XGBClassifier(n_estimators=2, n_jobs=1))),
        ("grid", grid),
        ("function", on_numbers(FunctionTransformer(to_dense), BaggingClassifier(LogisticRegression(), 2))),
        ("kernel", on_numbers(Nystroem(n_components=5), LogisticRegression())),
        ("svm", on_numbers(SVC())),
    ]
    model = CAPOClassifier("f1", auxiliaries=auxiliaries, C=0.0, cv=2, random_state=0)
    model.fit(table[:80], target[:80])
    capo.save(model, folder / "good.capo", schema=read_manifest(folder / "base.capo").schema)
    return folder / "good.capo", path


def set_value(owner, place, name, value):
    """A function that sets a parameter (place 1) or a fitted attribute (2) of all estimators of a class."""

    def edit(state):
        found = [
            each["estimator"] for each in state["objects"] if each.get("estimator", [""])[0].endswith(owner)
        ]
        assert found, owner
        for each in found:
            each[place][name] = value
        return state

    return edit


def pairs(**values):
    return {"dict": [[name, value] for name, value in values.items()]}


def state_cases(secret):
    """Edits of state.json, with a part of the sentence that refuses the file; "" if it is harmless."""
    yield "pipeline-memory", "", set_value("Pipeline", 1, "memory", secret)
    yield "model-memory", "", set_value("CAPOClassifier", 1, "memory", secret)
    yield "model-jobs", "", set_value("CAPOClassifier", 1, "n_jobs", 1000)
    for name in (
        "memory",
        "logisticregression__memory",
        "vectorizer__input",
        "x__forcedsplits_filename",
        "fs",
    ):
        yield (
            f"grid-{name}",
            "which model files must not contain",
            set_value("GridSearchCV", 1, "param_grid", pairs(**{name: [secret]})),
        )
    grids = [pairs(C=[1.0]), pairs(memory=[secret])]
    yield "grid-list", "which model files must not contain", set_value("GridSearchCV", 1, "param_grid", grids)
    yield "vectorizer-file", "reads files", set_value("CountVectorizer", 1, "input", "filename")
    yield "vectorizer-code", "", set_value("CountVectorizer", 1, "tokenizer", "os.system")
    yield (
        "function-name",
        "is not known",
        set_value("FunctionTransformer", 1, "func", {"function": ["system", {"dict": []}]}),
    )
    yield "function-text", "", set_value("FunctionTransformer", 1, "func", "os.system")
    yield "kernel-name", "", set_value("Nystroem", 1, "kernel", "os.system")
    yield "svm-kernel", "", set_value("SVC", 1, "kernel", "os.system")
    yield "scoring", "The 'scoring' parameter", set_value("GridSearchCV", 1, "scoring", "os.system")
    yield "categories", "", set_value("OneHotEncoder", 1, "categories", [[secret]])
    yield "column-kinds", "", set_value("CAPOClassifier", 1, "column_kinds", pairs(words=secret))
    yield "auxiliary-name", "", set_value("CAPOClassifier", 1, "auxiliaries", [secret])
    yield "measure", "", set_value("CAPOClassifier", 1, "measure", f"open({secret!r})")
    for name in (
        "forcedsplits_filename",
        "fs",
        "machines",
        "nodes",
        "machine_list_filename",
        "parser_config_file",
    ):
        refused = f"has the parameter {name!r}"
        yield f"lgbm-{name}", refused, set_value("LGBMClassifier", 1, name, secret)
        yield (
            f"lgbm-other-{name}",
            refused,
            set_value("LGBMClassifier", 2, "_other_params", pairs(**{name: secret})),
        )
        yield f"xgb-{name}", refused, set_value("XGBClassifier", 1, name, secret)
        yield f"lgbm-list-{name}", refused, set_value("LGBMClassifier", 1, name, [secret])
    kwargs = pairs(fs=secret)
    yield "xgb-kwargs", "no fitted attribute 'kwargs'", set_value("XGBClassifier", 2, "kwargs", kwargs)
    yield "svm-sizes", "sizes of a SVC", set_value("SVC", 2, "_n_support", {"array": ["<i4", [2], 0]})
    yield "svm-columns", "sizes of a SVC", set_value("SVC", 2, "n_features_in_", 1)


def test_nothing_that_a_file_names_is_opened_or_called(good, tmp_path):
    secret, output = tmp_path / "secret", tmp_path / "output"
    output.mkdir()
    os.mkfifo(secret)  # to open it would block for ever
    cases = {}
    for name, sentence, edit in state_cases(str(secret)):
        cases[edit_json(good[0], output / f"{name}.capo", "state.json", edit)] = sentence

    def name_table(manifest):
        return {
            **manifest,
            "training": {"table": str(secret), "sha256": "0" * 64, "prices": {"fp": str(secret)}},
        }

    cases[edit_json(good[0], output / "training.capo", "manifest.json", name_table)] = ""
    text = read_parts(good[0])["boosters/0.txt"].decode()
    assert "[forcedsplits_filename: ]" in text
    text = text.replace("[forcedsplits_filename: ]", f"[forcedsplits_filename: {secret}]")
    cases[rewrite(good[0], output / "booster.capo", {"boosters/0.txt": text.encode()})] = ""
    program = [sys.executable, "-m", "tests.io.model_files.use_audited", *good, output, *cases]
    run = subprocess.run(program, capture_output=True, text=True, timeout=900, check=False, cwd=ROOT)
    results = [json.loads(line) for line in run.stdout.splitlines()]
    by_file = {path: [each for each in results if each["path"] == str(path)] for path in (good[0], *cases)}
    commands = by_file.pop(good[0])
    assert not any(each["code"] for each in commands if each["command"] != "export"), commands
    wrong = [each for each in results if each["events"] or each["code"] not in (0, 2) or each["seconds"] > 30]
    for path, sentence in cases.items():
        found = by_file[path]
        is_refused = sentence != "" and sentence in found[-1]["text"]
        if not is_refused and (sentence or len(found) < len(commands)):
            wrong.append([sentence, found])
    assert not wrong, run.stderr[-2000:] + "\n".join(map(str, wrong))
