"""CPU time of ``capo predict`` with the default auxiliaries, from CSV to CSV; and of the exported graph.

python -m benchmarks.speed.predict                             this checkout, and its model in ONNX Runtime
python -m benchmarks.speed.predict --against CHECKOUT/src      and another one, trained on the same rows
python -m benchmarks.speed.predict --rows 200000 --cache DIR   fewer rows; DIR keeps tables and models
python -m benchmarks.speed.predict --only now                  one of before, now and onnx

The model is trained on 20,000 rows with 10 numeric columns; the rows to predict are 200,000 others, repeated
in the same order if there are more. Each command is a process of its own, whose CPU time, with its start and
the loading of the model, and largest memory are those of the operating system. Results of other runs stay in
the file unless they are measured again.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from sklearn.datasets import make_classification

from ..provenance import record_run

RESULTS = Path(__file__).parent / "results"
OWN_SOURCE = str(Path(__file__).parents[2] / "src")
N_TRAINING_ROWS, N_NEW_ROWS, N_COLUMNS = 20_000, 200_000, 10
#: Rows that ONNX Runtime gets at once.
ONNX_BLOCK_ROWS = 50_000

RUN_ONNX = f"""
import sys
import onnxruntime, polars
from capo.export import onnx_inputs
session = onnxruntime.InferenceSession(sys.argv[1])
table = polars.read_csv(sys.argv[2])
parts = [
    session.run(["label", "probability"], onnx_inputs(block, session))
    for block in table.iter_slices({ONNX_BLOCK_ROWS})
]
columns = [[value for part in column for value in part.ravel()] for column in zip(*parts)]
polars.DataFrame(columns, schema=["label", "score"]).write_csv(sys.argv[3])
"""


def write_tables(folder: Path, n_rows: int) -> tuple[Path, Path]:
    """Write the rows to train on and the rows to predict, unless they exist; return their paths."""
    train, new = folder / "train.csv", folder / f"new_{n_rows}.csv"
    if not (train.exists() and new.exists()):
        X, y = make_classification(
            N_TRAINING_ROWS + N_NEW_ROWS,
            N_COLUMNS,
            n_informative=6,
            n_redundant=2,
            weights=[0.9],
            flip_y=0.03,
            random_state=0,
        )
        table = pl.DataFrame({f"x{column}": X[:, column].round(5) for column in range(N_COLUMNS)})
        labels = pl.Series("y", y[:N_TRAINING_ROWS])
        table[:N_TRAINING_ROWS].with_columns(labels).write_csv(train)
        n_repeats = -(-n_rows // N_NEW_ROWS)
        pl.concat([table[N_TRAINING_ROWS:]] * n_repeats)[:n_rows].write_csv(new)
    return train, new


def run_process(source: str, *arguments: object) -> dict[str, float]:
    """Run Python with capo from a source folder; return seconds, CPU seconds and the largest memory in MB."""
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": source}
    process = subprocess.Popen([sys.executable, *map(str, arguments)], env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(map(str, arguments))}")
    return {
        "seconds": round(time.perf_counter() - start, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "max_memory_mb": round(usage.ru_maxrss / 1024),
    }


def train_model(source: str, name: str, train: Path, folder: Path) -> Path:
    """Train the default model with a source folder, unless its file exists."""
    path = folder / f"{name}.capo"
    if not path.exists():
        run_process(source, "-m", "capo", "fit", train, "--target", "y", "--quiet", "--output", path)
    return path


def predict_table(source: str, name: str, tables: tuple[Path, Path], folder: Path) -> dict[str, float]:
    """Predict with capo from a source folder."""
    train, new = tables
    model = train_model(source, name, train, folder)
    output = folder / f"{name}.csv"
    return run_process(source, "-m", "capo", "predict", model, new, "--quiet", "--output", output)


def predict_graph(tables: tuple[Path, Path], folder: Path) -> dict[str, float]:
    """Predict with the graph of the model of this checkout."""
    train, new = tables
    model, graph = train_model(OWN_SOURCE, "now", train, folder), folder / "now.onnx"
    run_process(OWN_SOURCE, "-m", "capo", "export", model, graph, "--quiet")
    return run_process(OWN_SOURCE, "-c", RUN_ONNX, graph, new, folder / "onnx.csv")


def measure(options: argparse.Namespace, folder: Path) -> Iterator[dict[str, object]]:
    """Predict the table with each source folder, and with the exported graph."""
    tables = write_tables(folder, options.rows)
    sources = {"before": options.against, "now": OWN_SOURCE}
    for name in options.only or [*(name for name, source in sources.items() if source), "onnx"]:
        is_graph = name == "onnx"
        found = (
            predict_graph(tables, folder) if is_graph else predict_table(sources[name], name, tables, folder)
        )
        yield {"what": name, "rows": options.rows, **found}


def store(row: dict[str, object]) -> None:
    """Write a result in the place of that of an earlier run."""
    path = RESULTS / "predict.csv"
    key = (row["what"], str(row["rows"]))
    rows = list(csv.DictReader(path.open())) if path.exists() else []
    rows = [each for each in rows if (each["what"], each["rows"]) != key]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
        writer.writeheader()
        writer.writerows([*rows, row])
    record_run(path, append=bool(rows))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.predict",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--against", metavar="SRC", help="the folder src of another checkout")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows to predict")
    parser.add_argument("--cache", type=Path, help="folder that keeps tables and models")
    parser.add_argument("--only", nargs="+", choices=("before", "now", "onnx"), help="what to measure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.cache or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for row in measure(options, folder):
            print(row, flush=True)
            store(row)


if __name__ == "__main__":
    main()
