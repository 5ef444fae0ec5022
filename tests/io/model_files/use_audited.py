"""Use model files under an audit hook: a program that the test of hostile files runs.

Arguments: a file that can be used, a table, a folder for output, then the files to try. Prints one JSON
object for each file and command: the exit code, the last line of the messages, the seconds taken, and every
audited event that the same command does not cause with the first file.
"""

import contextlib
import io
import json
import os
import signal
import sys
import time
from pathlib import Path

from capo.cli import main as run_capo

from . import open_audited

MAX_SECONDS = 60


def commands(model, table, folder):
    yield ["show", model]
    yield ["predict", model, table, "-o", f"{folder}/predictions.csv"]
    yield ["evaluate", model, table]
    yield ["explain", model, table, "--folds", "2", "--max-rows", "40"]
    yield ["explain", model, table, "--row", "1"]
    yield ["refit", model, table, "-o", f"{folder}/refitted.capo"]
    yield ["export", model, f"{folder}/model.onnx"]


def run(arguments):
    errors, sys.argv = io.StringIO(), ["capo", *arguments]
    start, open_audited.events = time.perf_counter(), []
    signal.signal(signal.SIGALRM, open_audited.stop)
    signal.alarm(MAX_SECONDS)
    code = 0
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            run_capo()
    except SystemExit as error:
        code = error.code
    signal.alarm(0)
    caught, open_audited.events = open_audited.events, None
    text = (errors.getvalue().strip() or "-").splitlines()[-1]
    seconds = time.perf_counter() - start
    return {
        "command": arguments[0],
        "path": arguments[1],
        "code": code,
        "text": text,
        "seconds": seconds,
        "events": caught,
    }


def main(good, table, folder, *paths):
    open_audited.allowed = str(Path(good).parent), folder, os.devnull, "/proc/", "/sys/"
    for arguments in commands(good, table, folder):  # imports what the commands need
        run(arguments)
    sys.addaudithook(open_audited.hook)
    usual = {}
    for path in (good, *paths):
        for number, arguments in enumerate(commands(path, table, folder)):
            result = run(arguments)
            usual.setdefault(number, set(result["events"]))
            result["events"] = sorted(set(result["events"]) - usual[number])
            print(json.dumps(result), flush=True)
            if "cannot be opened" in result["text"]:
                break


if __name__ == "__main__":
    main(*sys.argv[1:])
