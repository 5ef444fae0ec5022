"""The page as HTML: whole, escaped, small, and with the right words."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier
from capo.exceptions import InvalidInputError
from capo.inspection import MeasureEstimate
from capo.report import page
from capo.report._formatting import figure, minus, plain, threshold

from .cases import COMPARISON, EVALUATION, LABELS, X, judged

VOID = {"meta", "link", "input", "br", "wbr", "img", "hr"}
SELF_CLOSED = {"path", "circle", "line", "rect"}


class Checked(HTMLParser):
    """Opens and closes tags, and notes ids, references and headings."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.wanted, self.headings, self.words = [], [], [], [], []
        self.scripts, self.tags = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert len(given) == len(attrs)
        self.tags.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        for key in ("aria-labelledby", "for", "aria-describedby"):
            self.wanted += (given.get(key) or "").split()
        if given.get("href", "").startswith("#"):
            self.wanted.append(given["href"][1:])
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
    "adapted": {"C": 10.0, "prior": "zero"},
    "no delta": {"delta": None},
    "in-sample": {"cv": "in-sample"},
    "roc_auc": {"measure": "roc_auc"},
    "recall_at_precision": {"measure": "recall_at_precision", "C": 1.0},
}


@pytest.mark.parametrize("case", CASES)
def test_the_html_is_whole(case):
    text = page(
        *judged(**CASES[case]),
        table='a <table> & "more"',
        comparison=COMPARISON,
        evaluation=EVALUATION,
        notes=["Careful: 1 < 2."],
    )
    found = Checked(text)
    assert len(set(found.ids)) == len(found.ids)
    assert set(found.wanted) <= set(found.ids)
    assert found.headings[0] == 1
    assert set(found.headings[1:]) == {2}
    assert "Careful: 1 < 2." in found.text
    assert 'on a <table> & "more"' in found.text
    for tag, given in found.tags:
        assert tag != "svg" or given.get("aria-hidden") == "true" or given["role"] == "img"
        assert tag != "th" or given["scope"] in ("col", "row")
        assert not [key for key in given if key.startswith("on") or key == "style"]
    assert sum(tag == "table" for tag, _ in found.tags) == sum(tag == "caption" for tag, _ in found.tags)


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_asked_of_the_network(case):
    found = Checked(page(*judged(**CASES[case])))
    for tag, given in found.tags:
        for key in ("src", "href", "action", "data", "srcset"):
            assert given.get(key, "#").startswith(("#", "data:")), tag
    policy = next(given["content"] for _, given in found.tags if "http-equiv" in given)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "@import" not in "".join(found.scripts)
    assert "url(" not in "".join(found.scripts)


def test_hostile_names_stay_names():
    names = [
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "a & \"b\" 'c'",
        "x\ny\x00\ud800",
    ]
    names += ["🙂 naïve", "$style ${script}", "long " * 100, "x__class"]
    frame = pl.DataFrame({each: X[:, i] for i, each in enumerate(names) if "\ud800" not in each})
    y = np.where(LABELS == 1, "<!--</script>", "]]>&amp;")
    auxiliaries = [("<u>one", GaussianNB())]
    model = CAPOClassifier(auxiliaries=auxiliaries, C=10.0, prior="zero", random_state=0)
    # The measure's name is hostile too.
    model.set_params(measure=_hostile_measure).fit(frame.to_numpy(), y)
    model.delta_coef_ = {name: 1.0 + i for i, name in enumerate(names)}
    text = page(
        model,
        y,
        model.decision_function(frame.to_numpy()),
        table="</title><script>alert(2)</script>",
        notes=["<script>alert(3)</script>", "a\ud800b"],
        comparison=replace(COMPARISON, measure="<s><script>alert(4)</script>"),
        evaluation=replace(
            EVALUATION, estimates=[MeasureEstimate("<script>alert(5)</script>", 0.7, 0.68, 0.72)]
        ),
    )
    text.encode()
    found = Checked(text)
    assert [tag for tag, _ in found.tags].count("script") == 2
    assert not {"img", "u", "s", "i", "table onerror"} & {tag for tag, _ in found.tags}
    assert found.data["positive"] == "“]]>&amp;”"
    for name in ("<img src=x onerror=alert(1)>", "🙂 naïve", "$style ${script}", "<!--</script>", "<u>one"):
        assert name in found.text
    assert plain("long " * 100) in found.text
    assert len(plain("long " * 100)) <= 64


def _hostile_measure(tp, fp, fn, tn):
    return tp - fp


_hostile_measure.__name__ = "</script><p>"


def test_the_headline_and_the_words():
    model, y, decision = judged(C=0.0)
    found = Checked(page(model, y, decision, table="cells", evaluation=EVALUATION))
    value = model.measure_.score(y == model.classes_[1], decision)
    assert f"f1 on cells {value:.3f}" in found.text
    assert "0.680 to 0.720 by the bootstrap" in found.text
    assert f"above a probability of {model.threshold_:.3f}" in found.text
    assert f"The figures are of {len(y)} rows" in found.text
    assert "None used" in found.text
    assert "Caution" not in found.text
    assert "Against other systems" not in found.text
    for line in model.summary().lines:
        assert f"{line.value:.4f}" in found.text
    assert found.text.count("chosen") >= 3


def test_a_ranking_measure_says_that_f1_is_shown():
    model, y, decision = judged("roc_auc")
    found = Checked(page(model, y, decision))
    value = model.measure_.score(y == model.classes_[1], decision)
    assert (
        f"roc_auc is {value:.3f} at every threshold, so that the first curve shows f1 instead" in found.text
    )


def test_a_constrained_measure_says_what_the_curve_is():
    found = Checked(page(*judged("recall_at_precision", C=1.0)))
    assert "recall_at_precision(floor=0.9) is the best that any threshold reaches" in found.text


def test_the_certificate_and_the_delta_function():
    model, y, decision = judged(C=10.0, prior="zero")
    found = Checked(page(model, y, decision))
    for number in (model.primal_, model.dual_):
        assert f"{number:.6g}" in found.text
    assert f"within {model.gap_ / model.C_:.2g} of its minimum" in found.text
    assert len(model.solution_.history) > 1
    assert "by-round-title" in found.ids
    strongest = max(model.delta_coef_, key=lambda name: abs(model.delta_coef_[name]))
    assert f"{strongest}{minus(f'{model.delta_coef_[strongest]:+.3f}')}" in found.text


def test_free_signs_come_with_a_caution():
    found = Checked(page(*judged(C=10.0, prior="zero", positive=False)))
    assert "Caution" in found.text
    assert "leak labels" in found.text


def test_weights_are_rounded_for_people():
    model, y, decision = judged()
    weight = np.linspace(0.1, 2.0, len(y))
    found = Checked(page(model, y, decision, sample_weight=weight))
    tp = weight[(y == model.classes_[1]) & (decision > 0)].sum()
    assert f"{tp:,.1f}" in found.text
    assert "Confusion table, weighted" in found.text
    assert f"with a total weight of {weight.sum():,.1f}" in found.text
    assert found.data["tp"][found.data["chosen"]] == pytest.approx(tp)
    whole = Checked(page(model, y, decision, sample_weight=np.full(len(y), 3)))
    assert "Confusion table, weighted" not in whole.text
    assert whole.data["n_pos"] == 3 * np.count_nonzero(y == model.classes_[1])


def test_a_large_table_makes_a_small_page():
    model, _, _ = judged()
    random = np.random.default_rng(0)
    positive = random.random(300_000) < 0.1
    decision = random.normal(size=300_000) + positive
    weight = random.uniform(0.5, 2.0, 300_000)
    for given in (None, weight):
        text = page(model, model.classes_[positive.astype(int)], decision, sample_weight=given)
        assert len(text.encode()) < 300_000


def test_labels_and_decisions_must_fit():
    model, y, decision = judged()
    with pytest.raises(InvalidInputError, match="was not trained on"):
        page(model, np.array(["other"] * len(y)), decision)
    with pytest.raises(InvalidInputError, match="one number per row"):
        page(model, y, decision[:-1])
    with pytest.raises(InvalidInputError, match="NaN or infinity"):
        page(model, y, np.append(decision[:-1], np.nan))


def test_numbers_as_they_are_written():
    assert [figure(each) for each in (0.12345, -0.0001, 12.34, -1234.5, np.inf)] == [
        *("0.123", "0.000", "12.3", "\N{MINUS SIGN}1,234", "n/a")
    ]
    given = (0.5, 0.0123, 0.99995, 0.0, 1.0, 1e-30)
    assert [threshold(each) for each in given] == ["0.500", "0.0123", "0.99995", "0", "1", "0"]
