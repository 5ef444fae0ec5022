"""The help of the commands, and the version."""

import re
import subprocess
import sys

import pytest

import capo

from .cases import FAST, run

COMMANDS = [
    *("fit", "predict", "evaluate", "guarantee", "adjust", "refit", "compare", "inspect", "explain"),
    *("report", "show", "measures", "export", "demo"),
]


def test_help_lists_the_commands(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "capo fit train.csv --target churned --measure f1 -o churn.capo" in out
    assert re.findall(r"^  (\w+) ", out.partition("Commands:")[2], re.MULTILINE) == COMMANDS
    assert "..." not in out.partition("Commands:")[2]  # no description is cut


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_a_purpose_and_an_example(command, capsys):
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    usage, purpose, rest = out.split("\n\n", 2)
    assert usage.startswith("Usage:")
    assert "{" not in usage
    assert re.fullmatch(r"[A-Z][^.]*\.", " ".join(purpose.split()))
    assert re.search(rf"^    capo {command}\b", rest.partition("Options:")[0], re.MULTILINE)


def test_help_groups_the_options(capsys):
    out = run(capsys, "fit", "--help")[1]
    groups = re.findall(r"^(\w.*):$", out, re.MULTILINE)
    assert groups == ["Arguments", "Columns", "Model", "Reading the table", "Output", "Options"]
    columns = out.partition("Columns:")[2].partition("Model:")[0]
    assert re.findall(r"(--\w+)", columns) == [
        "--target",
        "--label",
        "--positive",
        "--drop",
        "--weight",
        "--group",
        "--time",
        "--drop",
        "--id",
        "--category",
        "--types",
        "--strict",
    ]


def imported(arguments, modules):
    """Those of the modules that a command imports."""
    code = (
        f"import sys; sys.argv = ['capo', *{arguments}]\n"
        "from capo.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        f"print([name for name in {modules} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["--version"]])
def test_the_help_imports_nothing_heavy(arguments):
    assert imported(arguments, ("numpy", "scipy", "sklearn", "polars", "rich", "capo.measures")) == "[]"


def test_a_fit_imports_no_optional_parts(folder, tmp_path):
    files = (str(folder / "train.csv"), "-o", str(tmp_path / "m.capo"))
    modules = ("dask", "distributed", "onnx", "capo.dask", "capo.export", "capo.report")
    assert imported(["fit", *files, "-t", "y", *FAST], modules) == "[]"


def test_the_version_is_the_packages(capsys):
    assert run(capsys, "--version")[1] == f"capo {capo.__version__}\n"
