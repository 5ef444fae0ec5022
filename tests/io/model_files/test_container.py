"""Model files: what goes in comes out, and nothing else does."""

import hashlib
import json
import os
import warnings
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from xgboost import XGBClassifier

import capo
from capo import CAPOClassifier, SVMPerfClassifier, SVMPerfClassifierCV, measures
from capo.baselines import C45Classifier, CoreVectorMachine, CostSVMClassifier, RBFNetworkClassifier
from capo.exceptions import CapoWarning, ModelFileError
from capo.io.model_files import open_model, read_manifest

X, Y = load_breast_cancer(return_X_y=True)
X = X[:200, :6]
Y = Y[:200]
LIGHT = [("nb", GaussianNB())]


class Vendor:
    """A model of the user's own."""

    def predict(self, X):
        return X[:, 0] < 14


def light(measure="f1", **params):
    return CAPOClassifier(measure, **{"auxiliaries": LIGHT, "random_state": 0, **params})


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "light.capo"
    model = light(C=1.0).fit(X, Y)
    capo.save(model, path, training={"table": "cancer"})
    return path, model


def round_trip(model, tmp_path, rows=X, **options):
    path = tmp_path / "m.capo"
    capo.save(model, path)
    again = capo.load(path, **options)
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    return again


@pytest.mark.parametrize(
    "model",
    [
        light("recall_at_precision"),
        light("10 * tp - 2 * fp"),
        light("f1", C=1.0, delta="rbf"),
        light("f1", cv="in-sample", outputs="labels", prior="zero", threshold="zero", C=1.0),
        light(auxiliaries=[LGBMClassifier(n_estimators=5, verbose=-1), XGBClassifier(n_estimators=5)]),
        light(auxiliaries=[RandomForestClassifier(5), FrozenEstimator(LogisticRegression().fit(X / 50, Y))]),
        light(auxiliaries=[C45Classifier(), CoreVectorMachine(tol=1e-3), RBFNetworkClassifier()]),
        SVMPerfClassifier("roc_auc"),
        SVMPerfClassifier("f1", kernel="rbf"),
        SVMPerfClassifierCV("f1", Cs=[1, 10]),
        CoreVectorMachine(kernel="poly", tol=1e-3),
        CostSVMClassifier(Cs=[1.0], costs=[1.0, 2.0]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_come_back_as_they_were(model, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    round_trip(model, tmp_path)


@pytest.mark.parametrize("name", measures.names())
def test_every_measure_can_be_kept(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = light(name).fit(X, Y)
    assert round_trip(model, tmp_path).measure_ == measures.get(name)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_the_default_model_of_a_mixed_table_comes_back(library, tmp_path):
    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b", "c"], 200).tolist()
    values = X[:, 0] + np.where(rng.random(200) < 0.1, np.nan, 0.0)
    table = library({"n": values, "flag": Y == 1, "word": words})
    model = CAPOClassifier("f1", random_state=0).fit(table, np.where(Y, "yes", "no"))
    again = round_trip(model, tmp_path, table)
    assert str(again.summary()) == str(model.summary())
    assert again.get_params()["measure"] == "f1"


def test_the_card_says_what_the_model_is(saved):
    path, model = saved
    card = read_manifest(path)
    assert card == open_model(path).card
    assert (card.measure, card.classes, card.threshold) == ("f1", [0, 1], model.threshold_)
    assert card.estimator == "capo.estimators._capo.CAPOClassifier"
    assert card.training == {"table": "cancer"}
    assert card.summary == str(model.summary())
    assert card.versions["capo-learn"] == capo.__version__
    with zipfile.ZipFile(path) as archive:
        sums = dict(reversed(line.split("  ")) for line in archive.read("SHA256SUMS").decode().splitlines())
        for part in ("manifest.json", "model.skops"):
            assert sums[part] == hashlib.sha256(archive.read(part)).hexdigest()


def rewritten(source, target, **changes):
    """The archive with some parts changed, checksums made anew unless they are given."""
    with zipfile.ZipFile(source) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts.update({name: data for name, data in changes.items() if data is not None})
    if "SHA256SUMS" not in changes:
        names = ("manifest.json", "model.skops")
        lines = [f"{hashlib.sha256(parts[name]).hexdigest()}  {name}\n" for name in names]
        parts["SHA256SUMS"] = "".join(lines).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in parts.items():
            if changes.get(name, b"") is not None:
                archive.writestr(name, data)
    return target


def test_edited_parts_are_noticed(saved, tmp_path):
    path, _ = saved
    with zipfile.ZipFile(path) as archive:
        card, body, sums = (archive.read(name) for name in ("manifest.json", "model.skops", "SHA256SUMS"))
    edited = card.replace(b'"f1"', b'"f2"')
    for change in ({"manifest.json": edited}, {"model.skops": body + b" "}):
        with pytest.raises(ModelFileError, match="has been changed or damaged since it was written"):
            capo.load(rewritten(path, tmp_path / "edited.capo", SHA256SUMS=sums, **change))


@pytest.mark.parametrize(
    ("card", "sentence"),
    [
        (lambda card: card | {"format_version": 2}, "was written by a newer capo, in format 2"),
        (lambda card: card | {"format": "other"}, "is not a model file of capo's"),
        (lambda card: {"format": "capo-model"}, "is not a model file of capo's"),
        (lambda card: card | {"surprise": 1}, "does not say what a model file must say"),
        (lambda card: [1], "is not a model file of capo's"),
        (lambda card: card | {"format_version": float("inf")}, "is not a model file of capo's"),
        (lambda card: card | {"versions": None}, "does not say what a model file must say: see 'versions'"),
        (lambda card: card | {"schema": []}, "does not say what a model file must say: see 'schema'"),
        (lambda card: card | {"classes": 5}, "does not say what a model file must say: see 'classes'"),
        (
            lambda card: card | {"estimator": "sklearn.svm.SVC"},
            "says that it holds a sklearn.svm.SVC, and holds",
        ),
    ],
)
def test_cards_of_others_are_refused(card, sentence, saved, tmp_path):
    with zipfile.ZipFile(saved[0]) as archive:
        found = json.loads(archive.read("manifest.json"))
    path = rewritten(saved[0], tmp_path / "m.capo", **{"manifest.json": json.dumps(card(found)).encode()})
    with pytest.raises(ModelFileError, match=sentence):
        capo.load(path)


def test_files_of_others_are_refused(saved, tmp_path):
    path = tmp_path / "m.capo"
    for data, sentence in [
        (b"", "not a model file"),
        (b"a,b\n1,2\n", "not a model file"),
        (b"PK\x03\x04", "damaged"),
    ]:
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match=sentence):
            capo.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", b"<x/>")
    with pytest.raises(ModelFileError, match="is an archive, but not a model file of capo's"):
        capo.load(path)
    with pytest.raises(ModelFileError, match="there is no such file"):
        capo.load(tmp_path / "absent.capo")
    with pytest.raises(ModelFileError, match="Is a directory"):
        capo.load(tmp_path)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_damaged_files_get_a_sentence_or_are_what_they_were(data, saved, tmp_path_factory):
    path, model = saved
    whole = path.read_bytes()
    damaged = bytearray(whole)
    if data.draw(st.booleans()):
        damaged = damaged[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        for place in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
            damaged[place] = data.draw(st.integers(0, 255))
    broken = tmp_path_factory.mktemp("b") / "m.capo"
    broken.write_bytes(bytes(damaged))
    try:
        again = capo.load(broken)
    except ModelFileError:
        return
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_unknown_types_are_refused_unless_named(tmp_path):
    path = tmp_path / "m.capo"
    capo.save(light(auxiliaries=[("vendor", Vendor())]).fit(X, Y), path)
    name = f"{Vendor.__module__}.Vendor"
    with pytest.raises(ModelFileError, match=f"types that are not known to be safe: {name}"):
        capo.load(path)
    assert capo.load(path, trusted=[name]).predict(X).shape == (200,)


def test_no_code_runs_when_a_strangers_file_is_opened(saved, tmp_path):
    """A model that names a command in the place of one of its parts."""
    with zipfile.ZipFile(saved[0]) as archive:
        body = archive.read("model.skops")
    inner = tmp_path / "inner.zip"
    inner.write_bytes(body)
    with zipfile.ZipFile(inner) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    state = json.loads(parts["schema.json"])

    def poison(node):
        if isinstance(node, dict):
            if node.get("__class__") == "GaussianNB":
                node.update({"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"})
            for value in node.values():
                poison(value)
        elif isinstance(node, list):
            for value in node:
                poison(value)

    poison(state)
    parts["schema.json"] = json.dumps(state).encode()
    with zipfile.ZipFile(inner, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    path = rewritten(saved[0], tmp_path / "m.capo", **{"model.skops": inner.read_bytes()})
    with pytest.raises(ModelFileError, match=r"not known to be safe: os\.system\."):
        capo.load(path)


def test_what_cannot_be_saved_says_so_and_writes_nothing(tmp_path):
    path = tmp_path / "m.capo"
    with pytest.raises(ModelFileError, match="a measure can be given as a formula"):
        capo.save(light(lambda tp, fp, fn, tn: tp - fp).fit(X, Y), path)
    with pytest.raises(NotFittedError):
        capo.save(light(), path)
    assert os.listdir(tmp_path) == []


def test_another_scikit_learn_is_warned_of(saved, tmp_path):
    with zipfile.ZipFile(saved[0]) as archive:
        card = json.loads(archive.read("manifest.json"))
    card["versions"]["scikit-learn"] = "0.99.1"
    path = rewritten(saved[0], tmp_path / "m.capo", **{"manifest.json": json.dumps(card).encode()})
    with pytest.warns(CapoWarning, match="was written with scikit-learn 0.99.1"):
        capo.load(path)


def test_what_unpacks_to_far_more_is_refused(saved, tmp_path):
    path = tmp_path / "bomb.capo"
    with zipfile.ZipFile(saved[0]) as archive:
        parts = {name: archive.read(name) for name in ("manifest.json", "SHA256SUMS")}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**parts, "model.skops": bytes(10**8)}.items():
            archive.writestr(name, data)
    for opened in (capo.load, read_manifest):
        with pytest.raises(ModelFileError, match=r"its part 'model\.skops' unpacks to 100 MB"):
            opened(path)


def test_an_old_file_is_replaced_whole(saved, tmp_path, monkeypatch):
    path = tmp_path / "m.capo"
    path.write_bytes(saved[0].read_bytes())

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(capo.exceptions.OutputError, match=r"the disk is full\. Nothing was changed"):
        capo.save(saved[1], path)
    assert path.read_bytes() == saved[0].read_bytes()
    assert os.listdir(tmp_path) == ["m.capo"]
