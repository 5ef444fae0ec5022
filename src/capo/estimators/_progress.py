"""Words while something long runs: by the logger ``"capo"``, never by print."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from ..engine import Round

logger = logging.getLogger("capo")

#: Seconds between two lines of progress.
EVERY = 2.0


class ProgressLogger:
    """Lines for a person who waits: one every two seconds, or all of them.

    Parameters
    ----------
    verbose : int
        0 leaves the lines to whoever set the logger to DEBUG, 1 shows one every two seconds, 2 shows
        all of them; on the standard error if logging has not been set up.
    """

    def __init__(self, verbose: int) -> None:
        self.verbose = int(verbose)
        self.last = time.monotonic()
        if self.verbose and not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())
            logger.setLevel(logging.INFO)

    def say(self, line: str, *values: object) -> None:
        """A line if it is due."""
        now = time.monotonic()
        if self.verbose > 1 or now - self.last >= EVERY:
            self.last = now
            logger.log(logging.INFO if self.verbose else logging.DEBUG, line, *values)

    def round(self, state: Round) -> None:
        """A round of the solver, as its callback."""
        line = "round %d: primal %.6g, dual %.6g, gap %.3g, %d cuts"
        self.say(line, state.number, state.primal, state.dual, state.gap, state.cuts)


class StepTimer:
    """Seconds of each step of a fit."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, step: str, work: Callable[..., Any], *args: Any) -> Any:
        """Do the work and note how long it took."""
        start = time.perf_counter()
        result = work(*args)
        self.seconds[step] = time.perf_counter() - start
        return result
