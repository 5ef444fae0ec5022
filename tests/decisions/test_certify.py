"""The promise by simulation: violations are at most 1 - confidence, whatever the scores are like."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multinomial

from capo import measures
from capo.decisions import ALL_ROWS_CUT, NO_ROW_CUT, ClassScores, Constraint, certify, plan_cuts
from capo.exceptions import InvalidInputError

CONFIDENCE, N_ROWS, N_DRAWS = 0.8, 300, 200
N_POPULATION = 40_000
ALLOWED = 1 - CONFIDENCE + 3 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / N_DRAWS)


def smooth(rng, n):
    y = rng.random(n) < 0.3
    return rng.normal(size=n) + 2 * y, y


def tied(rng, n):
    scores, y = smooth(rng, n)
    return np.round(scores), y


def one_value(rng, n):
    return np.zeros(n), rng.random(n) < 0.85


def noise(rng, n):
    return rng.normal(size=n), rng.random(n) < 0.78


def wrong_at_the_top(rng, n):
    scores, y = smooth(rng, n)
    return np.where(~y & (rng.random(n) < 0.02), 6 + rng.random(n), scores), y


def reversed_scores(rng, n):
    scores, y = smooth(rng, n)
    return -scores, y


def rates(constraint, cut, scores, positive):
    predicted = scores > cut
    right = predicted == positive
    outcomes = (predicted & right, predicted & ~right, ~predicted & ~right, ~predicted & right)
    cells = dict(zip(("tp", "fp", "fn", "tn"), outcomes, strict=True))
    failures, trials = (
        sum(int(cells[name].sum()) for name in names)
        for names in (constraint.rate.failures, constraint.rate.trials)
    )
    return failures / trials if trials else 0.0


@pytest.mark.parametrize("law", [smooth, tied, one_value, noise, wrong_at_the_top, reversed_scores])
@pytest.mark.parametrize("text", ["precision >= 0.8", "npv >= 0.9", "recall >= 0.9", "fpr <= 0.1"])
def test_violations_are_as_rare_as_promised(law, text):
    rng, constraint = np.random.default_rng(0), Constraint.parse(text)
    training = ClassScores(*law(rng, 600))
    scores, positive = law(rng, N_POPULATION)
    plan = plan_cuts(constraint, training, N_ROWS, CONFIDENCE)
    violations = 0
    for _ in range(N_DRAWS):
        rows = rng.integers(0, N_POPULATION, N_ROWS)
        found = certify(constraint, scores[rows], positive[rows], training, confidence=CONFIDENCE, cuts=plan)
        violations += rates(constraint, found.cut, scores, positive) > constraint.max_failure_rate + 1e-12
    assert violations / N_DRAWS <= ALLOWED


def test_the_naive_threshold_breaks_the_promise():
    """The tests above can fail: the best threshold on the sample itself violates about half the time."""
    rng = np.random.default_rng(0)
    scores, positive = smooth(rng, N_POPULATION)
    measure, constraint = measures.get("recall_at_precision", floor=0.8), Constraint("precision", 0.8)
    violations = 0
    for _ in range(100):
        rows = rng.integers(0, N_POPULATION, N_ROWS)
        cut = measure.threshold(positive[rows], scores[rows])
        violations += rates(constraint, cut, scores, positive) > 0.2
    assert violations / 100 > ALLOWED


def test_training_scores_that_mislead_cost_power_and_not_validity():
    rng, constraint = np.random.default_rng(1), Constraint("precision", 0.8)
    scores, positive = noise(rng, N_POPULATION)
    misleading = ClassScores(rng.normal(size=500), np.ones(500, dtype=bool))
    plan = plan_cuts(constraint, misleading, N_ROWS, CONFIDENCE)
    violations = 0
    for _ in range(N_DRAWS):
        rows = rng.integers(0, N_POPULATION, N_ROWS)
        sample = scores[rows], positive[rows]
        found = certify(constraint, *sample, misleading, confidence=CONFIDENCE, cuts=plan)
        violations += rates(constraint, found.cut, scores, positive) > constraint.max_failure_rate
    assert violations / N_DRAWS <= ALLOWED


def test_the_plan_does_not_depend_on_the_calibration_rows():
    rng = np.random.default_rng(2)
    training, constraint = ClassScores(*smooth(rng, 500)), Constraint("precision", 0.8)
    plan = plan_cuts(constraint, training, N_ROWS, CONFIDENCE)
    for _ in range(20):
        scores, positive = smooth(rng, N_ROWS)
        planned = certify(constraint, scores, positive, training, confidence=CONFIDENCE, cuts=plan)
        assert certify(constraint, scores, positive, training, confidence=CONFIDENCE) == planned
        if planned.is_certified:
            assert np.abs(plan - planned.cut).min() < 1e-2  # cuts that are too close to a score are moved


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=40), st.floats(0.1, 0.9))
def test_a_monotone_rate_gets_the_furthest_threshold_that_passes(rows, limit):
    scores = np.array([score for score, _ in rows], dtype=float)
    positive = np.array([label for _, label in rows])
    training = ClassScores(scores, positive)
    constraint = Constraint("fpr", limit)
    found = certify(constraint, scores, positive, training, confidence=0.6)
    n_neg = int((~positive).sum())
    passing = [
        cut
        for cut in (ALL_ROWS_CUT, *scores)
        if constraint.p_values([int((scores[~positive] > cut).sum())], [n_neg])[0] <= 0.4
    ]
    assert found.is_certified == bool(passing)
    if passing:
        np.testing.assert_array_equal(scores > found.cut, scores > min(passing))
        assert np.abs(scores - found.cut).min() >= 5e-4


@pytest.mark.parametrize("text", ["precision >= {}", "npv >= {}"])
def test_a_model_with_few_values_keeps_a_weaker_constraint_too(text):
    """Each fold has values of its own: no row of the final model may be beyond the outermost of them."""
    rng, sign = np.random.default_rng(9), 1 if text.startswith("precision") else -1
    labels, fold = rng.random(1500) < 0.5, rng.integers(0, 3, 1500)
    values = np.where(rng.random(1500) < 0.8, labels, ~labels)
    training = ClassScores(2.0 * values + sign * 0.1 * fold, labels, fold=fold)
    positive = rng.random(1500) < 0.5
    scores = 2.0 * np.where(rng.random(1500) < 0.8, positive, ~positive)
    for limit in (0.5, 0.6, 0.7, 0.75):
        found = certify(Constraint.parse(text.format(limit)), scores, positive, training)
        assert found.is_certified


def test_nothing_passes_on_few_rows():
    rng = np.random.default_rng(3)
    scores, positive = smooth(rng, 20)
    training = ClassScores(*smooth(rng, 500))
    found = certify(Constraint("precision", 0.9), scores, positive, training)
    assert (found.is_certified, found.cut) == (False, NO_ROW_CUT)
    assert found.promises[0].n_rows_needed > 29
    assert "no row is predicted positive; about" in str(found)
    recall = certify(Constraint("recall", 0.9), scores, positive, training)
    assert (recall.is_certified, recall.cut) == (False, ALL_ROWS_CUT)
    assert "every row is predicted positive" in str(recall)


def test_no_number_of_rows_is_enough_for_noise():
    rng = np.random.default_rng(4)
    labels = rng.random(3000) < 0.3
    training = ClassScores(rng.normal(size=3000), labels)
    found = certify(Constraint("precision", 0.9), rng.normal(size=500), rng.random(500) < 0.3, training)
    assert found.promises[0].n_rows_needed is None
    assert "no number of calibration rows would be enough" in str(found)


def test_the_rows_that_are_said_to_be_needed_are_about_enough():
    rng, constraint = np.random.default_rng(5), Constraint("precision", 0.8)
    training = ClassScores(*smooth(rng, 3000))
    needed = certify(constraint, *smooth(rng, 40), training).promises[0].n_rows_needed
    successes = [
        certify(constraint, *smooth(rng, needed), training, random_state=draw).is_certified
        for draw in range(20)
    ]
    assert np.mean(successes) > 0.6


def test_an_objective_chooses_among_the_thresholds_that_pass():
    rng, constraint = np.random.default_rng(6), Constraint("precision", 0.5)
    training, (scores, positive) = ClassScores(*smooth(rng, 2000)), smooth(rng, 2000)
    furthest = certify(constraint, scores, positive, training)
    best = certify(constraint, scores, positive, training, objective=measures.get("f1"))
    f1 = measures.get("f1")
    assert best.cut > furthest.cut
    assert f1.score(positive, scores - best.cut) >= f1.score(positive, scores - furthest.cut)
    with pytest.raises(InvalidInputError, match="must be a measure of the confusion matrix: roc_auc"):
        certify(constraint, scores, positive, training, objective=measures.get("roc_auc"))


@pytest.mark.parametrize("prevalence", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    "objective", ["accuracy", "youden", "balanced_accuracy", measures.get("cost", cost_fp=3.0, cost_fn=2.0)]
)
def test_a_linear_objective_chooses_what_its_own_score_prefers(objective, prevalence):
    rng, constraint = np.random.default_rng(8), Constraint("positive_rate", 0.9)
    scores, positive = rng.normal(size=200).round(1), rng.random(200) < prevalence
    scores += 1.5 * positive
    objective = measures.get(objective)
    training = ClassScores(scores, positive)
    found = certify(constraint, scores, positive, training, objective=objective)
    furthest = certify(constraint, scores, positive, training).cut
    allowed = [furthest, *(cut for cut in np.unique(scores) if cut >= furthest)]
    values = [objective.score(positive, scores - cut) for cut in allowed]
    assert objective.score(positive, scores - found.cut) == pytest.approx(max(values))


def test_an_objective_of_these_rows_is_refused():
    training = ClassScores(np.arange(50.0), np.arange(50) > 20)
    prices = measures.get("cost", cost_fn=np.arange(1.0, 51.0))
    with pytest.raises(InvalidInputError, match="must be a measure of the confusion matrix: cost"):
        certify(Constraint("fpr", 0.5), training.log_odds, training.positive, training, objective=prices)


def test_a_confidence_near_1_is_kept():
    """The tolerance for rounding errors is small even compared with 1 - confidence: 0.5 ** 43 is 1.1e-13."""
    constraint, confidence = Constraint("fpr", 0.5), 1 - 1e-13
    for n_rows, is_certified in ((43, False), (44, True)):
        training = ClassScores(np.zeros(n_rows), np.zeros(n_rows, dtype=bool))
        found = certify(constraint, training.log_odds, training.positive, training, confidence=confidence)
        assert found.is_certified == is_certified
    assert "with 99.99999% confidence" in str(replace(found, confidence=0.9999999))


@pytest.mark.parametrize("confidence", [0, 1, -0.5, float("nan"), "high"])
def test_confidence_is_checked(confidence):
    training = ClassScores(np.arange(5.0), np.arange(5) > 2)
    with pytest.raises(InvalidInputError, match="confidence must be above 0 and below 1"):
        certify(Constraint("fpr", 0.1), np.arange(5.0), np.arange(5) > 2, training, confidence=confidence)


def test_more_is_found_than_by_starting_at_the_strictest_threshold():
    """The planned start is what finds more than a sequence from the highest scores."""
    rng, constraint = np.random.default_rng(7), Constraint("precision", 0.8)
    training = ClassScores(*smooth(rng, 2000))
    plan = plan_cuts(constraint, training, 500, 0.9)
    strictest = np.sort(training.log_odds)[::-1][4 * constraint.min_trials(0.9) :: 10]
    recall = {"plan": 0.0, "strictest": 0.0}
    for _ in range(100):
        scores, positive = smooth(rng, 500)
        for name, cuts in (("plan", plan), ("strictest", strictest)):
            found = certify(constraint, scores, positive, training, confidence=0.9, cuts=cuts)
            recall[name] += (scores[positive] > found.cut).mean()
    assert recall["plan"] > 1.3 * recall["strictest"]


def exact_rates(constraints, cuts, values, probability, mass):
    """Whether each constraint holds at each cut, in a population of a few score values."""
    above = values > np.array(cuts)[:, None]
    tp, fp = above @ (mass * probability), above @ (mass * (1 - probability))
    cells = {"tp": tp, "fp": fp, "fn": mass @ probability - tp, "tn": mass @ (1 - probability) - fp}
    held = []
    for each in constraints:
        failures, trials = each.count(**cells)
        held.append((failures <= each.max_failure_rate * trials + 1e-12).tolist())
    return held


@pytest.mark.parametrize(
    ("texts", "label"),
    [
        (("precision >= 0.75", "npv >= 0.8"), "ask"),
        (("npv >= 0.75", "precision >= 0.75", "fpr <= 0.2"), "ask"),
        (("precision >= 0.7", "recall >= 0.5"), None),
        (("recall >= 0.6", "fpr <= 0.3"), None),
        (("precision >= 0.7", "positive_rate <= 0.4"), None),
    ],
)
@pytest.mark.parametrize("n_values", [4, 30])
def test_all_promises_hold_at_once_as_often_as_stated(texts, label, n_values):
    rng, constraints = np.random.default_rng(0), [Constraint.parse(text) for text in texts]
    values, mass = np.linspace(-3, 3, n_values), np.full(n_values, 1 / n_values)
    probability = 1 / (1 + np.exp(-values))
    training = ClassScores(*draw(rng, values, probability, 800))
    n_broken = n_certified = 0
    for _ in range(N_DRAWS):
        found = certify(
            constraints,
            *draw(rng, values, probability, N_ROWS),
            training,
            confidence=CONFIDENCE,
            abstain_label=label,
        )
        assert found.lower_cut <= found.cut
        assert label or found.lower_cut == found.cut
        at = [found.lower_cut if each.rate.safe_end == "all" else found.cut for each in constraints]
        held = exact_rates(constraints, at, values, probability, mass)
        promised = [each.is_certified for each in found.promises]
        n_broken += any(kept and not row[i] for i, (kept, row) in enumerate(zip(promised, held, strict=True)))
        n_certified += found.is_certified
    assert n_broken / N_DRAWS <= ALLOWED
    assert n_certified > 0.2 * N_DRAWS  # else the test says nothing


def draw(rng, values, probability, n_rows):
    index = rng.integers(0, len(values), n_rows)
    return values[index], rng.random(n_rows) < probability[index]


@given(st.integers(0, 10_000))
def test_two_thresholds_leave_the_fewest_rows_between_them(seed):
    """By brute force over all pairs of cuts that a side of its own certifies."""
    rng = np.random.default_rng(seed)
    values = np.arange(6.0)
    probability = np.sort(rng.random(6))
    training = ClassScores(*draw(rng, values, probability, 100))
    scores, positive = draw(rng, values, probability, 80)
    texts = "fpr <= 0.4", "fnr <= 0.4"
    constraints = [Constraint.parse(text) for text in texts]
    found = certify(constraints, scores, positive, training, confidence=0.6, abstain_label="ask")
    cuts = np.arange(-0.5, 6.0)
    upper, lower = (
        [cut for cut in cuts if each.p_values(*each.count(**cells(cut, scores, positive))) <= 0.2]
        for each in constraints
    )
    pairs = [(low, high) for low in [-np.inf, *lower] for high in [*upper, np.inf] if low <= high]
    fewest = min(((scores > low) & (scores <= high)).sum() for low, high in pairs)
    assert found.n_asked == fewest
    answers = found.answers(np.array(["no", "yes"]))[found.decide(scores)]
    assert (answers == "ask").sum() == fewest
    assert ((answers == "yes") == (scores > found.cut)).all()
    assert ((answers == "no") == (scores <= found.lower_cut)).all()


def cells(cut, scores, positive):
    above = scores > cut
    parts = above & positive, above & ~positive, ~above & positive, ~above & ~positive
    return dict(zip(("tp", "fp", "fn", "tn"), (int(each.sum()) for each in parts), strict=True))


def test_the_promise_that_failed_is_named():
    rng = np.random.default_rng(0)
    training, sample = ClassScores(*smooth(rng, 2000)), smooth(rng, 400)
    found = certify([Constraint("precision", 0.8), Constraint("recall", 0.99)], *sample, training)
    assert [each.is_certified for each in found.promises] == [True, False]
    assert found.cut == certify(Constraint("precision", 0.8), *sample, training, confidence=0.975).cut
    text = str(found)
    assert text.startswith("precision >= 0.8 on new rows like the calibration rows, with 95% confidence")
    assert "; recall >= 0.99 cannot be guaranteed with 95% confidence" in text
    assert "not at the same threshold; according to the training rows, no number" in text
    more = certify([Constraint("precision", 0.8), Constraint("recall", 0.66)], *sample, training)
    assert "recall >= 0.66 cannot" in str(more)
    assert more.promises[1].n_rows_needed > 400
    asks = certify(
        [Constraint("precision", 0.8), Constraint("npv", 0.999)], *sample, training, abstain_label="ask"
    )
    assert asks.lower_cut == ALL_ROWS_CUT
    low, high = asks.asked_interval
    assert low < asks.n_asked / 400 < high
    assert f"no row is predicted negative; about {asks.promises[1].n_rows_needed:,} calibration" in str(asks)
    assert f"'ask' for {asks.n_asked / 400:.1%} of the rows (95% interval {low:.1%} to {high:.1%})" in str(
        asks
    )


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (("precision >= 0.8", "npv >= 0.9"), {}, "need two thresholds: pass an abstain_label"),
        (("precision >= 0.8",), {"abstain_label": "ask"}, "needs promises about both labels"),
        (
            ("precision >= 0.8", "npv >= 0.9"),
            {"abstain_label": "ask", "objective": measures.get("f1")},
            "an objective selects one threshold",
        ),
    ],
)
def test_promises_that_need_another_number_of_thresholds_are_refused(texts, options, message):
    training = ClassScores(np.arange(50.0), np.arange(50) > 20)
    constraints = [Constraint.parse(text) for text in texts]
    with pytest.raises(InvalidInputError, match=message):
        certify(constraints, training.log_odds, training.positive, training, **options)


@given(
    st.integers(0, 10_000), st.sampled_from(["precision >= 0.6", "npv >= 0.6", "recall >= 0.6", "fpr <= 0.4"])
)
def test_no_cut_is_within_rounding_errors_of_a_score(seed, text):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(size=rng.integers(2, 8)))
    values = np.append(values, values[0] + 1e-9)  # tied but for rounding
    training, sample = (ClassScores(*draw(rng, values, 1 / (1 + np.exp(-2 * values)), n)) for n in (300, 200))
    found = certify(Constraint.parse(text), sample.log_odds, sample.positive, training, confidence=0.7)
    assert np.abs(sample.log_odds - found.cut).min() >= 1e-6


@pytest.mark.parametrize("law", [smooth, tied, wrong_at_the_top])
@pytest.mark.parametrize("texts", [("precision >= 0.75", "npv >= 0.75"), ("fpr <= 0.2",), ("recall >= 0.7",)])
def test_promises_hold_in_all_segments_at_once(law, texts, monkeypatch):
    """Segments with other laws: where the top is wrong, where few are positive, and with few rows."""
    rng, constraints = np.random.default_rng(1), [Constraint.parse(text) for text in texts]
    sizes = {"as trained": 250, "reversed": 150, "other": 200, "few": 7}
    laws = {"as trained": law, "reversed": reversed_scores, "other": noise, "few": smooth}
    populations = {name: laws[name](rng, N_POPULATION) for name in sizes}
    training, n_broken, n_kept = ClassScores(*law(rng, 1000)), 0, 0
    plans = {}  # they do not depend on the draw

    def plan_once(constraints, training, *arguments):
        key = (*constraints, *arguments)
        if key not in plans:
            plans[key] = plan_cuts(constraints, training, *arguments)
        return plans[key]

    monkeypatch.setattr("capo.decisions._guarantee.plan_cuts", plan_once)
    for _ in range(N_DRAWS):
        drawn = {name: rng.integers(0, N_POPULATION, size) for name, size in sizes.items()}
        scores, positive = (
            np.concatenate([populations[name][part][drawn[name]] for name in sizes]) for part in (0, 1)
        )
        found = certify(
            constraints,
            scores,
            positive,
            training,
            confidence=CONFIDENCE,
            abstain_label="ask" if len(texts) == 2 else None,
            segments=np.repeat(list(sizes), list(sizes.values())),
        )
        assert not found.segments["few"].is_certified
        broken = [
            rates(each.constraint, own.lower_cut if end == "all" else own.cut, *populations[name])
            > each.constraint.max_failure_rate + 1e-12
            for name, own in found.segments.items()
            for each in own.promises
            for end in [each.constraint.rate.safe_end]
            if each.is_certified
        ]
        n_broken += any(broken)
        n_kept += len(broken)
    assert n_broken / N_DRAWS <= ALLOWED
    assert n_kept > 0.3 * N_DRAWS  # else the test says nothing


def test_a_segment_with_too_few_rows_takes_nothing_from_the_others():
    rng = np.random.default_rng(0)
    training, (scores, positive) = ClassScores(*smooth(rng, 1000)), smooth(rng, 520)
    names, constraint = np.repeat(["large", "small", ""], [500, 12, 8]), Constraint("precision", 0.8)
    found = certify(constraint, scores, positive, training, segments=names)
    alone = certify(constraint, scores[:500], positive[:500], training)
    assert found.segments["large"].promises == alone.promises
    assert list(found.segments) == ["large", "small"]
    assert not found.is_certified
    assert (found.cut, found.n_rows) == (NO_ROW_CUT, 520)
    rows = found.for_rows(["large", "small", "unseen", ""])
    assert rows.cut.tolist() == [found.segments["large"].cut, NO_ROW_CUT, NO_ROW_CUT, NO_ROW_CUT]
    two = certify(constraint, scores, positive, training, segments=np.repeat(["a", "b"], 260))
    half = certify(constraint, scores[:260], positive[:260], training, confidence=0.975)
    assert two.segments["a"].promises[0].p_value == half.promises[0].p_value
    assert two.segments["a"].confidence == 0.95


def test_cuts_of_a_segment_avoid_the_scores_of_the_others():
    """-1, 0 and 1 can occur everywhere, but the segment was drawn without 0, the middle of its gap."""
    rng = np.random.default_rng(0)
    other = rng.integers(-1, 2, 300).astype(float)
    own = np.repeat([-1.0, 1.0], 150)
    scores, names = np.concatenate((own, other)), np.repeat(["own", "other"], 300)
    positive = rng.random(600) < np.where(scores > 0, 0.9, 0.1)
    found = certify(
        Constraint("fpr", 0.5),
        scores,
        positive,
        ClassScores(scores, positive),
        segments=names,
        confidence=0.8,
    )
    assert found.segments["own"].is_certified
    assert np.abs(found.segments["own"].cut - np.array([-1.0, 0.0, 1.0])).min() > 0.1


@pytest.mark.parametrize("names", [np.full(5, ""), np.arange(200)])
def test_the_number_of_segments_is_checked(names):
    scores = np.arange(float(len(names)))
    training = ClassScores(scores, scores > 2)
    with pytest.raises(
        InvalidInputError, match=r"segments must have between 1 and 100 different values: found"
    ):
        certify(Constraint("fpr", 0.1), scores, scores > 2, training, segments=names)


def all_samples(mass, probability, values, n_rows):
    """Scores and labels of all samples from a law of a few values, and how likely each is."""
    places = itertools.combinations(range(n_rows + 2 * len(values) - 1), 2 * len(values) - 1)
    bars = np.array([(-1, *each, n_rows + 2 * len(values) - 1) for each in places])
    counts = np.diff(bars) - 1
    likelihoods = multinomial.pmf(counts, n_rows, np.append(mass * (1 - probability), mass * probability))
    cell_scores, cell_labels = np.tile(values, 2), np.repeat([False, True], len(values))
    for count, likelihood in zip(counts, likelihoods.tolist(), strict=True):
        yield np.repeat(cell_scores, count), np.repeat(cell_labels, count), likelihood


def passing(constraints, cuts, scores, positive, alpha):
    """The cuts before the first one at which a binomial tail, written out, is above alpha."""
    for position, cut in enumerate(cuts):
        for each in constraints:
            failures, trials = (int(count) for count in each.count(**cells(cut, scores, positive)))
            rate = each.max_failure_rate
            terms = (math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(failures + 1))
            if sum(terms) > alpha + 1e-12:
                return cuts[:position]
    return cuts


def is_broken(found, constraints, values, probability, mass):
    at = [found.lower_cut if each.rate.safe_end == "all" else found.cut for each in constraints]
    held = exact_rates(constraints, at, values, probability, mass)
    pairs = enumerate(zip(found.promises, held, strict=True))
    return any(promise.is_certified and not row[i] for i, (promise, row) in pairs)


@pytest.fixture
def fixed_plan(monkeypatch):
    """Plans that do not depend on training rows."""

    def plan(constraints, *arguments):
        return np.array([0.5, -0.5] if constraints[0].rate.safe_end == "none" else [-0.5, 0.5])

    monkeypatch.setattr("capo.decisions._guarantee.plan_cuts", plan)
    monkeypatch.setattr("capo.decisions._guarantee.count_rows_needed", lambda *arguments: None)
    return plan


@pytest.mark.parametrize(
    ("texts", "label"),
    [
        (("precision >= 0.5", "npv >= 0.5"), "ask"),
        (("precision >= 0.4", "npv >= 0.6", "fpr <= 0.7"), "ask"),
        (("precision >= 0.5", "fpr <= 0.6"), None),
        (("precision >= 0.4", "recall >= 0.3"), None),
        (("npv >= 0.5", "recall >= 0.4"), None),
    ],
)
@pytest.mark.parametrize("law", [(0.1, 0.4, 0.8), (0.6, 0.55, 0.45), (0.3, 0.9, 0.2)])
def test_by_all_samples_of_a_small_law(texts, label, law, fixed_plan):
    """How likely a promise is broken is exact; two thresholds leave the fewest rows between them."""
    values, mass, probability = np.array([-1.0, 0.0, 1.0]), np.array([0.4, 0.3, 0.3]), np.array(law)
    constraints, training = [Constraint.parse(each) for each in texts], ClassScores(values, probability)
    sides = [
        [each for each in constraints if each.rate.safe_end == end]
        for end in dict.fromkeys(each.rate.safe_end for each in constraints)
    ]
    broken = decided = 0.0
    for scores, positive, likelihood in all_samples(mass, probability, values, 8):
        found = certify(constraints, scores, positive, training, confidence=0.5, abstain_label=label)
        broken += likelihood * is_broken(found, constraints, values, probability, mass)
        decided += likelihood * any(each.is_certified for each in found.promises)
        if label is not None:
            upper, lower = (
                passing(side, fixed_plan(side), scores, positive, 0.5 / len(sides)) for side in sides
            )
            pairs = [(low, high) for low in (-9, *lower) for high in (*upper, 9) if low <= high]
            fewest = min(((scores > low) & (scores <= high)).sum() for low, high in pairs)
            assert (found.n_asked, found.is_certified) == (fewest, bool(len(upper) and len(lower)))
    assert broken <= 0.5 + 1e-9
    assert decided > 0.01  # else the test says nothing


@pytest.mark.parametrize(
    ("texts", "label"), [(("precision >= 0.5",), None), (("npv >= 0.4", "fpr <= 0.6"), 0)]
)
def test_by_all_samples_of_two_segments(texts, label, fixed_plan):
    """One segment is the reverse of the other: the promises of both hold at once."""
    values, mass = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    constraints, names = [Constraint.parse(each) for each in texts], np.repeat(["a", "b"], 6)
    laws = {"a": np.array([0.2, 0.45]), "b": np.array([0.8, 0.4])}
    training, samples = (
        ClassScores(values, laws["a"]),
        [all_samples(mass, each, values, 6) for each in laws.values()],
    )
    broken = decided = 0.0
    for (scores, positive, likelihood), (others, labels, other) in itertools.product(*samples):
        both = np.append(scores, others), np.append(positive, labels)
        found = certify(constraints, *both, training, confidence=0.4, abstain_label=label, segments=names)
        broken += (
            likelihood
            * other
            * any(
                is_broken(found.segments[name], constraints, values, law, mass) for name, law in laws.items()
            )
        )
        decided += likelihood * other * any(each.is_certified for each in found.segments.values())
    assert broken <= 0.6 + 1e-9
    assert decided > 0.05
