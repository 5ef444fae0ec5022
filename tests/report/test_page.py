"""The HTML of the page: well-formed, escaped, small, with the right text."""

import json
import re
from copy import copy
from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier, measures
from capo.exceptions import InvalidInputError
from capo.inspection import MeasureEstimate, evaluate
from capo.report import render_report, write_report

from .cases import EVALUATION, LABELS, TEST, TRAIN, X, Y, comparison_of, decisions_on_test_rows

VOID = {"meta", "link", "input", "br", "wbr", "img", "hr"}
SELF_CLOSED = {"path", "circle", "line", "rect"}


class ParsedPage(HTMLParser):
    """Checks that tags are closed, and collects ids, references, headings and text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.references, self.headings, self.words = [], [], [], [], []
        self.scripts, self.tags = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert len(attributes) == len(attrs)
        self.tags.append((tag, attributes))
        self.ids += [attributes["id"]] if "id" in attributes else []
        for key in ("aria-labelledby", "for", "aria-describedby"):
            self.references += (attributes.get(key) or "").split()
        if attributes.get("href", "").startswith("#"):
            self.references.append(attributes["href"][1:])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in SELF_CLOSED
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.scripts.append(data)
        else:
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())

    @property
    def data(self):
        return json.loads(next(each for each in self.scripts if each.startswith("{")))


CASES = {
    "f1": {},
    "adapted": {"C": 10.0},
    "no delta": {"delta": None},
    "roc_auc": {"measure": "roc_auc"},
    "recall_at_precision": {"measure": "recall_at_precision", "C": 1.0},
}


@pytest.mark.parametrize("case", CASES)
def test_the_html_is_well_formed(case):
    decisions = decisions_on_test_rows(**CASES[case])
    text = render_report(
        *decisions,
        table_name='a <table> & "more"',
        comparison=comparison_of(decisions[0]),
        evaluation=EVALUATION,
        notes=["Careful: 1 < 2."],
    )
    page = ParsedPage(text)
    assert len(set(page.ids)) == len(page.ids)
    assert set(page.references) <= set(page.ids)
    assert page.headings[0] == 1
    assert set(page.headings[1:]) == {2}
    assert "Careful: 1 < 2." in page.text
    assert 'on a <table> & "more"' in page.text
    for tag, attributes in page.tags:
        assert tag != "svg" or attributes.get("aria-hidden") == "true" or attributes["role"] == "img"
        assert tag != "th" or attributes["scope"] in ("col", "row")
        assert not [key for key in attributes if key.startswith("on") or key == "style"]
    assert sum(tag == "table" for tag, _ in page.tags) == sum(tag == "caption" for tag, _ in page.tags)


@pytest.mark.parametrize("case", CASES)
def test_there_are_no_network_requests(case):
    page = ParsedPage(render_report(*decisions_on_test_rows(**CASES[case])))
    for tag, attributes in page.tags:
        for key in ("src", "href", "action", "data", "srcset"):
            assert attributes.get(key, "#").startswith(("#", "data:")), tag
    policy = next(attributes["content"] for _, attributes in page.tags if "http-equiv" in attributes)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "@import" not in "".join(page.scripts)
    assert "url(" not in "".join(page.scripts)


def test_names_are_escaped():
    names = [
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "a & \"b\" 'c'",
        "x\ny\x00\ud800",
    ]
    names += ["🙂 naïve", "{{ 7 * 7 }} {% raw %}", "long " * 100, "x__class"]
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({each: X[:, i] for i, each in enumerate(names) if "\ud800" not in each})
    y = np.where(LABELS == 1, "<!--</script>", "]]>&amp;")
    auxiliaries = [("<u>one", GaussianNB())]
    model = CAPOClassifier(auxiliaries=auxiliaries, C=10.0, random_state=0)
    # The measure's name is hostile too.
    model.set_params(measure=_hostile_measure).fit(frame.to_numpy(), y)
    model.delta_coef_ = {name: 1.0 + i for i, name in enumerate(names)}
    text = render_report(
        model,
        y == model.pos_label_,
        model.positive_decision(frame.to_numpy()),
        table_name="</title><script>alert(2)</script>",
        notes=["<script>alert(3)</script>", "a\ud800b"],
        comparison=comparison_of(model),
        evaluation=replace(
            EVALUATION, estimates=[MeasureEstimate("<script>alert(5)</script>", 0.7, 0.68, 0.72)]
        ),
    )
    text.encode()
    page = ParsedPage(text)
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert not {"img", "u", "s", "i", "table onerror"} & {tag for tag, _ in page.tags}
    assert page.data["positive"] == "“]]>&amp;”"
    for name in (
        "<img src=x onerror=alert(1)>",
        "🙂 naïve",
        "{{ 7 * 7 }} {% raw %}",
        "<!--</script>",
        "<u>one",
    ):
        assert name in page.text
    assert "long long" in page.text
    assert "long " * 13 not in page.text  # names are cut at 64 characters


def _hostile_measure(tp, fp, fn, tn):
    return tp - fp


_hostile_measure.__name__ = "</script><p><s><script>alert(4)</script>"


def test_a_fitted_auxiliary_is_a_caution():
    frozen = FrozenEstimator(GaussianNB().fit(X[TEST], LABELS[TEST]))
    auxiliaries = [("vendor", frozen), ("own", GaussianNB())]
    model = CAPOClassifier(auxiliaries=auxiliaries, C=0.0, random_state=0).fit(X[TRAIN], LABELS[TRAIN])
    page = ParsedPage(render_report(model, LABELS[TEST] == 1, model.positive_decision(X[TEST])))
    assert "Caution Auxiliaries passed already fitted: vendor; the out-of-fold values are valid" in page.text


def test_few_rows_of_a_class_are_a_caution():
    model, positive, decision = decisions_on_test_rows()
    for n_positive in (1, 19):
        rows = np.r_[np.flatnonzero(positive)[:n_positive], np.flatnonzero(~positive)[:50]]
        page = ParsedPage(render_report(model, positive[rows], decision[rows]))
        few = f"there are only a few rows of “</script><b>x</b>” ({n_positive})."
        assert f"Caution Values and intervals are uncertain: {few}" in page.text
    rows = np.r_[np.flatnonzero(positive)[:20], np.flatnonzero(~positive)[:20]]
    assert "uncertain" not in ParsedPage(render_report(model, positive[rows], decision[rows])).text


def test_a_comparison_of_another_measure_is_refused():
    model, positive, decision = decisions_on_test_rows()
    other = replace(comparison_of(model), measure="mcc")
    with pytest.raises(InvalidInputError, match="does not belong to this model: it is for mcc, not for f1"):
        render_report(model, positive, decision, comparison=other)


@pytest.mark.parametrize("name", [*measures.names(), "10 * tp - 2 * fp"])
def test_the_headline_of_every_measure_has_an_interval(name, monkeypatch):
    monkeypatch.setattr("capo.inspection._bootstrap.N_RESAMPLES", 2)
    fitted_model, positive, decision = decisions_on_test_rows()
    model = copy(fitted_model)
    model.measure_ = measures.get(name)
    evaluation = evaluate(model.measure_, positive, decision, random_state=0)
    page = ParsedPage(render_report(model, positive, decision, table_name="cells", evaluation=evaluation))
    rate = getattr(model.measure_, "rate_name", "").capitalize()
    shown = evaluation.estimates[1 if rate else 0]
    about = f"{rate} at the model's threshold; " if rate else ""
    interval = f"95% interval: {number(shown.low)} to {number(shown.high)}"
    headline = f"capo report {model.measure_.label} on cells {number(shown.value)} {about}{interval} "
    after = "Constraint" if rate else "The model predicts"
    assert f"{headline}{after}" in page.text


def number(value):
    """A number as the page shows it."""
    decimals = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 3
    text = f"{abs(value):,.{decimals}f}"
    return f"\N{MINUS SIGN}{text}" if value < 0 and text.strip("0.") else text


def test_the_slider_marks_the_threshold_of_the_model():
    page = ParsedPage(render_report(*decisions_on_test_rows()))
    assert ("path", {"class": "model-mark", "d": "M-5,8L5,8L0,0Z"}) in page.tags


def test_the_header():
    model, positive, decision = decisions_on_test_rows(C=0.0)
    page = ParsedPage(render_report(model, positive, decision, table_name="cells", evaluation=EVALUATION))
    value = model.measure_.score(positive, decision)
    headline = f"capo report f1 on cells {value:.3f} 95% interval: 0.680 to 0.720 The model predicts"
    assert headline in page.text
    assert f"above a probability of {model.threshold_:.3f}" in page.text
    assert f"The report is based on {len(positive)} rows" in page.text
    assert "This model does not use it: all 8 features have weight 0." in page.text
    assert "Caution" not in page.text
    assert "Comparison with simpler methods" not in page.text
    for line in model.summary().lines:
        assert f"{line.value:.4f}" in page.text
    assert [attributes.get("class") for tag, attributes in page.tags if tag == "tr"].count("chosen-row") == 1


@pytest.mark.parametrize("is_certified", [True, False])
def test_a_guarantee_is_stated_in_one_sentence(is_certified):
    model, positive, decision = decisions_on_test_rows()
    limit = "precision >= 0.5" if is_certified else "precision >= 0.9999"
    promised = model.guarantee(X[TEST], Y[TEST], limit)
    assert promised.guarantee_.is_certified == is_certified
    page = render_report(promised, positive, decision)
    word = "Promise" if is_certified else "No promise"
    assert f"<b>{word}</b>: {escape(str(promised.guarantee_))}." in page
    assert "Promise" not in render_report(model, positive, decision)


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_promise_is_tested_on_the_rows(is_broken):
    model = decisions_on_test_rows()[0].guarantee(X[TEST], Y[TEST], "precision >= 0.85")
    decision = model.positive_decision(X[TRAIN])
    positive = ~(decision > 0) if is_broken else Y[TRAIN] == model.pos_label_
    evaluation = evaluate(model, positive, decision, random_state=0)
    n_wrong, n_predicted = int(np.sum(~positive & (decision > 0))), int(np.sum(decision > 0))
    p_value = binomtest(n_wrong, n_predicted, 0.15, alternative="greater").pvalue
    assert evaluation.promises[0].p_value == pytest.approx(p_value)
    verb = "contradict" if is_broken else "do not contradict"
    verdict = f"rows {verb} it: {n_wrong} of {n_predicted} predicted positives were wrong (p = {p_value:.2g})"
    assert f"promise: precision >= 0.85 with 95% confidence; these {verdict}" in str(evaluation)
    assert evaluation.to_dict()["promises"][0]["n_failures"] == n_wrong
    page = ParsedPage(render_report(model, positive, decision, evaluation=evaluation))
    assert f" These {verdict}." in page.text


@pytest.mark.parametrize("kind", ["binary", "multiclass", "multilabel", "priced"])
def test_a_report_in_one_call(kind, tmp_path):
    labels = {
        "multiclass": LABELS + 2 * (X[:, 1] > 25),
        "multilabel": np.column_stack((LABELS, X[:, 0] > 16)),
    }
    y = labels.get(kind, LABELS)
    chosen, paid = {}, {}
    if kind == "priced":
        chosen, paid = {"measure": "cost"}, {"cost_fn": X[TRAIN, 3], "cost_fp": 300}
    chosen = chosen or {"measure": "f1_macro" if kind in labels else "f1"}
    model = CAPOClassifier(auxiliaries=[GaussianNB()], random_state=0, **chosen)
    model.fit(X[TRAIN], y[TRAIN], **paid)
    prices = {"prices": model.row_prices(len(y[TEST]), cost_fn=X[TEST, 3])} if paid else {}
    write_report(model, X[TEST], y[TEST], tmp_path / "report.html", table_name="cells", **prices)
    page = ParsedPage((tmp_path / "report.html").read_text("utf-8"))
    assert f"{'saving' if paid else model.measure_.label} on cells " in page.text
    assert "Measures on these rows" in page.text
    assert "shuffled" in page.text
    assert ("Worst errors" in page.text) == (kind in ("binary", "priced"))


def test_f1_is_shown_for_a_ranking_measure():
    model, positive, decision = decisions_on_test_rows("roc_auc")
    page = ParsedPage(render_report(model, positive, decision))
    value = model.measure_.score(positive, decision)
    assert f"roc_auc does not depend on the threshold: it is {value:.3f} on these rows" in page.text
    assert "The first curve shows f1 instead." in page.text


@pytest.mark.parametrize("shift", [3.0, -3.0, -1e3])
def test_a_measure_with_a_constraint_is_shown_at_the_models_threshold(shift, monkeypatch):
    monkeypatch.setattr("capo.inspection._bootstrap.N_RESAMPLES", 3)
    model, positive, decision = decisions_on_test_rows("recall_at_precision", C=1.0)
    predicted = decision + shift > 0
    evaluation = evaluate(model.measure_, positive, decision + shift, random_state=0)
    page = ParsedPage(
        render_report(model, positive, decision + shift, table_name="cells", evaluation=evaluation)
    )
    recall, best = predicted[positive].mean(), model.measure_.score(positive, decision)
    found = evaluation.estimates[1]
    headline = f"capo report recall_at_precision(floor=0.9) on cells {recall:.3f} Recall at the model's "
    assert f"{headline}threshold; 95% interval: {found.low:.3f} to {found.high:.3f} Constr" in page.text
    assert f"which is known only with their labels, has a recall of {best:.3f}" in page.text
    assert "The values are the best recall over all thresholds with a precision of at least 0.9;" in page.text
    requirement = "on these rows: the measure requires a precision of at least 0.9, and"
    if not predicted.any():
        assert f"Constraint not satisfied {requirement} no row is predicted as" in page.text
        return
    precision = positive[predicted].mean()
    state = "satisfied" if precision >= 0.9 else "not satisfied"
    value = f"the precision is {precision:.3f} (95% interval: "
    assert f"Constraint {state} {requirement} at the model's threshold {value}" in page.text


def test_the_certificate_and_the_delta_function():
    model, positive, decision = decisions_on_test_rows(C=10.0)
    page = ParsedPage(render_report(model, positive, decision))
    for number in (model.primal_, model.dual_):
        assert f"{number:.6g}" in page.text
    assert f"within {model.gap_ / model.C_:.2g} of its minimum" in page.text
    assert len(model.solution_.history) > 1
    assert "solver-chart-title" in page.ids
    strongest = max(model.delta_coef_, key=lambda name: abs(model.delta_coef_[name]))
    weight = f"{model.delta_coef_[strongest]:+.3f}".replace("-", "\N{MINUS SIGN}")
    assert f"{strongest}{weight}" in page.text


def test_weighted_counts_are_rounded():
    model, positive, decision = decisions_on_test_rows()
    weight = np.linspace(0.1, 2.0, len(positive))
    page = ParsedPage(render_report(model, positive, decision, sample_weight=weight))
    tp = weight[positive & (decision > 0)].sum()
    assert f"{tp:,.1f}" in page.text
    assert "Confusion matrix, weighted" in page.text
    total = f"with a total weight of {weight.sum():,.1f}: {weight[positive].sum():,.1f} of it is"
    assert total in page.text
    assert page.data["tp"][page.data["chosen"]] == pytest.approx(tp)
    whole = ParsedPage(render_report(model, positive, decision, sample_weight=np.full(len(positive), 3)))
    assert "Confusion matrix, weighted" not in whole.text
    assert whole.data["n_pos"] == 3 * np.count_nonzero(positive)


def test_the_page_is_small_for_many_rows():
    model, _, _ = decisions_on_test_rows()
    random = np.random.default_rng(0)
    positive = random.random(300_000) < 0.1
    decision = random.normal(size=300_000) + positive
    weight = random.uniform(0.5, 2.0, 300_000)
    for sample_weight in (None, weight):
        text = render_report(model, positive, decision, sample_weight=sample_weight)
        assert len(text.encode()) < 300_000


def test_invalid_labels_and_decisions_are_rejected():
    model, positive, decision = decisions_on_test_rows()
    for labels in (positive.astype(int), np.where(positive, "yes", "no"), positive[:, None]):
        with pytest.raises(InvalidInputError, match=r"pass y == model.pos_label_"):
            render_report(model, labels, decision)
    with pytest.raises(InvalidInputError, match="one number per row"):
        render_report(model, positive, decision[:-1])
    with pytest.raises(InvalidInputError, match="NaN or infinity"):
        render_report(model, positive, np.append(decision[:-1], np.nan))
