"""Where the rows of a table are processed, and in which parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

from ...exceptions import InvalidInputError
from ._panels import READING

#: The prefix of clusters that are started for the command.
LOCAL = "local"

_option = partial(typer.Option, rich_help_panel=READING)


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The Dask cluster whose workers read the rows."""

    address: Annotated[
        str | None,
        _option(
            "--cluster",
            metavar="ADDRESS",
            help="Use a Dask cluster, whose workers read the rows: local, local:4 (workers) or "
            "tcp://host:8786.",
        ),
    ] = None
    partition_rows: Annotated[
        int | None,
        _option(
            "--partition-rows",
            metavar="NUMBER",
            min=20,
            help="Rows of a part, which are read at once. By default 200,000, or fewer with more than 20 "
            "columns.",
            show_default=False,
        ),
    ] = None

    @property
    def n_local_workers(self) -> int | None:
        """Number of workers to start on this machine; None if there is a cluster to connect to."""
        name, _, count = (self.address or "").partition(":")
        if name != LOCAL:
            return None
        if count and not (count.isdecimal() and int(count) > 0):
            raise InvalidInputError(
                f"--cluster takes local, local:4 or the address of a scheduler: got {self.address!r}."
            )
        return int(count or 1)


@dataclass(frozen=True, kw_only=True)
class FitClusterOptions(ClusterOptions):
    """The Dask cluster to train on, or whether to read the table in parts without one."""

    out_of_core: Annotated[
        str,
        _option(
            "--out-of-core",
            metavar="WHEN",
            help="Read the table in parts, without a cluster: auto, if the training needs more memory than "
            "there is; yes or no.",
        ),
    ] = "auto"

    sample_size: Annotated[
        int,
        _option(
            "--sample-size",
            metavar="NUMBER",
            min=20,
            help="Rows that the auxiliaries are trained on if the table is read in parts.",
        ),
    ] = 100_000
