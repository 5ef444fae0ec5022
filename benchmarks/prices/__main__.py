"""Prices of each row: money on test rows, with one threshold and with a threshold for each row.

python -m benchmarks.prices --data FOLDER   what is missing in the results file
python -m benchmarks.prices --table         the table of the results there are, in Markdown

Three tables with amounts (`tables.PRICES` tells what an error costs), five seeds, halves at random. The
rivals are LightGBM with the one threshold that is best out of fold, LightGBM with examples weighted by the
price of their error, and LightGBM with calibrated probabilities and a threshold for each row.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from ..data import folder
from ..provenance import record_run
from .systems import CAPO, CAPO_CONSTANT, RIVALS, predictions
from .tables import PRICES, load_priced

RESULTS = Path(__file__).parent / "results" / "results.csv"
SEEDS = range(5)
NONE, ALL = "calling none positive", "calling all positive"


def run(data: Path) -> None:
    """Evaluate the cells that the results file does not have, and store each at once."""
    RESULTS.parent.mkdir(exist_ok=True)
    found = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame()
    done = set() if found.empty else set(zip(found["table"], found["seed"], strict=True))
    cells = [(table, seed) for seed in SEEDS for table in PRICES if (table, seed) not in done]
    for table, seed in cells:
        train, test = load_priced(data, table, seed)
        predicted = {
            NONE: np.zeros(len(test.y), bool),
            ALL: np.ones(len(test.y), bool),
            **predictions(train, test, seed),
        }
        money = {
            name: test.prices.values(test.y, each.astype(bool)).sum() for name, each in predicted.items()
        }
        row = {"table": table, "seed": seed, "rows": len(test.y), **money}
        found = pd.concat([found, pd.DataFrame([row])], ignore_index=True)
        found.to_csv(RESULTS, index=False, float_format="%.2f", lineterminator="\n")
        print(f"{time.strftime('%H:%M:%S')} {table} {seed}", file=sys.stderr, flush=True)
    if cells:
        record_run(RESULTS, append=bool(done))


def table(results: Path) -> str:
    """Savings of each system as shares of the cost of the better way to treat all rows alike."""
    rows = pd.read_csv(results)
    alike = rows[[NONE, ALL]].max(axis=1)
    systems = [CAPO, CAPO_CONSTANT, *RIVALS]
    shares = 100 * rows[systems].sub(alike, axis=0).div(-alike, axis=0)
    names = list(PRICES)
    lines = [
        "| savings | " + " | ".join(names) + " | mean | capo minus it |",
        "|---" * (len(names) + 3) + "|",
    ]
    for system in systems:
        values = [f"{shares[system][rows['table'] == name].mean():.1f}%" for name in names]
        gain = (shares[CAPO] - shares[system]).groupby(rows["table"])
        means = gain.mean()
        difference = (
            "" if system == CAPO else f"{means.mean():+.1f} ({means.min():+.1f} to {means.max():+.1f})"
        )
        mean = np.mean([shares[system][rows["table"] == name].mean() for name in names])
        lines.append(f"| {system} | " + " | ".join(values) + f" | {mean:.1f}% | {difference} |")
    wins = ", ".join(f"{name} {int((shares[CAPO] > shares[name]).sum())}" for name in RIVALS)
    return "\n".join(lines) + f"\n\nCells in which capo saves more, of {len(rows)}: {wins}.\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.prices",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", help="folder with the folders paper and suite; CAPO_DATA if not given")
    parser.add_argument("--table", action="store_true", help="print the table and do nothing else")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    if not options.table:
        run(folder(options.data))
    print(table(RESULTS))


if __name__ == "__main__":
    main()
