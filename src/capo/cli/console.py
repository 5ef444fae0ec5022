"""Output of commands: results, messages and files.

A command whose terminal is gone, or that runs as ``capo ... >&-`` or ``capo ... 2>&1 | head -1``, still does
its work: no standard stream is closed, and messages that cannot be written are dropped. Errors of writing to
standard output are raised, because they lose results.
"""

from __future__ import annotations

import io
import logging
import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..exceptions import DataWarning, InvalidInputError, OutputError
from ..io.archive import dump_json
from ..io.atomic import atomic_write, check_writable

#: Characters that could affect a terminal: control characters, and those that reverse the order of text.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
#: Seconds; shorter steps are not logged.
MIN_LOGGED_SECONDS = 2.0
#: Without a terminal, progress is logged when the step has taken twice as long as at the last line, but at
#: least this often.
MAX_SECONDS_BETWEEN_LINES = 300.0
#: The time left is shown once this share of the steps is done; the first ones may take longer.
MIN_SHARE_FOR_TIME_LEFT = 0.05
#: Characters of a bar on a terminal.
BAR_WIDTH = 30
#: Endings of files that a model must not replace by mistake.
OTHER_FORMATS = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".html", ".htm", ".onnx", ".toml", ".json")


#: Model files that the command has read.
opened_models: list[str] = []
#: The output file of the command, as it was before any work was done.
_output_before: dict[Path, os.stat_result | None] = {}


class CommandInterrupted(Exception):
    """Raised by Ctrl-C during a step; Typer would replace a KeyboardInterrupt by its own message and code."""


def printable(text: str) -> str:
    r"""Replace each character that could affect a terminal by a ?.

    Used for text from tables, files and their names.

    Examples
    --------
    >>> from capo.cli.console import printable
    >>> printable("a\x1b[31mb")
    'a?[31mb'
    """
    return _CONTROL.sub("?", text)


def count(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 row``, ``1,200 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def to_json(data: Any) -> str:
    r"""Format a result as JSON, which has neither NaN nor infinity: they become null.

    Examples
    --------
    >>> from capo.cli.console import to_json
    >>> to_json([0.5, float("nan")])
    '[\n 0.5,\n null\n]'
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", dump_json(data))


class _MessageFile(io.FileIO):
    """A file that ignores write errors."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def prepare_standard_streams() -> None:
    """Open closed streams, keep messages from failing, and escape characters that an encoding lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # otherwise the next file would take its number
            handle = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(handle, True)
            stream = open(handle, mode, encoding="utf-8")  # noqa: SIM115 (open until exit)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    messages = sys.__stderr__
    if messages is not None and sys.stderr is messages:
        file = io.BufferedWriter(_MessageFile(messages.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(file, encoding=messages.encoding, line_buffering=True)
    for each in (sys.stdout, sys.stderr):
        if isinstance(each, io.TextIOWrapper):
            each.reconfigure(errors="backslashreplace")


def discard_standard_output() -> None:
    """Redirect standard output to nowhere, so that the flush at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


@dataclass
class Console:
    """The output of one command.

    Parameters
    ----------
    as_json : bool
        Write results as JSON.
    quiet : bool
        Suppress everything except results and errors.

    Attributes
    ----------
    strict : bool
        Whether to raise an error in place of a note about training data.
    """

    as_json: bool = False
    quiet: bool = False
    strict: bool = field(default=False, init=False)
    _shown_notes: set[str] = field(default_factory=set, init=False)

    def log(self, message: str) -> None:
        """Write a line to standard error, unless quiet."""
        if not self.quiet:
            sys.stderr.write(f"{printable(message)}\n")
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
        shown = to_json(data) if self.as_json else printable(str(text))
        with ignore_broken_pipe():
            sys.stdout.write(shown + "\n")

    @contextmanager
    def step(self, label: str, n_fits: int = 1) -> Iterator[Step]:
        """Show progress of work that may take long: a spinner or a bar on a terminal, otherwise lines.

        There is a bar if models are trained, for `n_fits` fits.
        """
        step = Step(self, label, n_fits)

        def show(message: Warning | str, category: type[Warning], *_args: Any, **_kwargs: Any) -> None:
            text = " ".join(str(message).split())
            if issubclass(category, DataWarning):
                self.data_notes([text])
            elif issubclass(category, UserWarning):
                self.note(text)

        try:
            with warnings.catch_warnings(), step.shown():
                warnings.simplefilter("always")
                warnings.showwarning = show
                yield step
        except KeyboardInterrupt:
            raise CommandInterrupted from None
        if step.seconds >= MIN_LOGGED_SECONDS:
            self.log(f"{label}: {step.seconds:.1f} s")


class Step(logging.Handler):
    """A part of a command that is running; the library's log records are its progress.

    The steps of its fits are the models that each trains, and the adaptation.
    """

    def __init__(self, console: Console, label: str, n_fits: int = 1) -> None:
        super().__init__()
        self.console, self.label = console, label
        self._n_fits, self._n_ended, self._n_models, self._n_trained = n_fits, 0, 0, 0
        self._status: Any = None
        self._start = time.monotonic()
        self._next_line = MIN_LOGGED_SECONDS

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the log records of the library; on a terminal, in a line that is updated."""
        logger = logging.getLogger("capo")
        level = logger.level
        logger.addHandler(self)
        logger.setLevel(logging.INFO)
        try:
            if self.console.quiet or not sys.stderr.isatty():
                yield
            else:
                from rich.console import Console as RichConsole  # noqa: PLC0415 (for terminals only)

                with RichConsole(stderr=True).status(self._line(""), spinner="line") as self._status:
                    yield
        finally:
            logger.removeHandler(self)
            logger.setLevel(level)

    def emit(self, record: logging.LogRecord) -> None:
        """Show a log record; one for each model that is trained is counted."""
        from ..learning.cross_fit import MODEL_PROGRESS  # noqa: PLC0415 (loaded by what logs, and slow to load)

        if record.msg == MODEL_PROGRESS:
            _, self._n_trained, self._n_models = cast("tuple[str, int, int]", record.args)
            self.progress("")
        else:
            self.progress(record.getMessage())

    @property
    def seconds(self) -> float:
        """Time since the step began."""
        return time.monotonic() - self._start

    def end_fit(self, message: str) -> None:
        """Show that one of several fits has ended."""
        self._n_ended, self._n_trained = self._n_ended + 1, 0
        self.progress(message)

    def progress(self, message: str) -> None:
        """Show how far the step is."""
        seconds = self.seconds
        text = "; ".join(part for part in (self._describe_fits(seconds), message) if part)
        if self._status is not None:
            self._status.update(self._line(text))
        elif seconds >= self._next_line:
            self._next_line = seconds + min(seconds, MAX_SECONDS_BETWEEN_LINES)
            self.console.log(f"{self.label}: {text}")

    def _count_steps(self) -> tuple[int, int]:
        """The steps of all fits that are done, and their number; 0 if it is not known yet."""
        n_per_fit = self._n_models + 1 if self._n_models else 0
        return self._n_ended * n_per_fit + self._n_trained, self._n_fits * n_per_fit

    def _describe_fits(self, seconds: float) -> str:
        """The finished steps, and the time left if the others take as long on average."""
        n_done, n_steps = self._count_steps()
        if not n_steps:
            return ""
        steps = f"{n_done} of {n_steps} steps"
        if n_done < MIN_SHARE_FOR_TIME_LEFT * n_steps:
            return steps
        left = seconds * (n_steps - n_done) / n_done
        number, unit = (
            (left, "s") if left < 100 else (left / 60, "min") if left < 6000 else (left / 3600, "h")
        )
        return f"{steps}, about {number:.{0 if number >= 10 else 1}f} {unit} left"

    def _line(self, text: str) -> Any:
        """The line on a terminal, with a bar if the number of models is known."""
        from rich.text import Text  # noqa: PLC0415 (for terminals only; does not take brackets for markup)

        parts = [printable(self.label), printable(text)]
        n_done, n_steps = self._count_steps()
        if n_steps:
            parts.insert(1, ("━" * (BAR_WIDTH * n_done // n_steps)).ljust(BAR_WIDTH))
        return Text("  ".join(filter(None, parts)), no_wrap=True, overflow="ellipsis")


def is_stdout(output: Path | None) -> bool:
    """Whether `output` means standard output."""
    return output is None or str(output) in ("-", "/dev/stdout", "/dev/fd/1")


@contextmanager
def open_output(output: Path | None) -> Iterator[BinaryIO]:
    """A binary file that replaces `output` once it is complete, or standard output."""
    if output is None or is_stdout(output):
        with ignore_broken_pipe():
            yield sys.stdout.buffer
    else:
        with atomic_write(output) as file:
            yield file


def write_output(data: bytes, output: Path, console: Console) -> None:
    """Write a complete result, and log the file's size."""
    with open_output(output) as file:
        file.write(data)
    if not is_stdout(output):
        console.log(f"wrote {output} ({format_file_size(output)})")


def format_file_size(path: Path) -> str:
    """The size of a file in kB or MB."""
    n_bytes = path.stat().st_size
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"


def check_file_ending(output: Path | None, endings: Sequence[str], content: str) -> None:
    """Raise if the name of a file has an ending of another format; a device or a pipe may have any name."""
    if output is None or not output.suffix or output.name.lower().endswith(tuple(endings)):
        return
    if not output.exists() or output.is_file():
        raise InvalidInputError(f"{content}: got {output.name}.")


def check_model_output(output: Path | None, *inputs: str | Path | None) -> None:
    """Raise before any work is done if a model cannot be written to `output`; None writes no file."""
    if output is not None and is_stdout(output):
        raise InvalidInputError("a model cannot be written to standard output: name a file with --output.")
    check_output(output, *inputs)
    if output is not None and output.name.lower().removesuffix(".gz").endswith(OTHER_FORMATS):
        raise InvalidInputError(f"a model is written to a file such as model.capo: got {output.name}.")


def check_output(output: Path | None, *inputs: str | Path | None) -> None:
    """Raise before any work is done if `output` cannot be written or is one of the input files.

    So is standard output, to which every command writes. Open files are compared rather than paths: standard
    input may be a file under another name.
    """
    targets = {"standard output": _stat_regular(sys.stdout)}
    _output_before.clear()
    if output is not None and not is_stdout(output):
        check_writable(output)
        targets[str(output)] = _output_before[output] = _stat_regular(output)
    for each in inputs:
        source = _stat_regular(sys.stdin if str(each) == "-" else each)
        for name, target in targets.items():
            if target is not None and source is not None and os.path.samestat(target, source):
                raise InvalidInputError(
                    f"{name} is an input file and would be overwritten: name another output."
                )


def describe_output() -> str:
    """Whether an interrupted command has already written its output file."""
    for path, before in _output_before.items():
        now = _stat_regular(path)
        if now is not None and (before is None or not os.path.samestat(before, now)):
            return f"{path} was already written."
    return "no output file was changed."


def advise_on_error() -> str:
    """Advice about an unexpected error."""
    if not opened_models:
        return "Please report it"
    return f"If {' or '.join(opened_models)} was changed by hand, train it again; otherwise please report it"


def _stat_regular(source: Any) -> os.stat_result | None:
    """The regular file at a path, or that a stream is redirected to or from; None for anything else."""
    try:
        found = os.stat(source if isinstance(source, str | Path) else source.fileno())
    except (OSError, ValueError, AttributeError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None
