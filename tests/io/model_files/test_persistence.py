"""Model files: what goes in comes out, and nothing else does."""

import io
import json
import os
import re
import warnings
import zipfile
from importlib.metadata import version

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from scipy.sparse import csr_array
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM
from xgboost import XGBClassifier

import capo
from capo import CAPOClassifier, SVMPerfClassifier, SVMPerfClassifierCV, measures
from capo.baselines import (
    C45Classifier,
    CoreVectorMachine,
    CostSVMClassifier,
    PublishedCAPOClassifier,
    RBFNetworkClassifier,
)
from capo.exceptions import CapoWarning, ModelFileError
from capo.io.model_file import open_model, read_manifest
from capo.tables.features import DropEmptyColumns

from .archives import edit_json, read_parts, rewrite, with_sums

X, Y = load_breast_cancer(return_X_y=True)
X = X[:200, :6]
Y = Y[:200]
LIGHT = [("nb", GaussianNB())]


class Vendor:
    """A model of the user's own."""

    def predict(self, X):
        return X[:, 0] < 14


def light(measure="f1", **params):
    return CAPOClassifier(measure, **{"auxiliaries": LIGHT, "cv": 3, "random_state": 0, **params})


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        light("recall_at_precision"),
        light("10 * tp - 2 * fp"),
        light("f1", C=1.0, delta="rbf"),
        PublishedCAPOClassifier("f1", auxiliaries=LIGHT, C=1.0, random_state=0),
        light(
            auxiliaries=[
                LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1),
                XGBClassifier(n_estimators=5, n_jobs=1),
            ]
        ),
        light(auxiliaries=[RandomForestClassifier(5), FrozenEstimator(LogisticRegression().fit(X / 50, Y))]),
        light(auxiliaries=[C45Classifier(), CoreVectorMachine(tol=1e-3), RBFNetworkClassifier()]),
        light(
            auxiliaries=[
                make_pipeline(StandardScaler(), LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1))
            ]
        ),
        light(auxiliaries=[make_pipeline(StandardScaler(), XGBClassifier(n_estimators=3, n_jobs=1))]),
        light(auxiliaries=[make_pipeline(DropEmptyColumns(), SVMPerfClassifier("f1"))]),
        light(auxiliaries=[CalibratedClassifierCV(GaussianNB()), MLPClassifier((3,), max_iter=20)]),
        light(
            auxiliaries=[VotingClassifier([("nb", GaussianNB()), ("trees", GradientBoostingClassifier())])]
        ),
        light(auxiliaries=[light(C=1.0)]),
        light(cv=StratifiedKFold(3)),
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
        model = light(name, C=[1.0], cv=2).fit(X, Y)
    assert round_trip(model, tmp_path).measure_ == measures.get(name)


@pytest.mark.parametrize("library", [pd.DataFrame, pytest.param(pl.DataFrame, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore::capo.exceptions.DataWarning")
def test_the_default_model_of_a_mixed_table_comes_back(library, tmp_path):
    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b", "c"], 200).tolist()
    values = X[:, 0] + np.where(rng.random(200) < 0.1, np.nan, 0.0)
    table = library({"n": values, "flag": Y == 1, "word": words})
    model = CAPOClassifier("f1", cv=2, random_state=0).fit(table, np.where(Y, "yes", "no"))
    again = round_trip(model, tmp_path, table)
    assert str(again.summary()) == str(model.summary())
    assert again.get_params()["measure"] == "f1"
    assert "skops" not in read_manifest(tmp_path / "m.capo").versions


@pytest.mark.parametrize("family", [measures.multiclass, measures.multilabel])
def test_every_measure_of_many_classes_and_labels_can_be_kept(family, tmp_path):
    model = SVMPerfClassifier("f1")
    model.classes_ = np.array([0, 1])
    params = {"cost": {"matrix": [[0, 1], [2, 0]]}, "gain": {"matrix": [[1, 0], [0, 2]]}}
    model.value_ = [family.get(name, **params.get(name, {})) for name in family.names()]
    capo.save(model, tmp_path / "m.capo")
    assert repr(capo.load(tmp_path / "m.capo").value_) == repr(model.value_)


def test_the_manifest_describes_the_model(saved):
    path, model = saved
    manifest = read_manifest(path)
    assert manifest == open_model(path)[1]
    assert (manifest.measure, manifest.classes, manifest.threshold) == ("f1", [0, 1], model.threshold_)
    assert manifest.estimator == "CAPOClassifier"
    assert manifest.training == {"table": "cancer"}
    assert manifest.summary == str(model.summary())
    assert manifest.versions["capo-learn"] == capo.__version__
    assert manifest.versions["scikit-learn"] == version("scikit-learn")
    parts = read_parts(path)
    assert parts == with_sums(parts)


@pytest.mark.parametrize(
    ("model", "packages"),
    [
        (SVMPerfClassifier("f1"), set()),
        (light(C=0.0), set()),
        (light(C=0.0, auxiliaries=[KNeighborsClassifier()]), set()),
        (light(C=0.0, auxiliaries=[LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1)]), {"lightgbm"}),
        (light(C=0.0, auxiliaries=[XGBClassifier(n_estimators=2, n_jobs=1)]), {"xgboost"}),
    ],
    ids=["svmperf", "scikit-learn", "neighbors", "lightgbm", "xgboost"],
)
def test_the_manifest_lists_the_packages_that_the_model_needs(model, packages, tmp_path):
    path = tmp_path / "m.capo"
    capo.save(model.fit(X, Y), path)
    base = {"python", "capo-learn", "numpy", "scipy", "scikit-learn"}
    assert set(read_manifest(path).versions) == base | packages


def test_numbers_that_json_lacks_are_null_in_the_manifest(saved, tmp_path):
    path = tmp_path / "m.capo"
    capo.save(saved[1], path, training={"values": [np.nan, 1.0], "inf": -np.inf})
    assert read_manifest(path).training == {"values": [None, 1.0], "inf": None}


def test_no_path_of_a_module_of_capo_is_in_a_file(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"n": X[:, 0], "empty": np.nan, "word": rng.choice(["a", "b"], 200)})
    path = tmp_path / "m.capo"
    capo.save(CAPOClassifier("10 * tp - fp", cv=2, random_state=0).fit(table, Y), path)
    parts = read_parts(path)
    for name, data in parts.items():
        if name.endswith(".skops"):
            with zipfile.ZipFile(io.BytesIO(data)) as inner:
                parts[name] = inner.read("schema.json")
    paths = {found for data in parts.values() for found in re.findall(rb"capo\.[a-z_.]+", data)}
    assert paths == set()


def test_edited_parts_are_noticed(saved, tmp_path):
    path, _ = saved
    parts = read_parts(path)
    edited = parts["manifest.json"].replace(b'"f1"', b'"f2"')
    for change in ({"manifest.json": edited}, {"state.json": parts["state.json"] + b" "}):
        with pytest.raises(ModelFileError, match="has been changed or damaged since it was written"):
            capo.load(rewrite(path, tmp_path / "edited.capo", change, sums=False))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"format_version": 2}, "was written by a newer version of capo, in format 2"),
        *(({"format_version": number}, "is not a capo model file") for number in (-5, "1", None, 1.0, True)),
        ({"format_version": float("inf")}, "is not a capo model file"),
        ({"threshold": float("nan")}, "is not a capo model file"),
        ({"format": "other"}, "is not a capo model file"),
        ({"surprise": 1}, "has a malformed manifest: see 'surprise'"),
        ({"versions": None}, "has a malformed manifest: see 'versions'"),
        ({"schema": []}, "has a malformed manifest: see 'schema'"),
        ({"classes": 5}, "has a malformed manifest: see 'classes'"),
        ({"estimator": "sklearn.svm.SVC"}, "describes a sklearn.svm.SVC, but contains a CAPOClassifier"),
    ],
)
def test_manifests_of_others_are_refused(changes, sentence, saved, tmp_path):
    path = edit_json(saved[0], tmp_path / "m.capo", "manifest.json", lambda manifest: manifest | changes)
    with pytest.raises(ModelFileError, match=sentence):
        capo.load(path)


@pytest.mark.parametrize("manifest", [[1], {"format": "capo-model"}, "text", 5, None])
def test_manifests_that_are_none_are_refused(manifest, saved, tmp_path):
    path = rewrite(saved[0], tmp_path / "m.capo", {"manifest.json": json.dumps(manifest).encode()})
    for opened in (capo.load, read_manifest):
        with pytest.raises(ModelFileError, match="is not a capo model file"):
            opened(path)


def test_a_file_that_is_no_archive_is_not_read(tmp_path):
    """It may be larger than memory."""
    path = tmp_path / "m.capo"
    with path.open("wb") as file:
        file.truncate(2**42)
    for opened in (capo.load, read_manifest):
        with pytest.raises(ModelFileError, match="is not a capo model file"):
            opened(path)


def test_files_of_others_are_refused(saved, tmp_path):
    path = tmp_path / "m.capo"
    for data, sentence in [
        (b"", "not a capo model file"),
        (b"a,b\n1,2\n", "not a capo model file"),
        (b"PK\x03\x04", "damaged"),
    ]:
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match=sentence):
            capo.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", b"<x/>")
    with pytest.raises(ModelFileError, match="is an archive, but not a capo model file"):
        capo.load(path)
    with pytest.raises(ModelFileError, match="there is no such file"):
        capo.load(tmp_path / "absent.capo")
    with pytest.raises(ModelFileError, match="Is a directory"):
        capo.load(tmp_path)


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
    path, name = tmp_path / "m.capo", f"{Vendor.__module__}.Vendor"
    with pytest.warns(CapoWarning, match=rf"open it with trusted=\['{name}'\].* same releases") as caught:
        capo.save(light(auxiliaries=[("vendor", Vendor())]).fit(X, Y), path)
    assert caught[0].filename == __file__
    assert "skops" in read_manifest(path).versions
    with pytest.raises(ModelFileError, match=f"types that are not known to be safe: {name}"):
        capo.load(path)
    assert capo.load(path, trusted=[name]).predict(X).shape == (200,)


def test_a_class_of_the_running_program_is_not_saved(tmp_path, monkeypatch):
    """No other program would find it."""
    monkeypatch.setattr(Vendor, "__module__", "__main__")
    monkeypatch.setattr("__main__.Vendor", Vendor, raising=False)
    with pytest.raises(ModelFileError, match=r"__main__\.Vendor is defined in the running program"):
        capo.save(light(auxiliaries=[("vendor", Vendor())]).fit(X, Y), tmp_path / "m.capo")
    assert os.listdir(tmp_path) == []


def test_types_that_differ_between_releases_are_no_question_of_trust(tmp_path):
    def edit(manifest):
        manifest["versions"]["scikit-learn"] = "1.7.2"
        return manifest

    model = GaussianProcessClassifier().fit(X[:20], Y[:20])
    with pytest.warns(CapoWarning, match="contains types that capo cannot check"):
        capo.save(model, tmp_path / "m.capo")
    with pytest.raises(ModelFileError, match="not known to be safe: sklearn"):
        capo.load(tmp_path / "m.capo")
    other = edit_json(tmp_path / "m.capo", tmp_path / "other.capo", "manifest.json", edit)
    if not sklearn.__version__.startswith("1.7."):
        with pytest.raises(ModelFileError, match=r"they differ in sklearn.* open it with scikit-learn 1\.7"):
            capo.load(other)


def test_a_tested_release_is_not_warned_of(saved, tmp_path):
    def edit(manifest):
        manifest["versions"]["scikit-learn"] = "1.8.0"
        return manifest

    capo.load(edit_json(saved[0], tmp_path / "m.capo", "manifest.json", edit))  # a warning would be an error


def test_products_are_the_same_to_the_last_bit(tmp_path):
    """Linear algebra rounds differently when an array is stored in another order."""
    for n_components in (3, 6):
        model = PCA(n_components).fit(X)
        capo.save(model, tmp_path / "m.capo")
        np.testing.assert_array_equal(capo.load(tmp_path / "m.capo").transform(X), model.transform(X))


def test_a_random_state_goes_on_where_it_was(tmp_path):
    random = np.random.RandomState(3)
    random.normal(size=3)
    model = GaussianNB().fit(X, Y)
    model.random_ = random
    capo.save(model, tmp_path / "m.capo")
    again = capo.load(tmp_path / "m.capo").random_
    np.testing.assert_array_equal(again.normal(size=1000), random.normal(size=1000))


@pytest.mark.parametrize("scoring", [None, "f1"])
def test_a_search_can_be_scored_again(scoring, tmp_path):
    model = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, cv=2, scoring=scoring).fit(X, Y)
    capo.save(model, tmp_path / "m.capo")
    again = capo.load(tmp_path / "m.capo")
    assert again.score(X, Y) == model.score(X, Y)
    assert list(again.cv_results_) == list(model.cv_results_)


def test_what_cannot_be_saved_says_so_and_writes_nothing(tmp_path):
    path = tmp_path / "m.capo"
    with pytest.raises(ModelFileError, match="a measure can be a formula"):
        capo.save(light(lambda tp, fp, fn, tn: tp - fp).fit(X, Y), path)
    with pytest.raises(NotFittedError):
        capo.save(light(), path)
    assert os.listdir(tmp_path) == []


def test_another_scikit_learn_is_warned_of(saved, tmp_path):
    def edit(manifest):
        manifest["versions"]["scikit-learn"] = "0.99.1"
        return manifest

    path = edit_json(saved[0], tmp_path / "m.capo", "manifest.json", edit)
    with pytest.warns(CapoWarning, match="was written with scikit-learn 0.99, this is") as caught:
        capo.load(path)
    assert caught[0].filename == __file__


def test_one_object_in_several_places_stays_one(tmp_path):
    frozen = FrozenEstimator(LogisticRegression().fit(X / 50, Y))
    model = light(auxiliaries=[("a", frozen), ("nb", GaussianNB())], C=1.0).fit(X, Y)
    again = round_trip(model, tmp_path)
    assert again.auxiliaries[0][1] is again.auxiliaries_["a"]


def test_sparse_rows_come_back(tmp_path):
    rows = csr_array(np.where(np.median(X, axis=0) < X, X, 0.0))
    model = SVMPerfClassifier("f1", kernel="rbf").fit(rows, Y)
    assert round_trip(model, tmp_path, rows).support_vectors_.format == "csr"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda values: (
            st.lists(values) | st.tuples(values, values) | st.dictionaries(st.text() | st.integers(), values)
        ),
        max_leaves=10,
    )
)
def test_plain_values_come_back(tmp_path_factory, value):
    model = SVMPerfClassifier("f1")
    model.classes_ = np.array([0, 1])
    model.value_ = [value, np.float32(1.5), np.str_("a"), slice(1, None), {1, 2}, np.array([[None, "x"]])]
    path = tmp_path_factory.mktemp("m") / "m.capo"
    capo.save(model, path)
    assert repr(capo.load(path).value_) == repr(model.value_)


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


def test_support_vector_machines_of_all_shapes_come_back(tmp_path):
    many = np.digitize(X[:, 0], [12.0, 15.0])
    cases = [
        (SVC(), X, Y),
        (SVC(), csr_array(X), many),
        (SVC(kernel="precomputed"), X @ X.T, many),
        (NuSVC(nu=0.1), X, many),
        (SVR(), X, X[:, 0]),
        (OneClassSVM(), X, None),
    ]
    for model, rows, target in cases:
        capo.save(model.fit(rows, target), tmp_path / "m.capo")
        np.testing.assert_array_equal(capo.load(tmp_path / "m.capo").predict(rows), model.predict(rows))
