"""What a competent user writes in twenty lines: four stock models, stacked by a logistic regression."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from lightgbm import LGBMClassifier
from scipy.sparse import issparse
from scipy.special import logit
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from ..data import Table

#: Probabilities are kept this far from 0 and 1.
EPS = 1e-6


class Outputs(NamedTuple):
    """Probabilities or margins, one column a model: out of fold, and on the test rows."""

    train: np.ndarray
    test: np.ndarray


def twenty_line_stack(table: Table, seed: int) -> Outputs:
    """The log-odds of the stack: of its out-of-fold inputs, and on the test rows."""
    cv = StratifiedKFold(5, shuffle=True, random_state=seed)
    train, test = [], []
    for model in _stock_models(table.X, seed):
        out_of_fold = cross_val_predict(model, table.X, table.y, cv=cv, method="predict_proba")
        train.append(_log_odds(out_of_fold))
        test.append(_log_odds(model.fit(table.X, table.y).predict_proba(table.X_test)))
    stack = LogisticRegression(max_iter=1000).fit(np.column_stack(train), table.y)
    scores = (stack.decision_function(np.column_stack(each))[:, None] for each in (train, test))
    return Outputs(*scores)


def _stock_models(X: Any, seed: int) -> list[Any]:
    scaled, logistic = _scaled(X), LogisticRegression(max_iter=1000)
    return [
        LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1),
        make_pipeline(_encoded(X), ExtraTreesClassifier(200, random_state=seed)),
        make_pipeline(
            scaled, Nystroem(n_components=300, random_state=seed), LogisticRegression(max_iter=1000)
        ),
        make_pipeline(scaled, logistic),
    ]


def _encoded(X: Any) -> Any:
    """Categories as columns of zeros and ones, missing numbers as the median."""
    if not hasattr(X, "dtypes"):
        return "passthrough"
    return make_column_transformer(
        (
            OneHotEncoder(handle_unknown="ignore", min_frequency=5),
            make_column_selector(dtype_include="category"),
        ),
        remainder=SimpleImputer(strategy="median"),
    )


def _scaled(X: Any) -> Any:
    scaler = MaxAbsScaler() if issparse(X) else StandardScaler(with_mean=False)
    return make_pipeline(_encoded(X), scaler)


def _log_odds(probabilities: np.ndarray) -> np.ndarray:
    return logit(np.clip(probabilities[:, 1], EPS, 1.0 - EPS))
