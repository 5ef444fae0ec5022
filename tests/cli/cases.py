"""A small table, and the command line run in this process."""

import io
import sys

import numpy as np
import polars as pl

from capo.cli import main

#: Auxiliaries that take no time.
FAST = ("--auxiliaries", "nb", "--delta", "none", "--folds", "2")


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x, word = rng.normal(size=n), rng.choice(["red", "green", "blue"], n)
    y = np.where(x + (word == "red") + rng.normal(size=n) > 0.7, "yes", "no")
    return pl.DataFrame({"id": np.arange(n), "x": x, "z": rng.normal(size=n), "word": word, "y": y})


def exit_code(*arguments):
    """What a command ends with."""
    before = sys.argv
    sys.argv = ["capo", *map(str, arguments)]
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    finally:
        sys.argv = before
    return 0


def fit_model(table, output, *options):
    """Train a model of a table, and return its file."""
    assert exit_code("fit", table, *options, *FAST, "-o", output, "-q") == 0
    return output


def run(capsys, *arguments):
    """The exit code, standard output and standard error of a command."""
    code = exit_code(*arguments)
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    assert "internal error" not in err
    return code, out, err


def predictions(text):
    """Predictions as ``capo predict`` writes them."""
    return pl.read_csv(io.StringIO(text))
