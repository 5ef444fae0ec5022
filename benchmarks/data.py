"""The data sets that the benchmarks read, from a folder given by --data or CAPO_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy import sparse

ORIGINALS = """\
The benchmarks read ijcnn1.npz, reuters.npz, splice.npz and usps.npz with the arrays X_train and y_train
(labels -1/+1; reuters in CSR pieces train_data, train_indices, train_indptr, train_shape). ijcnn1, splice and
usps are LIBSVM's data sets of these names (usps: digits 5-9 against 0-4; splice with codes 1..4), reuters is
money-fx against the rest of Reuters-21578 with unit rows."""


def folder(given: str | None) -> Path:
    path = Path(given or os.environ.get("CAPO_DATA", ""))
    if not (given or os.environ.get("CAPO_DATA")) or not path.is_dir():
        raise SystemExit(f"Give the folder with the data sets by --data or CAPO_DATA.\n{ORIGINALS}")
    return path


def load(path: Path, name: str) -> tuple[np.ndarray | sparse.csr_array, np.ndarray]:
    """Training rows in float64 and labels -1/+1; usps with +1 = digits 0-4, as SVMperf's runs had it."""
    try:
        with np.load(path / f"{name}.npz") as file:
            y = file["y_train"].astype(np.float64)
            if "X_train" in file:
                X = file["X_train"].astype(np.float64)
            else:
                pieces = (file["train_data"], file["train_indices"], file["train_indptr"])
                X = sparse.csr_array(pieces, shape=tuple(file["train_shape"]), dtype=np.float64)
    except (OSError, KeyError) as error:
        raise SystemExit(f"Cannot read {path / name}.npz: {error}.\n{ORIGINALS}") from error
    return X, -y if name == "usps" else y
