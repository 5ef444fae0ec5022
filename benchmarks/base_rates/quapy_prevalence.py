"""The prevalence by quapy's EMQ, in the environment that has quapy.

python -m benchmarks.base_rates.quapy_prevalence FOLDER    reads FOLDER/*.probabilities.npy, writes quapy.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from quapy.method.aggregative import EMQ


def main() -> None:
    folder, found = Path(sys.argv[1]), {}
    for file in sorted(folder.glob("*.probabilities.npy")):
        trained, *probability = np.load(file).tolist()
        posteriors = np.column_stack((1.0 - np.array(probability), probability))
        found[file.name.removesuffix(".probabilities.npy")] = float(
            EMQ.EM(np.array([1.0 - trained, trained]), posteriors)[0][1]
        )
    (folder / "quapy.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
