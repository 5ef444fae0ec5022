"""The auxiliary classifiers: the default sets, names, validation.

They accept data frames with text, categories and missing values. For a sparse matrix the trees use
the columns that separate the classes best, and a second boosting uses its leading singular directions in
place of the kernel machine. "auto" is the default set, "fast" costs less.

A name stands for a function that returns an unfitted classifier for data with the columns of X, which
`schema` describes. Some are others for many classes, or for the labels of a label matrix.

Classifiers that take a label matrix by themselves, such as random trees, are trained on it once. Any other is
trained once per label, on features that the labels share.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_regressor
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest, SelectorMixin, f_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import has_fit_parameter

from .._compat import FloatArray, IntArray, NDArray, name_estimators
from ..exceptions import IgnoredWeightWarning, InvalidInputError, MissingExtraError
from ..tables.features import (
    count_directions,
    make_linear_features,
    make_rbf_features,
    make_score_features,
    make_tree_features,
    ordinal_columns,
)
from ..tables.kinds import is_dataframe, to_text
from ..tables.schema import FeatureSchema
from .cross_fit import Auxiliary
from .outputs import SCORE_METHODS, ScoreOutput

#: The set that is used by default, and the one that costs less.
AUTO, FAST = "auto", "fast"
#: Names that stand for a set of auxiliaries.
AUXILIARY_SETS = (AUTO, FAST)
#: Up to this many rows a support vector machine with the exact kernel costs no more than the rest.
MAX_ROWS_FOR_SVM = 10_000
#: With at least this many columns the default set has the exact kernel, which a small basis is far from.
MIN_COLUMNS_FOR_SVM = 100
#: Up to this many rows of nothing but vectors, boosting and fully grown trees, which see their leading
#: directions only, make the default set worse.
MAX_ROWS_FOR_VECTOR_SET = 2_000
#: With more labels than this, the default set has no models that take seconds per label.
MAX_LABELS_FOR_SLOW_AUXILIARIES = 10

#: Rows that each leaf of a random tree needs, unless it is fully grown.
MIN_SAMPLES_LEAF = 2
#: Share of the columns that a split of a fully grown tree considers, and their largest number.
FULL_TREES_MAX_FEATURES, FULL_TREES_MAX_COLUMNS = 0.5, 30
#: From this many rows on, each random tree of two classes is trained on a sample of them.
MIN_ROWS_FOR_TREE_SAMPLES = 15_000
#: Rows of such a sample, and the share of the rows that it has of larger tables.
N_TREE_SAMPLES, TREE_SAMPLES_SHARE = 12_000, 1 / 8
#: Boosting of two classes: smaller trees than scikit-learn's, whose splits each see a random half of the
#: columns. Without a penalty, the leaves diverge where there are few positive rows. With early stopping,
#: scikit-learn's default above 10,000 rows, a tenth of the rows would not be learned from.
BOOSTING = {
    "learning_rate": 0.1,
    "max_iter": 80,
    "early_stopping": False,
    "max_leaf_nodes": 15,
    "min_samples_leaf": 10,
    "l2_regularization": 1.0,
    "max_features": 0.5,
}
#: Boosting with fewer and larger steps, of each label of a label matrix and for the set that costs less.
LABEL_BOOSTING = {"learning_rate": 0.15, "max_iter": 60, "l2_regularization": 1.0}
QUICK_BOOSTING = {**LABEL_BOOSTING, "early_stopping": False, "max_leaf_nodes": 15}
#: Boosting of many classes. Without a penalty, the trees of a class with a few rows diverge and spoil all
#: probabilities.
CLASS_BOOSTING = {"l2_regularization": 1.0, "min_samples_leaf": 5}
#: Different answers that a score column of texts may hold.
MAX_ANSWERS = 50
#: Columns of a sparse matrix that trees use.
MAX_SPARSE_COLUMNS = 300
#: Components of the truncated singular value decomposition.
N_LATENT_COMPONENTS = 60
#: The auxiliaries that other packages contain, by the names of the packages.
PACKAGES = {"lightgbm": "lgbm", "xgboost": "xgb"}

#: Makes an unfitted classifier for data like X, whose columns the schema describes.
Factory = Callable[[Any, FeatureSchema], Any]


def class_separation(X: Any, y: Any) -> tuple[Any, Any]:
    """Return the F statistic of each column; columns that are constant in a fold come last, silently.

    For a label matrix it is the largest one over the labels.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if np.ndim(y) == 1:
            return f_classif(X, y)
        found = [f_classif(X, column) for column in np.asarray(y).T if column.min() < column.max()]
    statistics, p_values = (np.array(part) for part in zip(*found, strict=True))
    return np.nan_to_num(statistics).max(axis=0), p_values.min(axis=0)


def to_dense(X: Any) -> Any:
    """Return a sparse matrix as an array."""
    return X.toarray() if issparse(X) else X


def _make_boosting(params: dict[str, Any], X: Any, schema: FeatureSchema) -> Pipeline:
    if issparse(X):
        densifier = FunctionTransformer(to_dense, accept_sparse=True)
        return make_pipeline(_best_columns(X), densifier, HistGradientBoostingClassifier(**params))
    encoded = list(range(len(ordinal_columns(schema))))
    boosting = HistGradientBoostingClassifier(categorical_features=encoded or None, **params)
    return make_pipeline(make_tree_features(X, schema), boosting)


def _make_random_trees(X: Any, schema: FeatureSchema, n_trees: int, **params: Any) -> Pipeline:
    features = _best_columns(X) if issparse(X) else make_tree_features(X, schema)
    trees = ExtraTreesClassifier(n_trees, **{"min_samples_leaf": MIN_SAMPLES_LEAF, **params})
    return make_pipeline(features, trees)


def _make_full_trees(X: Any, schema: FeatureSchema) -> Pipeline:
    """Fully grown trees follow details that the average of larger leaves misses, and more of the noise."""
    is_sparse, n_directions = issparse(X), count_directions(X)
    n_columns = min(X.shape[1], MAX_SPARSE_COLUMNS) if is_sparse else schema.count_columns(n_directions)
    share = min(FULL_TREES_MAX_FEATURES, FULL_TREES_MAX_COLUMNS / n_columns)
    params = {"min_samples_leaf": 1, "max_features": share, **_row_samples(X)}
    return _make_random_trees(X, schema, 60, criterion="entropy", **params)


def _make_kernel_machine(n_components: int, X: Any, schema: FeatureSchema) -> Pipeline:
    _check_dense(X, "kernel")
    features = make_rbf_features(X, n_components, schema, uses_labels=True)
    # In one pipeline, so that the features before the kernel are shared with other auxiliaries.
    return make_pipeline(*(step for _, step in features.steps), LogisticRegression(C=0.3, max_iter=300))


def _make_svm(X: Any, schema: FeatureSchema) -> Pipeline:
    _check_dense(X, "svm")
    return make_pipeline(make_linear_features(X, schema, uses_labels=True), SVC(C=10.0))


def _make_latent(X: Any, schema: FeatureSchema) -> Pipeline:
    if not issparse(X) or X.shape[1] <= 2:
        raise InvalidInputError(
            "the auxiliary 'latent' requires a sparse matrix with more than 2 columns: remove it."
        )
    svd = TruncatedSVD(min(N_LATENT_COMPONENTS, X.shape[1] - 1))
    return make_pipeline(svd, HistGradientBoostingClassifier())


def _row_samples(X: Any) -> dict[str, Any]:
    """Parameters of random trees that each see a sample of the rows, if there are many."""
    n_rows = X.shape[0]
    if n_rows < MIN_ROWS_FOR_TREE_SAMPLES:
        return {}
    return {"bootstrap": True, "max_samples": max(N_TREE_SAMPLES / n_rows, TREE_SAMPLES_SHARE)}


def _best_columns(X: Any) -> SelectKBest:
    return SelectKBest(class_separation, k=min(MAX_SPARSE_COLUMNS, X.shape[1]))


def _check_dense(X: Any, name: str) -> None:
    if issparse(X):
        raise InvalidInputError(f"the auxiliary {name!r} does not support sparse matrices: remove it.")


def _on_linear_features(make: Callable[[], Any], X: Any, schema: FeatureSchema) -> Pipeline:
    return make_pipeline(make_linear_features(X, schema, uses_labels=True), make())


def _on_tree_features(make: Callable[[], Any], X: Any, schema: FeatureSchema) -> Any:
    """Trees take a sparse matrix as it is."""
    return make() if issparse(X) else make_pipeline(make_tree_features(X, schema), make())


def _make_imported(module: str, name: str, **params: Any) -> Any:
    try:
        return getattr(import_module(module), name)(**params)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"the auxiliary needs {module}, which is not installed: pip install {module}."
        ) from error
    except (ImportError, OSError) as error:  # such as a missing libgomp
        raise MissingExtraError(
            f"the auxiliary needs {module}, which is installed but cannot be imported: {error}."
        ) from error


def _make_c45(X: Any, schema: FeatureSchema) -> Any:
    tree, imputer = (
        _make_imported("capo.baselines", "C45Classifier"),
        SimpleImputer(strategy="constant", fill_value=-1e9),
    )
    return tree if issparse(X) else make_pipeline(make_tree_features(X, schema), imputer, tree)


_BINARY_FACTORIES: dict[str, Factory] = {
    "boosting": partial(_make_boosting, BOOSTING),
    "quick": partial(_make_boosting, QUICK_BOOSTING),
    "trees": lambda X, schema: _make_random_trees(X, schema, 40, criterion="entropy", **_row_samples(X)),
    "full_trees": _make_full_trees,
    "linear": partial(_on_linear_features, lambda: LogisticRegression(max_iter=1000)),
    "kernel": partial(_make_kernel_machine, 200),
    "svm": _make_svm,
    "latent": _make_latent,
    "lgbm": partial(_on_tree_features, lambda: _make_imported("lightgbm", "LGBMClassifier", verbose=-1)),
    "xgb": partial(_on_tree_features, lambda: _make_imported("xgboost", "XGBClassifier")),
    "rf": partial(_on_tree_features, lambda: RandomForestClassifier(200, min_samples_leaf=MIN_SAMPLES_LEAF)),
    "knn": partial(_on_linear_features, lambda: KNeighborsClassifier(25, algorithm="brute")),
    "nb": partial(_on_linear_features, BernoulliNB),
    "cvm": partial(
        _on_linear_features, lambda: _make_imported("capo.baselines", "CoreVectorMachine", C=10.0)
    ),
    "c45": _make_c45,
    "rbfnet": partial(_on_linear_features, lambda: _make_imported("capo.baselines", "RBFNetworkClassifier")),
}
#: Some differ for many classes, and for the labels of a label matrix.
_CLASS_FACTORIES: dict[str, Factory] = {
    **_BINARY_FACTORIES,
    "boosting": partial(_make_boosting, CLASS_BOOSTING),
    "trees": lambda X, schema: _make_random_trees(X, schema, 100),
    "kernel": partial(_make_kernel_machine, 500),
}
_FACTORIES = {
    "binary": _BINARY_FACTORIES,
    "multiclass": _CLASS_FACTORIES,
    "multilabel": _CLASS_FACTORIES | {"boosting": partial(_make_boosting, LABEL_BOOSTING)},
}


def auxiliary_names() -> list[str]:
    """Return all names that can be given as auxiliaries; "auto" and "fast" stand for sets of them.

    Each is an estimator behind a suitable preparation of the columns:

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
    >>> from capo.learning.auxiliaries import auxiliary_names
    >>> "lgbm" in auxiliary_names()
    True
    """
    return [*AUXILIARY_SETS, *_BINARY_FACTORIES]


def check_auxiliary_name(name: str) -> None:
    """Raise an error that suggests the nearest name if there is no auxiliary of this name."""
    known = auxiliary_names()
    if name not in known:
        near = [PACKAGES[name]] if name in PACKAGES else difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Choose from {', '.join(known)}."
        raise InvalidInputError(f"there is no auxiliary {name!r}. {hint}")


def default_auxiliary_names(
    X: Any,
    set_name: str = AUTO,
    target_type: str = "binary",
    n_labels: int = 0,
    schema: FeatureSchema | None = None,
) -> list[str]:
    """Return the names of the auxiliaries of a built-in set for data like X and a kind of target.

    `schema` describes the columns that they learn from; by default, these are numbers.
    """
    if target_type == "multilabel" and n_labels > MAX_LABELS_FOR_SLOW_AUXILIARIES:
        set_name = FAST
    if set_name == FAST:
        return ["quick" if target_type == "binary" else "trees", "linear"]
    if issparse(X):
        return ["boosting", "trees", "linear"] + (["latent"] if X.shape[1] > 2 else [])
    names = ["boosting", "trees", "linear", "kernel"]
    has_svm = X.shape[0] <= MAX_ROWS_FOR_SVM and target_type != "multilabel"
    if target_type == "binary":
        n_columns = X.shape[1] if schema is None else schema.count_columns()
        has_svm = has_svm and n_columns >= MIN_COLUMNS_FOR_SVM
        if schema is not None and schema.has_only_vectors and X.shape[0] <= MAX_ROWS_FOR_VECTOR_SET:
            names.remove("boosting")
        else:
            names.insert(2, "full_trees")
    return [*names, "svm"] if has_svm else names


class ScoreColumn(BaseEstimator):
    """A column of scores or answers of a service, an earlier model or a rule, used as an auxiliary.

    The column holds probabilities, margins, levels, or answers such as yes, no and unsure; it may be missing
    where there was no answer. A small logistic regression learns their meaning: the direction of scores, and
    the log-odds of each answer and of a missing one. Auxiliaries selected by name and the delta function do
    not use the column; your own estimators get the whole table.

    Parameters
    ----------
    column : str, int or list of them
        The column, or several columns that belong together, such as one score for each of many classes.

    Examples
    --------
    >>> import numpy as np
    >>> from capo import CAPOClassifier, ScoreColumn
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(300, 3)), np.repeat([0, 1], 150)
    >>> X[:, 2] += 2 * y
    >>> model = CAPOClassifier(auxiliaries=[ScoreColumn(2)], random_state=0).fit(X, y)
    >>> list(model.auxiliary_weights_)
    ['column 2']
    """

    def __init__(self, column: Any) -> None:
        self.column = column

    @property
    def columns(self) -> list[Any]:
        """The columns as a list."""
        return list(self.column) if isinstance(self.column, list | tuple | np.ndarray) else [self.column]

    @property
    def default_name(self) -> str:
        """The name of the auxiliary, unless it is given one; ``score(name)`` if that means something else."""
        return " and ".join(each if isinstance(each, str) else f"column {each}" for each in self.columns)


def score_columns(pairs: Sequence[tuple[str, Any]]) -> list[Any]:
    """Return the columns that are used as auxiliaries; raise an error if one is given twice."""
    found = [key for _, each in pairs if isinstance(each, ScoreColumn) for key in each.columns]
    if repeated := [key for position, key in enumerate(found) if key in found[:position]]:
        raise InvalidInputError(f"the score column {repeated[0]!r} appears twice: name it once.")
    return found


def _make_score_model(score: ScoreColumn, X: Any, schema: FeatureSchema) -> Pipeline:
    if issparse(X):
        raise InvalidInputError("score columns need a data frame or an array: X is a sparse matrix.")
    keys = [column.key for column in schema.columns]
    if not score.columns:
        raise InvalidInputError("ScoreColumn([]) has no columns: name at least one.")
    for key in score.columns:
        if key not in keys:
            known = ", ".join(repr(each) for each in keys[:10])
            raise InvalidInputError(f"there is no score column {key!r}: the columns are {known}.")
        (column,) = schema.take([key]).columns
        if column.kind.role == "vector":
            raise InvalidInputError(
                f"the score column {key!r} contains vectors: it needs a number or an answer in each row."
            )
        values = column.select(X).to_list() if is_dataframe(X) else X[:, key].tolist()
        different = {each for each in values if to_text(each) is not None}
        if not different:
            raise InvalidInputError(f"the score column {key!r} has only missing values: leave it out.")
        if len(different) == 1 and all(each in different for each in values):
            raise InvalidInputError(f"the score column {key!r} has the same value in all rows: leave it out.")
        is_number = column.kind.role == "numeric"
        if not is_number and (column.kind.role != "category" or len(different) > MAX_ANSWERS):
            raise InvalidInputError(
                f"the score column {key!r} contains {column.kind.description} with {len(different):,} "
                f"different values: it needs numbers, or at most {MAX_ANSWERS} different answers."
            )
    return make_pipeline(make_score_features(schema.take(score.columns)), LogisticRegression(max_iter=1000))


def resolve_auxiliaries(
    pairs: Sequence[tuple[str, Any]],
    X: Any,
    schema: FeatureSchema,
    target_type: str = "binary",
    n_labels: int = 0,
) -> list[tuple[str, Any]]:
    """Return the pairs with each registered name replaced by its estimator for data like X.

    The name of a set is replaced by all of its auxiliaries; a registered name beside it that belongs to the
    set is made once.
    """
    factories, features = _FACTORIES[target_type], schema.take(score_columns(pairs), others=True)
    own = {name for name, estimator in pairs if not isinstance(estimator, str) or name != estimator}
    resolved: dict[str, Any] = {}
    for name, estimator in pairs:
        if isinstance(estimator, ScoreColumn):
            resolved[name] = _make_score_model(estimator, X, schema)
        elif not isinstance(estimator, str):
            resolved[name] = estimator
        elif not issparse(X) and not features.columns:
            raise InvalidInputError(
                f"the auxiliary {estimator!r} has no columns to learn from: all of them are score columns. "
                "Use only the score columns as auxiliaries."
            )
        elif estimator not in AUXILIARY_SETS:
            resolved[name] = factories[estimator](X, features)
        else:
            names = default_auxiliary_names(X, estimator, target_type, n_labels, features)
            if clash := sorted(own.intersection(names)):
                raise InvalidInputError(
                    f"the name {clash[0]!r} belongs to an auxiliary of the set {estimator!r}: choose another "
                    "name."
                )
            resolved.update((each, factories[each](X, features)) for each in names)
    return list(resolved.items())


def make_auxiliaries(name: str, X: Any, schema: FeatureSchema) -> list[tuple[str, Any]]:
    """Return the unfitted auxiliary of this name, or those of the set of this name, for data like X."""
    check_auxiliary_name(name)
    return resolve_auxiliaries([(name, name)], X, schema)


#: Seeds are drawn below this.
MAX_SEED = 2**31 - 1


def name_auxiliaries(auxiliaries: object, reserved: Container[str] = ()) -> list[tuple[str, Any]]:
    """Return (name, estimator) pairs; a registered name is returned in place of its estimator.

    `auxiliaries` is a list of estimators, registered names, and (name, estimator) pairs.
    """
    if isinstance(auxiliaries, str | Mapping) or not isinstance(auxiliaries, Sequence) or not auxiliaries:
        raise InvalidInputError(
            "auxiliaries must be 'auto', 'fast' or a list with at least one classifier, name of an "
            f"auxiliary or (name, classifier) pair: got {auxiliaries!r}."
        )
    pairs = [_as_pair(each) for each in auxiliaries]
    unnamed = iter(name_estimators([estimator for name, estimator in pairs if name is None]))
    names = [next(unnamed)[0] if name is None else name for name, _ in pairs]
    for position, entry in enumerate(auxiliaries):
        if isinstance(entry, ScoreColumn):  # any text can be the name of a column
            others, name = {*names[:position], *names[position + 1 :]}, names[position]
            if name in ("", *auxiliary_names()) or name in reserved or name in others or "__" in name:
                names[position] = f"score({re.sub('_+', '_', name)})"
    invalid = [name for name in names if name in reserved or "__" in name]
    if invalid:
        raise InvalidInputError(
            f"an auxiliary cannot be named {invalid[0]!r}: names must not contain '__' or equal a "
            "parameter name. Choose another name in a (name, classifier) pair."
        )
    if len(set(names)) < len(names):
        raise InvalidInputError(f"the names of the auxiliaries must differ: got {', '.join(names)}.")
    return list(zip(names, [estimator for _, estimator in pairs], strict=True))


def set_random_states(estimator: Any, random: RandomState | None) -> Any:
    """Set the random_state of an estimator and its parts where it is None, unless it is frozen."""
    if random is None or not hasattr(estimator, "get_params") or not hasattr(estimator, "fit"):
        return estimator
    seeds = {
        key: int(random.randint(MAX_SEED))
        for key, value in sorted(estimator.get_params(deep=True).items())
        if value is None and key.rpartition("__")[2] == "random_state"
    }
    return clone(estimator).set_params(**seeds) if seeds else estimator


def bind_sample_weight(name: str, estimator: Any, weight: Any) -> Auxiliary:
    """Return the auxiliary with the rows' weights as a parameter of its `fit`, if it takes them."""
    key = _weight_parameter(estimator)
    if weight is not None and key is None and hasattr(estimator, "fit"):
        warnings.warn(
            f"the auxiliary {name!r} ({type(estimator).__name__}) does not take sample_weight and is trained "
            "without it; the adaptation uses the weights.",
            IgnoredWeightWarning,
            stacklevel=5,
        )
    return Auxiliary(name, estimator, {} if weight is None or key is None else {key: weight})


def _as_pair(entry: Any) -> tuple[str | None, Any]:
    pair = entry if isinstance(entry, tuple) else (entry if isinstance(entry, str) else None, entry)
    if isinstance(entry, ScoreColumn):
        return entry.default_name, entry
    if len(pair) != 2 or not (pair[0] is None or isinstance(pair[0], str)):
        raise InvalidInputError(
            "an auxiliary is a classifier, a (name, classifier) pair or the name of a built-in auxiliary: "
            f"got {pair!r}."
        )
    name, estimator = pair
    if name == "":
        raise InvalidInputError("the name of an auxiliary must not be empty.")
    if isinstance(estimator, str) and estimator in AUXILIARY_SETS and name != estimator:
        raise InvalidInputError(
            f"{estimator!r} stands for a set of auxiliaries and cannot have another name."
        )
    if isinstance(estimator, str):
        check_auxiliary_name(estimator)
    elif isinstance(estimator, type):
        raise InvalidInputError(
            f"an auxiliary must be an instance: got the class {estimator.__name__}. "
            f"Write {estimator.__name__}()."
        )
    elif isinstance(estimator, BaseEstimator) and is_regressor(estimator):
        raise InvalidInputError(
            f"auxiliaries must be classifiers: {type(estimator).__name__} is a regressor."
        )
    elif not (
        isinstance(estimator, ScoreColumn)
        or any(hasattr(estimator, method) for method in (*SCORE_METHODS, "predict"))
    ):
        raise InvalidInputError(
            f"an auxiliary must have decision_function, predict_proba or predict: got {estimator!r}."
        )
    return name, estimator


def _weight_parameter(estimator: Any) -> str | None:
    if isinstance(estimator, Pipeline):
        inner = _weight_parameter(estimator[-1])
        return None if inner is None else f"{estimator.steps[-1][0]}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


#: Log-odds predicted for a label whose training rows all have one class.
CONSTANT_LOG_ODDS = 5.0

BINARY_CLASSES = np.array([0, 1])


class ConstantLabel(BaseEstimator):
    """The model of a label whose training rows all have one class.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.learning.auxiliaries import ConstantLabel
    >>> ConstantLabel(-5.0).decision_function(np.zeros((2, 3)))
    array([-5., -5.])
    """

    classes_ = BINARY_CLASSES

    def __init__(self, log_odds: float = 0.0) -> None:
        self.log_odds = log_odds

    def decision_function(self, X: Any) -> FloatArray:
        """Return the same log-odds for each row."""
        return np.full(X.shape[0], float(self.log_odds))


class LabelwiseClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """One classifier for each column of a label matrix.

    Unlike `sklearn.multioutput.MultiOutputClassifier` it takes columns with one class only, which a fold may
    have.

    Parameters
    ----------
    estimator : classifier
        The classifier of one label.

    Attributes
    ----------
    estimators_ : list of classifier
        One trained classifier for each label.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo.learning.auxiliaries import LabelwiseClassifier
    >>> X, Y = np.arange(8.0).reshape(4, 2), np.array([[0, 1], [0, 1], [1, 1], [1, 1]])
    >>> LabelwiseClassifier(GaussianNB()).fit(X, Y).predict(X)
    array([[0, 1],
           [0, 1],
           [1, 1],
           [1, 1]])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, Y: Any, **fit_params: Any) -> Self:
        """Train one classifier for each column of Y."""
        self.estimators_ = [
            ConstantLabel(CONSTANT_LOG_ODDS if y[0] else -CONSTANT_LOG_ODDS)
            if y.min() == y.max()
            else clone(self.estimator).fit(X, y, **fit_params)
            for y in np.asarray(Y).T
        ]
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return log-odds or margins, one column for each label."""
        kind = ScoreOutput()
        return np.column_stack([kind.predict(each, X, BINARY_CLASSES) for each in self.estimators_])

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Predict the label matrix."""
        return (self.decision_function(X) > 0).astype(np.int64)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def labelwise_auxiliary(auxiliary: Auxiliary) -> Auxiliary:
    """Return the auxiliary in the form that takes a label matrix."""
    estimator, params = auxiliary.estimator, auxiliary.fit_params
    is_pipeline = isinstance(estimator, Pipeline)
    shares_features = not is_pipeline or _shares_features(estimator)
    takes_matrix = isinstance(estimator, BaseEstimator) and get_tags(estimator).classifier_tags.multi_label
    if auxiliary.is_frozen or (shares_features and takes_matrix):
        return auxiliary
    if not is_pipeline or not shares_features:
        return Auxiliary(auxiliary.name, LabelwiseClassifier(estimator), params)
    # Only the last step is trained once per label.
    shared = make_pipeline(*estimator[:-1], LabelwiseClassifier(estimator[-1]))
    params = {f"labelwiseclassifier__{name.rpartition('__')[2]}": value for name, value in params.items()}
    return Auxiliary(auxiliary.name, shared, params)


def label_fold_codes(positive: NDArray[np.bool_]) -> IntArray:
    """Return the rarest label of each row, for folds that are stratified by it."""
    counts = np.where(positive, positive.sum(axis=0), len(positive) + 1)
    codes = np.where(positive.any(axis=1), counts.argmin(axis=1), positive.shape[1])
    return np.unique(codes, return_inverse=True)[1]


def _shares_features(pipeline: Pipeline) -> bool:
    """Whether the steps before the last one can be trained with a label matrix."""
    return all(
        not get_tags(step).target_tags.required
        and (not isinstance(step, SelectorMixin) or getattr(step, "score_func", None) is class_separation)
        for _, step in pipeline.steps[:-1]
    )
