"""JSON, Feather and Excel files, zip archives and several files."""

import gzip
import io
import json
import zipfile

import polars as pl
import pytest

from capo.exceptions import MissingExtraError, TableError
from capo.io import source
from capo.io.formats import TableReader
from capo.io.table_schema import ColumnRoles, infer_features

ROWS = [{"x": 1.5, "town": "Ulm", "y": 0}, {"x": 2, "town": None, "y": 1}, {"town": "Bonn", "y": 0}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def read(path, **options):
    return TableReader(str(path), **options).read().rows


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.txt", "t"])
@pytest.mark.parametrize("size", [20, 2**20])
def test_json_lines(name, size, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_SIZE", size)
    (tmp_path / name).write_bytes(LINES)
    batch = TableReader(str(tmp_path / name)).read()
    assert batch.rows["x"].cast(float).to_list() == [1.5, 2.0, None]
    schema = infer_features(batch, ColumnRoles("y"))
    assert [column.kind.name for column in schema.columns] == ["number", "category"]


def test_a_key_that_begins_late_in_json_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_SIZE", 20)
    rows = [{"x": number, "y": number % 2} for number in range(20)]
    lines = [json.dumps(row) for row in [*rows, {"x": 7, "y": 1, "late": 2.5}]]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    assert read(tmp_path / "t.jsonl")["late"].to_list() == [None] * 20 + [2.5]


def test_fields_of_nested_objects_are_columns(tmp_path):
    rows = [
        {"user": {"age": 31, "home": {"town": "Ulm"}}, "tags": ["a", "b"], "y": 0},
        {"user": {"age": 40, "home": None}, "tags": ["a"], "y": 1},
        {"user": None, "tags": [], "y": 0},
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    frame = read(tmp_path / "t.jsonl")
    assert frame["user.age"].to_list() == [31, 40, None]
    assert frame["user.home.town"].to_list() == ["Ulm", None, None]
    frame.select(pl.struct("user.age", "y").alias("s"), "y").write_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").columns == ["s.user.age", "s.y", "y"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1}\n{"a": \n', "cannot be read as JSON lines from line 1 on"),
        (b'{\n "a": 1\n}', "is a JSON file, but neither an array of objects nor one object in each line"),
        (b"[[1, 2], [3, 4]]", "cannot be read as a JSON array of objects"),
        (b'[{"a": 1}, {"a"', "cannot be read as a JSON array of objects"),
    ],
)
def test_other_json_is_rejected(data, message, tmp_path):
    (tmp_path / "t.jsonl").write_bytes(data)
    with pytest.raises(TableError, match=message):
        read(tmp_path / "t.jsonl")


@pytest.mark.parametrize("name", ["t.json", "t.json.gz", "t"])
def test_json_arrays(name, tmp_path):
    data = json.dumps([{**row, "user": {"age": 31}} for row in ROWS], indent=1).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    frame = read(tmp_path / name)
    assert frame.columns == ["x", "town", "y", "user.age"]
    assert frame["x"].to_list() == [1.5, 2.0, None]


@pytest.mark.parametrize("name", ["t.feather", "t.arrow", "t"])
@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather_files(name, compression, tmp_path):
    frame = pl.DataFrame({"x": [1.5, None], "town": ["Ulm", "Bonn"], "y": [0, 1]})
    frame.write_ipc(tmp_path / name, compression=compression)
    assert read(tmp_path / name).equals(frame, null_equal=True)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-40])
    with pytest.raises(TableError, match="cannot be read as an Arrow or Feather file"):
        read(tmp_path / name)


def zipped(**files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return data.getvalue()


@pytest.mark.parametrize("name", ["t.zip", "t.csv.zip", "t"])
def test_zip_archives_of_one_file(name, tmp_path):
    (tmp_path / name).write_bytes(zipped(t_csv="a,b\n1,x\n"))
    assert read(tmp_path / name).rows() == [("1", "x")]


def test_zip_archives_of_several_files_are_rejected(tmp_path):
    (tmp_path / "t.zip").write_bytes(zipped(t_csv="a,b\n1,x\n", u_csv="a,b\n2,y\n"))
    with pytest.raises(TableError, match="is a zip archive of 2 files: it must contain exactly one"):
        read(tmp_path / "t.zip")


def test_excel_files(tmp_path):
    if not _has_excel():
        (tmp_path / "t.xlsx").write_bytes(zipped(**{"[Content_Types].xml".replace(".", "_"): "<x/>"}))
        with pytest.raises(MissingExtraError, match=r"needs fastexcel: pip install 'capo-learn\[excel\]'"):
            read(tmp_path / "t.xlsx")
        return
    write_sheet(tmp_path / "t.xlsx", [("x", "town"), (1.5, "Ulm"), (2, "Bonn")])
    assert read(tmp_path / "t.xlsx").rows() == [(1.5, "Ulm"), (2.0, "Bonn")]
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04junk")
    with pytest.raises(TableError, match="damaged or truncated"):
        read(tmp_path / "t.xlsx")


@pytest.mark.parametrize(
    "above", [[("Sales by town",), ()], [("Sales by town",)], [("Sales", None, "2024"), ("all towns",), ()]]
)
def test_a_title_above_the_names_of_excel_columns_is_left_out(above, tmp_path):
    pytest.importorskip("fastexcel")
    names, *rows = [("x", "town", "n", "y"), (1.5, "Ulm", None, 1), (2, "Bonn", 3, 0)]
    write_sheet(tmp_path / "t.xlsx", [*above, names, *rows])
    frame = read(tmp_path / "t.xlsx")
    assert frame.columns == list(names)
    assert frame.rows() == rows


def test_excel_columns_without_a_name_are_named_by_their_number(tmp_path):
    pytest.importorskip("fastexcel")
    write_sheet(tmp_path / "t.xlsx", [(None, "town", "y"), (1, "Ulm", 1), (2, "Bonn", 0)])
    assert read(tmp_path / "t.xlsx").columns == ["column_1", "town", "y"]


def write_sheet(path, rows):
    book = pytest.importorskip("xlsxwriter").Workbook(str(path))
    sheet = book.add_worksheet()
    for number, row in enumerate(rows):
        sheet.write_row(number, 0, row)
    book.close()


def _has_excel():
    try:
        import fastexcel  # noqa: F401 (optional)
    except ImportError:
        return False
    return True


def test_several_files_are_read_as_one(tmp_path):
    for number, part in enumerate(["a,b\n1,x\n2,y\n", "b,a\nz,3\n"]):
        (tmp_path / f"part-{number}.csv").write_text(part)
    reader = TableReader(str(tmp_path / "part-*.csv"))
    assert reader.read().rows.rows() == [("1", "x"), ("2", "y"), ("3", "z")]
    assert [batch.first_row for batch in reader.batches()] == [1, 3]
    assert len(reader.paths) == 2
    (tmp_path / "part-2.csv").write_text("a,c\n1,x\n")
    with pytest.raises(
        TableError, match=r"part-2.csv has different columns from the previous files: see 'b'"
    ):
        reader.read()
    with pytest.raises(TableError, match="there is no file"):
        read(tmp_path / "none-*.csv")


def test_a_file_with_the_name_of_a_pattern_is_that_file(tmp_path):
    pl.DataFrame({"a": [1]}).write_csv(tmp_path / "t[1].csv")
    pl.DataFrame({"a": [2]}).write_csv(tmp_path / "t1.csv")
    assert read(tmp_path / "t[1].csv").rows() == [("1",)]
