"""The page in a browser: the slider works, there are no network requests, it fits the screen."""

import itertools
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from capo.inspection import MeasureEstimate, worst_errors
from capo.report import render_report
from capo.report._sections import compute_curves

from .cases import EVALUATION, IMPORTANCE, TEST, X, Y, comparison_of, decisions_on_test_rows

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="Chromium or Chrome is not installed"),
]

ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
ARGS += ["--disable-background-networking", "--disable-component-update"]
CASES = {
    "f1": {},
    "adapted": {"C": 10.0},
    "roc_auc": {"measure": "roc_auc"},
    "recall_at_precision": {"measure": "recall_at_precision", "C": 1.0},
}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=BROWSER, args=ARGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    for name, params in CASES.items():
        decisions = decisions_on_test_rows(**params)
        text = render_report(
            *decisions,
            table_name="a_long_name_" * 5,
            comparison=comparison_of(decisions[0]),
            evaluation=EVALUATION,
            importance=IMPORTANCE,
            errors=worst_errors(decisions[0], X[TEST], Y[TEST]),
            notes=["Careful."],
        )
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


class OpenPage:
    """A page in the browser, with its console messages and network requests."""

    def __init__(self, browser, file, **options):
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.messages, self.requests = [], []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def text(self, id):
        return self.page.text_content(f"#{id}")

    def texts(self):
        """The text of all elements with an id."""
        return self.page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('[id]')].map(all => [all.id, all.textContent]))"
        )

    @property
    def slider_index(self):
        return int(self.page.input_value("#slider"))


def _parse_number(text):
    return float(text.replace(",", "").replace("\N{MINUS SIGN}", "-"))


def _check_values(opened, curves, i):
    """All values are those of the threshold with index `i`."""
    tp, fp = curves.tp[i], curves.fp[i]
    fn, tn = curves.n_pos - tp, curves.n_neg - fp
    cells = {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "tn": tn,
        "predicted-positive": tp + fp,
        "predicted-negative": fn + tn,
    }
    texts = opened.texts()
    assert {key: _parse_number(texts[key]) for key in cells} == cells
    assert _parse_number(texts["threshold"]) == pytest.approx(curves.thresholds[i], rel=6e-3, abs=6e-4)
    assert _parse_number(texts["value"]) == pytest.approx(curves.values[i], abs=6e-4)
    rates = {"recall": tp / (tp + fn), "specificity": tn / (tn + fp), "accuracy": (tp + tn) / curves.total}
    rates["f1"] = 2 * tp / (2 * tp + fp + fn)
    if tp + fp:
        rates["precision"] = tp / (tp + fp)
    else:
        assert texts["rate-precision"] == "n/a"
    for key, value in rates.items():
        assert _parse_number(texts[f"rate-{key}"]) == pytest.approx(value, abs=6e-4)
    spoken = opened.page.get_attribute("#slider", "aria-valuetext")
    assert spoken == f"threshold {texts['threshold']}: {curves.measure_label} {texts['value']}"


def _move_slider(opened, i):
    opened.page.eval_on_selector(
        "#slider", "(slider, i) => { slider.value = i; slider.dispatchEvent(new Event('input')); }", i
    )


@pytest.mark.parametrize("case", CASES)
def test_the_slider_updates_all_values(browser, files, case):
    curves = compute_curves(*decisions_on_test_rows(**CASES[case]), None)
    with OpenPage(browser, files / f"{case}.html") as opened:
        _check_values(opened, curves, curves.chosen)
        opened.page.focus("#slider")
        opened.page.keyboard.press("ArrowRight")
        assert opened.slider_index == curves.chosen + 1
        _check_values(opened, curves, curves.chosen + 1)
        for key, place in (("Home", 0), ("End", len(curves.cuts) - 1)):
            opened.page.keyboard.press(key)
            assert opened.slider_index == place
            _check_values(opened, curves, place)
        opened.page.keyboard.press("PageDown")
        _check_values(opened, curves, opened.slider_index)
        for place in np.linspace(0, len(curves.cuts) - 1, 5).astype(int).tolist():
            _move_slider(opened, place)
            _check_values(opened, curves, place)
        opened.page.click("#reset")
        assert opened.slider_index == curves.chosen
        _check_values(opened, curves, curves.chosen)
        assert opened.messages == []
        assert opened.requests == [(files / f"{case}.html").as_uri()]


def test_the_points_move_along_the_curves(browser, files):
    curves = compute_curves(*decisions_on_test_rows(), None)
    with OpenPage(browser, files / "f1.html") as opened:
        for i in (0, 40, len(curves.cuts) - 1):
            _move_slider(opened, i)
            for chart in ("threshold-chart", "precision-recall-chart", "roc-chart"):
                point = opened.page.locator(f"#{chart}-point")
                at = f"{float(point.get_attribute('cx')):g},{float(point.get_attribute('cy')):g}"
                outline = point.locator("xpath=..").locator("path.curve").get_attribute("d")
                assert at in re.split("[ML]", outline)


def test_rates_are_announced_once_the_slider_stops(browser, files):
    with OpenPage(browser, files / "f1.html") as opened:
        assert opened.text("status") == ""
        opened.page.focus("#slider")
        for _ in range(3):
            opened.page.keyboard.press("ArrowRight")
        playwright.expect(opened.page.locator("#status")).not_to_be_empty()
        assert f"{opened.text('predicted-positive')} of" in opened.text("status")


@pytest.mark.parametrize("case", CASES)
def test_the_page_fits_the_width_of_the_screen(browser, files, case):
    with OpenPage(browser, files / f"{case}.html") as opened:
        for summary in opened.page.query_selector_all("summary"):
            summary.click()
        for width in (320, 360, 768, 1280):
            opened.page.set_viewport_size({"width": width, "height": 740})
            _move_slider(opened, 0)
            wide, room = opened.page.evaluate(
                "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
            )
            assert wide <= room <= width


def _utility(tp, fp, fn, tn):
    return 123456.789 * tp - 1e6 * fp


@pytest.fixture(scope="module")
def large_values(tmp_path_factory):
    """A page of large values and long names."""
    model, positive, decision = decisions_on_test_rows(_utility)
    names = ["recall_at_precision(floor=0.95), best threshold", "averageTransactionAmountLast30Days"]
    estimates = [MeasureEstimate("_utility", 1e7, -123456789.0, 3.5e7)]
    estimates += [MeasureEstimate(name, 0.5, 0.25, 0.75) for name in names]
    methods = [replace(each, values=each.values * 1e7) for each in comparison_of(model).methods]
    path = tmp_path_factory.mktemp("report") / "large.html"
    text = render_report(
        model,
        positive,
        decision,
        table_name="transactions_of_the_third_quarter.csv",
        comparison=replace(comparison_of(model), methods=methods),
        evaluation=replace(EVALUATION, estimates=estimates),
    )
    path.write_text(text, encoding="utf-8")
    return path


_BROKEN_WORDS = """() => {
  const broken = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("script, style, svg, noscript")) continue;
    for (const word of node.textContent.matchAll(/[\\p{L}\\p{N}.,]+/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""


@pytest.mark.parametrize("width", [390, 1280])
def test_no_word_or_number_is_broken(browser, files, large_values, width):
    for file in (large_values, files / "adapted.html", files / "recall_at_precision.html"):
        with OpenPage(browser, file, viewport={"width": width, "height": 800}) as opened:
            assert opened.page.evaluate(_BROKEN_WORDS) == []
            wide = opened.page.evaluate(
                "[...document.querySelectorAll('main > * .scroll')].filter(each => "
                "!each.closest('details') && each.scrollWidth > each.clientWidth)"
                ".map(each => each.firstElementChild.id)"
            )
            assert wide == []


def test_the_scale_is_below_the_slider(browser, files):
    for width in (390, 1280):
        with OpenPage(browser, files / "f1.html", viewport={"width": width, "height": 800}) as opened:
            slider, scale = (opened.page.locator(each).bounding_box() for each in ("#slider", ".scale"))
            # The center of the handle moves between points half its width, 8 pixels, from both ends.
            assert scale["x"] == pytest.approx(slider["x"] + 8, abs=1)
            assert scale["width"] == pytest.approx(slider["width"] - 16, abs=1)
            assert slider["y"] + slider["height"] <= scale["y"] + 1
            labels = opened.page.locator(".scale text").all()
            boxes = sorted((each.bounding_box() for each in labels), key=lambda box: box["x"])
            for left, right in itertools.pairwise(boxes):
                assert left["x"] + left["width"] < right["x"]


_CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((x) => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const color = parse(getComputedStyle(element).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color.slice(0, 3);
    }
    return [255, 255, 255];
  };
  let worst = [99, ""];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || element.closest("script, noscript, title, desc")) continue;
    const style = getComputedStyle(element);
    const ink = parse(element.closest("svg") ? style.fill : style.color).slice(0, 3);
    const [a, b] = [light(ink), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 80)];
  }
  return worst;
}"""


def test_text_has_enough_contrast_in_light_and_dark(browser, files):
    papers = set()
    for scheme in ("light", "dark"):
        with OpenPage(browser, files / "adapted.html", color_scheme=scheme) as opened:
            papers.add(opened.page.evaluate("getComputedStyle(document.body).backgroundColor"))
            ratio, where = opened.page.evaluate(_CONTRAST)
            assert ratio >= 4.5, where
    assert len(papers) == 2


def test_the_keyboard_focus_order(browser, files):
    with OpenPage(browser, files / "adapted.html") as opened:
        seen = []
        for _ in range(4):
            opened.page.keyboard.press("Tab")
            seen.append(
                opened.page.evaluate(
                    "document.activeElement.id || document.activeElement.className || "
                    "document.activeElement.tagName"
                )
            )
        assert seen[:3] == ["skip", "slider", "reset"]
        opened.page.focus("#slider")
        opened.page.keyboard.press("ArrowLeft")
        assert (
            opened.page.eval_on_selector("#slider", "each => getComputedStyle(each).outlineStyle") == "solid"
        )


def test_the_page_works_without_javascript(browser, files):
    with OpenPage(browser, files / "f1.html", java_script_enabled=False) as opened:
        assert not opened.page.is_visible("#slider")
        assert opened.page.is_visible("#confusion")
        assert opened.page.is_visible(".hint")


def test_the_slider_is_not_printed(browser, files):
    with OpenPage(browser, files / "f1.html", color_scheme="dark") as opened:
        opened.page.emulate_media(media="print")
        assert not opened.page.is_visible("#slider")
        assert opened.page.is_visible("#confusion")
        assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
