"""A model file names no folder, cache or file of the machine on which it is used."""

import io
import json
import zipfile

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

import capo
from capo import CAPOClassifier
from capo.exceptions import CapoWarning, ModelFileError

from .archives import edit_json, pack, read_parts, with_sums


@pytest.fixture(scope="module")
def data():
    return make_classification(120, 4, random_state=0)


@pytest.fixture
def fitted(data, tmp_path):
    inner = make_pipeline(LogisticRegression(), memory=str(tmp_path / "inner"))
    params = {"memory": str(tmp_path / "cache"), "n_jobs": 2, "verbose": 0, "random_state": 0}
    return CAPOClassifier("f1", auxiliaries=[inner], C=0.0, cv=2, **params).fit(*data)


def test_parameters_of_the_machine_are_not_stored(fitted, data, tmp_path):
    capo.save(fitted, tmp_path / "m.capo")
    for part in read_parts(tmp_path / "m.capo").values():
        inner = zipfile.ZipFile(io.BytesIO(part)).read("schema.json") if part.startswith(b"PK") else b""
        assert str(tmp_path).encode() not in part + inner
    opened = capo.load(tmp_path / "m.capo")
    assert (opened.memory, opened.n_jobs) == (None, None)
    assert opened.auxiliaries[0].memory is None
    np.testing.assert_array_equal(opened.predict(data[0]), fitted.predict(data[0]))
    assert fitted.auxiliaries[0].memory is not None  # saving changes nothing


def test_a_cache_that_a_file_names_is_not_used(fitted, tmp_path):
    """Training again would unpickle what the folder contains."""
    capo.save(fitted, tmp_path / "m.capo")
    parts = read_parts(tmp_path / "m.capo")
    state = json.loads(parts["state.json"])
    _, params, attributes = state["objects"][state["model"]["object"]]["estimator"]
    params["memory"] = str(tmp_path)
    (tmp_path / "bad.capo").write_bytes(pack(with_sums({**parts, "state.json": json.dumps(state).encode()})))
    assert capo.load(tmp_path / "bad.capo").memory is None
    attributes["memory"] = str(tmp_path)
    (tmp_path / "bad.capo").write_bytes(pack(with_sums({**parts, "state.json": json.dumps(state).encode()})))
    with pytest.raises(ModelFileError, match="no fitted attribute 'memory'"):
        capo.load(tmp_path / "bad.capo")


def edit_skops(path, edit):
    """Pass the schema of the only skops document of a file through a function."""
    parts = read_parts(path)
    name = next(name for name in parts if name.endswith(".skops"))
    with zipfile.ZipFile(io.BytesIO(parts[name])) as archive:
        inner = {each: archive.read(each) for each in archive.namelist()}
    schema = json.loads(inner["schema.json"])
    edit(schema)
    parts[name] = pack({**inner, "schema.json": json.dumps(schema).encode()})
    path.write_bytes(pack(with_sums(parts)))


def text(value):
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
    }


class OwnPipeline(Pipeline):
    """An estimator of the user's own, which skops writes."""


class OwnVectorizer(HashingVectorizer):
    """Another one."""


def test_a_cache_of_an_estimator_in_a_file_is_dropped(tmp_path):
    path = tmp_path / "m.capo"
    with pytest.warns(CapoWarning, match="OwnPipeline"):
        capo.save(OwnPipeline([("linear", LogisticRegression())]).fit([[0.0], [1.0]], [0, 1]), path)
    edit_skops(path, lambda schema: schema["content"]["content"].update(memory=text(str(tmp_path))))
    assert capo.load(path, trusted=[f"{__name__}.OwnPipeline"]).memory is None


@pytest.mark.parametrize("kind", ["filename", "file"])
def test_an_estimator_that_reads_files_is_refused(kind, tmp_path):
    path = tmp_path / "m.capo"
    words = CountVectorizer().fit(["some words about memory and input"])
    capo.save(words, path)
    assert capo.load(path).vocabulary_ == words.vocabulary_

    def edit(state):
        state["objects"][0]["estimator"][1]["input"] = kind
        return state

    with pytest.raises(ModelFileError, match="reads files"):
        capo.load(edit_json(path, tmp_path / "bad.capo", "state.json", edit))
    with pytest.raises(ModelFileError, match="reads files"):
        capo.save(words.set_params(input=kind), tmp_path / "again.capo")


@pytest.mark.parametrize("kind", ["filename", "file"])
def test_an_estimator_in_a_skops_document_that_reads_files_is_refused(kind, tmp_path):
    path = tmp_path / "m.capo"
    words = OwnVectorizer().fit(["some words"])
    with pytest.warns(CapoWarning, match="OwnVectorizer"):
        capo.save(words, path)
    capo.load(path, trusted=[f"{__name__}.OwnVectorizer"])
    edit_skops(path, lambda schema: schema["content"]["content"].update(input=text(kind)))
    with pytest.raises(ModelFileError, match="reads files"):
        capo.load(path, trusted=[f"{__name__}.OwnVectorizer"])
    with pytest.raises(ModelFileError, match="reads files"):
        capo.save(words.set_params(input=kind), tmp_path / "again.capo")
