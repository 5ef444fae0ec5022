"""Reading of tables: formats, compression, encodings, delimiters, and errors for invalid files."""

import bz2
import csv
import gzip
import io
import lzma
import os
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from capo.exceptions import TableError
from capo.io import source
from capo.io.formats import TableReader, find_preamble
from capo.io.table_schema import ColumnRoles, column_notes, infer_features, infer_table_schema

PLAIN = b"a,b,c\n1,x,2.5\n4,y z,\n"


def read(path, **options):
    return TableReader(str(path), **options).read().rows


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(source, "BLOCK_SIZE", 16)


FIELDS = st.text(st.sampled_from("ab1,;\t\n\"' é|."), max_size=6)
TABLES = st.integers(2, 4).flatmap(
    lambda n: st.lists(st.lists(FIELDS, min_size=n, max_size=n), min_size=1, max_size=8)
)


@pytest.mark.slow
@given(rows=TABLES, delimiter=st.sampled_from(",;|\t"), end=st.sampled_from(["\n", "\r\n"]))
def test_text_is_read_as_pandas_reads_it(rows, delimiter, end, tmp_path_factory):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow([f"c{i}" for i in range(len(rows[0]))])
    writer.writerows(rows)
    path = tmp_path_factory.mktemp("t") / "table.csv"
    path.write_bytes(text.getvalue().encode())
    expected = pd.read_csv(path, sep=delimiter, dtype=str, keep_default_na=False)
    before = source.BLOCK_SIZE
    try:
        for source.BLOCK_SIZE in (7, before):
            found = read(path).with_columns(pl.all().fill_null(""))
            assert found.columns == list(expected)
            assert [list(row) for row in found.rows()] == expected.to_numpy().tolist()
    finally:
        source.BLOCK_SIZE = before


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, bytes])
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "txt", "csv.bz2"])
def test_compression_is_detected_from_the_content(compress, suffix, tmp_path):
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(compress(PLAIN))
    assert read(path).rows() == [("1", "x", "2.5"), ("4", "y z", None)]


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (PLAIN.replace(b"\n", b"\r\n"), {}),
        (PLAIN.replace(b"\n", b"\r"), {}),
        (b"\xef\xbb\xbf" + PLAIN, {}),
        (PLAIN.decode().encode("utf-16"), {}),
        (PLAIN.replace(b",", b";"), {}),
        (PLAIN.replace(b",", b"\t"), {"delimiter": "tab"}),
        (PLAIN.replace(b",", b"|"), {"delimiter": "|"}),
        (b"\n" + PLAIN.replace(b"\n", b"\n\n"), {}),
        (PLAIN.rstrip(b"\n"), {}),
        (b'a,b,c\n"1","x",2.5\n4,"y z",\n', {}),
    ],
)
def test_equivalent_files_give_the_same_table(data, options, tmp_path, small_blocks):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    found = read(path, **options)
    assert found.columns == ["a", "b", "c"]
    assert found.rows() == [("1", "x", "2.5"), ("4", "y z", None)]


def test_another_encoding_can_be_given(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("name,b\né,1\nü,2\n".encode("latin-1"))
    assert read(path, encoding="latin-1")["name"].to_list() == ["é", "ü"]
    with pytest.raises(
        TableError, match=r"is not valid UTF-8: line 2 contains the byte 0xe9.*--encoding cp1252"
    ):
        read(path)
    with pytest.raises(TableError, match="unknown encoding 'klingon'"):
        read(path, encoding="klingon")
    with pytest.raises(TableError, match="cannot be decoded as utf-16"):
        read(path, encoding="utf-16")


def test_parquet_keeps_its_types_and_is_read_in_batches(tmp_path, monkeypatch):
    frame = pl.DataFrame({"n": np.arange(50.0), "s": [f"v{i}" for i in range(50)]})
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    assert read(path).equals(frame)
    (tmp_path / "t.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read(tmp_path / "t.gz").equals(frame)
    monkeypatch.setattr("capo.io.formats.PARQUET_BATCH_SIZE", 20)
    batches = list(TableReader(str(path)).batches())
    assert [batch.first_row for batch in batches] == np.cumsum([1, *map(len, batches)])[:-1].tolist()
    assert sum(map(len, batches)) == 50


def test_svmlight_in_blocks_is_the_whole_file(tmp_path, small_blocks):
    X = np.round(np.random.default_rng(0).normal(size=(20, 7)), 3) * (np.arange(140).reshape(20, 7) % 3 == 0)
    y = np.where(np.arange(20) % 2, 1, -1)
    path = tmp_path / "t.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    found = read(path)
    np.testing.assert_array_equal(found.X.toarray()[:, 1:], X[:, : found.X.shape[1] - 1])
    np.testing.assert_array_equal(found.labels, y)
    (tmp_path / "unnamed").write_bytes(path.read_bytes())
    assert len(read(tmp_path / "unnamed")) == 20


def test_batches_are_split_in_order(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"".join(b"%d,x\n" % i for i in range(25)))
    parts = list(TableReader(str(path)).read().split(10))
    assert [(part.first_row, len(part)) for part in parts] == [(1, 10), (11, 10), (21, 5)]
    assert [int(v) for part in parts for v in part.rows["a"]] == list(range(25))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b\n", "has a header but no rows"),
        (b"a,b\n\n\n", "has a header but no rows"),
        (b"a,b,c\n1,2,3\n4,5\n", r"line 3 of .* has 2 values, but the header has 3 columns"),
        (b"a,b\n1,2\n\n3,4,5\n", r"line 4 of .* has 3 values, but the header has 2 columns"),
        (b'a,b\n"x\n1",2\n3\n', r"line 4 of .* has 1 values"),
        (b'a,b\n1,"2\n3,4\n', "has an unclosed quote in or after line"),
        (b"a,b,a\n1,2,3\n", "must be unique: 'a' appears more than once"),
        (b"a,b\n1,\x00\n", "contains binary data"),
        (bytes(range(256)) * 9, "contains binary data"),
        (b"PK\x03\x04junk", "a zip archive or an Excel file, but damaged or truncated"),
        (b"%PDF-1.7", "a PDF document"),
        (b"PAR1junkjunkPAR1", "cannot be read as a Parquet file"),
        (gzip.compress(PLAIN, mtime=0)[:-12], "is compressed, but damaged or truncated"),
        (b"BZhjunkjunk", "cannot be read|damaged or truncated"),
        (b"a,b\n\xff\xfe,1\n", "is not valid UTF-8: line 2"),
        (b"\xe9,b\n1,2\n", "the header of .* is not valid UTF-8: line 1"),
    ],
)
def test_invalid_files_raise_an_error(data, message, tmp_path, small_blocks):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(TableError, match=message):
        read(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1 1:x\n", "line 2 of .* is not in svmlight format"),
        (b"1 2:1 1:2\n", "cannot be parsed from line 1 on: Feature indices"),
        (b"1 3:1e999\n", "infinite"),
    ],
)
def test_invalid_svmlight_files_raise_an_error(line, message, tmp_path):
    path = tmp_path / "t.svm"
    path.write_bytes(b"1 1:2 5:3\n" + line)
    with pytest.raises(TableError, match=message):
        read(path)


def test_invalid_settings_raise_an_error(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a;b\n1;2\n")
    with pytest.raises(
        TableError, match=r"has only one column, 'a;b'.*Its delimiter seems to be a semicolon"
    ):
        read(path, delimiter=",")
    with pytest.raises(TableError, match="the delimiter must be a single ASCII character"):
        read(path, delimiter="::")
    with pytest.raises(TableError, match="unknown format 'xml'"):
        read(path, format="xml")


def test_files_that_cannot_be_opened_raise_an_error(tmp_path):
    with pytest.raises(TableError, match="there is no file"):
        read(tmp_path / "absent.csv")
    with pytest.raises(TableError, match="is a folder"):
        read(tmp_path)


def test_decimal_commas_are_read_if_the_delimiter_is_another_character(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"id;a;b;c;y\n0,100;1,5;1,234;x;0\n1,101;-2;5,678;1,y;1\n")
    batch = TableReader(str(path)).read()
    roles = ColumnRoles("y", ids=("id",))
    schema = infer_table_schema(batch, roles, infer_features(batch, roles))
    kinds = {column.key: column.kind.name for column in schema.table.columns}
    assert kinds == {"a": "number", "b": "number", "c": "category"}
    found = schema.features(batch)
    assert found.to_dict(as_series=False) == {"a": [1.5, -2.0], "b": [1.234, 5.678], "c": ["x", "1,y"]}
    assert schema.id_columns(batch)["id"].to_list() == ["0,100", "1,101"]
    assert [
        note for note in column_notes(infer_features(batch, roles)) if "thousands" in note and "'b'" in note
    ]


def test_long_headers_and_file_names_with_wildcards(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"feature_{i}" for i in range(20_000)) + "\n" + ",".join(["1"] * 20_000) + "\n")
    assert read(path).shape == (1, 20_000)
    frame = pl.DataFrame({"a": [1, 2]})
    frame.write_parquet(tmp_path / "a[1].parquet")
    assert read(tmp_path / "a[1].parquet").equals(frame)


def test_stray_quotes_raise_an_error(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'size,y\n5",1\n6,0\n7",1\n8,0\n')
    with pytest.raises(TableError, match="because of its quotes"):
        read(path)


def test_a_pipe_is_read_once(tmp_path):
    frame = pl.DataFrame({"a": [1, 2]})
    for name, write in {"p.parquet": frame.write_parquet, "p.csv": frame.write_csv}.items():
        os.mkfifo(tmp_path / name)
        writer = threading.Thread(target=write, args=(tmp_path / f"_{name}",))
        writer.start()
        writer.join()
        data = (tmp_path / f"_{name}").read_bytes()
        writer = threading.Thread(target=(tmp_path / name).write_bytes, args=(data,))
        writer.start()
        assert len(read(tmp_path / name)) == 2
        writer.join()


def test_a_folder_stands_for_its_tables_and_files_without_rows_are_skipped(tmp_path):
    for name, text in (("b.csv", "x,y\n3,4\n"), ("a.csv", "x,y\n1,2\n"), ("ab.csv", "x,y\n"), ("z.csv", "")):
        (tmp_path / name).write_text(text)
    for name in ("_SUCCESS", ".hidden.csv", "notes.txt"):
        (tmp_path / name).write_text("no table")
    batch = TableReader(str(tmp_path)).read()
    assert batch.frame.rows() == [("1", "2"), ("3", "4")]
    assert [part.first_row for part in TableReader(str(tmp_path)).batches()] == [1, 2]


def test_files_of_which_none_has_rows_are_an_error(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x,y\n")
    with pytest.raises(TableError, match=r"none of the 2 files of .* has rows"):
        TableReader(str(tmp_path)).read()


@pytest.mark.parametrize(
    "above",
    [
        "sep=;\n",
        "Export of 2024-02-01\n\n",
        "# made by a program, version 3\n# do not edit\n",
        "Sales\n",
        "\ufeffsep=;\r\n",
    ],
)
def test_lines_above_the_names_are_left_out(above, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"{above}name;b\nx, y;1\nz, t;2\nu, v;3\n", encoding="utf-8")
    assert read(path).rows() == [("x, y", "1"), ("z, t", "2"), ("u, v", "3")]
    path.write_text(f"{above}name;b\nx;1\nz;2\nu;3\nw;3;4\n", encoding="utf-8")
    line = 5 + above.count("\n")
    with pytest.raises(TableError, match=f"line {line} of .* has 3 values, but the header has 2 columns"):
        read(path)


@pytest.mark.parametrize(
    "text",
    [
        "name\nx\ny\nz\n",  # one column
        "note\n1;2\n3;4\n5;6\n",  # numbers are no names of columns
        "#id;b\n1;2\n3;4\n5;6\n",  # as many names as values
    ],
)
def test_a_first_line_that_may_hold_the_names_is_not_left_out(text):
    assert find_preamble(text.encode()) == (0, None)
