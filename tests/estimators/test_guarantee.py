import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import capo
from capo import CAPOClassifier, SVMPerfClassifier, SVMPerfClassifierCV, TimeFolds, measures
from capo.baselines import CostSVMClassifier, PublishedCAPOClassifier
from capo.exceptions import ConstraintWarning, DataWarning, InvalidInputError
from capo.inspection import evaluate, importance

PRECISE = measures.get("recall_at_precision", floor=0.8, confidence=0.9)


def rows(n, seed, shift=1.5):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    return rng.normal(size=(n, 2)) + shift * y[:, None], np.where(y, "yes", "no")


def classifier(measure="f1", **params):
    options = {"auxiliaries": [("bayes", GaussianNB())], "delta": None, "cv": 3, "random_state": 0}
    return CAPOClassifier(measure, **{**options, **params})


@pytest.fixture(scope="module")
def model():
    return classifier().fit(*rows(600, 0))


def test_guarantee_returns_a_new_model_with_its_threshold(model):
    X, y = rows(1500, 1)
    before = model.threshold_, model.predict(X)
    promised = model.guarantee(X, y, "precision >= 0.8", confidence=0.9)
    found = promised.guarantee_
    predicted = promised.predict(X) == "yes"
    assert found.is_certified
    promise = found.promises[0]
    assert (promise.n_trials, promise.n_failures) == (predicted.sum(), (predicted & (y == "no")).sum())
    assert (model.threshold_, model.guarantee_) == (before[0], None)
    assert (model.predict(X) == before[1]).all()
    np.testing.assert_allclose(promised.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(predicted, promised.predict_proba(X)[:, 1] > promised.threshold_)
    np.testing.assert_allclose(
        promised.as_probability(promised.oof_decision_), model.as_probability(model.oof_decision_)
    )
    assert str(found) in str(promised.summary())


def test_new_rows_keep_the_constraint(model):
    """The promise of the whole way through the classifier, on fresh rows each time."""
    X_new, y_new = rows(20_000, 99)
    scores, violations = model.log_odds(X_new), 0
    for seed in range(40):
        cut = model.guarantee(*rows(300, 1000 + seed), "precision >= 0.8", confidence=0.8).guarantee_.cut
        predicted = scores > cut
        violations += bool(predicted.any()) and (y_new[predicted] == "yes").mean() < 0.8
    assert violations <= 40 * (0.2 + 3 * np.sqrt(0.2 * 0.8 / 40))


def test_rows_that_the_model_has_seen_are_refused(model):
    X, y = rows(600, 0)
    shuffled = np.random.default_rng(0).permutation(600)
    with pytest.raises(
        InvalidInputError, match=r"600 of 600 rows are copies .* trained on: a guarantee needs"
    ):
        model.guarantee(X[shuffled], y[shuffled], "fpr <= 0.1")
    X_new, y_new = rows(400, 1)
    mixed, labels = np.concatenate((X[:200], X_new)), np.concatenate((y[:200], y_new))
    with pytest.raises(InvalidInputError, match="200 of 600 rows are copies"):
        model.guarantee(mixed, labels, "fpr <= 0.1")
    with pytest.raises(InvalidInputError, match=r"200 of 200 rows are copies .* a refit needs"):
        model.refit_on(X[:200], y[:200])
    refitted = model.refit_on(X_new[:200], y_new[:200])
    for seen, labels in ((X[:300], y[:300]), (X_new[:200], y_new[:200])):
        with pytest.raises(InvalidInputError, match="rows are copies of rows that the model was trained on"):
            refitted.guarantee(seen, labels, "fpr <= 0.1")
    refitted.guarantee(X_new[200:], y_new[200:], "fpr <= 0.1")


def test_a_few_copies_of_training_rows_are_reported(model):
    X, y = rows(600, 0)
    X_new, y_new = rows(1000, 1)
    X_new[:50], y_new[:50] = X[:50], y[:50]
    with pytest.warns(DataWarning, match="50 of 1,000 rows are copies of rows that the model was trained on"):
        model.guarantee(X_new, y_new, "fpr <= 0.1")


def test_rows_that_are_equal_by_chance_are_accepted():
    X, y = (np.round(each) if each.dtype.kind == "f" else each for each in rows(2000, 0))
    fitted = classifier().fit(X[:1000], y[:1000])
    assert len(fitted.seen_rows_.fingerprints) < 10
    fitted.guarantee(X[1000:], y[1000:], "fpr <= 0.1")
    with pytest.raises(InvalidInputError, match="1,000 of 1,000 rows are copies"):
        fitted.guarantee(X[:1000], y[:1000], "fpr <= 0.1")


def test_nothing_found_predicts_no_row_positive(model, tmp_path):
    X, y = rows(15, 2)
    promised = model.guarantee(X, y, "precision >= 0.99")
    assert not promised.guarantee_.is_certified
    assert set(promised.predict(X)) == {"no"}
    assert promised.threshold_ == 1.0
    assert np.isfinite(promised.decision_function(X)).all()
    np.testing.assert_allclose(
        promised.as_probability(promised.decision_function(X)), model.predict_proba(X)[:, 1], atol=1e-6
    )
    every = model.guarantee(X, y, "recall >= 0.99")
    assert set(every.predict(X)) == {"yes"}


def test_confidence_of_the_measure_holds_out_rows():
    X, y = rows(1000, 3)
    fitted = classifier(PRECISE).fit(X, y)
    assert len(fitted.oof_decision_) == 700
    assert fitted.guarantee_.n_rows == 300
    assert fitted.guarantee_.confidence == 0.9
    # What was held out must not matter for anything but the threshold.
    seen = []
    spy = classifier(PRECISE, auxiliaries=[("spy", Spy(seen))]).fit(np.arange(1000.0)[:, None], y)
    assert max(len(each) for each in seen) == 700
    held_out = set(range(1000)) - set(np.concatenate(seen).astype(int).tolist())
    assert len(held_out) == 300 == spy.guarantee_.n_rows


class Spy(GaussianNB):
    """Records the rows that it is trained on."""

    def __init__(self, seen=None):
        super().__init__()
        self.seen = seen

    def __sklearn_clone__(self):
        return Spy(self.seen)

    def fit(self, X, y, sample_weight=None):
        self.seen.append(X[:, 0])
        return super().fit(X, y)


def test_groups_are_held_out_and_tested_one_row_each(model):
    X, y = rows(900, 4)
    groups = np.arange(900) // 3
    fitted = classifier(PRECISE).fit(X, y, groups=groups)
    assert (fitted.guarantee_.n_rows, fitted.guarantee_.by_group) == (90, True)
    assert len(fitted.oof_decision_) == 630
    alone = model.guarantee(X, y, "fpr <= 0.1", groups=groups)
    assert alone.guarantee_.n_rows == 300
    assert "one from each group" in str(alone.guarantee_)
    with pytest.raises(InvalidInputError, match="groups must have one entry per row"):
        model.guarantee(X, y, "fpr <= 0.1", groups=groups[:5])
    unknown = np.where(groups == 7, np.nan, groups)
    with pytest.raises(InvalidInputError, match="groups has missing values, in 3 of 900 rows"):
        classifier(PRECISE).fit(X, y, groups=unknown)
    with pytest.raises(InvalidInputError, match="groups has missing values, in 3 of 900 rows"):
        model.guarantee(X, y, "fpr <= 0.1", groups=unknown)


def test_more_rows_are_asked_for_than_there_are(model):
    X, _ = rows(150, 7)
    found = model.guarantee(X, np.full(150, "no"), "recall >= 0.8").guarantee_
    assert not found.is_certified
    assert found.promises[0].n_rows_needed > 150


def test_copies_among_calibration_rows_give_a_warning_unless_they_are_a_group(model):
    X, y = rows(300, 6)
    copies = np.repeat(np.arange(100), 3)
    with pytest.warns(DataWarning, match="100% of the calibration rows are exact copies of others"):
        model.guarantee(X[copies], y[copies], "fpr <= 0.1")
    with (
        pytest.warns(DataWarning, match="exact copy in another fold"),
        pytest.warns(DataWarning, match="the model has seen calibration rows") as warned,
    ):
        classifier(PRECISE).fit(X[copies], y[copies])
    assert __file__ in {each.filename for each in warned if "calibration" in str(each.message)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        model.guarantee(X[copies], y[copies], "fpr <= 0.1", groups=copies)
        model.guarantee(X, y, "fpr <= 0.1")


@pytest.mark.filterwarnings("ignore:100% of the calibration rows are exact copies")
def test_copies_of_rows_break_the_promise_unless_they_are_a_group(model):
    """Rows that depend on each other: 20 copies of 40 rows are no 800 rows."""
    X_new, y_new = rows(20_000, 98)
    scores, violations = model.log_odds(X_new), {"rows": 0, "groups": 0}
    for seed in range(30):
        X, y = rows(40, 2000 + seed)
        groups = np.repeat(np.arange(40), 20)
        for name, chosen in (("rows", None), ("groups", groups)):
            promised = model.guarantee(
                X[groups], y[groups], "precision >= 0.8", confidence=0.8, groups=chosen
            )
            predicted = scores > promised.guarantee_.cut
            violations[name] += bool(predicted.any()) and (y_new[predicted] == "yes").mean() < 0.8
    limit = 30 * (0.2 + 3 * np.sqrt(0.2 * 0.8 / 30))
    assert violations["groups"] <= limit < violations["rows"]


def test_a_guaranteed_model_survives_its_file(model, tmp_path):
    pytest.importorskip("skops")
    X, y = rows(1500, 1)
    promised = model.guarantee(X, y, "precision >= 0.8", confidence=0.9)
    capo.save(promised, tmp_path / "m.capo")
    again = capo.load(tmp_path / "m.capo")
    assert again.guarantee_ == promised.guarantee_
    with pytest.raises(InvalidInputError, match="600 of 600 rows are copies"):
        again.guarantee(*rows(600, 0), "fpr <= 0.1")
    assert (again.predict(X) == promised.predict(X)).all()


@pytest.mark.parametrize(
    ("measure", "params", "message"),
    [
        (PRECISE, {"sample_weight": np.ones(60)}, "cannot be combined with sample_weight"),
        (PRECISE, {"cv": TimeFolds(3)}, "folds in the order of time do not allow"),
        (PRECISE, {"cv": [(np.arange(30), np.arange(30, 60))]}, "cv cannot be a list of splits"),
        (PRECISE, {"threshold": 0.9}, "leave threshold at 'auto', or use the measure without a confidence"),
    ],
)
def test_what_cannot_be_held_out_is_refused(measure, params, message):
    X, y = rows(60, 5)
    weight = params.pop("sample_weight", None)
    with pytest.raises(InvalidInputError, match=message):
        classifier(measure, **params).fit(X, y, sample_weight=weight)


def test_errors_of_guarantee(model):
    X, y = rows(50, 6)
    with pytest.raises(InvalidInputError, match="the measure f1 has no constraint: pass one"):
        model.guarantee(X, y)
    with pytest.raises(InvalidInputError, match="X has 50 rows, y has 49"):
        model.guarantee(X, y[1:], "fpr <= 0.1")


def test_other_estimators_refuse_a_confidence():
    X, y = rows(60, 7)
    others = (
        SVMPerfClassifier(PRECISE),
        SVMPerfClassifierCV(PRECISE),
        CostSVMClassifier(PRECISE),
        PublishedCAPOClassifier(PRECISE, auxiliaries=[LogisticRegression()]),
    )
    for other in others:
        with pytest.raises(InvalidInputError, match=f"{type(other).__name__} cannot keep the confidence of"):
            other.fit(X, y == "yes")


def test_a_splitter_is_kept():
    X, y = rows(400, 8)
    fitted = classifier(PRECISE, cv=StratifiedKFold(3)).fit(X, y)
    assert fitted.guarantee_ is not None


def test_a_model_that_asks(model, tmp_path):
    X, y = rows(3000, 20)
    asks = model.guarantee(X, y, "precision >= 0.9", "npv >= 0.97", confidence=0.9, abstain_label="ask")
    predicted, found = asks.predict(X), asks.guarantee_
    assert found.is_certified
    assert set(predicted) == {"yes", "no", "ask"}
    assert (predicted == "ask").sum() == found.n_asked
    counts = [(predicted == "yes").sum(), (predicted == "no").sum()]
    assert [each.n_trials for each in found.promises] == counts
    np.testing.assert_allclose(asks.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(asks.decision_function(X) > 0, predicted == "yes")
    assert "'ask' for" in asks.summary().notes["guarantee"]
    with pytest.raises(InvalidInputError, match="does not label all rows, and f1 needs one for each"):
        asks.score(X, y)
    capo.save(asks, tmp_path / "m.capo")
    assert (capo.load(tmp_path / "m.capo").predict(X) == predicted).all()
    with pytest.raises(InvalidInputError, match=r"that is not the label of a class.* got 'yes'"):
        model.guarantee(X, y, "precision >= 0.9", "npv >= 0.97", abstain_label="yes")


@pytest.mark.parametrize("abstain_label", ["ask", -1])
def test_answers_have_the_type_of_the_labels_if_they_can(abstain_label):
    (X, y), (X_new, y_new) = rows(600, 0), rows(2000, 21)
    fitted = classifier().fit(X, (y == "yes").astype(int))
    asks = fitted.guarantee(
        X_new, (y_new == "yes").astype(int), "precision >= 0.8", "npv >= 0.9", abstain_label=abstain_label
    )
    predicted = asks.predict(X_new)
    assert set(predicted.tolist()) == {0, 1, abstain_label}
    assert predicted.dtype.kind == ("i" if abstain_label == -1 else "O")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_a_label_does_not_depend_on_the_rows_beside_it(seed):
    """Scores of few values, at which a promised cut must not lie."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(900, 3)) / 3
    y = rng.random(900) < X.mean(axis=1)
    auxiliaries = [("linear", LogisticRegression()), ("bayes", GaussianNB())]
    fitted = CAPOClassifier("f1", auxiliaries=auxiliaries, C=0.1, cv=2, random_state=0).fit(X[:300], y[:300])
    promised = fitted.guarantee(X[300:], y[300:], "fpr <= 0.4", confidence=0.8)
    together, sizes = promised.predict(X), (1, 2, 7, 64)
    for size in sizes:
        blocks = [promised.predict(X[start : start + size]) for start in range(0, 200, size)]
        np.testing.assert_array_equal(np.concatenate(blocks)[:200], together[:200])
    scores = promised.log_odds(X)
    assert np.abs(scores - promised.decision_.cut).min() > 1e-7


def regions(n, seed):
    """A table with a column that is no feature: the labels of the south are harder to tell apart."""
    X, y = rows(n, seed)
    rng = np.random.default_rng(seed + 1)
    region = rng.choice(["north", "south", "east"], n, p=[0.5, 0.49, 0.01])
    y = np.where((region == "south") & (rng.random(n) < 0.1), "no", y)
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "region": region}), y


@pytest.fixture(scope="module")
def framed():
    X, y = regions(600, 0)
    return classifier().fit(X[["a", "b"]], y)


@pytest.mark.parametrize("label", [None, "ask"])
def test_promises_for_segments(framed, label, tmp_path):
    X, y = regions(4000, 30)
    promises = ("precision >= 0.75", "npv >= 0.9") if label else ("fpr <= 0.1",)
    promised = framed.guarantee(X, y, *promises, segments="region", abstain_label=label)
    found, predicted = promised.guarantee_, promised.predict(X)
    assert list(found.segments) == ["east", "north", "south"]
    assert [each.is_certified for each in found.segments.values()] == [False, True, True]
    for name, own in found.segments.items():
        here = (X["region"] == name).to_numpy()
        assert own.n_rows == here.sum()
        cut = framed.log_odds(X[here][["a", "b"]]) > own.cut
        np.testing.assert_array_equal(predicted[here] == "yes", cut)
        upper = next(each for each in own.promises if each.constraint.rate.safe_end == "none")
        failures = (predicted == "yes") & (y == "no") & here
        assert upper.n_failures == failures.sum()
    if label:
        assert (predicted == "ask").sum() == found.n_asked
    new = X.assign(region="west")
    with pytest.warns(DataWarning, match="such as 'west': no threshold is known for them"):
        assert set(promised.predict(new)) == ({"ask"} if label else {"no"})
    np.testing.assert_array_equal(promised.positive_decision(X) > 0, predicted == "yes")
    np.testing.assert_allclose(promised.predict_proba(X), framed.predict_proba(X))
    text = str(found)
    assert "for each region and for all of them at once with 95% confidence: north (" in text
    assert "east: " in text
    assert "calibration rows would be needed" in text
    assert "row of any other region" in text
    summary = promised.summary().notes
    assert "depends on region: east " in summary["threshold"]
    assert "decisions" not in summary
    capo.save(promised, tmp_path / "m.capo")
    loaded = capo.load(tmp_path / "m.capo")
    np.testing.assert_array_equal(loaded.predict(X), predicted)
    assert loaded.guarantee_ == found
    blocks = [promised.predict(X[start : start + 7]) for start in range(0, 210, 7)]
    np.testing.assert_array_equal(np.concatenate(blocks), predicted[:210])
    assert all(np.abs(framed.log_odds(X) - own.cut).min() > 1e-7 for own in found.segments.values())


def test_promises_are_tested_in_each_segment(framed):
    X, y = regions(4000, 30)
    promised = framed.guarantee(X, y, "fpr <= 0.1", segments="region")
    X, y = regions(3000, 40)
    y = np.where(X["region"] == "south", "no", y)  # the south has changed
    decision = promised.positive_decision(X)
    found = evaluate(promised, y == "yes", decision, segments=X["region"], random_state=0)
    assert [each.segment for each in found.promises] == ["north", "south"]
    assert [each.p_value <= 0.05 for each in found.promises] == [False, True]
    assert "promise: fpr <= 0.1 for south with 95% confidence; these rows contradict it" in str(found)
    here = (X["region"] == "south").to_numpy()
    assert found.promises[1].n_failures == ((decision > 0) & here).sum()
    untested = evaluate(promised, y == "yes", decision, random_state=0)
    assert untested.promises == ()
    assert "the promises are not tested" in untested.caution


def test_segments_may_be_numbers_and_may_be_missing(framed):
    X, y = regions(3000, 30)
    codes = X["region"].map({"north": 1, "south": 2, "east": 3})
    promised = framed.guarantee(X.assign(region=codes), y, "fpr <= 0.1", segments="region")
    assert list(promised.guarantee_.segments) == ["1", "2", "3"]
    floats = X.assign(region=codes.astype(float))
    np.testing.assert_array_equal(promised.predict(floats), promised.predict(X.assign(region=codes)))
    floats.loc[::2, "region"] = np.nan
    assert set(promised.predict(floats)[::2]) == {"no"}
    assert "yes" in promised.predict(floats)


def test_groups_are_drawn_before_the_segments(framed):
    X, y = regions(3000, 30)
    groups = np.arange(3000) // 3
    promised = framed.guarantee(X, y, "fpr <= 0.2", segments="region", groups=groups)
    assert sum(each.n_rows for each in promised.guarantee_.segments.values()) == 1000
    assert all(each.by_group for each in promised.guarantee_.segments.values())


def test_errors_of_segments(framed):
    X, y = regions(1000, 30)
    with pytest.raises(InvalidInputError, match="segments must be the name of a column of X"):
        framed.guarantee(X, y, "fpr <= 0.2", segments=X["region"])
    with pytest.raises(InvalidInputError, match="are in the column 'place', which X does not have"):
        framed.guarantee(X, y, "fpr <= 0.2", segments="place")
    promised = framed.guarantee(X, y, "fpr <= 0.2", segments="region")
    for method in ("predict", "positive_decision"):
        with pytest.raises(InvalidInputError, match="are in the column 'region', which X does not have"):
            getattr(promised, method)(X[["a", "b"]])
    with pytest.raises(InvalidInputError, match="each region has its own threshold"):
        promised.as_probability(promised.positive_decision(X))


def test_a_refit_drops_the_promise_with_a_warning(model, framed):
    X, y = rows(3000, 20)
    promised = model.guarantee(X, y, "fpr <= 0.2")
    with pytest.warns(ConstraintWarning, match="the guarantee of the old model does not hold"):
        assert promised.refit_on(*rows(300, 50)).guarantee_ is None
    X, y = regions(3000, 30)
    by_region = framed.guarantee(X, y, "fpr <= 0.2", segments="region")
    X, y = regions(300, 50)
    with pytest.warns(ConstraintWarning, match="the guarantee of the old model does not hold"):
        new = by_region.refit_on(X[["a", "b"]], y)
    assert set(new.predict(X[["a", "b"]])) == {"yes", "no"}


def test_nothing_is_said_of_rows_to_ask_about_if_there_are_none(model):
    X, y = rows(3000, 20)
    asks = model.guarantee(X, y, "precision >= 0.9", "npv >= 0.97", confidence=0.9, abstain_label="ask")
    asked = asks.predict(X) == "ask"
    for part in (slice(None), ~asked):
        found = evaluate(asks, y[part] == "yes", asks.positive_decision(X[part]), random_state=0)
        assert ("get no label" in found.caution) == asked[part].any()
    assert (
        f"{asked.sum():,} rows that get no label"
        in evaluate(asks, y == "yes", asks.positive_decision(X), random_state=0).caution
    )


def test_segments_do_not_depend_on_the_data_type(framed):
    X, y = regions(3000, 20)
    codes = np.where(X["region"] == "north", 1.0, 2.0)
    promised = framed.guarantee(X.assign(region=codes), y, "fpr <= 0.1", segments="region")
    labels = promised.predict(X.assign(region=codes))
    assert set(labels) == {"yes", "no"}
    for values in (codes.astype(int), codes.astype(str), codes.astype(int).astype(str)):
        np.testing.assert_array_equal(promised.predict(X.assign(region=values)), labels)
        found = evaluate(
            promised, y == "yes", promised.positive_decision(X.assign(region=codes)), segments=values
        )
        assert [test.n_trials > 0 for test in found.promises] == [True, True]
    days = pd.to_datetime(np.where(codes == 1, "2020-01-01", "2020-02-01"))
    dated = framed.guarantee(X.assign(region=days), y, "fpr <= 0.1", segments="region")
    texts = X.assign(region=days.strftime("%Y-%m-%d"))
    np.testing.assert_array_equal(dated.predict(texts), dated.predict(X.assign(region=days)))


def test_rows_of_unknown_segments_are_reported(framed):
    X, y = regions(3000, 20)
    promised = framed.guarantee(X, y, "precision >= 0.6", segments="region")
    with pytest.warns(DataWarning, match="3,000 of 3,000 rows have a region that .* such as 'North'"):
        labels = promised.predict(X.assign(region="North"))
    assert set(labels) == {"no"}
    with pytest.warns(DataWarning, match="no threshold is known"):
        decision = promised.positive_decision(X.assign(region="North"))
    tests = evaluate(promised, y == "yes", decision, segments=np.full(3000, "North")).promises
    assert {test.verdict for test in tests} == {"these rows cannot test it: there are no predicted positives"}


def test_rankings_do_not_depend_on_the_thresholds_of_segments(framed):
    X, y = regions(3000, 20)
    promised = framed.guarantee(X, y, "fpr <= 0.1", segments="region")
    np.testing.assert_array_equal(promised.decision_function(X), framed.log_odds(X[["a", "b"]]))
    with pytest.raises(InvalidInputError, match="each region has its own threshold"):
        importance(promised, X, y)
    options = {"all_measures": True, "random_state": 0}
    found = evaluate(promised, y == "yes", promised.positive_decision(X), segments=X["region"], **options)
    without = evaluate(framed, y == "yes", framed.positive_decision(X[["a", "b"]]), **options)
    pairs = list(zip(found.estimates, without.estimates, strict=True))
    same = {one.name for one, other in pairs if one.value == pytest.approx(other.value)}
    assert {"roc_auc", "average_precision", "precision_at_k(k=0.1)"} < same
    assert not {"f1", "accuracy", "precision"} & same


@pytest.mark.parametrize("label", ["yes", " no ", np.nan, pd.NA])
def test_no_label_is_not_a_class_in_another_spelling(model, label):
    with pytest.raises(InvalidInputError, match="that is not the label of a class"):
        model.guarantee(*rows(500, 20), "precision >= 0.6", "npv >= 0.6", abstain_label=label)


def test_no_label_equals_no_class_and_is_a_text_or_a_number():
    X, y = rows(600, 0)
    numbers = classifier().fit(X, (y == "yes").astype(int))
    X, y = rows(2000, 20)
    for label in (True, np.bool_(0), [2], object()):
        with pytest.raises(InvalidInputError, match="a text or a number that is not the label"):
            numbers.guarantee(X, y == "yes", "precision >= 0.8", "npv >= 0.9", abstain_label=label)
    asks = numbers.guarantee(X, y == "yes", "precision >= 0.8", "npv >= 0.9", abstain_label=np.int64(-1))
    assert asks.predict(X).dtype == np.int64
    assert set(asks.predict(X)) == {-1, 0, 1}


def test_an_easier_promise_does_not_fail_on_the_values_of_a_tree(tmp_path):
    """Each fold's tree has leaves of its own, and their highest score may be above that of any new row."""
    found = {}
    for seed in range(5):
        tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=5, random_state=0)
        fitted = classifier(auxiliaries=[tree], cv=5).fit(*rows(800, 100 + seed))
        calibration = rows(800, 200 + seed)
        for limit in (0.4, 0.5, 0.6, 0.7):
            promised = fitted.guarantee(*calibration, f"precision >= {limit}", confidence=0.9)
            found[seed, limit] = promised.guarantee_.is_certified
    assert all(found.values())
    capo.save(fitted, tmp_path / "m.capo")
    again = capo.load(tmp_path / "m.capo").guarantee(*calibration, "precision >= 0.7", confidence=0.9)
    assert again.guarantee_ == promised.guarantee_
