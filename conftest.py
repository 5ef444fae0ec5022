"""One thread for each test and no display; what needs a missing optional package is skipped.

A module that cannot be imported, a doctest and a test marked `optional_packages` are skipped when the cause
is a missing optional package. Any other test names what it needs by `pytest.importorskip`.
"""

import os
import sys
from doctest import UnexpectedException

import pytest
from _pytest.doctest import DoctestItem
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")

#: Examples of a property that sets no number of its own: in `make test`, and in `make test-all`.
settings.register_profile("fast", max_examples=15, deadline=None)
settings.register_profile("all", max_examples=100, deadline=None)


def pytest_configure(config):
    """Choose the number of examples."""
    settings.load_profile("fast" if config.option.markexpr == "not slow" else "all")


#: Packages that the extras and the groups of `pyproject.toml` add to the base installation.
OPTIONAL = {
    "dask",
    "distributed",
    "fastexcel",
    "jinja2",
    "lightgbm",
    "markupsafe",
    "matplotlib",
    "numba",
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
        if isinstance(error, UnexpectedException):  # of a doctest
            error = error.exc_info[1]
        package = (getattr(error, "name", None) or "").split(".")[0]
        if isinstance(error, ModuleNotFoundError) and package in OPTIONAL:
            return package
        error = error.__cause__ or error.__context__
    return None


def _forget_module(path):
    """Remove the module and its package, half-imported, so that others fail for the true reason."""
    files = {str(path), str(path.with_name("__init__.py"))}
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in files:
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
        _forget_module(collector.path)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip a doctest, or a test marked `optional_packages`, that needs a missing optional package."""
    try:
        return (yield)
    except Exception as error:
        package = _missing_package(error)
        may_skip = isinstance(item, DoctestItem) or item.get_closest_marker("optional_packages")
        if package is None or not may_skip:
            raise
        pytest.skip(f"{package} is not installed")


@pytest.fixture
def optional_packages():
    """Names of the packages that capo works without."""
    return sorted(OPTIONAL)
