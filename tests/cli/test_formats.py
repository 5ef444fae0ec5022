"""Formats of files that commands read and write."""

import gzip
import json

import polars as pl
import pytest

from .cases import FAST, run, table


@pytest.fixture(scope="module")
def expected(folder, model, tmp_path_factory):
    from .cases import exit_code

    path = tmp_path_factory.mktemp("predictions") / "p.csv"
    assert exit_code("predict", model, folder / "test.csv", "-o", path, "-q") == 0
    return pl.read_csv(path)


@pytest.mark.parametrize("name", ["p.parquet", "p.jsonl", "p.ndjson.gz", "p.tsv"])
def test_predictions_in_every_format_are_the_same(name, folder, model, expected, tmp_path, capsys):
    assert run(capsys, "predict", model, folder / "test.csv", "-o", tmp_path / name)[0] == 0
    data = (tmp_path / name).read_bytes()
    data = gzip.decompress(data) if name.endswith(".gz") else data
    if "parquet" in name:
        found = pl.read_parquet(data)
    elif "tsv" in name:
        found = pl.read_csv(data, separator="\t")
    else:
        found = pl.read_ndjson(data)
    assert found.columns == expected.columns
    assert found["label"].to_list() == expected["label"].to_list()
    assert found["score"].to_list() == pytest.approx(expected["score"].to_list(), rel=1e-12)


def test_json_lines_and_several_files_give_the_same_predictions(folder, model, expected, tmp_path, capsys):
    rows = table(80, seed=1)
    rows.write_ndjson(tmp_path / "test.jsonl")
    rows[:30].write_csv(tmp_path / "part-0.csv")
    rows[30:].write_csv(tmp_path / "part-1.csv")
    for name in ("test.jsonl", "part-*.csv"):
        out = run(capsys, "predict", model, tmp_path / name)[1]
        assert pl.read_csv(out.encode())["label"].to_list() == expected["label"].to_list()
    code, _, err = run(capsys, "predict", model, tmp_path / "part-*.csv", "-o", tmp_path / "part-1.csv")
    assert code == 2
    assert "is an input file and would be overwritten" in err


def test_comparisons_are_written_for_reports(folder, model, tmp_path, capsys):
    compare = ("compare", folder / "train.csv", "-t", "y", "--drop", "id", *FAST, "-o", tmp_path / "c.json")
    code, out, _ = run(capsys, *compare)
    assert code == 0
    assert "tuned threshold" in out
    assert json.loads((tmp_path / "c.json").read_text())["folds"] == 2
    assert "a comparison is written to a .json file" in run(capsys, *compare[:-1], tmp_path / "c.csv")[2]


def test_a_sheet_of_an_excel_file(folder, model, expected, tmp_path, capsys):
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        pl.DataFrame({"a": [1]}).write_excel(book, "notes")
        table(80, seed=1).write_excel(book, "rows")
    options = ("predict", model, tmp_path / "t.xlsx")
    code, out, _ = run(capsys, *options, "--sheet", "rows")
    assert code == 0
    assert pl.read_csv(out.encode())["label"].to_list() == expected["label"].to_list()
    err = run(capsys, *options)[2]
    assert "has 2 sheets, and the first, 'notes', is read: --sheet chooses another ('rows')." in err
    assert "has no sheet 'row': it has 'notes', 'rows'." in run(capsys, *options, "--sheet", "row")[2]
    csv = ("predict", model, folder / "test.csv", "--sheet", "rows")
    assert "is not an Excel file: leave out --sheet." in run(capsys, *csv)[2]


def test_formulas_are_quoted_on_demand(model, tmp_path, capsys):
    ids = ["=1+1", "+a", "-2+3", "@x", "-5", "plain", "\ttab", "1.5"]
    rows = table(8).with_columns(pl.Series("=id", ids))
    rows.write_csv(tmp_path / "t.csv")
    predict = ("predict", model, tmp_path / "t.csv", "--id", "=id")
    assert pl.read_csv(run(capsys, *predict)[1].encode())["=id"].to_list() == ids
    found = pl.read_csv(run(capsys, *predict, "--excel-safe")[1].encode())["'=id"].to_list()
    assert found == ["'=1+1", "'+a", "'-2+3", "'@x", "-5", "plain", "'\ttab", "1.5"]
