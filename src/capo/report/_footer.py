"""The footer of a page: training times and versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import sklearn

from .. import __version__
from . import _formatting as formatting

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier


@dataclass(frozen=True)
class Footer:
    """Training times and versions."""

    durations: str
    versions: str
    date: str


def build_footer(model: CAPOClassifier, steps: Mapping[str, str]) -> Footer:
    """Collect the durations of the training's steps, by the text that describes each, and the versions."""
    durations = (
        f"{formatting.format_duration(model.timings_[key])} for {step}" for key, step in steps.items()
    )
    versions = (
        f"capo {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )
    return Footer(formatting.join_words(durations), versions, datetime.now(UTC).date().isoformat())
