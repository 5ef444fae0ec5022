"""The arguments of `fit` as partitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dask.delayed import Delayed, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..exceptions import InvalidInputError
from ..preprocessing import encode_binary_labels
from ._blocks import MAX_REPORTED_LABELS, merge_labels, unique_labels
from ._partitions import Partitions, row_chunks, split_collection
from ._scheduler import Scheduler

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class TrainingParts:
    """Tasks for the partitions of X, y and, if there are any, the weights."""

    tables: list[Delayed]
    labels: list[Delayed]
    weights: list[Delayed] | list[None]

    @classmethod
    def from_collections(cls, X: Any, y: Any, sample_weight: Any = None) -> TrainingParts:
        """Split dask collections, which must be partitioned alike."""
        chunks = row_chunks(X)
        tables, labels = split_collection(X, "X"), split_collection(y, "y", chunks)
        weights: list[Any] = [None] * len(tables)
        if sample_weight is not None:
            weights = split_collection(sample_weight, "sample_weight", chunks)
        if not len(tables) == len(labels) == len(weights):
            raise InvalidInputError(
                f"X has {len(tables)} partitions, y has {len(labels)}"
                + (f" and sample_weight has {len(weights)}" if sample_weight is not None else "")
                + ": they must be partitioned alike."
            )
        return cls(tables, labels, weights)

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        return zip(self.tables, self.labels, self.weights, strict=True)

    def find_classes(self, scheduler: Scheduler, pos_label: Any = None) -> NDArray[Any]:
        """The two labels, that of the positive class second."""
        tasks = [delayed(unique_labels, pure=False)(part, i) for i, part in enumerate(self.labels)]
        labels = Partitions.from_delayed(tasks, scheduler).merge(merge_labels)
        if not len(labels):
            raise InvalidInputError("X and y have no rows.")
        if len(labels) >= MAX_REPORTED_LABELS:
            shown = ", ".join(map(repr, labels[:5].tolist()))
            raise InvalidInputError(
                f"Only binary classification is supported: y has {MAX_REPORTED_LABELS} or more classes "
                f"({shown}, ...). Merge them into two."
            )
        return encode_binary_labels(labels, pos_label)[0]


def copy_fitted(source: BaseEstimator, target: BaseEstimator) -> None:
    """Copy the attributes that `fit` has set."""
    for name, value in vars(source).items():
        if name.endswith("_") and not name.startswith("_"):
            setattr(target, name, value)


def find_client(client: Client | None) -> Client:
    """The client that was given, or the current one."""
    if client is not None:
        return client
    from distributed import default_client  # noqa: PLC0415 (slow, and not needed without a cluster)

    return default_client()
