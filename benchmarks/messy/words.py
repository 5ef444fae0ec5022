"""Words of short texts: TF-IDF, as capo uses it, against hashing.

python -m benchmarks.messy.words --data FOLDER

The texts are those of tables with bags of words (medical: notes of radiologists; bibtex: titles and
abstracts; the most frequent labels of each are the targets), and rows of tables of categories and binned
numbers written as sentences (adult, bank_marketing). The features go to a logistic regression as they are,
and, as for the trees, to 30 singular directions. Half of the rows are for training. Results are in
benchmarks/messy/results/words.csv: the ROC area on the other half.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from capo.tables.features import WordFeatures

from ..data import folder
from ..provenance import record_run

RESULTS = Path(__file__).parent / "results" / "words.csv"
N_LABELS, N_COMPONENTS, N_SEEDS, MAX_ROWS = 3, 30, 3, 4000


class Result(NamedTuple):
    """The ROC area of one way to encode the words of one table."""

    table: str
    target: str
    seed: int
    features: str
    directions: int
    roc_auc: float


class Texts(NamedTuple):
    """Texts and labels."""

    table: str
    target: str
    texts: list[str]
    y: np.ndarray


class _Words(TransformerMixin, BaseEstimator):
    """capo's features of a list of texts."""

    def fit(self, texts: list[str], y: Any = None) -> _Words:
        self.features_ = WordFeatures().fit(_column(texts))
        return self

    def transform(self, texts: list[str]) -> Any:
        return self.features_.transform(_column(texts))


def _column(texts: list[str]) -> np.ndarray:
    return np.array(texts, dtype=object)[:, np.newaxis]


def _hashing(bits: int) -> HashingVectorizer:
    return HashingVectorizer(n_features=2**bits, strip_accents="unicode")


FEATURES: dict[str, Callable[[], Any]] = {
    "tf-idf": _Words,
    "hashing 2^10": lambda: _hashing(10),
    "hashing 2^11": lambda: _hashing(11),
    "hashing 2^14": lambda: _hashing(14),
    "hashing 2^14, idf": lambda: make_pipeline(_hashing(14), TfidfTransformer()),
}


def bags_of_words(path: Path, name: str) -> Iterator[Texts]:
    """Texts of a table with one column for each word, and its most frequent labels."""
    with np.load(path / "multi" / f"{name}.npz") as file:
        X = csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))[:MAX_ROWS]
        words, Y, labels = file["feature_names"], file["Y"][:MAX_ROWS], file["label_names"]
    texts = [" ".join(words[X.indices[X.indptr[i] : X.indptr[i + 1]]]) for i in range(X.shape[0])]
    for position in np.argsort(-Y.sum(axis=0), kind="stable")[:N_LABELS]:
        yield Texts(name, str(labels[position]), texts, Y[:, position].astype(bool))


def sentences(path: Path, name: str) -> Iterator[Texts]:
    """Rows of a table written as sentences: a word for each category, and for each tenth of a number."""
    with np.load(path / "suite" / f"{name}.npz") as file:
        X, y, categorical = file["X"][:MAX_ROWS], file["y"][:MAX_ROWS] > 0, set(file["cat_cols"].tolist())
    columns = []
    for position, column in enumerate(X.T):
        bins = column if position in categorical else _tenths(column)
        columns.append([f"c{position}v{value:.0f}" for value in bins])
    yield Texts(name, "target", [" ".join(row) for row in zip(*columns, strict=True)], y)


def _tenths(column: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.nanquantile(column, np.linspace(0, 1, 11)[1:-1]), column).astype(float)


def evaluate(texts: Texts, seed: int) -> Iterator[Result]:
    """The ROC area of each way to encode the words."""
    train, test = train_test_split(
        np.arange(len(texts.y)), test_size=0.5, random_state=seed, stratify=texts.y
    )
    for name, make in FEATURES.items():
        features = make()
        X = features.fit_transform([texts.texts[i] for i in train])
        X_test = features.transform([texts.texts[i] for i in test])
        for n_directions in (0, N_COMPONENTS):
            if n_directions:
                reduce = TruncatedSVD(n_directions, random_state=0).fit(X)
                X, X_test = 10 * reduce.transform(X), 10 * reduce.transform(X_test)
            model = LogisticRegression(C=3, max_iter=2000).fit(X, texts.y[train])
            area = roc_auc_score(texts.y[test], model.decision_function(X_test))
            yield Result(texts.table, texts.target, seed, name, n_directions, round(float(area), 5))


def summarize(results: list[Result]) -> str:
    """The mean difference of each way from TF-IDF in points of 0.01, with its standard error over targets."""
    areas: dict[tuple[str, int], dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in results:
        areas[each.features, each.directions][each.table, each.target].append(each.roc_auc)
    lines = []
    for (name, directions), found in areas.items():
        means = np.array([np.mean(values) for values in found.values()])
        base = np.array([np.mean(values) for values in areas["tf-idf", directions].values()])
        gain = 100 * (means - base)
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        kind = f"{directions} directions" if directions else "all words"
        lines.append(f"{name:18} {kind:14} ROC area {means.mean():.4f}  {gain.mean():+.2f} ± {error:.2f}")
    return "\n".join(sorted(lines, key=lambda line: "directions" in line))


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", help="the folder with the data sets")
    path = folder(parser.parse_args().data)
    tables = [*bags_of_words(path, "medical"), *bags_of_words(path, "bibtex")]
    tables += [*sentences(path, "adult"), *sentences(path, "bank_marketing")]
    results = [each for texts in tables for seed in range(N_SEEDS) for each in evaluate(texts, seed)]
    with RESULTS.open("w", newline="") as file:
        csv.writer(file).writerows([Result._fields, *results])
    record_run(RESULTS)
    print(summarize(results))


if __name__ == "__main__":
    main()
