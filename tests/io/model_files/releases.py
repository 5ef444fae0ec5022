"""Models that files carry from one release of scikit-learn to another.

    python -m tests.io.model_files.releases write FOLDER [MODEL...]
    python -m tests.io.model_files.releases read FOLDER...

The first trains models and writes their files and outputs; the second compares the outputs after reading.
`make test-files` writes under every release that capo supports, and reads all the files under each of them.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import sklearn
from lightgbm import LGBMClassifier
from scipy.sparse import csr_matrix
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import capo
from capo import CAPOClassifier, SVMPerfClassifier
from capo.exceptions import CapoWarning

N_ROWS = 60
WORDS = ["late", "early", "broken", "fine", "lost", "again", "never", "soon"]
_RANDOM = np.random.RandomState(0)  # its numbers are the same in every release of NumPy
NUMBERS = _RANDOM.normal(size=(N_ROWS, 4)).round(2)
TEXTS = [" ".join(_RANDOM.choice(WORDS, 6)) for _ in range(N_ROWS)]
SIGNAL = NUMBERS[:, 0] + np.array([text.count("late") for text in TEXTS]) + _RANDOM.normal(size=N_ROWS)
TABLE = pl.DataFrame(
    {
        "number": NUMBERS[:, 0],
        "gap": [None if i % 7 == 0 else each for i, each in enumerate(NUMBERS[:, 1].tolist())],
        "category": _RANDOM.choice(["red", "green", "blue"], N_ROWS).tolist(),
        "date": [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in _RANDOM.permutation(N_ROWS)],
        "text": TEXTS,
    }
)
TWO = np.where(np.median(SIGNAL) < SIGNAL, "yes", "no")
MANY = np.array(["low", "mid", "high"])[np.digitize(SIGNAL, np.quantile(SIGNAL, [0.33, 0.66]))]
LABELS = np.column_stack([np.median(SIGNAL) < SIGNAL, NUMBERS[:, 0] > 0.5]).astype(int)
COUNTS = csr_matrix([[float(text.count(word)) for word in WORDS] for text in TEXTS])
OTHERS = [
    SVMPerfClassifier("f1", kernel="rbf"),
    CalibratedClassifierCV(GaussianNB(), cv=2),
    CalibratedClassifierCV(LinearSVC(random_state=0), method="isotonic", cv=2),
    VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())], voting="soft"),
    StackingClassifier([("a", GaussianNB()), ("b", LinearSVC())], LogisticRegression(), cv=2),
    BaggingClassifier(GaussianNB(), 3, random_state=0),
    AdaBoostClassifier(n_estimators=3, random_state=0),
    GradientBoostingClassifier(n_estimators=3, random_state=0),
    RandomForestClassifier(3, random_state=0),
    GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]}, cv=2),
    OneVsRestClassifier(LogisticRegression()),
    MLPClassifier((3,), max_iter=20, random_state=0),
    make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)),
    make_pipeline(RobustScaler(), RidgeClassifier()),
    make_pipeline(MinMaxScaler(), PCA(2), LinearDiscriminantAnalysis()),
    make_pipeline(SimpleImputer(), QuadraticDiscriminantAnalysis(reg_param=0.1)),
    make_pipeline(QuantileTransformer(n_quantiles=10), SVC()),
    make_pipeline(PolynomialFeatures(2), KNeighborsClassifier(3)),
    make_pipeline(SplineTransformer(), LogisticRegression()),
    LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1, min_child_samples=5),
    XGBClassifier(n_estimators=3, n_jobs=1),
]


def make(measure, auxiliaries="auto", **params):
    return CAPOClassifier(measure, auxiliaries=auxiliaries, cv=2, random_state=0, **params)


NAMED = ["lgbm", "xgb", "rf", "knn", "nb", "cvm", "c45", "rbfnet", "svm"]
#: Models whose files are in the repository, in the folder `written_by`.
SMALL = {
    "two-classes": (make("f1", "fast"), TABLE, TWO),
    "many-classes": (make("accuracy", ["linear", "svm"]), TABLE, MANY),
    "labels": (make("f1_micro", ["linear", "nb"]), TABLE, LABELS),
    "estimators": (make("f1", OTHERS[:-1], C=1.0), NUMBERS, TWO),
}
MODELS = {
    **SMALL,
    "two-classes-auto": (make("f1"), TABLE, TWO),
    "many-classes-fast": (make("accuracy", "fast"), TABLE, MANY),
    "many-classes-auto": (make("accuracy"), TABLE, MANY),
    "labels-fast": (make("f1_micro", "fast"), TABLE, LABELS),
    "labels-auto": (make("f1_micro"), TABLE, LABELS),
    "counts": (make("roc_auc"), COUNTS, TWO),
    "named": (make("f1", NAMED, C=1.0), TABLE, TWO),
    "many-estimators": (make("accuracy", OTHERS[1:]), NUMBERS, MANY),
}


def compute_outputs(model, rows):
    return [np.asarray(model.decision_function(rows)).tolist(), np.asarray(model.predict(rows)).tolist()]


def write(folder, names):
    folder.mkdir(parents=True, exist_ok=True)
    outputs = {}
    for name in names:
        model, rows, target = MODELS[name]
        capo.save(model.fit(rows, target), folder / f"{name}.capo")
        outputs[name] = compute_outputs(model, rows)
    (folder / "outputs.json").write_text(json.dumps(outputs))


def read(folder):
    """Yield each model's name, the outputs when it was written, and those after reading."""
    for name, expected in json.loads((folder / "outputs.json").read_text()).items():
        yield name, expected, compute_outputs(capo.load(folder / f"{name}.capo"), MODELS[name][1])


def main(command, folder, *others):
    warnings.simplefilter("ignore")  # deprecations in other packages
    if command == "write":
        write(Path(folder), others or MODELS)
        return
    warnings.simplefilter("error", CapoWarning)
    for each in (folder, *others):
        wrong = [name for name, expected, found in read(Path(each)) if found != expected]
        if wrong:
            raise SystemExit(
                f"scikit-learn {sklearn.__version__}: other outputs of {each}: {', '.join(wrong)}"
            )
        print(f"scikit-learn {sklearn.__version__}: same outputs of {each}")


if __name__ == "__main__":
    main(*sys.argv[1:])
