"""The command ``capo``: train, apply and inspect models from a shell, without writing Python.

Exit codes: 0 success, 1 internal error, 2 bad input or usage, 130 interrupted, 143 terminated.
"""
# Imports from `dask`, `export`, `io`, `report` and the layers below.

import os
import signal
import sys
import threading
from typing import Any, NoReturn

from ..exceptions import CapoError
from . import console

EXIT_INTERNAL_ERROR, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 1, 2, 130


def main() -> None:
    """Run the command line; every failure ends with one message on standard error."""
    console.prepare_standard_streams()
    console.opened_models.clear()
    if threading.current_thread() is threading.main_thread():
        for name in {"SIGTERM", "SIGHUP"} & set(dir(signal)):
            signal.signal(getattr(signal, name), _exit_on_signal)
    try:
        from . import evaluation, model, prediction, training  # noqa: F401, PLC0415 (they add their commands)
        from .options import app  # noqa: PLC0415 (an extra)

        app()
    except CapoError as error:
        _exit(str(error), EXIT_BAD_INPUT)
    except console.CommandInterrupted:
        _exit(f"interrupted: {console.describe_output()}", EXIT_INTERRUPTED)
    except ModuleNotFoundError as error:
        _exit(f"the command line needs {error.name}: pip install 'capo-learn[cli]'.", EXIT_BAD_INPUT)
    except OSError as error:
        console.discard_standard_output()
        _exit(f"the output cannot be written: {error.strerror or error}.", EXIT_BAD_INPUT)
    except MemoryError:
        _exit(
            "there is not enough memory for this; 'capo fit --out-of-core yes' reads a table in parts.",
            EXIT_BAD_INPUT,
        )
    except Exception as error:
        if os.environ.get("CAPO_DEBUG"):
            raise
        _exit(
            f"internal error: {type(error).__name__}: {error}. {console.advise_on_error()}; set CAPO_DEBUG=1 "
            "to see the traceback.",
            EXIT_INTERNAL_ERROR,
        )


def _exit_on_signal(number: int, _frame: Any) -> NoReturn:
    """Exit through SystemExit, so that temporary files are removed."""
    _exit(f"terminated: {console.describe_output()}", 128 + number)


def _exit(message: str, code: int) -> NoReturn:
    sys.stderr.write(f"capo: {console.printable(message)}\n")
    sys.exit(code)
