"""Standard streams that are safe to use: none is closed, and messages that cannot be written are dropped.

A command whose terminal is gone, or that runs as ``capo ... >&-`` or ``capo ... 2>&1 | head -1``, still does
its work. Errors of writing to standard output are raised, because they lose results.
"""

from __future__ import annotations

import io
import json
import logging
import math
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from ..exceptions import DataWarning, InvalidInputError, OutputError


def prepare_standard_streams() -> None:
    """Open closed streams, keep messages from failing, and escape characters that an encoding lacks."""
    _open_closed_streams()
    if sys.stderr is sys.__stderr__:
        sys.stderr = _message_stream(sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_standard_output() -> None:
    """Redirect standard output to nowhere, so that the flush at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed_streams() -> None:
    """Connect closed streams to the null device; otherwise the next file would take their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(handle, True)
            stream = open(handle, mode, encoding="utf-8")  # noqa: SIM115 (open until exit)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


class _MessageFile(io.FileIO):
    """A file that ignores errors of writing."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _message_stream(stream: Any) -> io.TextIOWrapper:
    file = io.BufferedWriter(_MessageFile(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(file, encoding=stream.encoding, line_buffering=True)


#: Durations of more units than this are shown in the next larger unit.
MAX_SHOWN_UNITS = 100


def format_duration(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours.

    Examples
    --------
    >>> from capo.cli.console import format_duration
    >>> [format_duration(seconds) for seconds in (0.25, 12.4, 150, 9000)]
    ['0.2 s', '12 s', '2.5 min', '2.5 h']
    """
    value, name = seconds, "s"
    for larger in ("min", "h"):
        if value >= MAX_SHOWN_UNITS:
            value, name = value / 60, larger
    return f"{value:.0f} {name}" if value >= 10 else f"{value:.1f} {name}"


#: Steps that take less are not logged.
MIN_LOGGED_SECONDS = 2.0
#: Without a terminal, progress is logged when the step has taken twice as long as at the last line, but at
#: least this often.
MAX_SECONDS_BETWEEN_LINES = 300.0
#: The time left is shown once this share of the steps is done; the first ones may take longer.
MIN_SHARE_FOR_TIME_LEFT = 0.05
#: Characters of a bar on a terminal.
BAR_WIDTH = 30


class CommandInterrupted(Exception):
    """Ctrl-C during a step; Typer turns a plain KeyboardInterrupt into its own message and exit code."""


def replace_non_finite(data: Any) -> Any:
    """Replace NaN and infinity by None in nested data, because JSON has neither.

    Examples
    --------
    >>> from capo.cli.console import replace_non_finite
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
    def step(self, label: str, n_fits: int = 1) -> Iterator[Step]:
        """Work that may take long: a spinner or a bar on a terminal, a line now and then elsewhere.

        There is a bar if models are trained, for `n_fits` fits.
        """
        step = Step(self, label, n_fits)
        try:
            with self._warnings_as_notes(), self._logging_as_progress(step), step.spinner():
                yield step
        except KeyboardInterrupt:
            raise CommandInterrupted from None
        if step.seconds >= MIN_LOGGED_SECONDS:
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

    def __init__(self, console: Console, label: str, n_fits: int = 1) -> None:
        self.console, self.label = console, label
        self._fits = FitCounter(n_fits)
        self._message = ""
        self._status: Any = None
        self._start = time.monotonic()
        self._next_line = MIN_LOGGED_SECONDS

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
        self._message = message
        self._show()

    def count_models(self, n_done: int, n_models: int) -> None:
        """Show how many of the models of the current fit are trained."""
        self._fits.count_models(n_done, n_models)
        self._message = ""
        self._show()

    def end_fit(self, message: str) -> None:
        """Show that one of several fits has ended."""
        self._fits.end_fit()
        self.progress(message)

    def _show(self) -> None:
        seconds = self.seconds
        parts = [self._fits.describe(seconds), self._message]
        text = "; ".join(part for part in parts if part)
        if self._status is not None:
            self._status.update(self._line(text))
        elif seconds >= self._next_line:
            self._next_line = seconds + min(seconds, MAX_SECONDS_BETWEEN_LINES)
            self.console.log(f"{self.label}: {text}")

    def _line(self, text: str) -> Any:
        """The line on a terminal, with a bar if the number of models is known."""
        if not self._fits.n_steps:
            return self._plain(f"{self.label}: {text}")
        from rich.progress_bar import ProgressBar  # noqa: PLC0415 (for terminals only)
        from rich.table import Table  # noqa: PLC0415 (for terminals only)

        line = Table.grid(padding=(0, 1))
        line.add_column(no_wrap=True)
        line.add_column(no_wrap=True)
        line.add_column(no_wrap=True, overflow="ellipsis")
        bar = ProgressBar(self._fits.n_steps, self._fits.n_done, width=BAR_WIDTH)
        line.add_row(self._plain(self.label), bar, self._plain(text))
        return line


class FitCounter:
    """Counts the steps of several fits: the models that each trains, and the adaptation.

    Parameters
    ----------
    n_fits : int
        Number of fits, which train the same number of models.
    """

    def __init__(self, n_fits: int = 1) -> None:
        self._n_fits, self._n_ended = n_fits, 0
        self._n_models = self._n_trained = 0

    def count_models(self, n_trained: int, n_models: int) -> None:
        """Set how many of the models of the current fit are trained."""
        self._n_trained, self._n_models = n_trained, n_models

    def end_fit(self) -> None:
        """Go on to the next fit."""
        self._n_ended += 1
        self._n_trained = 0

    @property
    def n_steps(self) -> int:
        """The number of all steps; 0 if it is not known yet."""
        return self._n_fits * (self._n_models + 1) if self._n_models else 0

    @property
    def n_done(self) -> int:
        """The number of steps that are done."""
        return self._n_ended * (self._n_models + 1) + self._n_trained

    def describe(self, seconds: float) -> str:
        """The steps that are done, and the time left if the others take as long, after some seconds."""
        if not self.n_steps:
            return ""
        steps = f"{self.n_done} of {self.n_steps} steps"
        if self.n_done < MIN_SHARE_FOR_TIME_LEFT * self.n_steps:
            return steps
        left = seconds * (self.n_steps - self.n_done) / self.n_done
        return f"{steps}, about {format_duration(left)} left"


class _ProgressHandler(logging.Handler):
    """Shows the library's log records as a step's progress."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step

    def emit(self, record: logging.LogRecord) -> None:
        from ..learning.cross_fit import MODEL_PROGRESS  # noqa: PLC0415 (loaded by what logs, and slow to load)

        if record.msg == MODEL_PROGRESS:
            _, n_trained, n_models = cast("tuple[str, int, int]", record.args)
            self.step.count_models(n_trained, n_models)
        else:
            self.step.progress(record.getMessage())
