"""The command line: from a table to a model, a comparison and a report, without writing Python.

Exit codes: 0 done, 1 a defect in capo, 2 bad input or usage, 130 interrupted.
"""

import os
import sys

DEFECT, BAD_INPUT, INTERRUPTED = 1, 2, 130


def main() -> None:
    """What the command ``capo`` runs: every failure is a sentence on the standard error."""
    try:
        from .app import app  # noqa: PLC0415 (an extra)
    except ImportError as error:
        _end(f"the command line needs {error.name}: pip install 'capo-learn[cli]'.", BAD_INPUT)
    from ..exceptions import CapoError  # noqa: PLC0415 (nothing is imported before its time)

    try:
        app()
    except CapoError as error:
        _end(str(error), BAD_INPUT)
    except KeyboardInterrupt:
        _end("interrupted; nothing was written.", INTERRUPTED)
    except MemoryError:
        _end("there is not enough memory for this table.", BAD_INPUT)
    except Exception as error:
        if os.environ.get("CAPO_DEBUG"):
            raise
        _end(
            f"this should not have happened: {type(error).__name__}: {error}. Please report it; CAPO_DEBUG=1 "
            "shows where it was.",
            DEFECT,
        )


def _end(sentence: str, code: int) -> None:
    sys.stderr.write(f"capo: {sentence}\n")
    sys.exit(code)
