"""The data sets that the benchmarks read, from a folder given by --data or CAPO_DATA."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_files

PAPER = ("ijcnn1", "mitfaces", "reuters", "splice", "usps")

ORIGINALS = """\
In it, a folder paper with the five data sets, each as two files in LIBSVM's format, NAME for training and
NAME.t for the test, or NAME.bz2 and NAME.t.bz2, as LIBSVM's collection has ijcnn1, splice and usps (digits
1..10 are read as 5-9 against 0-4; splice scaled or with codes 1..4); reuters is money-fx against the rest of
Reuters-21578 with unit rows, mitfaces is CBCL's faces of 19 x 19 pixels, each image equalized. Or each as
NAME.npz: X_train, y_train, X_test, y_test with labels -1/+1 (reuters in CSR pieces train_data, train_indices,
train_indptr, train_shape, and the same for test). A folder suite may hold more tables for benchmarks.quality:
X with NaN where a value is missing, y in -1/+1, cat_cols with the positions of categorical columns,
feature_names."""
#: Data sets that stay sparse when they come in LIBSVM's format.
SPARSE = ("reuters",)


class Table(NamedTuple):
    """Rows to train on and rows to evaluate on; labels True for the positive class."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


def folder(given: str | None) -> Path:
    path = Path(given or os.environ.get("CAPO_DATA", ""))
    if not (given or os.environ.get("CAPO_DATA")) or not (path / "paper").is_dir():
        raise SystemExit(f"Give the folder with the data sets by --data or CAPO_DATA.\n{ORIGINALS}")
    return path


def fingerprint(path: Path, name: str) -> str:
    """A few letters that change with the data set's files."""
    files = sorted(file for file in (path / "paper").glob(f"{name}*") if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:8]


def load_paper(path: Path, name: str) -> Table:
    """One of the paper's data sets, in float64; files in LIBSVM's format come first."""
    for ending in ("", ".bz2", ".gz"):
        train, test = (path / "paper" / f"{name}{part}{ending}" for part in ("", ".t"))
        if train.is_file() and test.is_file():
            return _from_libsvm(name, train, test)
    try:
        with np.load(path / "paper" / f"{name}.npz") as file:
            return Table(_X(file, "train"), file["y_train"] > 0, _X(file, "test"), file["y_test"] > 0)
    except (OSError, KeyError, ValueError, BadZipFile) as error:
        raise SystemExit(f"Cannot read {name}.npz in {path / 'paper'}: {error}.\n{ORIGINALS}") from error


def load(path: Path, name: str) -> tuple[np.ndarray | sparse.csr_array, np.ndarray]:
    """Training rows and labels -1/+1; usps with +1 = digits 0-4, as SVMperf's runs had it."""
    table = load_paper(path, name)
    sign = np.where(table.y, 1.0, -1.0)
    return table.X, -sign if name == "usps" else sign


def _from_libsvm(name: str, train: Path, test: Path) -> Table:
    try:
        X, y, X_test, y_test = load_svmlight_files([str(train), str(test)])
    except (OSError, ValueError) as error:
        raise SystemExit(f"Cannot read {train} or {test}: {error}.\n{ORIGINALS}") from error
    if name == "usps" and len(np.unique(y)) == 10:  # digits plus one
        y, y_test = np.where(y > 5, 1.0, -1.0), np.where(y_test > 5, 1.0, -1.0)
    X, X_test = (sparse.csr_array(part) if name in SPARSE else part.toarray() for part in (X, X_test))
    return Table(X, y > 0, X_test, y_test > 0)


def _X(file: Any, part: str) -> np.ndarray | sparse.csr_array:
    if f"X_{part}" in file:
        return file[f"X_{part}"].astype(np.float64)
    pieces = (file[f"{part}_data"], file[f"{part}_indices"], file[f"{part}_indptr"])
    return sparse.csr_array(pieces, shape=tuple(file[f"{part}_shape"]), dtype=np.float64)
