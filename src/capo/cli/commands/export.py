"""``capo export``: a model as an ONNX graph."""

from __future__ import annotations

from pathlib import Path

from ...export.onnx import to_onnx
from ...io.table_schema import TableSchema
from ..console import Console
from ..options import ModelFileOptions
from ..output import check_file_ending, check_output, write_output
from .models import load_model


def run_export(file: ModelFileOptions, output: Path, console: Console) -> None:
    """Convert the model and write the graph."""
    check_output(output, file.path)
    check_file_ending(output, [".onnx"], "the graph is an ONNX file, whose name ends in .onnx")
    loaded = load_model(file, console)
    with console.step("converting"):
        schema = loaded.schema
        kinds = schema.columns if isinstance(schema, TableSchema) else None
        graph = to_onnx(loaded.model, schema.example_row(), canonical_values=True, column_kinds=kinds)
    write_output(graph.SerializeToString(), output, console)
