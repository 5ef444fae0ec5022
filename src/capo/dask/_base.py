"""Base class of the classifiers on Dask: the client, and predictions."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator, ClassifierMixin

from ._predict import decision_function, is_collection, predict
from ._training import find_client

if TYPE_CHECKING:
    from distributed import Client


class BaseDaskClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted on a cluster, and predicts as its local counterpart does."""

    client: Client | None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}

    @property
    def client_(self) -> Client:
        """The client of this classifier, or the current one."""
        return find_client(self.client)

    @abstractmethod
    def to_local(self) -> Any:
        """The fitted classifier for data in memory."""

    def decision_function(self, X: Any) -> Any:
        """The decision function of each row: above 0 is ``classes_[1]``.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame or table in memory
            The rows.

        Returns
        -------
        dask.array.Array, dask.dataframe.Series or ndarray of shape (n_samples,)
            One number per row; lazily for a dask collection.
        """
        model = self.to_local()
        return decision_function(model, X) if is_collection(X) else model.decision_function(X)

    def predict(self, X: Any) -> Any:
        """Predict the label of each row.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame or table in memory
            The rows.

        Returns
        -------
        dask.array.Array, dask.dataframe.Series or ndarray of shape (n_samples,)
            One label per row; lazily for a dask collection.
        """
        model = self.to_local()
        return predict(model, X) if is_collection(X) else model.predict(X)
