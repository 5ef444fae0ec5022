"""Results and messages of the console, and their streams."""

import json
import logging
import os
import sys
from pathlib import Path

import polars as pl
import pytest

from capo.cli import console as console_module
from capo.cli.console import (
    MAX_SECONDS_BETWEEN_LINES,
    CommandInterrupted,
    Console,
    check_output,
    describe_output,
    is_stdout,
    printable,
    to_json,
    write_output,
)
from capo.learning.cross_fit import MODEL_PROGRESS

from .cases import FAST, run, table


def test_json_has_neither_nan_nor_infinity():
    data = {"a": float("nan"), "b": [1.5, float("-inf"), {"c": float("inf")}], "d": "x", 3: True}
    expected = {"a": None, "b": [1.5, None, {"c": None}], "d": "x", "3": True}
    assert json.loads(to_json(data)) == expected


CONTROL = "a\x1b[2J\x9b31m\rb\u202ec"


def test_text_cannot_steer_the_terminal(capsys):
    assert printable("é\u00a0\t\n") == "é\u00a0\t\n"
    console = Console()
    console.note(CONTROL)
    console.result(CONTROL, None)
    assert capsys.readouterr() == ("a?[2J?31m?b?c\n", "note: a?[2J?31m?b?c\n")
    Console(as_json=True).result("", CONTROL)
    out = capsys.readouterr().out
    assert json.loads(out) == CONTROL
    assert out.strip().isprintable()


@pytest.mark.skipif(sys.platform == "win32", reason="names of files have no control characters")
def test_names_from_tables_and_files_cannot_steer_the_terminal(folder, capsys, tmp_path):
    path, red = tmp_path / "\x1b[31m.csv", "\x1b[31mred"
    table().with_columns(word=pl.col("word") + red).rename({"z": red}).write_csv(path)
    model = tmp_path / "m\x1b.capo"
    texts = [run(capsys, "fit", path, "-t", "y", *FAST, "-o", model)]
    for command in (
        *(("inspect", path, "-t", "y"), ("show", model), ("evaluate", model, path)),
        *(("explain", model, path, "--row", "1"), ("predict", model, path, "-o", tmp_path / "p.csv")),
        *(("report", model, path, "-o", tmp_path / "\x1b.html"), ("compare", path, "-t", "y", *FAST)),
    ):
        texts.append(run(capsys, *command))
    assert [code for code, _, _ in texts] == [0] * len(texts)
    texts.append(run(capsys, "fit", tmp_path / "\x1babsent.csv", "-t", "y", "-o", model))
    texts.append(run(capsys, "predict", model, folder / "test.csv"))
    texts.append(run(capsys, "refit", model, path, "-o", tmp_path / "r.capo"))
    new = tmp_path / "\x1bnew.csv"
    table(90, 3).with_columns(word=pl.col("word") + red).rename({"z": red}).write_csv(new)
    texts.append(run(capsys, "refit", model, new, "-o", tmp_path / "r\x1b.capo"))
    assert texts[-1][0] == 0
    for command in ("inspect", "evaluate", "explain", "guarantee"):
        arguments = (new,) if command == "inspect" else (model, new)
        texts.append(run(capsys, command, *arguments, "--format", "\x1b"))
        texts.append(run(capsys, command, *arguments[:-1], tmp_path / "\x1b-none.csv"))
        assert texts[-1][0] == 2
    assert not any("\x1b" in out + err for _, out, err in texts)
    assert "?[31mred" in texts[1][1]


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


def log_model(n_trained, n_models):
    """Log that a model is trained, as the library does."""
    logging.getLogger("capo").info(MODEL_PROGRESS, "linear", n_trained, n_models)


def test_steps_of_all_fits_are_counted_with_the_time_left(clock, capsys):
    shown = {3.0: (3, 29), 60.0: None, 150.0: (15, 29)}
    with Console().step("comparing", n_fits=5) as step:
        for clock[0], models in shown.items():
            step.end_fit("") if models is None else log_model(*models)
        clock[0] = 1.0
    assert capsys.readouterr().err.splitlines() == [
        "comparing: 3 of 150 steps",
        "comparing: 30 of 150 steps, about 4.0 min left",
        "comparing: 45 of 150 steps, about 5.8 min left",
    ]


def test_a_log_file_gets_few_lines(clock, capsys):
    with Console().step("training"):
        for number in range(1, 3601):  # an hour
            clock[0] = float(number)
            log_model(number, 3600)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["training: 2 of 3601 steps", "training: 4 of 3601 steps"]
    assert lines[8].startswith("training: 512 of 3601 steps, about 51 min left")
    assert len(lines) <= 9 + 3600 / MAX_SECONDS_BETWEEN_LINES
    assert lines[-1] == "training: 3600.0 s"


def test_models_that_the_library_logs_are_counted(clock, capsys):
    with Console().step("comparing", n_fits=2) as step:
        clock[0] = 10.0
        log_model(4, 9)
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
        log_model(5, 9)
        step._status._live.refresh()
    shown = capsys.readouterr().err
    assert "training [x]" in shown
    assert "5 of 10 steps, about" in shown
    assert "━━━━" in shown


def test_the_bar_of_a_narrow_terminal_is_one_line(monkeypatch, capsys):
    from rich.console import Console as Terminal

    with Console().step("comparing") as step:
        log_model(5, 9)
        line = step._line("32 of 99 steps, about 44 s left; C=100: 0.7282 out of fold")
    terminal = Terminal(width=72)
    assert len(terminal.render_lines(line)) == 1


def test_what_an_interrupted_command_has_written_is_known(tmp_path):
    path = tmp_path / "m.json"
    for content in (b"1", b"2"):  # a new file, and one that is replaced
        check_output(path)
        assert describe_output() == "no output file was changed."
        write_output(content, path, Console(quiet=True))
        assert describe_output() == f"{path} was already written."


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
