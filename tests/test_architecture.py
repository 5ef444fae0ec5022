"""The import contract: subpackages import downward only, and private names stay in their package.

The layers are a contract of import-linter in `pyproject.toml`. Two rules that it cannot express are checked
here on the syntax tree of every module, function-level imports included:

- a name with a leading underscore is imported only inside the package that holds its module;
- only `capo._compat` imports private names of scikit-learn.
"""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import capo

SOURCE = Path(capo.__file__).parent
CONFIG = Path(__file__).parents[1] / "pyproject.toml"
COMPAT = "capo._compat"
LINT_IMPORTS = "from importlinter.cli import lint_imports_command as main; main()"


def _module_name(path, root):
    """Return the dotted name of the module at `path`, and the package where its relative imports start."""
    parts = path.relative_to(root.parent).with_suffix("").parts
    if parts[-1] == "__init__":
        return ".".join(parts[:-1]), parts[:-1]
    return ".".join(parts), parts[:-1]


def _imported_names(node, package):
    """Return the dotted names that an import statement binds, relative imports resolved."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    start = package[: len(package) - node.level + 1] if node.level else ()
    source = ".".join([*start, *([node.module] if node.module else [])])
    return [f"{source}.{alias.name}" for alias in node.names]


def _imports(root):
    """Yield each (importing module, imported dotted name) of the package in the folder `root`."""
    for path in sorted(root.rglob("*.py")):
        module, package = _module_name(path, root)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for name in _imported_names(node, package):
                    yield module, name


def _is_private(part):
    return part.startswith("_") and not (part.startswith("__") and part.endswith("__"))


def _leaves_its_package(module, name, modules):
    """Whether `name` passes through something private to a package that does not hold `module`."""
    parts = name.split(".")
    for position, part in enumerate(parts):
        if not _is_private(part):
            continue
        owner = ".".join(parts[:position])
        if (
            owner in modules and modules[owner] != "package"
        ):  # a private name of a module: its package owns it
            owner = owner.rpartition(".")[0]
        if module != owner and not module.startswith(f"{owner}."):
            return True
    return False


def _modules(root):
    return {
        _module_name(path, root)[0]: "package" if path.name == "__init__.py" else "module"
        for path in root.rglob("*.py")
    }


def private_imports(root):
    """Return the imports of another package's private modules or names."""
    modules = _modules(root)
    return [
        f"{module} imports {name}"
        for module, name in _imports(root)
        if name.split(".")[0] == root.name and _leaves_its_package(module, name, modules)
    ]


def private_sklearn_imports(root):
    """Return the imports of scikit-learn's private modules or names outside the one module for them."""
    return [
        f"{module} imports {name}"
        for module, name in _imports(root)
        if name.split(".")[0] == "sklearn" and any(map(_is_private, name.split("."))) and module != COMPAT
    ]


def root_imports(root):
    """Return the imports of names that the root package loads lazily: import-linter cannot follow them."""
    modules = _modules(root)
    allowed = {f"{root.name}.__version__", root.name}
    return [
        f"{module} imports {name}"
        for module, name in _imports(root)
        if name.rpartition(".")[0] == root.name and name not in modules and name not in allowed
    ]


def _lint_imports(root):
    """Run the contract of `pyproject.toml` on the package in the folder `root`."""
    pytest.importorskip("importlinter")
    return subprocess.run(
        [sys.executable, "-c", LINT_IMPORTS, "--no-cache", "--config", str(CONFIG)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(root.parent), "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"},
        cwd=root.parent,
        check=False,
    )


def test_private_modules_and_names_stay_in_their_package():
    assert private_imports(SOURCE) == []


def test_one_module_imports_private_names_of_scikit_learn():
    assert private_sklearn_imports(SOURCE) == []
    assert any(module == COMPAT and "sklearn" in name for module, name in _imports(SOURCE))


def test_subpackages_import_from_subpackages():
    assert root_imports(SOURCE) == []


@pytest.mark.skipif(not CONFIG.exists(), reason="installed without its pyproject.toml")
def test_subpackages_import_downward_only():
    run = _lint_imports(SOURCE)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 kept, 0 broken" in run.stdout


@pytest.fixture
def package(tmp_path):
    """Return a function that writes a package `capo` with the files given and returns its folder."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / "capo" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "capo"

    return write


SUBPACKAGES = {
    "__init__.py": "",
    "_typing.py": "",
    "high/__init__.py": "from ._sibling import _shared, public",
    "high/_sibling.py": "from .._typing import FloatArray\n_shared = public = 1",
    "high/deep/__init__.py": "from .._sibling import public",
    "low/__init__.py": "from ._things import thing",
    "low/_things.py": "_hidden = thing = 1",
    "low/_private/__init__.py": "from ._inner import x",
    "low/_private/_inner.py": "x = 1",
}


def test_imports_inside_a_package_are_allowed(package):
    assert private_imports(package(SUBPACKAGES)) == []


@pytest.mark.parametrize(
    "line",
    [
        "from ..low._things import thing",
        "from ..low import _things",
        "from ..low import _hidden",
        "from ..low._things import _hidden",
        "from ..low._private import x",
        "from ..low._private._inner import x",
        "from capo.low._things import thing",
        "from capo.low import _things",
        "import capo.low._things",
        "import capo.low._things as things",
        "def late():\n    from ..low._things import thing",
        "if True:\n    from ..low import _things",
    ],
)
def test_an_import_of_another_subpackages_private_module_is_found(package, line):
    root = package({**SUBPACKAGES, "high/_planted.py": line})
    assert [each.split()[0] for each in private_imports(root)] == ["capo.high._planted"]


def test_a_subpackage_keeps_its_private_modules_from_its_parent(package):
    root = package({**SUBPACKAGES, "low/_planted.py": "from ._private import _inner"})
    assert private_imports(root) == ["capo.low._planted imports capo.low._private._inner"]


@pytest.mark.parametrize(
    "line",
    [
        "from sklearn.utils._param_validation import Interval",
        "from sklearn.utils import _safe_indexing",
        "import sklearn.utils._metadata_requests",
        "def late():\n    from sklearn.pipeline import _name_estimators",
    ],
)
def test_an_import_of_scikit_learns_private_names_is_found(package, line):
    root = package({**SUBPACKAGES, "high/_planted.py": line, "_compat.py": line})
    assert [each.split()[0] for each in private_sklearn_imports(root)] == ["capo.high._planted"]


@pytest.mark.parametrize("line", ["from .. import Classifier", "from capo import Classifier"])
def test_an_import_of_a_lazy_name_is_found(package, line):
    root = package({**SUBPACKAGES, "high/_planted.py": line})
    assert root_imports(root) == ["capo.high._planted imports capo.Classifier"]
    assert root_imports(package({"high/_planted.py": "from .. import __version__, low\nimport capo"})) == []


@pytest.mark.skipif(not CONFIG.exists(), reason="installed without its pyproject.toml")
@pytest.mark.parametrize(
    ("module", "line", "imported"),
    [
        ("engine/_planted.py", "from ..measures import Cut", "capo.measures"),
        ("engine/_planted.py", "from .. import estimators", "capo.estimators"),
        ("measures/_planted.py", "def late():\n    import capo.cli", "capo.cli"),
        ("measures/_planted.py", "from ..kernels import rbf", "capo.kernels"),  # neighbors are independent
        ("new_subpackage/__init__.py", "", "new_subpackage"),  # each subpackage has its layer
    ],
)
def test_an_import_upward_is_found(tmp_path, module, line, imported):
    root = tmp_path / "capo"
    shutil.copytree(SOURCE, root, ignore=shutil.ignore_patterns("__pycache__"))
    (root / module).parent.mkdir(exist_ok=True)
    (root / module).write_text(line)
    run = _lint_imports(root)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "0 kept, 1 broken" in run.stdout
    assert imported in run.stdout


def _contract_layers():
    contract = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]
    return [sorted(layer.replace(" ", "").split("|")) for layer in contract["layers"]]


@pytest.mark.skipif(not CONFIG.exists(), reason="installed without its pyproject.toml")
def test_the_guide_for_contributors_lists_the_layers_of_the_contract():
    guide = CONFIG.with_name("CONTRIBUTING.md").read_text(encoding="utf-8")
    table = guide.partition("| layer | purpose |\n|---|---|\n")[2].partition("\n\n")[0]
    listed = [sorted(re.findall(r"`(\w+)`", line.split("|")[1])) for line in table.splitlines()]
    assert [["__main__"], *listed] == _contract_layers()
