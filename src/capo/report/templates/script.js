"use strict";
{
  const get = (id) => document.getElementById(id);
  const data = JSON.parse(get("curves").textContent);
  const slider = get("slider");
  const total = data.n_pos + data.n_neg;
  const digits = { minimumFractionDigits: data.digits, maximumFractionDigits: data.digits };
  const count = (mass) => Math.max(mass, 0).toLocaleString("en-US", digits);
  const rate = (part, whole) => (whole > 0 ? (part / whole).toFixed(3) : "n/a");
  const percent = (part, whole) => (whole > 0 ? ((100 * part) / whole).toFixed(1) + "%" : "n/a");
  const write = (id, text) => {
    const element = get(id);
    if (element) element.textContent = text;
  };
  let waiting = 0;

  const table = (i) => {
    const tp = data.tp[i];
    const fp = data.fp[i];
    return { tp, fp, fn: data.n_pos - tp, tn: data.n_neg - fp };
  };

  const showTable = ({ tp, fp, fn, tn }) => {
    const cells = [
      ["tn", tn, data.n_neg], ["fp", fp, data.n_neg],
      ["fn", fn, data.n_pos], ["tp", tp, data.n_pos],
      ["below", fn + tn, total], ["above", tp + fp, total],
    ];
    for (const [id, mass, whole] of cells) {
      write(id, count(mass));
      write(id + "-share", percent(mass, whole));
    }
  };

  const showRates = (i, { tp, fp, fn, tn }) => {
    write("threshold", data.thresholds[i]);
    write("value", data.values[i]);
    write("rate-measure", data.values[i]);
    write("rate-precision", rate(tp, tp + fp));
    write("rate-recall", rate(tp, data.n_pos));
    write("rate-f1", rate(2 * tp, 2 * tp + fp + fn));
    write("rate-specificity", rate(tn, data.n_neg));
    write("rate-accuracy", rate(tp + tn, total));
    write("rate-share", percent(tp + fp, total));
  };

  const move = (i) => {
    for (const [id, places] of Object.entries(data.places)) {
      const point = get(id + "-point");
      point.setAttribute("cx", places[i][0]);
      point.setAttribute("cy", places[i][1]);
    }
    const across = data.places["by-threshold"][i][0];
    get("follow").setAttribute("x1", across);
    get("follow").setAttribute("x2", across);
  };

  // The slider says threshold and measure itself; the rest is said once it rests.
  const say = ({ tp, fp }) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const shares = `precision ${rate(tp, tp + fp)}, recall ${rate(tp, data.n_pos)}`;
      write("status", `${count(tp + fp)} of ${count(total)} predicted as ${data.positive}: ${shares}`);
    }, 400);
  };

  const show = () => {
    const i = Number(slider.value);
    const cells = table(i);
    slider.setAttribute("aria-valuetext", `threshold ${data.thresholds[i]}: ${data.name} ${data.values[i]}`);
    showTable(cells);
    showRates(i, cells);
    move(i);
    return cells;
  };

  const boxes = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };

  slider.addEventListener("input", () => say(show()));
  get("back").addEventListener("click", () => {
    slider.value = data.chosen;
    say(show());
  });
  addEventListener("resize", boxes);
  document.documentElement.classList.remove("still");
  show();
  boxes();
}
