"""Model files that a command reads or writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ._output import output_option

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by 'capo fit'.")]
ModelOutputOption = Annotated[Path, output_option(help="Model file to write.")]
OptionalModelOutputOption = Annotated[Path | None, output_option(help="Model file to write.")]


@dataclass(frozen=True, kw_only=True)
class ModelFileOptions:
    """A model file to load, and the types in it that the user trusts."""

    path: ModelArgument
    trusted: Annotated[
        list[str] | None,
        typer.Option(
            "--trust",
            metavar="TYPE",
            help="Load this type although capo cannot verify that it is safe; repeatable.",
        ),
    ] = None
