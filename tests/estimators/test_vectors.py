"""Columns of vectors and encoded texts in CAPOClassifier."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

import capo
from capo import CAPOClassifier, ScoreColumn
from capo.exceptions import InvalidInputError
from capo.inspection import explain_rows, importance

N_ROWS, LENGTH = 300, 40


def make_table(n_rows=N_ROWS, seed=0, library=pd):
    """A weak score, and vectors of which a few directions with most of the variance matter."""
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(np.random.default_rng(9).normal(size=(LENGTH, LENGTH)))[0]
    vectors = (rng.normal(size=(n_rows, LENGTH)) * np.exp(-np.arange(LENGTH) / 4)) @ rotation
    signal = vectors @ rotation[1]
    score = signal + rng.normal(size=n_rows)
    column = [None if row % 17 == 4 else each for row, each in enumerate(vectors.astype(np.float32))]
    table = library.DataFrame({"score": score, "embedding": column, "x": rng.normal(size=n_rows)})
    return table, np.where(signal + 0.4 * rng.normal(size=n_rows) > 0.9, "yes", "no")


X, Y = make_table()
X_NEW, Y_NEW = make_table(400, 1)
WORDS = np.array(["late", "delivery", "good", "box", "again", "broken", "thanks", "slow"])


def make_texts(n_rows=200):
    rng = np.random.default_rng(3)
    texts = np.array([" ".join(rng.choice(WORDS, 5)) for _ in range(n_rows)], dtype=object)
    y = np.array(["late" in text for text in texts])
    texts[7] = None
    return pd.DataFrame({"note": texts, "x": rng.normal(size=n_rows)}), y


class Counts:
    """An encoder that counts words, and the texts that it was given."""

    def __init__(self):
        self.n_texts = 0

    def encode(self, texts):
        assert isinstance(texts, list)
        self.n_texts += len(texts)
        return [[text.split().count(word) for word in WORDS] for text in texts]


@pytest.mark.parametrize(
    "auxiliaries", ["fast", ["trees", "full_trees", "boosting"], ["kernel", "svm", "knn"]]
)
def test_all_auxiliaries_take_vectors(auxiliaries):
    model = CAPOClassifier("average_precision", auxiliaries=auxiliaries, pos_label="yes", random_state=0)
    assert model.fit(X[["embedding", "x"]], Y).score(X_NEW, Y_NEW) > 0.6
    assert model.n_features_in_ == 2


def test_scaling_by_block_beats_scaling_by_dimension():
    model = CAPOClassifier("average_precision", auxiliaries=["linear"], delta=None, random_state=0)
    present, present_new = (each["embedding"].notna() for each in (X, X_NEW))
    block = model.fit(X.loc[present, ["embedding"]], Y[present]).score(X_NEW[present_new], Y_NEW[present_new])
    V, V_new = np.stack(X.loc[present, "embedding"]), np.stack(X_NEW.loc[present_new, "embedding"])
    whitened = LogisticRegression().fit(V / V.std(axis=0), Y[present])
    assert block > average_precision_score(
        Y_NEW[present_new] == "yes", whitened.decision_function(V_new / V.std(axis=0))
    )


def test_vectors_beside_a_score_column():
    scored = CAPOClassifier(
        "average_precision", auxiliaries=[ScoreColumn("score")], random_state=0, delta=None
    )
    both = CAPOClassifier("average_precision", auxiliaries=[ScoreColumn("score"), "linear"], random_state=0)
    assert both.fit(X, Y).score(X_NEW, Y_NEW) > scored.fit(X, Y).score(X_NEW, Y_NEW) + 0.1
    with pytest.raises(InvalidInputError, match="the score column 'embedding' contains vectors"):
        CAPOClassifier(auxiliaries=[ScoreColumn("embedding")]).fit(X, Y)


def test_own_estimators_get_the_vectors():
    class Own(LogisticRegression):
        def fit(self, X, y):
            return super().fit(self.stack(X), y)

        def decision_function(self, X):
            return super().decision_function(self.stack(X))

        @staticmethod
        def stack(X):
            return np.stack([np.zeros(LENGTH) if each is None else each for each in X["embedding"]])

    model = CAPOClassifier(auxiliaries=[("own", Own())], random_state=0, pos_label="yes").fit(X, Y)
    assert model.score(X_NEW, Y_NEW) > 0.6


@pytest.mark.parametrize("n_classes", [3, 0])
def test_many_classes_and_labels(n_classes):
    rng = np.random.default_rng(0)
    V = rng.normal(size=(240, 6)).astype(np.float32)
    y = V[:, :3].argmax(axis=1) if n_classes else (V[:, :3] > 0.5).astype(int)
    table = pd.DataFrame({"v": list(V)})
    model = CAPOClassifier("f1_macro", auxiliaries=["linear", "trees"], random_state=0).fit(table, y)
    assert model.score(table, y) > 0.8


def test_vectors_in_a_guarantee_a_refit_and_a_population():
    measure = capo.measures.get("recall_at_precision", floor=0.7, confidence=0.9)
    model = CAPOClassifier(measure, auxiliaries=["linear"], random_state=0, pos_label="yes").fit(X, Y)
    assert model.guarantee_ is not None
    plain = CAPOClassifier(auxiliaries=["linear"], random_state=0, pos_label="yes").fit(X, Y)
    with pytest.raises(InvalidInputError, match="are copies of rows that the model was trained on"):
        plain.guarantee(X, Y, "precision >= 0.5")
    plain.for_population(X_NEW)
    assert plain.refit_on(X_NEW[:100], Y_NEW[:100]).score(X_NEW[100:], Y_NEW[100:]) > 0.6


def test_importance_and_explanations_have_one_entry_for_a_vector():
    model = CAPOClassifier(auxiliaries=["linear"], random_state=0, pos_label="yes").fit(X, Y)
    found = importance(model, X_NEW, Y_NEW, n_repeats=2, random_state=0)
    assert found.columns[0].columns == ("embedding",)
    assert sorted(each.columns for each in found.columns) == [("embedding",), ("score",), ("x",)]
    assert all(each.columns != ("embedding",) for each in found.effects)
    first, second = explain_rows(model, X_NEW.iloc[[0, 4]], X, n_walks=16, random_state=0)
    values = [
        dict(zip(each.columns, each.values, strict=True))
        for each in (*first.contributions, *second.contributions)
    ]
    assert {each["embedding"] for each in values if "embedding" in each} == {"vector", "(missing)"}


def test_a_model_file_keeps_vectors(tmp_path):
    model = CAPOClassifier(auxiliaries=["linear", "trees"], random_state=0).fit(X, Y)
    capo.save(model, tmp_path / "m.capo")
    assert_array_equal(capo.load(tmp_path / "m.capo").log_odds(X_NEW), model.log_odds(X_NEW))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_text_encoder_replaces_the_words(library):
    table, y = make_texts()
    table = table if library == "pandas" else pytest.importorskip("polars").from_pandas(table)
    model = CAPOClassifier(auxiliaries=["linear"], text_encoder=Counts(), random_state=0).fit(table, y)
    assert model.text_lengths_ == {"note": len(WORDS)}
    assert model.schema_.columns[0].kind.name == "text"
    assert [name for name in model.delta_coef_ if name.startswith("note")] == [
        *(f"note[{number}]" for number in range(len(WORDS))),
        "note missing",
    ]
    assert model.score(table, y) > 0.9
    assert_allclose(model.decision_function(table[5:9]), model.decision_function(table)[5:9], rtol=1e-5)
    model.predict(table[7:8])  # without any text


def test_a_text_encoder_is_called_once_for_each_text_and_cached(tmp_path):
    table, y = make_texts()
    encoder = Counts()
    CAPOClassifier(auxiliaries=["linear", "trees"], text_encoder=encoder, random_state=0).fit(table, y)
    assert encoder.n_texts == len(table) - 1
    cached = Counts()
    for measure in ("f1", "mcc"):
        model = CAPOClassifier(measure, auxiliaries=["linear"], memory=str(tmp_path), random_state=0)
        model.set_params(text_encoder=FrozenEstimator(HashingVectorizer(n_features=16))).fit(table, y)
    assert cached.n_texts == 0
    assert len(list(tmp_path.glob("**/encode_texts/*/output.pkl"))) == 1


def test_a_fitted_transformer_as_text_encoder(tmp_path):
    table, y = make_texts()
    words = TfidfVectorizer().fit(table["note"].dropna())
    frozen = CAPOClassifier(auxiliaries=["linear"], text_encoder=FrozenEstimator(words), random_state=0)
    model = clone(frozen).fit(table, y)
    capo.save(model, tmp_path / "m.capo")
    assert_array_equal(capo.load(tmp_path / "m.capo").log_odds(table), model.log_odds(table))
    new = table.assign(x=table["x"] + 1)
    assert model.refit_on(new[:60], y[:60]).score(new, y) > 0.9
    with pytest.raises(InvalidInputError, match="TfidfVectorizer that is not fitted: fit it to texts"):
        frozen.set_params(text_encoder=TfidfVectorizer()).fit(table, y)


def test_a_model_with_an_encoder_that_capo_does_not_know_is_saved_with_its_name(tmp_path):
    table, y = make_texts()
    model = CAPOClassifier(auxiliaries=["linear"], text_encoder=Counts(), random_state=0).fit(table, y)
    name = f"{Counts.__module__}.Counts"
    with pytest.warns(UserWarning, match="contains types that capo cannot check"):
        capo.save(model, tmp_path / "m.capo")
    with pytest.raises(capo.exceptions.ModelFileError, match="Counts"):
        capo.load(tmp_path / "m.capo")
    found = capo.load(tmp_path / "m.capo", trusted=[name])
    assert_array_equal(found.log_odds(table), model.log_odds(table))


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (lambda texts: np.zeros((3, 2)), r"got an array of shape \(3, 2\) for 199 texts"),
        (lambda texts: np.zeros(len(texts)), r"got an array of shape \(199,\)"),
        (lambda texts: np.full((len(texts), 2), np.inf), "must return a vector of finite numbers"),
        (lambda texts: [text.missing for text in texts], "failed on a list of 199 texts: AttributeError"),
    ],
)
def test_bad_text_encoders(vectors, message):
    table, y = make_texts()
    encoder = Counts()
    encoder.encode = vectors
    with pytest.raises(InvalidInputError, match=message):
        CAPOClassifier(auxiliaries=["linear"], text_encoder=encoder).fit(table, y)


def test_a_text_encoder_with_another_length_at_prediction():
    table, y = make_texts()
    encoder = Counts()
    model = CAPOClassifier(auxiliaries=["linear"], text_encoder=encoder, random_state=0).fit(table, y)
    encoder.encode = lambda texts: np.ones((len(texts), 2))
    with pytest.raises(
        InvalidInputError, match="returned vectors of 8 numbers in training, but now returns 2"
    ):
        model.predict(table)
    with pytest.raises(ValueError, match="text_encoder"):
        CAPOClassifier(text_encoder=PCA).set_params(text_encoder=3).fit(table, y)
