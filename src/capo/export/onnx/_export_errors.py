"""Errors of parts that cannot be exported, as sentences about the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...exceptions import ExportError

#: What the user can do about a part that has no converter.
REGISTER_CONVERTER = "or register a converter with skl2onnx.update_registered_converter"


@contextmanager
def explain_export_errors(part: str, remedy: str) -> Iterator[None]:
    """Complete the reason in an ExportError to a sentence about a part of the model, with a remedy."""
    try:
        yield
    except ExportError as error:
        raise ExportError(f"{part} cannot be exported to ONNX: {error}. {remedy}.") from (
            error.__cause__ or error
        )
