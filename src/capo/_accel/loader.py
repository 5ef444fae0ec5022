"""Whether to use compiled kernels: for long work, if Numba can be imported and its cache written."""

from __future__ import annotations

import logging
import os
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ..exceptions import CapoWarning

#: Set to one of these words, this environment variable turns compiled kernels off.
SWITCH, OFF = "CAPO_NUMBA", ("0", "false", "no", "off")
#: Steps of the loops together, such as additions: with fewer, they take less time than the import of Numba.
MIN_STEPS = 2**30

logger = logging.getLogger("capo")


def load_kernels(n_steps: float) -> ModuleType | None:
    """The module of compiled kernels, or None if NumPy is to be used.

    Parameters
    ----------
    n_steps : float
        About how many steps the loops have, all calls together: `MIN_STEPS` and more are compiled.

    Returns
    -------
    module or None
        None too if Numba is not installed, cannot be imported or cannot write its cache, and if the
        environment variable CAPO_NUMBA is 0, or NUMBA_DISABLE_JIT is 1.

    Examples
    --------
    >>> from capo._accel.loader import load_kernels
    >>> load_kernels(n_steps=1000) is None
    True
    """
    if n_steps < MIN_STEPS or os.environ.get(SWITCH, "").strip().lower() in OFF:
        return None
    kernels, error = _import_kernels()
    if error:
        _warn_once(error)
    return kernels


@cache
def _import_kernels() -> tuple[ModuleType | None, str]:
    """Compile the kernels, or load them from the cache; None and the reason if that fails."""
    try:
        # With its setting NUMBA_DISABLE_JIT, Numba would run the kernels in Python.
        if find_spec("numba") is None or import_module("numba").config.DISABLE_JIT:
            return None, ""
        logger.debug("compiled code: loading; only the first time takes seconds")
        return import_module(f"{__package__}.kernels"), ""
    except Exception as error:
        return None, str(error)


@cache
def _warn_once(error: str) -> None:
    warnings.warn(
        f"Numba cannot compile or store capo's kernels, so that NumPy is used, which is slower: {error}. "
        f"Repair the installation of numba, set NUMBA_CACHE_DIR to a folder that can be written, or set "
        f"{SWITCH}=0.",
        CapoWarning,
        stacklevel=3,
    )
