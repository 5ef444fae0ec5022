"""The package as a whole: its public names and its README."""

import contextlib
import importlib
import inspect
import io
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import capo
from capo import exceptions

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MODULES = [
    name for _, name, _ in pkgutil.walk_packages(capo.__path__, "capo.") if not name.endswith("__main__")
]


@pytest.mark.optional_packages
@pytest.mark.parametrize("name", ["capo", *MODULES])
def test_all_names_exist(name):
    module = importlib.import_module(name)
    assert module.__doc__
    public = getattr(module, "__all__", None)
    if public is not None:
        assert all(hasattr(module, each) for each in public)


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CHANGELOG.md", r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$"),
        ("CITATION.cff", r"^version: (.+)$"),
        ("recipe/recipe.yaml", r'^  version: "(.+)"$'),
    ],
)
def test_files_name_the_version(file, pattern):
    assert re.findall(pattern, (ROOT / file).read_text("utf-8"), flags=re.M)[:1] == [capo.__version__]


def test_files_name_the_same_repository():
    metadata = (ROOT / "pyproject.toml").read_text("utf-8")
    repository = re.search(r'^Repository = "https://github.com/(.+)"$', metadata, flags=re.M)[1]
    files = [
        path for pattern in ("*.*", "docs/*.md", "recipe/*") for path in ROOT.glob(pattern) if path.is_file()
    ]
    for file in files:
        for found in re.findall(r"github\.com/(capo[\w-]*/[\w-]+)", file.read_text("utf-8")):
            assert found == repository, file.name


WITHOUT_OPTIONAL = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {packages}:
            raise ModuleNotFoundError(f"{{name}} is blocked", name=name)

sys.meta_path.insert(0, Blocked())
import capo
from capo import baselines, decisions, engine, export, inspection, io, kernels, learning, measures
from capo import report, tables, testing
from capo import *
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

X, y = load_iris(return_X_y=True)
model = capo.CAPOClassifier(auxiliaries=[GaussianNB()], random_state=0).fit(X, y == 1)
print(model.summary())
assert model.score(X, y == 1) > 0.8
assert capo.SVMPerfClassifier(kernel="rbf").fit(X, y == 1).score(X, y == 1) > 0.8
"""


@pytest.mark.slow
def test_the_base_installation_is_enough(optional_packages):
    code = WITHOUT_OPTIONAL.format(packages=optional_packages)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "CAPOClassifier for f1" in run.stdout


def test_the_names_that_users_import():
    assert capo.__all__ == [
        "CAPOClassifier",
        "SVMPerfClassifier",
        "SVMPerfClassifierCV",
        "ScoreColumn",
        "TimeFolds",
        "__version__",
        "baselines",
        "decisions",
        "engine",
        "exceptions",
        "export",
        "inspection",
        "io",
        "kernels",
        "learning",
        "load",
        "measures",
        "report",
        "save",
        "svmperf_path",
        "tables",
        "testing",
    ]


FIRST_USE = """
import sys
from importlib import import_module

for name in {names}:
    for module in [each for each in sys.modules if each.partition(".")[0] == "capo"]:
        del sys.modules[module]
    getattr(import_module("capo"), name)
"""


@pytest.mark.slow
def test_names_are_loaded_on_first_use():
    """Each with none of capo's modules imported before."""
    code = FIRST_USE.format(names=capo.__all__)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_importing_the_package_imports_no_submodule():
    code = "import sys, capo; print(*[name for name in sys.modules if name.startswith(('capo.', 'sklearn'))])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_the_hierarchy_drawn_is_the_one_there_is():
    drawn = set(re.findall(r"\b[A-Z]\w+(?:Error|Warning)\b", exceptions.__doc__))
    own = {
        name
        for name, kind in vars(exceptions).items()
        if inspect.isclass(kind) and issubclass(kind, Exception)
    }
    assert own == set(exceptions.__all__)
    assert own <= drawn


@pytest.mark.slow
@pytest.mark.skipif(not README.exists(), reason="installed without its README")
def test_the_readme_runs_as_pasted():
    text = README.read_text()
    first = next(i for i, line in enumerate(text.splitlines()) if line.startswith("```python"))
    assert first < 30
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    space: dict[str, object] = {}
    for block in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, "README.md", "exec"), space)
        promised = re.findall(r"^# (.*)$", block, flags=re.M)
        for said, printed in zip(promised, out.getvalue().splitlines(), strict=bool(promised)):
            assert re.sub(r"[\d.]+", "#", said) == re.sub(r"[\d.]+", "#", printed)
            numbers = [[float(each) for each in re.findall(r"[\d.]+", line)] for line in (said, printed)]
            np.testing.assert_allclose(*numbers, rtol=0.03)
    assert blocks
