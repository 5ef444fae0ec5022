"""Write the model files of the present format that every later version must open.

Run from the root of the repository, and only when the format's version is raised, or before the first
release that has it::

    python -m tests.data.make_model_fixture [NAME ...]

Names of models limit what is written. The file `model-format-2-reversed` is none of them: it was written
before models had `pos_label_`, when the positive class was the second of `classes_`.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import capo
from capo import CAPOClassifier, SVMPerfClassifier
from capo.io.model_file import FORMAT_VERSION
from capo.tables.features import DropEmptyColumns

FOLDER = Path(__file__).parent


def training_table():
    """60 rows of three columns, and their labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=60) > 0.3, "yes", "no")


def many_targets(X):
    """Three classes, and a matrix of three labels, of rows of the table."""
    classes = np.array(["blue", "green", "red"])[np.digitize(X[:, 0], [-0.6, 0.5])]
    return classes, (X > [0.0, 0.3, 1.0]).astype(int)


def fit_models():
    """The models by name."""
    X, y = training_table()
    rule = FrozenEstimator(LogisticRegression().fit(X[:, :3] * [1, 0, 0], y))
    logistic = make_pipeline(DropEmptyColumns(), StandardScaler(), LogisticRegression())
    adapted = CAPOClassifier(
        "f1", auxiliaries=[("logistic", logistic), ("rule", rule)], C=1.0, cv=2, random_state=0
    )
    classes, labels = many_targets(X)
    light = {"auxiliaries": [("logistic", LogisticRegression())], "cv": 2, "random_state": 0}
    return {
        "capo": adapted.fit(X, y),
        "svmperf": SVMPerfClassifier("f1", C=10.0).fit(X, y),
        "multiclass": CAPOClassifier("f1_macro", **light).fit(X, classes),
        "multilabel": CAPOClassifier("f1_micro", C=0.0, **light).fit(X, labels),
    }


def main(*names):
    """Write the files, and the predictions that they must reproduce."""
    X, _ = training_table()
    models = fit_models()
    for name in names or models:
        model = models[name]
        path = FOLDER / f"model-format-{FORMAT_VERSION}-{name}.capo"
        capo.save(model, path)
        expected = {"decision": model.decision_function(X).tolist(), "labels": model.predict(X).tolist()}
        path.with_suffix(".json").write_text(json.dumps({"X": X.tolist(), **expected}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
