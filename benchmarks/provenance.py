"""Provenance of results: the commit, the versions and the machine, in a provenance.json beside the results.

The file maps each results file to a list of runs. A benchmark that writes its file anew has one entry; one
that adds rows to a file of earlier runs adds an entry. Results that are older than this module have the
commits that stored them, and nothing that was not recorded at the time.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import capo

PACKAGES = ("numpy", "scipy", "scikit-learn")


def processor() -> str:
    """Return the name of the processor's model."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _git(*arguments: str) -> str:
    run = subprocess.run(
        ["git", *arguments], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def commit() -> str | None:
    """Return the commit of this checkout, with "-dirty" if Python files have changed; None outside of git."""
    try:
        changed = _git("status", "--porcelain", "--", "*.py")  # new results do not count
        return _git("rev-parse", "HEAD") + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def describe_run() -> dict[str, object]:
    """Return the commit, the time, the versions and the machine of this run."""
    return {
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "capo": capo.__version__,
        **{name: version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
    }


def record_run(results: Path, *, append: bool = False) -> None:
    """Write the provenance of a results file beside it.

    Parameters
    ----------
    results : Path
        The file with the results of this run.
    append : bool
        Whether the run adds to earlier results: their entries stay.
    """
    file = results.with_name("provenance.json")
    runs = json.loads(file.read_text()) if file.exists() else {}
    earlier = runs.get(results.name, []) if append else []
    runs[results.name] = [*earlier, describe_run()]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(runs, indent=2, sort_keys=True) + "\n")
