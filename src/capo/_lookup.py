"""Parts of messages about unknown names, parameters and labels."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from .exceptions import InvalidInputError

#: Labels that a message lists at most.
MAX_LISTED_LABELS = 5


def suggest_names(name: str, known: Sequence[str], otherwise: str) -> str:
    """Return a question with the names that are similar to an unknown one, or another hint."""
    near = difflib.get_close_matches(name.lower(), dict.fromkeys(known), n=3, cutoff=0.5)
    near = near or [each for each in known if each in name.lower()]
    return f"Did you mean {' or '.join(map(repr, near))}?" if near else otherwise


def check_parameters(name: str, known: Sequence[str], params: Mapping[str, Any]) -> None:
    """Raise an error for a parameter that a measure does not have."""
    if unknown := [key for key in params if key not in known]:
        takes = f"it takes {', '.join(known)}" if known else "it takes no parameters"
        raise InvalidInputError(f"measure {name!r} has no parameter {unknown[0]!r}: {takes}.")


def check_no_parameters(measure: object, params: Mapping[str, Any]) -> None:
    """Raise an error for parameters of a measure that is not given by its name."""
    if params:
        raise InvalidInputError(
            f"parameters ({', '.join(params)}) can only be given with the name of a measure: got {measure!r}."
        )


def list_labels(labels: Sequence[Any]) -> str:
    """Return the first labels of a target for a message."""
    more = ", ..." if len(labels) > MAX_LISTED_LABELS else ""
    return ", ".join(repr(label) for label in labels[:MAX_LISTED_LABELS]) + more
