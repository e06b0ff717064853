// Kernel SVD of tables: the spectrum, and the rows by their first features.
"use strict";

const sumOf = (list) => list.reduce((sum, value) => sum + (isNumber(value) ? value : 0), 0);
const runningSum = (list) => list.map((_, i) => sumOf(list.slice(0, i + 1)));

function ksvdHeader(data) {
  return element("header", { class: "hero" },
    element("div", {},
      element("p", { class: "eyebrow" }, "primal ksvd"),
      element("h1", {}, data.title),
      element("p", { class: "subtitle" }, `${capital(data.kernel)} · ${data.form}`),
      data.sampled ? element("p", { class: "badges" }, badge("estimates from a sample", "warn")) : null),
    element("div", { class: "headline" }, element("strong", {}, percent(sumOf(data.shares))),
      element("span", {}, `of the energy in ${data.values.length} singular ${data.values.length > 1 ? "values" : "value"}`)));
}

function ksvdTiles(data) {
  return element("dl", { class: "tiles" },
    tile("Kernel values", `${whole(data.rows)} × ${whole(data.columns)}`),
    tile("Effective rank", oneDigit(data.effectiveRank), `of ${data.values.length} singular values`),
    tile("Largest singular value", figure(data.values[0]), `${percent(data.shares[0])} of the energy`));
}

function screeChart(data) {
  return chartFigure({
    title: "Singular values", note: "Of the kernel matrix; dashed: effective rank", xLabel: "number", scales: ["log", "linear"],
    xRange: { min: 1, max: Math.max(data.values.length, 2) },
    marks: [{ x: data.effectiveRank, label: oneDigit(data.effectiveRank), color: "series-1" }],
    series: [{ label: "singular value", color: "series-1", x: places(data.values), y: data.values, points: data.values.length <= 40 }],
  });
}

function energyChart(data) {
  const together = runningSum(data.shares);
  return chartFigure({
    title: "Share of the energy", note: "Squares of the singular values over their sum, added up", xLabel: "number", format: percent,
    tick: percentTick, yRange: { min: 0, grace: 0 }, xRange: { min: 1, max: Math.max(data.values.length, 2) },
    series: [{ label: "together", color: "series-3", x: places(together), y: together, points: together.length <= 40 }],
  });
}

/** Feature number `at` + 2 over the one before it. Charts take points from left to right. */
function featureChart({ title, features }, at, color) {
  const [x, y] = [features[at], features[at + 1]];
  const order = x.map((_, i) => i).sort((a, b) => x[a] - x[b]);
  const [below, above] = [`feature ${at + 1}`, `feature ${at + 2}`];
  return chartFigure({
    title, note: `${capital(above)} over ${below}`, xLabel: below, realX: true, xRange: { grace: "6%" }, yRange: { grace: "6%" },
    series: [{ label: above, color, x: order.map((i) => x[i]), y: order.map((i) => y[i]), dots: true }],
  });
}

const featureCharts = (side, i) => side.features.slice(1).map((_, at) => featureChart(side, at, `series-${i + 1}`));

function featuresSection(data) {
  const charts = data.sides.flatMap(featureCharts);
  if (charts.length === 0) return null;
  const drawn = Math.max(...data.sides.map(({ features }) => features[0].length));
  const lead = drawn < Math.max(data.rows, data.columns) ? `Up to ${whole(drawn)} rows of each table, evenly chosen.` : null;
  return section("features", "Features", lead, element("div", { class: "grid" }, charts));
}

function ksvdSections(data) {
  const spectrum = section("spectrum", "Spectrum", null, element("div", { class: "grid" }, screeChart(data), energyChart(data)));
  return [ksvdTiles(data), spectrum, featuresSection(data)].filter(Boolean);
}
