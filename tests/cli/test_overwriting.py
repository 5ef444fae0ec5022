"""Files that a command reads, and files of another format, are never overwritten."""

import pytest

from .cases import FAST, run, table

SENTENCE = "is an input file and would be overwritten"


def refused(capsys, sentence, *arguments):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert sentence in err


def test_what_is_read_is_not_overwritten(folder, model, capsys, tmp_path):
    copy, other = tmp_path / "t.csv", tmp_path / "m.capo"
    copy.write_bytes((folder / "test.csv").read_bytes())
    other.write_bytes(model.read_bytes())
    refused(capsys, SENTENCE, "fit", copy, "-t", "y", *FAST, "-o", copy)
    refused(capsys, SENTENCE, "predict", other, copy, "-o", copy)
    refused(capsys, SENTENCE, "report", other, copy, "-o", other)
    refused(capsys, SENTENCE, "export", other, other)
    assert copy.read_bytes() == (folder / "test.csv").read_bytes()
    assert other.read_bytes() == model.read_bytes()


@pytest.mark.parametrize("command", ["predict", "report", "fit"])
def test_a_file_on_the_standard_input_is_not_overwritten(
    folder, model, tmp_path, monkeypatch, capsys, command
):
    place = tmp_path / "t.csv"
    place.write_bytes((folder / "train.csv").read_bytes())
    before = place.read_bytes()
    arguments = [model, "-"] if command != "fit" else ["-", "-t", "y", "-m", "f1"]
    with place.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        code, _, err = run(capsys, command, *arguments, "-o", place)
    assert code == 2
    assert SENTENCE in err
    assert place.read_bytes() == before


@pytest.mark.parametrize(
    "name", ["test.csv", "new.PARQUET", "page.html", "graph.onnx", "t.tsv.gz", "kinds.toml"]
)
def test_a_model_does_not_replace_a_file_of_another_format(name, folder, model, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    sentence = f"a model is written to a file such as model.capo: got {name}."
    refused(capsys, sentence, "fit", "train.csv", "-t", "y", *FAST, "-o", name)
    refused(capsys, sentence, "adjust", model, "--prevalence", "0.1", "-o", name)
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before


@pytest.mark.parametrize(
    "command",
    [
        "fit TABLE -t y -o new.capo",
        "compare TABLE -t y",
        "inspect TABLE",
        "predict MODEL TABLE",
        "evaluate MODEL TABLE",
        "explain MODEL TABLE",
        "guarantee MODEL TABLE --promise recall>=0.5",
        "adjust MODEL TABLE -o new.capo",
        "show TABLE",
    ],
)
@pytest.mark.parametrize("table", ["t.csv", "-", "t*.csv"])
def test_standard_output_is_not_appended_to_an_input(
    command, table, folder, model, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "t.csv"
    place.write_bytes((folder / "train.csv").read_bytes())
    before = place.read_bytes()
    words = command.replace("MODEL", str(model)).replace("TABLE", table).split()
    if words[0] == "show" and table != "t.csv":
        pytest.skip("it reads one file")
    with place.open() as source, place.open("a") as target:
        monkeypatch.setattr("sys.stdin", source)
        monkeypatch.setattr("sys.stdout", target)
        refused(capsys, f"standard output {SENTENCE}", *words)
    assert place.read_bytes() == before


def test_files_that_options_name_are_not_overwritten(folder, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kinds").write_text('[columns]\nx = "number"\n')
    (tmp_path / "costs").write_text("true,no,yes\nno,0,1\nyes,5,0\n")
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    fit = ("fit", folder / "train.csv", "-t", "y", *FAST)
    refused(capsys, SENTENCE, *fit, "--types", "kinds", "-o", "kinds")
    refused(capsys, SENTENCE, *fit, "-m", "cost", "--measure-arg", " matrix = ./costs", "-o", "costs")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_a_table_of_several_files_is_not_overwritten(model, capsys, tmp_path):
    for number in range(2):
        table(60, seed=number).write_csv(tmp_path / f"part-{number}")
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    for command in ("adjust", "refit", "guarantee"):
        refused(capsys, SENTENCE, command, model, tmp_path / "part-*", "-o", tmp_path / "part-1")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
