"""Model files of released formats open for ever, and predict what they did."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from packaging.version import Version

import capo
from capo.exceptions import CapoWarning

FOLDER = Path(__file__).parents[2] / "data"
STORED = sorted(FOLDER.glob("model-format-*.capo"))


def test_there_are_stored_files():
    names = {path.stem.rpartition("-")[2] for path in STORED}
    assert names >= {"capo", "reversed", "svmperf", "multiclass", "multilabel"}
    assert sum(path.stat().st_size for path in STORED) < 100_000


@pytest.mark.optional_packages
@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_stored_model_predicts_what_it_did(path, tmp_path):
    if path.stem.endswith("multiclass") and Version(sklearn.__version__) < Version("1.8"):
        pytest.skip("scikit-learn before 1.8 cannot use a logistic regression of many classes of a later one")
    expected = json.loads(path.with_suffix(".json").read_text())
    X = np.array(expected["X"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CapoWarning)  # another scikit-learn
        model = capo.load(path)
    np.testing.assert_allclose(model.decision_function(X), expected["decision"], rtol=1e-7, atol=1e-9)
    assert model.predict(X).tolist() == expected["labels"]
    capo.save(model, tmp_path / "again.capo")


@pytest.mark.optional_packages
def test_the_classes_of_an_older_file_are_sorted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CapoWarning)  # another scikit-learn
        model = capo.load(FOLDER / "model-format-2-reversed.capo")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.pos_label_ == "no"
