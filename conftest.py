"""One thread for each test and no display; modules that need a missing optional package are skipped."""

import os
import sys

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")

#: Packages that the extras and the groups of `pyproject.toml` add to the base installation.
OPTIONAL = {
    "dask",
    "lightgbm",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "pandas",
    "playwright",
    "polars",
    "rich",
    "skl2onnx",
    "skops",
    "typer",
    "xgboost",
}


def _missing_package(error):
    """Return the optional package whose absence caused an error, or None."""
    while error is not None:
        package = (getattr(error, "name", None) or "").split(".")[0]
        if isinstance(error, ModuleNotFoundError) and package in OPTIONAL:
            return package
        error = error.__cause__ or error.__context__
    return None


def _forget_module(path):
    """Remove the half-imported module that pytest leaves behind, so that others fail for the true reason."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == path:
            del sys.modules[name]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Skip a module, of tests or with doctests, that cannot be imported without an optional package."""
    report = yield
    error = report.call.excinfo.value if report.failed and report.call.excinfo else None
    package = _missing_package(error)
    if package is not None:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: {package} is not installed")
        _forget_module(str(collector.path))
    return report
