"""The page on models of many classes and labels."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier
from capo.inspection import evaluate
from capo.report import render_report

X, Y = load_wine(return_X_y=True)
X = X[:, :4] + np.random.default_rng(0).normal(size=(len(X), 4)) * X[:, :4].std(axis=0)
NAMES = np.array(["a<b>", "b & c", "\u202eright to left"])
LIGHT = {"auxiliaries": [("nb", GaussianNB())], "cv": 2, "random_state": 0}


@pytest.fixture(scope="module")
def evaluated():
    y = NAMES[Y]
    model = CAPOClassifier("f1_macro", **LIGHT).fit(X, y)
    p = model.predict_proba(X)
    return model, y, p, evaluate(model, y, p, random_state=0)


def test_the_page_of_classes_shows_every_cell_and_escapes_names(evaluated):
    model, y, p, evaluation = evaluated
    html = render_report(model, y, p, table_name="<wine>", notes=["Careful <i>."])
    assert "<b>" not in html.replace("<b>a", "")
    assert "a&lt;b&gt;" in html
    assert "&lt;wine&gt;" in html
    assert "Careful &lt;i&gt;." in html
    heat = html.partition('<table id="heat"')[2].partition("</table>")[0]
    cells = [int(each or 0) for each in re.findall(r'<td class="shade-\d+">([\d,]*)</td>', heat)]
    assert cells == evaluation.confusion.astype(int).ravel().tolist()
    assert sum(cells) == len(X)
    for each in evaluation.classes:
        assert f"{each.recall.value:.3f}" in html
    assert "<script" not in html


def test_the_rule_is_in_words(evaluated):
    model, y, p, evaluation = evaluated
    html = render_report(model, y, p, evaluation=evaluation)
    used = "The model multiplies the probability of each class by its factor"
    assert (used in html) == model.uses_rule_
    assert ("The model predicts the most probable class" in html) != model.uses_rule_


def test_the_page_of_labels_has_rates_and_no_confusion_matrix():
    labels = (X[:, :2] > X[:, :2].mean(axis=0)).astype(int)
    model = CAPOClassifier("f1_micro", C=0.0, **LIGHT).fit(X, labels)
    decision = model.decision_function(X)
    evaluation = evaluate(model.measure_, labels, decision, class_names=["sour", "sweet"], random_state=0)
    html = render_report(model, labels, decision, evaluation=evaluation)
    assert "predicts any of 2 labels" in html
    assert "sour" in html
    assert "Confusion matrix" not in html
