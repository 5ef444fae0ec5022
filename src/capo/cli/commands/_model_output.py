"""Model files that commands write."""

from __future__ import annotations

from pathlib import Path

from ...exceptions import InvalidInputError
from .._console import Console
from .._output import check_output, format_file_size, is_stdout

#: Endings of files that a model must not replace by mistake.
OTHER_FORMATS = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".html", ".htm", ".onnx", ".toml", ".json")


def check_model_output(output: Path | None, *inputs: str | Path | None) -> None:
    """Raise before any work is done if a model cannot be written to `output`; None writes no file."""
    if output is not None and is_stdout(output):
        raise InvalidInputError("a model cannot be written to standard output: name a file with --output.")
    check_output(output, *inputs)
    if output is not None and output.name.lower().removesuffix(".gz").endswith(OTHER_FORMATS):
        raise InvalidInputError(f"a model is written to a file such as model.capo: got {output.name}.")


def log_model_output(output: Path, console: Console) -> None:
    """Log the file that was written, below the result."""
    console.log(f"\nwrote {output} ({format_file_size(output)})")
