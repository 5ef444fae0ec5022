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
from ..preprocessing import make_linear_features, make_tree_features
from ._defaults import (
    MIN_SAMPLES_LEAF,
    default_auxiliary_names,
    make_boosting,
    make_kernel_machine,
    make_latent,
    make_linear,
    make_svm,
    make_trees,
)

#: The name that stands for the default set.
AUTO = "auto"
#: Trees of a random forest.
N_FOREST_TREES = 200
#: The value of missing numbers for trees that cannot take them.
MISSING_NUMBER = -1e9


@dataclass(frozen=True)
class _Factory:
    """Makes a pipeline of features and a classifier for data with the columns of X.

    The classifier's package is imported when it is needed; `extra` is what to install if it is missing.
    """

    features: Callable[[Any], Any]
    module: str
    name: str
    params: dict[str, Any]
    extra: str | None = None

    def __call__(self, X: Any) -> Any:
        """Return the unfitted classifier."""
        model = self._classifier()(**self.params)
        # Trees take a sparse matrix as it is.
        unchanged = issparse(X) and self.features is not make_linear_features
        return model if unchanged else make_pipeline(self.features(X), model)

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


def _imputed_tree_features(X: Any) -> Any:
    """Return features for trees that take no missing values."""
    return make_pipeline(make_tree_features(X), SimpleImputer(strategy="constant", fill_value=MISSING_NUMBER))


def _make_forest(X: Any) -> Any:
    model = RandomForestClassifier(N_FOREST_TREES, min_samples_leaf=MIN_SAMPLES_LEAF)
    return model if issparse(X) else make_pipeline(make_tree_features(X), model)


_FACTORIES: dict[str, Callable[[Any], Any]] = {
    "boosting": make_boosting,
    "trees": make_trees,
    "linear": make_linear,
    "kernel": make_kernel_machine,
    "svm": make_svm,
    "latent": make_latent,
    "lgbm": _Factory(make_tree_features, "lightgbm", "LGBMClassifier", {"verbose": -1}, "lightgbm"),
    "xgb": _Factory(make_tree_features, "xgboost", "XGBClassifier", {}, "xgboost"),
    "rf": _make_forest,
    "knn": lambda X: make_pipeline(make_linear_features(X), KNeighborsClassifier(25, algorithm="brute")),
    "nb": lambda X: make_pipeline(make_linear_features(X), BernoulliNB()),
    "cvm": _Factory(make_linear_features, "capo.baselines", "CoreVectorMachine", {"C": 10.0}),
    "c45": _Factory(_imputed_tree_features, "capo.baselines", "C45Classifier", {}),
    "rbfnet": _Factory(make_linear_features, "capo.baselines", "RBFNetworkClassifier", {}),
}


def auxiliary_names() -> list[str]:
    """Return all names that can be given as auxiliaries; "auto" stands for the default set.

    Examples
    --------
    >>> from capo.auxiliary import auxiliary_names
    >>> "lgbm" in auxiliary_names()
    True
    """
    return [AUTO, *_FACTORIES]


def check_auxiliary_name(name: str) -> None:
    """Raise an error that suggests the nearest name if there is no auxiliary of this name."""
    known = auxiliary_names()
    if name not in known:
        packages = {each.extra: key for key, each in _FACTORIES.items() if isinstance(each, _Factory)}
        near = [packages[name]] if name in packages else difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Choose from {', '.join(known)}."
        raise InvalidInputError(f"there is no auxiliary {name!r}. {hint}")


def make_auxiliaries(name: str, X: Any) -> list[tuple[str, Any]]:
    """Return the unfitted auxiliary of this name, or the default set for "auto", for data like X."""
    check_auxiliary_name(name)
    names = default_auxiliary_names(X) if name == AUTO else [name]
    return [(each, _FACTORIES[each](X)) for each in names]
