"""The command line: from a table to a model, a comparison and a report, without writing Python.

Exit codes: 0 done, 1 a defect in capo, 2 bad input or usage, 130 interrupted, 143 terminated.
"""

import os
import signal
import sys
import threading
from typing import Any, NoReturn

DEFECT, BAD_INPUT, INTERRUPTED = 1, 2, 130


def main() -> None:
    """What the command ``capo`` runs: every failure is a sentence on the standard error."""
    try:
        from ._app import app  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        _lacks(error)
    from ..exceptions import CapoError  # noqa: PLC0415 (nothing is imported before its time)
    from ._console import Interrupted  # noqa: PLC0415

    _prepare()
    try:
        app()
    except CapoError as error:
        _end(str(error), BAD_INPUT)
    except Interrupted:
        _end("interrupted; files are as they were.", INTERRUPTED)
    except ModuleNotFoundError as error:
        _lacks(error)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to flush
        _end(f"the output cannot be written: {error.strerror or error}.", BAD_INPUT)
    except MemoryError:
        _end("there is not enough memory for this.", BAD_INPUT)
    except Exception as error:
        if os.environ.get("CAPO_DEBUG"):
            raise
        _end(
            f"this should not have happened: {type(error).__name__}: {error}. Please report it; CAPO_DEBUG=1 "
            "shows where it was.",
            DEFECT,
        )


def _prepare() -> None:
    """Names of all kinds can be shown, and whoever ends the program lets it clean up."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _terminated)


def _lacks(error: ModuleNotFoundError) -> NoReturn:
    _end(f"the command line needs {error.name}: pip install 'capo-learn[cli]'.", BAD_INPUT)


def _terminated(number: int, _frame: Any) -> NoReturn:
    _end("ended from outside; files are as they were.", 128 + number)


def _end(sentence: str, code: int) -> NoReturn:
    sys.stderr.write(f"capo: {sentence}\n")
    sys.exit(code)
