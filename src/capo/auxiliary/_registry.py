"""All auxiliaries that can be given by name, in Python and on the command line.

A name stands for a function that returns an unfitted classifier for data with the columns of X.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from scipy.sparse import issparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from ..exceptions import InvalidInputError, MissingExtraError
from ..preprocessing import FeatureSchema, make_linear_features, make_tree_features
from ._defaults import (
    MIN_SAMPLES_LEAF,
    make_boosting,
    make_full_trees,
    make_kernel_machine,
    make_latent,
    make_linear,
    make_quick_boosting,
    make_svm,
    make_trees,
)
from ._sets import AUXILIARY_SETS, default_auxiliary_names

#: Makes an unfitted transformer or classifier for data like X, whose columns the schema describes.
FeatureMaker = Callable[[Any, FeatureSchema], Any]
#: Trees of a random forest.
N_FOREST_TREES = 200
#: The value of missing numbers for trees that cannot take them.
MISSING_NUMBER = -1e9


@dataclass(frozen=True)
class _Factory:
    """Makes a pipeline of features and a classifier for data with the columns of X.

    The classifier's package is imported when it is needed; `extra` is what to install if it is missing.
    """

    features: FeatureMaker
    module: str
    name: str
    params: dict[str, Any]
    extra: str | None = None

    def __call__(self, X: Any, schema: FeatureSchema) -> Any:
        """Return the unfitted classifier."""
        model = self._classifier()(**self.params)
        # Trees take a sparse matrix as it is.
        unchanged = issparse(X) and self.features is not _linear_features
        return model if unchanged else make_pipeline(self.features(X, schema), model)

    def _classifier(self) -> Any:
        try:
            return getattr(import_module(self.module), self.name)
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                f"the auxiliary needs {self.module}, which is not installed: pip install {self.extra}."
            ) from error
        except (ImportError, OSError) as error:  # such as a missing libgomp
            raise MissingExtraError(
                f"the auxiliary needs {self.module}, which is installed but cannot be imported: {error}."
            ) from error


def _linear_features(X: Any, schema: FeatureSchema) -> Any:
    """Return features for linear models, which may use the labels."""
    return make_linear_features(X, schema, uses_labels=True)


def _imputed_tree_features(X: Any, schema: FeatureSchema) -> Any:
    """Return features for trees that take no missing values."""
    imputer = SimpleImputer(strategy="constant", fill_value=MISSING_NUMBER)
    return make_pipeline(make_tree_features(X, schema), imputer)


def _make_forest(X: Any, schema: FeatureSchema) -> Any:
    model = RandomForestClassifier(N_FOREST_TREES, min_samples_leaf=MIN_SAMPLES_LEAF)
    return model if issparse(X) else make_pipeline(make_tree_features(X, schema), model)


def _make_neighbors(X: Any, schema: FeatureSchema) -> Any:
    return make_pipeline(_linear_features(X, schema), KNeighborsClassifier(25, algorithm="brute"))


def _make_naive_bayes(X: Any, schema: FeatureSchema) -> Any:
    return make_pipeline(_linear_features(X, schema), BernoulliNB())


_FACTORIES: dict[str, FeatureMaker] = {
    "boosting": make_boosting,
    "quick": make_quick_boosting,
    "trees": make_trees,
    "full_trees": make_full_trees,
    "linear": make_linear,
    "kernel": make_kernel_machine,
    "svm": make_svm,
    "latent": make_latent,
    "lgbm": _Factory(make_tree_features, "lightgbm", "LGBMClassifier", {"verbose": -1}, "lightgbm"),
    "xgb": _Factory(make_tree_features, "xgboost", "XGBClassifier", {}, "xgboost"),
    "rf": _make_forest,
    "knn": _make_neighbors,
    "nb": _make_naive_bayes,
    "cvm": _Factory(_linear_features, "capo.baselines", "CoreVectorMachine", {"C": 10.0}),
    "c45": _Factory(_imputed_tree_features, "capo.baselines", "C45Classifier", {}),
    "rbfnet": _Factory(_linear_features, "capo.baselines", "RBFNetworkClassifier", {}),
}


def auxiliary_names() -> list[str]:
    """Return all names that can be given as auxiliaries; "auto", "fast" and "best" stand for sets of them.

    Each is an estimator after the preparation of the columns that suits it:

    - boosting: `sklearn.ensemble.HistGradientBoostingClassifier`
    - quick: `sklearn.ensemble.HistGradientBoostingClassifier` with fewer trees
    - trees: `sklearn.ensemble.ExtraTreesClassifier` of 40 trees, or of 100 for many classes or labels
    - full_trees: `sklearn.ensemble.ExtraTreesClassifier` of 60 trees with leaves of one row
    - linear: `sklearn.linear_model.LogisticRegression`
    - kernel: `sklearn.linear_model.LogisticRegression` on a `Nystroem` basis
    - svm: `sklearn.svm.SVC` with C = 10
    - latent: `sklearn.ensemble.HistGradientBoostingClassifier` on a `TruncatedSVD` of a sparse matrix
    - lgbm: `lightgbm.LGBMClassifier`
    - xgb: `xgboost.XGBClassifier`
    - rf: `sklearn.ensemble.RandomForestClassifier` of 200 trees
    - knn: `sklearn.neighbors.KNeighborsClassifier` with 25 neighbors
    - nb: `sklearn.naive_bayes.BernoulliNB`
    - cvm: `capo.baselines.CoreVectorMachine` with C = 10
    - c45: `capo.baselines.C45Classifier`
    - rbfnet: `capo.baselines.RBFNetworkClassifier`

    Examples
    --------
    >>> from capo.auxiliary import auxiliary_names
    >>> "lgbm" in auxiliary_names()
    True
    """
    return [*AUXILIARY_SETS, *_FACTORIES]


def check_auxiliary_name(name: str) -> None:
    """Raise an error that suggests the nearest name if there is no auxiliary of this name."""
    known = auxiliary_names()
    if name not in known:
        packages = {each.extra: key for key, each in _FACTORIES.items() if isinstance(each, _Factory)}
        near = [packages[name]] if name in packages else difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Choose from {', '.join(known)}."
        raise InvalidInputError(f"there is no auxiliary {name!r}. {hint}")


def make_auxiliaries(name: str, X: Any, schema: FeatureSchema) -> list[tuple[str, Any]]:
    """Return the unfitted auxiliary of this name, or those of the set of this name, for data like X."""
    check_auxiliary_name(name)
    names = default_auxiliary_names(X, name) if name in AUXILIARY_SETS else [name]
    return [(each, _FACTORIES[each](X, schema)) for each in names]
