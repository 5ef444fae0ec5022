"""Division of one file into parts: together they have the rows of the file, each in its place."""

import csv
import gzip
import io

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capo.exceptions import TableError
from capo.io import source
from capo.io.formats import TableReader
from capo.io.parts import divide_table, estimate_size

FIELDS = st.text(st.sampled_from('ab1,;\n" é'), max_size=5)
TABLES = st.integers(2, 3).flatmap(
    lambda n: st.lists(st.lists(FIELDS, min_size=n, max_size=n), min_size=1, max_size=9)
)


def check_parts(path, max_rows, **options):
    """Parts are full, their row numbers are those of the file, and so are their values."""
    table = TableReader(str(path), **options)
    parts, whole = [part.read() for part in divide_table(table, max_rows)], table.read()
    assert [len(part) for part in parts[:-1]] == [max_rows] * (len(parts) - 1)
    assert 0 < len(parts[-1]) <= max_rows
    assert [part.first_row for part in parts] == [1 + i * max_rows for i in range(len(parts))]
    assert {part.decimal_comma for part in parts} == {whole.decimal_comma}
    assert pl.concat([part.frame for part in parts]).equals(whole.frame)
    return parts


@given(
    rows=TABLES,
    max_rows=st.integers(1, 4),
    end=st.sampled_from(["\n", "\r\n", "\n\n", "\r\n\r\n"]),
    # The reader expects the header in the first block, after blank lines.
    start_and_block=st.sampled_from([("", 5), ("", 64), ("\ufeff", 5), ("\n", 64)]),
    encoding=st.sampled_from([None, "latin-1"]),
)
def test_parts_of_csv_are_the_rows_of_the_file(
    rows, max_rows, end, start_and_block, encoding, tmp_path_factory
):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([[f"na\nme;{i}" for i in range(len(rows[0]))], *rows])
    path = tmp_path_factory.mktemp("t") / "table.csv"
    start, block = start_and_block
    start = start if encoding is None else start.strip("\ufeff")
    path.write_bytes((start + text.getvalue()).encode(encoding or "utf-8"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "BLOCK_SIZE", block)
        check_parts(path, max_rows, encoding=encoding, delimiter=";")


@pytest.mark.parametrize("group", [3, 7, 100])
@pytest.mark.parametrize("max_rows", [1, 5, 10, 20, 30])
def test_parts_of_parquet_are_the_rows_of_the_file(group, max_rows, tmp_path):
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"a": range(20), "b": [f"x{i}" if i % 3 else None for i in range(20)]})
    frame.write_parquet(path, row_group_size=group)
    assert len(check_parts(path, max_rows)) == -(-20 // max_rows)


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_blank_lines_at_the_end_are_no_part(end, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n\n3,4\n5,6\n7,8" + end)
    assert len(check_parts(path, 2)) == 2


def test_messages_name_the_line_and_the_rows_of_the_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x\ny"\n\n2,3\n4,5\n6\n')
    parts = divide_table(TableReader(str(path)), 2)
    assert parts[1].name == f"rows 3 to 4 of {path}"
    assert len(parts[0].read()) == 2
    with pytest.raises(TableError, match=r"line 7 of .*t\.csv has 1 values, but the header has 2"):
        parts[1].read()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n3,4\n", mtime=0)),
        ("utf16.csv", "a,b\n1,2\n3,4\n".encode("utf-16")),
        ("return.csv", b"a,b\r1,2\r3,4\r"),
        ("blank.csv", b"\xef\xbb\xbf\na,b\n1,2\n3,4\n"),
        ("t.jsonl", b'{"a": 1}\n{"a": 2}\n'),
        ("t.svm", b"1 1:2\n0 1:3\n"),
    ],
)
def test_other_files_are_not_divided(name, data, tmp_path):
    path = tmp_path / name
    path.write_bytes(data)
    (part,) = divide_table(TableReader(str(path)), 1)
    assert len(part.read()) == 2


def test_each_of_several_files_is_a_part_and_large_ones_are_divided(tmp_path, monkeypatch):
    for i in range(3):
        (tmp_path / f"part-{i}.csv").write_text(f"a,b\n{i},0\n{i},1\n")
    pl.DataFrame({"a": [], "b": []}).write_parquet(tmp_path / "part-4.parquet")
    table = TableReader(str(tmp_path))
    assert len(divide_table(table)) == 4  # small files are not opened
    for parts in (divide_table(TableReader(str(tmp_path / "part-*.csv"))), divide_table(table, 2)):
        assert [part.read().frame["a"].to_list() for part in parts] == [["0"] * 2, ["1"] * 2, ["2"] * 2]
    monkeypatch.setattr("capo.io.parts.MIN_DIVIDED_BYTES", 0)
    monkeypatch.setattr("capo.io.parts.MAX_PART_ROWS", 1)
    assert [part.path[-5] for part in divide_table(table)] == ["0", "0", "1", "1", "2", "2"]


def test_wide_tables_have_parts_of_fewer_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("capo.io.parts.MAX_PART_VALUES", 12)
    monkeypatch.setattr("capo.io.parts.MAX_PART_ROWS", 5)
    for n_columns, n_rows in ((1, 5), (4, 3), (50, 1)):
        frame = pl.DataFrame({f"c{i}": range(10) for i in range(n_columns)})
        frame.write_parquet(tmp_path / "t.parquet")
        parts = divide_table(TableReader(str(tmp_path / "t.parquet")))
        assert len(parts[0].read()) == n_rows
        if n_columns > 1:
            frame.write_csv(tmp_path / "t.csv")
            assert len(divide_table(TableReader(str(tmp_path / "t.csv")))[0].read()) == n_rows


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_tables_without_rows_and_damaged_ones_are_errors(name, tmp_path):
    path = tmp_path / name
    frame = pl.DataFrame({"a": [], "b": []}, schema={"a": pl.Int64, "b": pl.Int64})
    frame.write_csv(path) if name == "t.csv" else frame.write_parquet(path)
    with pytest.raises(TableError, match="but no rows"):
        divide_table(TableReader(str(path)))
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(TableError, match="cannot be read as a Parquet file"):
        divide_table(TableReader(str(path)))


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_the_size_of_a_table_is_estimated_from_its_first_rows(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr("capo.io.source.BLOCK_SIZE", 2**16)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=50_000), "word": rng.choice(["red", "green"], 50_000)})
    for name, rows in (("a", frame[:100]), ("b", frame), ("c", frame[:0])):
        path = tmp_path / f"{name}.{suffix}"
        rows.write_parquet(path) if suffix == "parquet" else rows.write_csv(path)
    for path in (tmp_path, tmp_path / f"b.{suffix}"):
        table = TableReader(str(path))
        rows, found = table.read().frame, estimate_size(table)
        assert found[0] == pytest.approx(len(rows), rel=0.1)
        assert found[1] == pytest.approx(rows.estimated_size(), rel=0.2)


def test_a_single_file_that_cannot_be_divided_has_no_estimate(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert estimate_size(TableReader(str(tmp_path / "t.csv.gz"))) is None
