"""Messy files: 12 tables of the suite in the formats of real files, against the same values written plainly.

python -m benchmarks.messy --data FOLDER                       all tables, 3 seeds; about an hour
python -m benchmarks.messy --data FOLDER --tables adult jm1 --seeds 1

Each table is cut in half and written twice: plainly, and with its columns as money, percentages, dates,
timestamps, times, numbers with separators, units and parentheses, mixed spellings of yes and no, codes with
leading zeros, and mixed spellings of missing values. Both files go through capo inspect, fit, predict,
report and export. Results are in benchmarks/messy/results/results.csv: the ROC area of both on the test half,
and the columns whose kind is wrong.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from capo.cli import main as capo
from capo.export.onnx import onnx_inputs

from ..data import folder
from ..provenance import record_run
from .formats import FORMATS, MISSING, NO, YES, quantize, to_days

TABLES = (
    *("adult", "annthyroid", "bank_marketing", "credit_default", "higgs_7500", "htru2_pulsar"),
    *("jm1", "mammography", "online_shoppers", "phoneme", "spambase", "telco_churn"),
)
MAX_ROWS = 6000
MAX_DAYS = 4_000
RESULTS = Path(__file__).parent / "results" / "results.csv"


class MessyTable(NamedTuple):
    """A table written plainly and in the formats of real files, and the kinds of the latter's columns."""

    plain: pl.DataFrame
    messy: pl.DataFrame
    kinds: dict[str, str]


class Result(NamedTuple):
    """The outcome for one table."""

    table: str
    seed: int
    plain_roc_auc: float
    messy_roc_auc: float
    difference: float
    n_columns: int
    wrong_kinds: str
    onnx_labels_differ: int


def write_columns(X: np.ndarray, categorical: set[int], rng: np.random.Generator) -> MessyTable:
    """Write each column in the next format that can hold it."""
    plain: dict[str, list[str]] = {}
    messy: dict[str, list[str]] = {}
    kinds: dict[str, str] = {}
    formats = 0
    for position, column in enumerate(X.T):
        name = f"column {position}"
        values = column[~np.isnan(column)]
        if position in categorical:
            plain[name] = messy_texts = [f"{value:03.0f}" for value in column]
            kinds[name] = "code"
        elif len(np.unique(values)) == 2:
            is_yes = column == values.max()
            plain[name] = [f"{flag:d}" for flag in is_yes]
            messy_texts = [str(rng.choice(YES if flag else NO)) for flag in is_yes]
            kinds[name] = "boolean"
        else:
            write, kinds[name] = FORMATS[formats % len(FORMATS)]
            formats += 1
            numbers = quantize(column)
            if kinds[name] == "date":
                numbers = to_days(numbers * min(1.0, MAX_DAYS / max(np.ptp(numbers[~np.isnan(column)]), 1.0)))
            plain[name] = [repr(float(number)) for number in numbers]
            messy_texts = ["" if np.isnan(number) else write(float(number)) for number in numbers]
        missing = np.isnan(column)
        plain[name] = ["" if gap else text for gap, text in zip(missing, plain[name], strict=True)]
        messy[name] = [
            str(rng.choice(MISSING)) if gap else text for gap, text in zip(missing, messy_texts, strict=True)
        ]
    return MessyTable(pl.DataFrame(plain), pl.DataFrame(messy), kinds)


def run_command(*arguments: object) -> str:
    """Run a command of capo in this process, and return its standard output."""
    before, sys.argv = sys.argv, ["capo", *map(str, arguments)]
    try:
        with redirect_stdout(StringIO()) as output:
            capo()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"capo {' '.join(map(str, arguments))} failed") from end
    finally:
        sys.argv = before
    return output.getvalue()


def score(path: Path, frame: pl.DataFrame, train: np.ndarray, test: np.ndarray, auxiliaries: str) -> float:
    """Train on one half of a table and return the ROC area on the other."""
    frame[train].write_csv(path / "train.csv")
    frame[test].write_csv(path / "test.csv")
    run_command(
        *("fit", path / "train.csv", "-t", "target", "-m", "roc_auc", "-a", auxiliaries, "--positive", "1"),
        *("--folds", "3", "-q", "-o", path / "model.capo"),
    )
    run_command("predict", path / "model.capo", path / "test.csv", "-q", "-o", path / "predictions.csv")
    predictions = pl.read_csv(path / "predictions.csv")
    return float(roc_auc_score(frame[test]["target"].to_numpy() == "1", predictions["score"].to_numpy()))


def wrong_kinds(path: Path, kinds: dict[str, str]) -> list[str]:
    """The columns that ``capo inspect`` takes for another kind without a doubt."""
    inspected = json.loads(run_command("inspect", path / "train.csv", "-t", "target", "-q", "--json"))
    return [
        f"{each['name']}: {each['kind']} instead of {kinds[each['name']]}"
        for each in inspected["columns"]
        if each["kind"] != kinds[each["name"]] and not each["doubt"]
    ]


def count_differing_labels(path: Path) -> int:
    """Export the model, and compare the labels of the graph with those of ``capo predict``."""
    from onnxruntime import InferenceSession  # noqa: PLC0415 (an extra)

    run_command("export", path / "model.capo", path / "model.onnx", "-q")
    run_command("report", path / "model.capo", path / "test.csv", "-q", "-o", path / "report.html")
    session = InferenceSession(path / "model.onnx")
    rows = pl.read_csv(path / "test.csv", infer_schema=False)
    (labels,) = session.run(["label"], onnx_inputs(rows, session))
    return int((labels != pl.read_csv(path / "predictions.csv")["label"].to_numpy()).sum())


def run_table(data: Path, name: str, seed: int, auxiliaries: str) -> Result:
    """Write a table twice and compare the scores."""
    with np.load(data / "suite" / f"{name}.npz", allow_pickle=True) as file:
        X, y = file["X"].astype(np.float64), file["y"] > 0
        categorical = {int(each) for each in file["cat_cols"]}
    if len(y) > MAX_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_ROWS, stratify=y, random_state=seed)
    table = write_columns(X, categorical, np.random.default_rng(seed))
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    target = pl.Series("target", np.where(y, "1", "0"))
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary)
        plain = score(path, table.plain.with_columns(target), train, test, auxiliaries)
        messy = score(path, table.messy.with_columns(target), train, test, auxiliaries)
        wrong = wrong_kinds(path, table.kinds)
        n_different = count_differing_labels(path)
    return Result(name, seed, plain, messy, messy - plain, X.shape[1], "; ".join(wrong), n_different)


def main() -> None:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder with the data sets")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--auxiliaries", default="boosting,trees,linear")
    options = parser.parse_args()
    data = folder(options.data)
    RESULTS.parent.mkdir(exist_ok=True)
    results = []
    for seed, name in product(options.seeds, options.tables):
        results.append(run_table(data, name, seed, options.auxiliaries))
        print(results[-1], flush=True)
        with RESULTS.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerows([Result._fields, *results])
    record_run(RESULTS)
    print(f"mean difference {np.mean([each.difference for each in results]):+.4f}")


if __name__ == "__main__":
    main()
