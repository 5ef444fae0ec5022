"""How differences between two systems are written on the page."""

from __future__ import annotations

import pandas as pd

#: Differences of scores below this are ties.
TIE = 0.0005


def format_gain(gain: pd.Series) -> str:
    """The mean difference in points, its standard error, and wins / ties / losses."""
    if gain.empty:
        return ""
    wins, losses = int((gain > TIE).sum()), int((gain < -TIE).sum())
    return f"{100 * gain.mean():+.2f} ± {100 * gain.sem():.2f}; {wins}/{len(gain) - wins - losses}/{losses}"
