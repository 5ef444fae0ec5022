"""Results and messages of the console, and their streams."""

import json
import os
import sys
from pathlib import Path

import pytest

from capo.cli._console import CommandInterrupted, Console, replace_non_finite
from capo.cli._output import is_stdout

from .cases import FAST, run, table


def test_json_has_neither_nan_nor_infinity():
    data = {"a": float("nan"), "b": [1.5, float("-inf"), {"c": float("inf")}], "d": "x", 3: True}
    assert replace_non_finite(data) == {"a": None, "b": [1.5, None, {"c": None}], "d": "x", "3": True}


def test_results_are_strict_json(capsys):
    Console(as_json=True).result("text", {"value": float("nan"), "name": "é"})
    assert json.loads(capsys.readouterr().out) == {"value": None, "name": "é"}


def test_brackets_in_names_are_shown_as_they_are(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Console().step("reading d[/e].csv") as step:
        step.progress("[bold]10 rows")
    assert "Traceback" not in capsys.readouterr().err


def test_an_interruption_is_raised_as_command_interrupted():
    def interrupted():
        with Console(quiet=True).step("work"):
            raise KeyboardInterrupt

    with pytest.raises(CommandInterrupted):
        interrupted()


def test_a_note_is_given_once(capsys):
    console = Console()
    for _ in range(3):
        console.note("look here")
    assert capsys.readouterr().err == "note: look here\n"
    Console(quiet=True).note("not here")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_the_standard_output_by_its_names(name, folder, capsys):
    assert is_stdout(Path(name))
    code, _, err = run(capsys, "fit", folder / "train.csv", "-t", "y", *FAST, "-o", name)
    assert code == 2
    assert "a model cannot be written to standard output" in err


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux alone")
def test_names_that_are_no_text(capsys, tmp_path):
    path, model = os.fsdecode(os.fsencode(tmp_path) + b"/b\xff.csv"), tmp_path / "m.capo"
    Path(path).write_bytes(table().write_csv().encode())
    assert run(capsys, "fit", path, "-t", "y", *FAST, "-o", model)[0] == 0
    assert run(capsys, "show", model)[0] == 0
