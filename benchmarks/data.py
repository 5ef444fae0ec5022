"""The data sets that the benchmarks read, from a folder given by --data or CAPO_DATA."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

PAPER = ("ijcnn1", "mitfaces", "reuters", "splice", "usps")

ORIGINALS = """\
In it, a folder paper with ijcnn1.npz, mitfaces.npz, reuters.npz, splice.npz and usps.npz: X_train, y_train,
X_test, y_test with labels -1/+1 (reuters in CSR pieces train_data, train_indices, train_indptr, train_shape,
and the same for test). ijcnn1, splice and usps are LIBSVM's data sets of these names (usps: digits 5-9
against 0-4; splice with codes 1..4), reuters is money-fx against the rest of Reuters-21578 with unit rows,
mitfaces is CBCL's faces of 19 x 19 pixels, each image equalised. A folder suite may hold more tables for
benchmarks.quality: X with NaN where a value is missing, y in -1/+1, cat_cols with the positions of
categorical columns, feature_names."""


class Table(NamedTuple):
    """Rows to train on and rows to be judged on; labels True for the positive class."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


def folder(given: str | None) -> Path:
    path = Path(given or os.environ.get("CAPO_DATA", ""))
    if not (given or os.environ.get("CAPO_DATA")) or not (path / "paper").is_dir():
        raise SystemExit(f"Give the folder with the data sets by --data or CAPO_DATA.\n{ORIGINALS}")
    return path


def load_paper(path: Path, name: str) -> Table:
    """One of the paper's data sets, in float64."""
    try:
        with np.load(path / "paper" / f"{name}.npz") as file:
            return Table(_X(file, "train"), file["y_train"] > 0, _X(file, "test"), file["y_test"] > 0)
    except (OSError, KeyError) as error:
        raise SystemExit(f"Cannot read {name}.npz in {path / 'paper'}: {error}.\n{ORIGINALS}") from error


def load(path: Path, name: str) -> tuple[np.ndarray | sparse.csr_array, np.ndarray]:
    """Training rows and labels -1/+1; usps with +1 = digits 0-4, as SVMperf's runs had it."""
    table = load_paper(path, name)
    sign = np.where(table.y, 1.0, -1.0)
    return table.X, -sign if name == "usps" else sign


def _X(file: Any, part: str) -> np.ndarray | sparse.csr_array:
    if f"X_{part}" in file:
        return file[f"X_{part}"].astype(np.float64)
    pieces = (file[f"{part}_data"], file[f"{part}_indices"], file[f"{part}_indptr"])
    return sparse.csr_array(pieces, shape=tuple(file[f"{part}_shape"]), dtype=np.float64)
