"""Results and messages of the console, and their streams."""

import json
import logging
import os
import sys
from pathlib import Path

import pytest

from capo.cli import console as console_module
from capo.cli.console import (
    MAX_SECONDS_BETWEEN_LINES,
    CommandInterrupted,
    Console,
    FitCounter,
    replace_non_finite,
)
from capo.cli.output import is_stdout
from capo.learning.cross_fit import MODEL_PROGRESS

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


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    clock = [0.0]
    monkeypatch.setattr(console_module.time, "monotonic", lambda: clock[0])
    return clock


def test_steps_of_all_fits_are_counted_with_the_time_left():
    counter = FitCounter(n_fits=5)
    assert counter.describe(3) == ""
    counter.count_models(3, 29)
    assert counter.describe(6) == "3 of 150 steps"
    counter.end_fit()
    assert counter.describe(60) == "30 of 150 steps, about 4.0 min left"
    counter.count_models(15, 29)
    assert counter.describe(90) == "45 of 150 steps, about 3.5 min left"
    for _ in range(4):
        counter.end_fit()
    assert counter.n_done == counter.n_steps


def test_a_log_file_gets_few_lines(clock, capsys):
    with Console().step("training") as step:
        for number in range(1, 3601):  # an hour
            clock[0] = float(number)
            step.count_models(number, 3600)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["training: 2 of 3601 steps", "training: 4 of 3601 steps"]
    assert lines[8].startswith("training: 512 of 3601 steps, about 51 min left")
    assert len(lines) <= 9 + 3600 / MAX_SECONDS_BETWEEN_LINES
    assert lines[-1] == "training: 3600.0 s"


def test_models_that_the_library_logs_are_counted(clock, capsys):
    with Console().step("comparing", n_fits=2) as step:
        clock[0] = 10.0
        logging.getLogger("capo").info(MODEL_PROGRESS, "linear", 4, 9)
        clock[0] = 20.0
        step.end_fit("fold 1 of 2: 20 s")
        clock[0] = 40.0
        logging.getLogger("capo").info("C=%g: %.4f out of fold", 0.1, 0.5)
    assert capsys.readouterr().err.splitlines() == [
        "comparing: 4 of 20 steps, about 40 s left",
        "comparing: 10 of 20 steps, about 20 s left; fold 1 of 2: 20 s",
        "comparing: 10 of 20 steps, about 40 s left; C=0.1: 0.5000 out of fold",
        "comparing: 40.0 s",
    ]


def test_a_terminal_shows_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with Console().step("training [x]") as step:
        step.count_models(5, 9)
        step._status._live.refresh()
    shown = capsys.readouterr().err
    assert "training [x]" in shown
    assert "5 of 10 steps, about" in shown
    assert "━━━━" in shown


def test_the_bar_of_a_narrow_terminal_is_one_line(monkeypatch, capsys):
    from rich.console import Console as Terminal

    with Console().step("comparing") as step:
        step.count_models(5, 9)
        line = step._line("32 of 99 steps, about 44 s left; C=100: 0.7282 out of fold")
    terminal = Terminal(width=72)
    assert len(terminal.render_lines(line)) == 1


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
