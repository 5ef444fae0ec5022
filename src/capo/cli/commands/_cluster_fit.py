"""Training on a Dask cluster: workers read the partitions, which are files or rows of one large file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...exceptions import InvalidInputError
from ...io.tables import Schema, TablePart, TableReader, divide_table
from .._console import Console
from ._model_options import ModelOptions, prepare_training
from ._training_data import ColumnOptions, TableTrainingData

if TYPE_CHECKING:
    from distributed import Client

    from ...dask import DaskCAPOClassifier

#: Seconds after which a scheduler that does not answer is an error.
CONNECTION_TIMEOUT = 10
#: The prefix of clusters that are started for the command.
LOCAL = "local"


@dataclass(frozen=True)
class ClusterOptions:
    """The options about the cluster, as given on the command line."""

    address: str
    sample_size: int
    partition_rows: int | None = None

    @property
    def n_local_workers(self) -> int | None:
        """Number of workers to start on this machine; None if there is a cluster to connect to."""
        name, _, count = self.address.partition(":")
        if name != LOCAL:
            return None
        if count and not (count.isdecimal() and int(count) > 0):
            raise InvalidInputError(
                f"--cluster takes local, local:4 or the address of a scheduler: got {self.address!r}."
            )
        return int(count or 1)


def fit_on_cluster(
    table: TableReader,
    columns: ColumnOptions,
    options: ModelOptions,
    cluster: ClusterOptions,
    console: Console,
) -> tuple[DaskCAPOClassifier, TableTrainingData]:
    """Train on all rows; the types of the columns are those of the first partition, which is returned."""
    from ...dask import DaskCAPOClassifier  # noqa: PLC0415 (an optional package)

    _check_options(table, columns, options)
    with console.step(f"dividing {table.name}"):
        parts = divide_table(table, cluster.partition_rows)
    data, local = prepare_training(parts[0], columns, options, console)
    if data.target.kind != "binary":
        raise InvalidInputError("--cluster is for targets of two classes: leave it out.")
    params = local.get_params(deep=False)
    del params["memory"]
    model = DaskCAPOClassifier(**{**params, "verbose": 0}, sample_size=cluster.sample_size)
    with connect(cluster) as client, console.step(f"training on {cluster.address}"):
        model.set_params(client=client).fit(*_read_parts(parts, data.schema))
    model.client = None
    return model, data


def _check_options(table: TableReader, columns: ColumnOptions, options: ModelOptions) -> None:
    given = {
        "--weight": columns.weight,
        "--group": columns.group,
        "--time": columns.time,
        "--label-separator": columns.label_separator,
        "--cost-fp, --cost-fn and --benefit-tp": columns.prices,
        "--budget": options.budget,
    }
    for option, value in given.items():
        if value:
            raise InvalidInputError(f"--cluster cannot be combined with {option}.")
    if table.path == "-":
        raise InvalidInputError("--cluster needs files that workers can read: got standard input.")


def _read_parts(parts: Sequence[TablePart], schema: Schema) -> tuple[list[Any], list[Any]]:
    """Tasks that read the features and the labels of each partition."""
    from dask.delayed import delayed  # noqa: PLC0415 (an optional package)

    read = delayed(_read_part, pure=False)
    tasks = [read(part, schema) for part in parts]
    return [task[0] for task in tasks], [task[1] for task in tasks]


def _read_part(part: TablePart, schema: Schema) -> tuple[Any, Any]:
    batch = part.read()
    return schema.features(batch), schema.labels(batch)


@contextmanager
def connect(cluster: ClusterOptions) -> Iterator[Client]:
    """A client of the cluster; a local one is started, and closed at the end."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 (an optional package)

    if cluster.n_local_workers is not None:
        with (
            LocalCluster(
                cluster.n_local_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=40
            ) as local,
            Client(local) as client,
        ):
            yield client
        return
    try:
        client = Client(cluster.address, timeout=CONNECTION_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"no Dask scheduler answers at {cluster.address}: {error}") from error
    with client:
        yield client
