"use strict";
{
  const get = (id) => document.getElementById(id);
  const data = JSON.parse(get("slider-data").textContent);
  const slider = get("slider");
  const total = data.n_pos + data.n_neg;
  const decimals = { minimumFractionDigits: data.decimals, maximumFractionDigits: data.decimals };
  const formatCount = (count) => Math.max(count, 0).toLocaleString("en-US", decimals);
  const formatRate = (part, whole) => (whole > 0 ? (part / whole).toFixed(3) : "n/a");
  const formatPercent = (part, whole) => (whole > 0 ? ((100 * part) / whole).toFixed(1) + "%" : "n/a");
  const write = (id, text) => {
    const element = get(id);
    if (element) element.textContent = text;
  };
  let announcement = 0;

  const confusionAt = (i) => {
    const tp = data.tp[i];
    const fp = data.fp[i];
    return { tp, fp, fn: data.n_pos - tp, tn: data.n_neg - fp };
  };

  const showConfusion = ({ tp, fp, fn, tn }) => {
    const cells = [
      ["tn", tn, data.n_neg], ["fp", fp, data.n_neg],
      ["fn", fn, data.n_pos], ["tp", tp, data.n_pos],
      ["predicted-negative", fn + tn, total], ["predicted-positive", tp + fp, total],
    ];
    for (const [id, count, whole] of cells) {
      write(id, formatCount(count));
      write(id + "-share", formatPercent(count, whole));
    }
  };

  const showRates = (i, { tp, fp, fn, tn }) => {
    write("threshold", data.thresholds[i]);
    write("value", data.values[i]);
    write("rate-measure", data.values[i]);
    write("rate-precision", formatRate(tp, tp + fp));
    write("rate-recall", formatRate(tp, data.n_pos));
    write("rate-f1", formatRate(2 * tp, 2 * tp + fp + fn));
    write("rate-specificity", formatRate(tn, data.n_neg));
    write("rate-accuracy", formatRate(tp + tn, total));
    write("rate-predicted", formatPercent(tp + fp, total));
  };

  const movePoints = (i) => {
    for (const [id, positions] of Object.entries(data.positions)) {
      const point = get(id + "-point");
      point.setAttribute("cx", positions[i][0]);
      point.setAttribute("cy", positions[i][1]);
    }
    const across = data.positions["threshold-chart"][i][0];
    get("slider-line").setAttribute("x1", across);
    get("slider-line").setAttribute("x2", across);
  };

  // Screen readers read the slider's own text as it moves; the rest is announced once it stops.
  const announce = ({ tp, fp }) => {
    clearTimeout(announcement);
    announcement = setTimeout(() => {
      const rates = `precision ${formatRate(tp, tp + fp)}, recall ${formatRate(tp, data.n_pos)}`;
      write("status", `${formatCount(tp + fp)} of ${formatCount(total)} predicted as ${data.positive}: ${rates}`);
    }, 400);
  };

  const show = () => {
    const i = Number(slider.value);
    const cells = confusionAt(i);
    slider.setAttribute("aria-valuetext", `threshold ${data.thresholds[i]}: ${data.measure} ${data.values[i]}`);
    showConfusion(cells);
    showRates(i, cells);
    movePoints(i);
    return cells;
  };

  const makeScrollBoxesFocusable = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };

  slider.addEventListener("input", () => announce(show()));
  get("reset").addEventListener("click", () => {
    slider.value = data.chosen;
    announce(show());
  });
  addEventListener("resize", makeScrollBoxesFocusable);
  document.documentElement.classList.remove("no-script");
  show();
  makeScrollBoxesFocusable();
}
