"""What is shown: results on the standard output, words on the standard error."""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..exceptions import OutputError

#: Seconds after which a step without a terminal says that it goes on.
PATIENCE = 2.0


class Interrupted(Exception):
    """Ctrl-C, where Typer does not see it."""


def finite(data: Any) -> Any:
    """The same without NaN and infinity, which JSON does not have."""
    if isinstance(data, dict):
        return {str(key): finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Writing to the standard output, whose reader may go away, such as ``head``, which is no error."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # Nothing is left to flush when the program ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OutputError(f"the standard output cannot be written: {error.strerror}.") from error


class Console:
    """Where a command speaks.

    Parameters
    ----------
    quiet : bool
        Nothing but results and errors.
    as_json : bool
        Results as JSON.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.noted: set[str] = set()

    def say(self, line: str) -> None:
        """A line of words."""
        if not self.quiet:
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()

    def note(self, line: str) -> None:
        """Something to know, once."""
        if line not in self.noted:
            self.noted.add(line)
            self.say(f"note: {line}")

    def result(self, text: object, data: Any) -> None:
        """What the command is for: as text for people, or as JSON."""
        shown = str(text)
        if self.as_json:
            shown = json.dumps(finite(data), indent=1, ensure_ascii=False, allow_nan=False)
        with ignore_broken_pipe():
            sys.stdout.write(shown + "\n")

    @contextmanager
    def step(self, what: str) -> Iterator[Step]:
        """Work that may take long: a moving line on a terminal, a line now and then elsewhere."""
        step = Step(self, what)
        try:
            with self._warnings(), self._logging(step), step.shown():
                yield step
        except KeyboardInterrupt:
            raise Interrupted from None
        if step.seconds >= PATIENCE:
            self.say(f"{what}: {step.seconds:.1f} s")

    @contextmanager
    def _warnings(self) -> Iterator[None]:
        """Warnings as notes."""
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, category, *_args, **_kwargs: self._warned(
                message, category
            )
            yield

    def _warned(self, message: Warning | str, category: type[Warning]) -> None:
        if issubclass(category, UserWarning):
            self.note(" ".join(str(message).split()))

    @contextmanager
    def _logging(self, step: Step) -> Iterator[None]:
        """The library's lines as progress."""
        logger, handler = logging.getLogger("capo"), _Lines(step)
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)


class Step:
    """A piece of work under way."""

    def __init__(self, screen: Console, what: str) -> None:
        self.screen, self.what = screen, what
        self.status: Any = None
        self.start = self.last = time.monotonic()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """A line that moves, on a terminal."""
        if self.screen.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console  # noqa: PLC0415 (for terminals only)

        with Console(stderr=True).status(self._line(self.what), spinner="line") as self.status:
            yield

    @staticmethod
    def _line(text: str) -> Any:
        from rich.text import Text  # noqa: PLC0415 (for terminals only)

        return Text(text)  # as it is, whatever brackets are in it

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.start

    def progress(self, line: str) -> None:
        """How far it is."""
        if self.status is not None:
            self.status.update(self._line(f"{self.what}: {line}"))
        elif time.monotonic() - self.last >= PATIENCE:
            self.last = time.monotonic()
            self.screen.say(f"{self.what}: {line}")


class _Lines(logging.Handler):
    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step

    def emit(self, record: logging.LogRecord) -> None:
        self.step.progress(record.getMessage())
