"""Console of the commands: results on standard output, messages on standard error."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..exceptions import DataWarning, InvalidInputError, OutputError
from ._streams import discard_standard_output

#: Without a terminal, progress is logged at most this often, and only steps that take longer are logged.
PROGRESS_INTERVAL_SECONDS = 2.0


class CommandInterrupted(Exception):
    """Ctrl-C during a step; Typer turns a plain KeyboardInterrupt into its own message and exit code."""


def replace_non_finite(data: Any) -> Any:
    """Replace NaN and infinity by None in nested data, because JSON has neither.

    Examples
    --------
    >>> from capo.cli._console import replace_non_finite
    >>> replace_non_finite({"gap": float("nan"), "values": [0.5, float("inf")]})
    {'gap': None, 'values': [0.5, None]}
    """
    if isinstance(data, dict):
        return {str(key): replace_non_finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [replace_non_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Write to standard output; a reader that stops early, such as ``head``, is not an error."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        discard_standard_output()
        if not isinstance(error, BrokenPipeError):
            raise OutputError(f"standard output cannot be written: {error.strerror}.") from error


class Console:
    """The output of one command.

    Parameters
    ----------
    quiet : bool
        Suppress everything except results and errors.
    as_json : bool
        Write results as JSON.
    strict : bool
        Raise an error in place of a note about training data.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False, strict: bool = False) -> None:
        self.quiet, self.as_json, self.strict = quiet, as_json, strict
        self._shown_notes: set[str] = set()

    def log(self, message: str) -> None:
        """Write a line to standard error, unless quiet."""
        if not self.quiet:
            sys.stderr.write(f"{message}\n")
            sys.stderr.flush()

    def note(self, message: str) -> None:
        """Log a note; the same note only once."""
        if message not in self._shown_notes:
            self._shown_notes.add(message)
            self.log(f"note: {message}")

    def data_notes(self, messages: Sequence[str]) -> None:
        """Log notes about training data that may mislead; an error if the command is strict."""
        if self.strict and messages:
            raise InvalidInputError(" ".join(messages) + " These notes are errors because of --strict.")
        for message in messages:
            self.note(message)

    def result(self, text: object, data: Any) -> None:
        """Write the command's result to standard output: `text`, or `data` as JSON."""
        shown = str(text)
        if self.as_json:
            shown = self.to_json(data)
        with ignore_broken_pipe():
            sys.stdout.write(shown + "\n")

    @staticmethod
    def to_json(data: Any) -> str:
        """Format a result as JSON."""
        return json.dumps(replace_non_finite(data), indent=1, ensure_ascii=False, allow_nan=False)

    @contextmanager
    def step(self, label: str) -> Iterator[Step]:
        """Work that may take long: a spinner on a terminal, a line now and then elsewhere."""
        step = Step(self, label)
        try:
            with self._warnings_as_notes(), self._logging_as_progress(step), step.spinner():
                yield step
        except KeyboardInterrupt:
            raise CommandInterrupted from None
        if step.seconds >= PROGRESS_INTERVAL_SECONDS:
            self.log(f"{label}: {step.seconds:.1f} s")

    @contextmanager
    def _warnings_as_notes(self) -> Iterator[None]:
        def show(message: Warning | str, category: type[Warning], *_args: Any, **_kwargs: Any) -> None:
            text = " ".join(str(message).split())
            if issubclass(category, DataWarning):
                self.data_notes([text])
            elif issubclass(category, UserWarning):
                self.note(text)

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            yield

    @contextmanager
    def _logging_as_progress(self, step: Step) -> Iterator[None]:
        logger, handler = logging.getLogger("capo"), _ProgressHandler(step)
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)


class Step:
    """A part of a command that is running."""

    def __init__(self, console: Console, label: str) -> None:
        self.console, self.label = console, label
        self._status: Any = None
        self._start = self._last_progress = time.monotonic()

    @contextmanager
    def spinner(self) -> Iterator[None]:
        """Show a moving line for the duration of the step, if standard error is a terminal."""
        if self.console.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console as RichConsole  # noqa: PLC0415 (for terminals only)

        with RichConsole(stderr=True).status(self._plain(self.label), spinner="line") as self._status:
            yield

    @staticmethod
    def _plain(text: str) -> Any:
        """Text in which rich does not interpret brackets as markup."""
        from rich.text import Text  # noqa: PLC0415 (for terminals only)

        return Text(text)

    @property
    def seconds(self) -> float:
        """Time since the step began."""
        return time.monotonic() - self._start

    def progress(self, message: str) -> None:
        """Show how far the step is."""
        now = time.monotonic()
        if self._status is not None:
            self._status.update(self._plain(f"{self.label}: {message}"))
        elif now - self._last_progress >= PROGRESS_INTERVAL_SECONDS:
            self._last_progress = now
            self.console.log(f"{self.label}: {message}")


class _ProgressHandler(logging.Handler):
    """Shows the library's log records as a step's progress."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step

    def emit(self, record: logging.LogRecord) -> None:
        self.step.progress(record.getMessage())
