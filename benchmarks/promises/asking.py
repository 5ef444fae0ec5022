"""Two promises at once, with rows to ask about in between, against MAPIE's abstention; and segments.

make promises DATA=FOLDER                                   all of it
python -m benchmarks.promises.asking CACHE --mapie PYTHON   for the scores of `benchmarks.promises` in CACHE
python -m benchmarks.promises.asking                        the tables of the results there are, in Markdown

A precision and a negative predictive value are promised together. A draw breaks the promise if one of the
two is below its limit in the population. What is gained is the share of rows that get a label.

Segments: each population is a segment beside two others. The promises are broken if they are in one of the
segments. "one pair for all" are two thresholds that were promised for the rows of all segments together.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy.special import logit

from capo.decisions import ALL_ROWS_CUT, NO_ROW_CUT, ClassScores, Constraint, certify, plan_cuts

from ..provenance import record_run
from .draws import CONFIDENCE, N_DRAWS, PAIRS, SAMPLE_SIZES, Population, open_population
from .page import CAPO
from .populations import FIVE_VALUES, LAWS, TABLES, simulate

RESULTS = Path(__file__).parent / "results"
CELL = ["population", "precision", "npv", "rows"]
SEGMENTS, POOLED = "capo, each segment", "one pair for all"
N_SEGMENTS = 3
PLANS: dict[tuple, np.ndarray] = {}
MAX_BROKEN = 1 - CONFIDENCE + 2 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / N_DRAWS)


class Curve:
    """The true rates of a population at any pair of cuts."""

    def __init__(self, population: Population) -> None:
        self.pos, self.neg = (
            np.sort(population.scores[rows]) for rows in (population.positive, ~population.positive)
        )

    def outcome(self, lower: float, upper: float, limits: tuple[float, float]) -> tuple[bool, float]:
        """Whether a promise is broken, and the share of rows that get a label."""
        fn, tn = (int(np.searchsorted(each, lower, side="right")) for each in (self.pos, self.neg))
        tp, fp = (
            len(each) - int(np.searchsorted(each, upper, side="right")) for each in (self.pos, self.neg)
        )
        broken = fp > (1 - limits[0] + 1e-12) * (tp + fp) or fn > (1 - limits[1] + 1e-12) * (fn + tn)
        return broken, (tp + fp + fn + tn) / (len(self.pos) + len(self.neg))


def pool(populations: Sequence[Population]) -> ClassScores:
    return ClassScores(
        np.concatenate([each.train_scores for each in populations]),
        np.concatenate([each.train_positive for each in populations]),
    )


def promise(limits: tuple[float, float]) -> list[Constraint]:
    return [Constraint("precision", limits[0]), Constraint("npv", limits[1])]


def plan_once(constraints: list[Constraint], training: ClassScores, *arguments: float) -> np.ndarray:
    """The plan does not depend on the draw."""
    key = (*constraints, id(training), *arguments)
    if key not in PLANS:
        PLANS[key] = plan_cuts(constraints, training, *arguments)
    return PLANS[key]


def our_pairs(population: Population) -> Iterator[tuple]:
    training, curve = pool([population]), Curve(population)
    options = {"training": training, "confidence": CONFIDENCE, "abstain_label": "ask"}
    for limits in PAIRS:
        for n_rows in SAMPLE_SIZES:
            for number in range(N_DRAWS):
                rows = population.draw(n_rows, number)
                sample = population.scores[rows], population.positive[rows]
                found = certify(promise(limits), *sample, **options)
                outcome = curve.outcome(found.lower_cut, found.cut, limits)
                yield (population.name, *limits, n_rows, number, CAPO, *outcome)


def segment_pairs(populations: Sequence[Population]) -> Iterator[tuple]:
    training, curves = pool(populations), [Curve(each) for each in populations]
    options = {"training": training, "confidence": CONFIDENCE, "abstain_label": "ask"}
    names = [each.name for each in populations]
    for limits in PAIRS:
        for n_rows in SAMPLE_SIZES:
            size = n_rows // len(names)
            for number in range(N_DRAWS):
                drawn = [(each, each.draw(size, number)) for each in populations]
                scores = np.concatenate([each.scores[rows] for each, rows in drawn])
                positive = np.concatenate([each.positive[rows] for each, rows in drawn])
                found = certify(promise(limits), scores, positive, segments=np.repeat(names, size), **options)
                pooled = certify(promise(limits), scores, positive, **options)
                for method, decisions in (
                    (SEGMENTS, [found.segments[name] for name in names]),
                    (POOLED, [pooled] * len(names)),
                ):
                    outcomes = [
                        curve.outcome(each.lower_cut, each.cut, limits)
                        for curve, each in zip(curves, decisions, strict=True)
                    ]
                    broken, decided = np.array(outcomes, dtype=float).T
                    yield names[0], *limits, n_rows, number, method, broken.max(), decided.mean()


def their_pairs(population: Population, folder: Path) -> Iterator[tuple]:
    curve = Curve(population)
    for row in pd.read_csv(folder / f"{population.name}.pairs.csv").itertuples(index=False):
        # MAPIE predicts positive at the upper threshold, and negative only below the lower one.
        lower, upper = (logit(np.nextafter(each, 0)) for each in (row.lower, row.upper))
        lower, upper = (ALL_ROWS_CUT, NO_ROW_CUT) if np.isnan(row.lower) else (lower, upper)
        yield (*row[:6], *curve.outcome(lower, upper, (row.precision, row.npv)))


def write(rows: list[tuple], name: str) -> None:
    found = pd.DataFrame(rows, columns=[*CELL, "draw", "method", "broken", "decided"])
    means = found.astype({"broken": float}).groupby([*CELL, "method"], as_index=False)
    path = RESULTS / name
    means[["broken", "decided"]].mean().to_csv(path, index=False, float_format="%.4f", lineterminator="\n")
    record_run(path)


def run(cache: Path, mapie: str) -> None:
    if not (cache / f"{FIVE_VALUES}.npz").exists():
        simulate(FIVE_VALUES).save(cache)
    with subprocess.Popen([mapie, "-m", "benchmarks.promises.mapie_pairs", str(cache)]) as other:
        populations = [open_population(cache / f"{name}.npz") for name in (*TABLES, *LAWS, FIVE_VALUES)]
        segments, pairs = [], []
        # How many rows would be needed is a part of the message only, and takes most of the time.
        with (
            patch("capo.decisions._guarantee.count_rows_needed", lambda *arguments: None),
            patch("capo.decisions._guarantee.plan_cuts", plan_once),
        ):
            for position, each in enumerate(populations):
                others = [populations[(position + step) % len(populations)] for step in range(N_SEGMENTS)]
                segments += segment_pairs(others)
                pairs += our_pairs(each)
                print(f"pairs and segments of {each.name}", file=sys.stderr, flush=True)
        write(segments, "segments.csv")
        if other.wait():
            raise SystemExit("MAPIE's part failed.")
    write(pairs + [row for each in populations for row in their_pairs(each, cache)], "asking.csv")


def tables() -> str:
    found = pd.read_csv(RESULTS / "asking.csv")
    broken, decided = (
        found.pivot(index=CELL, columns="method", values=name) for name in ("broken", "decided")
    )
    rivals = [name for name in decided.columns if name != CAPO]
    best = decided[rivals].max(axis=1)
    behind = best - decided[CAPO]
    lines = [
        f"Broken in a cell at most: {broken[CAPO].max():.3f} by capo, {broken[rivals].max().max():.3f} by "
        f"MAPIE (at most {MAX_BROKEN:.3f} within two standard errors).",
        f"Rows decided: {decided[CAPO].mean():.3f} by capo, {best.mean():.3f} by MAPIE's best in each cell, "
        f"ratio {decided[CAPO].mean() / best.mean():.2f}; largest lead of MAPIE's best: {behind.max():.3f}.",
    ]
    lines += [
        f"{name}: {decided[name].mean():.3f}, ratio {decided[CAPO].mean() / decided[name].mean():.2f}, "
        f"largest lead {(decided[name] - decided[CAPO]).max():.3f}."
        for name in rivals
    ]
    head = ["population", CAPO, "MAPIE's best", "MAPIE's default, 20 steps", "broken by capo, at most"]
    columns = [decided[CAPO], best, decided["bonferroni_holm, 20 steps"]]
    means = pd.concat(columns, axis=1).groupby("population").mean()
    means["broken"] = broken[CAPO].groupby("population").max()
    segments = pd.read_csv(RESULTS / "segments.csv")
    by_method = segments.groupby("method")
    lines += [
        f"{method}: broken in {cells['broken'].mean():.3f} of the draws on average, in a cell at most "
        f"{cells['broken'].max():.3f}; {cells['decided'].mean():.3f} of the rows decided."
        for method, cells in by_method
    ]
    rows = [f"| {name} | {' | '.join(f'{each:.3f}' for each in row)} |" for name, row in means.iterrows()]
    table = "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows])
    return "\n\n".join([*lines, table])


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.promises.asking",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("cache", type=Path, nargs="?", help="folder with the scores of the populations")
    parser.add_argument("--mapie", default=sys.executable, help="a Python with MAPIE 1.6")
    options = parser.parse_args()
    if options.cache is not None:
        run(options.cache, options.mapie)
    print(tables())


if __name__ == "__main__":
    main()
