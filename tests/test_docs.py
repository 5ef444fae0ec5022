"""The documentation keeps up with the code."""

import ast
import importlib.util
import inspect
import os
import re
import shlex
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

import capo
from capo import measures

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="installed without its documentation")


def test_every_measure_has_its_line_with_its_parameters():
    table = (DOCS / "measures.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", table, flags=re.M))
    assert sorted(rows) == measures.names()
    for name, given in rows.items():
        assert set(re.findall(r"`(\w+)`", given)) == set(measures.get(name).params), name
    for each in measures.describe():
        assert f"| {each.value} | {each.use} |" in table


#: Pages whose code takes more than a second.
SLOW_PAGES = {"dask.md", "export.md", "files.md", "index.md", "multi.md", "prices.md", "quickstart.md"}


@pytest.mark.optional_packages
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in SLOW_PAGES else [])
        for page in sorted(DOCS.glob("*.md"))
    ],
)
def test_code_in_the_pages_runs(page):
    space: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S):
        exec(compile(block, page.name, "exec"), space)


#: Packages that `pip install 'capo-learn[cli]'` does not install.
OTHER_PACKAGES = ["pandas", "pyarrow", "matplotlib", "dask", "distributed", "onnx", "skl2onnx", "fastexcel"]


#: A module that Python imports when it starts, so that it does not find the other packages.
HIDING = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name.partition(".")[0] in {packages} else find(name, *rest)
"""


def shell_commands(page):
    """The commands of a page that need no extra but `[cli]`; a Python program in quotes has several lines."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), flags=re.S | re.M)
    text = "".join(block for language, block in blocks if not language)
    commands = re.findall(r'^\$ ((?:python -c "[^"]*")|capo .*)', text, flags=re.M)
    return [each for each in commands if "(extra " not in each and "--cluster" not in each]


def missing_inputs(command, folder):
    """The files that a command reads and that an example on the page has not written."""
    words = shlex.split(command, comments=True)
    inputs = [word for before, word in pairwise(words) if before not in ("-o", "-c")]
    return [word for word in inputs if re.search(r"\.\w+$", word) and not (folder / word).exists()]


@pytest.mark.optional_packages
@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/cli.md", "docs/quickstart.md"])
def test_shell_commands_need_only_the_extra_that_installs_the_command(page, tmp_path):
    pytest.importorskip("typer")
    (tmp_path / "sitecustomize.py").write_text(HIDING.format(packages=OTHER_PACKAGES))
    paths = os.pathsep.join((str(tmp_path), *sys.path))
    settings = {
        **os.environ,
        "PYTHONPATH": paths,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = []
    for command in shell_commands(ROOT / page):
        if missing_inputs(command, tmp_path):
            continue
        fast = " -a nb --delta none" if re.match("capo (fit|compare) ", command) else ""
        code = command.partition("  #")[0].partition(" | ")[0] + fast
        run = partial(subprocess.run, shell=True, cwd=tmp_path, env=settings, capture_output=True, text=True)
        found = run(code, check=False)
        assert found.returncode == 0, f"{code}\n{found.stderr}"
        done.append(command.split()[1])
    assert {"-c", "fit", "predict", "report"} <= set(done)


@pytest.fixture(scope="module")
def api():
    """The module that writes the API reference."""
    spec = importlib.util.spec_from_file_location("api_hook", DOCS / "hooks" / "api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_package_has_a_page_in_the_api_reference(api):
    for name in ("capo", *(f"capo.{name}" for name in capo.__all__ if inspect.ismodule(getattr(capo, name)))):
        assert any(page == name or page.startswith(f"{name}.") for page in api.packages()), name


@pytest.mark.optional_packages
def test_every_public_name_is_in_the_api_reference(api):
    index = api.index()
    for package in api.packages():
        page = api.page(package)
        for name in api.names(package):
            assert hasattr(importlib.import_module(package), name)
            described = rf"^::: {re.escape(package)}\.{name}$|\{{ #{re.escape(package)}\.{name} \}}$"
            assert re.search(described, page, flags=re.M), f"{package}.{name}"
            assert f"({package}.md#{package}.{name})" in index


@pytest.mark.optional_packages
def test_what_estimators_refer_to_is_in_the_api_reference(api):
    described = {f"{package}.{name}" for package in api.packages() for name in api.names(package)}
    for estimator in (
        capo.CAPOClassifier,
        capo.SVMPerfClassifier,
        capo.SVMPerfClassifierCV,
    ):
        references = re.findall(r"\bcapo(?:\.[a-z]\w*)*\.\w+", estimator.__doc__)
        assert set(references) <= described, estimator.__name__


@pytest.mark.optional_packages
def test_every_public_method_is_in_the_api_reference(api):
    """The page of a class lists members that have a docstring; inherited ones if they are asked for."""
    griffe = pytest.importorskip("griffe", reason="only the documentation's environment has it")
    shows_inherited = "inherited_members: true" in (ROOT / "mkdocs.yml").read_text()
    sources = griffe.GriffeLoader(search_paths=[ROOT / "src"])
    sources.load("capo")
    sources.resolve_aliases(implicit=True, external=False)
    estimators = [
        (f"{package}.{name}", getattr(importlib.import_module(package), name))
        for package in ("capo", "capo.baselines", "capo.dask")
        for name in api.names(package)
        if hasattr(getattr(importlib.import_module(package), name), "fit")
    ]
    assert len(estimators) >= 10
    for path, estimator in estimators:
        source = sources.modules_collection[path]
        listed = source.all_members if shows_inherited else source.members
        for name, member in inspect.getmembers(estimator):
            owner = next(each for each in estimator.__mro__ if name in vars(each))
            is_own = owner.__module__.startswith("capo") and not name.startswith(("_", "set_"))
            if is_own and callable(member):
                assert name in listed, f"{path}.{name}"
                assert listed[name].has_docstring, f"{path}.{name}"


def test_every_page_and_example_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in DOCS.glob("*.md"):
        assert re.search(rf" {page.name}$", navigation, flags=re.M), page.name
    for script in EXAMPLES:
        assert f" gallery/{script.stem}.md\n" in navigation


def test_there_are_examples_and_each_has_a_title_and_text_cells():
    """`make docs` runs them, with warnings as errors."""
    assert len(EXAMPLES) >= 8
    for script in EXAMPLES:
        source = script.read_text()
        assert re.match(r"# .+\n\n[\w`]", ast.get_docstring(ast.parse(source))), script.name
        assert len(re.findall(r"^# %%\n# [\w`]", source, flags=re.M)) >= 3, script.name
