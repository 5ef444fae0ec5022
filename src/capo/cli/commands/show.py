"""``capo show``: the manifest of a model file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...io.model_file import Manifest, read_manifest
from ..console import Console
from ..output import check_output

#: Classes that are listed.
MAX_LISTED_CLASSES = 20


def run_show(path: str, console: Console) -> None:
    """Show what a model file contains, without loading the model."""
    check_output(None, path)
    manifest = read_manifest(path)
    versions = ", ".join(f"{package} {version}" for package, version in manifest.versions.items())
    fields = {
        "estimator": manifest.estimator,
        "measure": manifest.measure,
        "classes": _describe_classes(manifest),
        "columns": _describe_columns(manifest),
        "target": manifest.schema.get("target", "") or _label_names(manifest),
        "groups": manifest.schema.get("group", ""),
        "trained on": manifest.training.get("table", ""),
        "written": f"{manifest.created} with {versions}",
    }
    lines = "\n".join(f"{key:<11}{value}" for key, value in fields.items() if value)
    console.result(_printable(f"{lines}\n\n{manifest.summary}".rstrip()), asdict(manifest))


def _describe_classes(manifest: Manifest) -> str:
    """The labels; of two classes with a threshold the last is positive."""
    shown = ", ".join(map(repr, manifest.classes[:MAX_LISTED_CLASSES]))
    n_more = len(manifest.classes) - MAX_LISTED_CLASSES
    more = f" and {n_more:,} more" if n_more > 0 else ""
    return f"{shown}{more}" + (" (the last is positive)" if manifest.threshold is not None else "")


def _describe_columns(manifest: Manifest) -> str:
    """The columns with their kinds, as far as the schema has them: it may come from a damaged file."""
    columns: Any = manifest.schema.get("columns")
    if isinstance(columns, dict) and columns:
        return ", ".join(f"{name} ({_kind_name(kind)})" for name, kind in columns.items())
    if isinstance(columns, list) and columns:
        return ", ".join(map(str, columns))
    return str(manifest.schema.get("n_features", "unknown"))


def _label_names(manifest: Manifest) -> str:
    """The target columns of a label matrix."""
    names: Any = manifest.schema.get("label_names")
    return ", ".join(map(str, names[:MAX_LISTED_CLASSES])) if isinstance(names, list) else ""


def _kind_name(kind: Any) -> Any:
    return kind.get("kind", "unknown") if isinstance(kind, dict) else kind


def _printable(text: str) -> str:
    """Text from a file without control characters, which could steer a terminal."""
    return "".join(each if each.isprintable() or each == "\n" else "?" for each in text)
