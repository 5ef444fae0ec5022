"""Progress of long fits, logged by the logger ``"capo"``."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..auxiliary import CrossFitResult
from ..engine import Iteration

logger = logging.getLogger("capo")

#: Least time between two lines of progress.
SECONDS_BETWEEN_LINES = 2.0


class ProgressLogger:
    """Logs progress during a fit: one line every two seconds, or all lines.

    Parameters
    ----------
    verbose : int
        0 logs at level DEBUG; 1 logs at level INFO, one line every two seconds; 2 logs all lines at
        level INFO. With 1 or 2 the lines go to standard error if logging has not been configured.
    """

    def __init__(self, verbose: int) -> None:
        self.verbose = int(verbose)
        self.last = time.monotonic()

    def log(self, line: str, *values: object) -> None:
        """Log a line, unless the last one was logged too recently."""
        now = time.monotonic()
        if self.verbose > 1 or now - self.last >= SECONDS_BETWEEN_LINES:
            self.last = now
            level = logging.INFO if self.verbose else logging.DEBUG
            if self.verbose and not logger.hasHandlers():
                record = logger.makeRecord(logger.name, level, __file__, 0, line, values, None)
                logging.StreamHandler().handle(record)  # not kept: logging may be configured later
            else:
                logger.log(level, line, *values)

    def log_iteration(self, state: Iteration) -> None:
        """Log an iteration of the solver; passed to it as its callback."""
        line = "iteration %d: primal %.6g, dual %.6g, gap %.3g, %d cuts"
        self.log(line, state.number, state.primal, state.dual, state.gap, state.n_cuts)


class StepTimer:
    """Records how long each step of a fit takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, step: str, work: Callable[..., Any], *args: Any) -> Any:
        """Call ``work(*args)``, record its time under the name of the step and return its result."""
        start = time.perf_counter()
        result = work(*args)
        self.seconds[step] = time.perf_counter() - start
        return result

    def with_auxiliaries(self, names: Sequence[str], fitted: CrossFitResult) -> dict[str, float]:
        """Return the seconds of each auxiliary, of the models without pairs of folds, and of each step."""
        seconds = zip(names, fitted.seconds, strict=True)
        return {
            **{f"auxiliary {name}": taken for name, taken in seconds},
            "pairs of folds": fitted.pair_seconds,
            **self.seconds,
        }
