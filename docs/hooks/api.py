"""The API reference: one page for each package that the navigation lists as ``api/<package>.md``."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

NAVIGATION = Path(__file__).parents[2] / "mkdocs.yml"
API_PAGE = re.compile(r"\bapi/(capo[\w.]*)\.md\b")

#: What users meet of the packages whose other names are for the rest of capo.
SELECTED_NAMES = {
    "capo.kernels": [
        "Kernel",
        "KernelExpansion",
        "KernelFactor",
        "factorize_kernel",
        "kernel_names",
        "make_kernel",
    ],
    "capo.learning.auxiliaries": [
        "LabelwiseClassifier",
        "auxiliary_names",
        "default_auxiliary_names",
        "make_auxiliaries",
    ],
    "capo.learning.outputs": ["ClassCalibrator", "LabelOutput", "OutputKind", "OutputScale", "ScoreOutput"],
    "capo.learning.combination": ["FittedCombination", "LinearCombination"],
    "capo.learning.classes": ["ProbabilityStack"],
    "capo.learning.labels": ["LabelModel"],
    "capo.learning.path": ["CGrid", "CVScore", "GridPoint"],
    "capo.measures.multiclass": [
        "MCC",
        "Accuracy",
        "BalancedAccuracy",
        "ClassAverage",
        "CohenKappa",
        "ConfusionMatrixFunction",
        "ConfusionMatrixMeasure",
        "CostMatrix",
        "GMean",
        "GainMatrix",
        "MicroF1",
        "MulticlassMeasure",
        "describe",
        "get",
        "names",
    ],
    "capo.measures.multilabel": [
        "EntryAverage",
        "LabelAverage",
        "MultilabelMeasure",
        "PrecisionAtK",
        "RowAverage",
        "SamplesF1",
        "describe",
        "get",
        "names",
    ],
    "capo.tables.schema": ["ColumnInfo", "FeatureSchema", "infer_schema"],
    "capo.io.model_file": ["Manifest", "load", "save"],
}


def packages() -> list[str]:
    """Names of the documented packages, in the order of the navigation."""
    return API_PAGE.findall(NAVIGATION.read_text(encoding="utf-8"))


def names(package: str) -> list[str]:
    """The names of a package that its page describes: its ``__all__``, or a selection of it."""
    return SELECTED_NAMES.get(package) or importlib.import_module(package).__all__


def page(package: str) -> str:
    """The Markdown of a package's page: the package's docstring, and its names."""
    parts = [f"# {package}", _directive(package, "members: false", "show_docstring_examples: true")]
    for name in names(package):
        if f"{package}.{name}" in packages():
            parts.append(f"## {name} {{ #{package}.{name} }}\n\nSee [{package}.{name}]({package}.{name}.md).")
        else:
            parts.append(
                _directive(f"{package}.{name}", "show_root_heading: true", "show_root_toc_entry: true")
            )
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """The Markdown of the overview: all packages and their names, each a link to its description."""
    parts = ["---\nhide: [toc]\n---\n\n# API reference"]
    for package in packages():
        module = importlib.import_module(package)
        purpose = inspect.getdoc(module).splitlines()[0]
        links = " · ".join(f"[`{name}`]({package}.md#{package}.{name})" for name in names(package))
        parts.append(f"## [{package}]({package}.md)\n\n{purpose}\n\n{links}")
    return "\n\n".join(parts) + "\n"


def on_files(files, config):
    """Add the generated pages."""
    from mkdocs.structure.files import File  # noqa: PLC0415 (the tests import this module without MkDocs)

    files.append(File.generated(config, "api/index.md", content=index()))
    for package in packages():
        files.append(File.generated(config, f"api/{package}.md", content=page(package)))
    return files


def on_page_content(html, page, config, files):
    """Correct two things that Markdown and the parser of annotations do not know: ``::`` and "array-like"."""
    if page.file.src_uri.startswith("api/"):
        html = html.replace("::</p>", ":</p>").replace("array - like", "array-like")
    return html


def _directive(identifier: str, *options: str) -> str:
    return f"::: {identifier}\n    options:\n" + "\n".join(f"      {option}" for option in options)
