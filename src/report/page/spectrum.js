// Lambda and the singular values of the scores, layer by layer.
"use strict";

const places = (values) => values.map((_, i) => i + 1);

function lambdaChart(layer) {
  const { mean, low, high } = layer.lambda;
  return chartFigure({
    title: "Lambda", note: layer.heads > 1 ? "Sorted in each head; line: mean, band: range over the heads" : "Sorted",
    xLabel: "index", scales: ["linear", "log"], xRange: { min: 1, max: Math.max(layer.rank, 2) },
    series: [{ label: "mean over the heads", color: "series-4", x: places(mean), y: mean, band: { low, high } }],
  });
}

function singularChart(layer) {
  const e = layer.singularValuesE, r = layer.singularValuesR;
  const sides = layer.effectiveRankE < layer.effectiveRankR ? ["left", "right"] : ["right", "left"];
  return chartFigure({
    title: "Singular values of the scores", note: "Mean over heads and samples; dashed: effective rank",
    xLabel: "index", scales: ["log", "linear"], xRange: { min: 1, max: Math.max(layer.rank, 2) },
    marks: [{ x: layer.effectiveRankE, label: `e ${oneDigit(layer.effectiveRankE)}`, color: "series-1", side: sides[0] },
      { x: layer.effectiveRankR, label: `r ${oneDigit(layer.effectiveRankR)}`, color: "series-2", side: sides[1] }],
    series: [{ label: "e", color: "series-1", x: places(e), y: e }, { label: "r", color: "series-2", x: places(r), y: r, dash: [5, 4] }],
  });
}

/** Effective rank against the rank s, as two bars. */
function rankBars(layer) {
  const bar = (name, value) =>
    element("div", { class: "rank-bar" }, element("span", {}, name), meter(value / layer.rank),
      element("span", {}, `${oneDigit(value)} of ${layer.rank}`));
  return element("div", { class: "rank-bars" }, bar("effective rank of e", layer.effectiveRankE), bar("effective rank of r", layer.effectiveRankR));
}

function layerBlock(layer) {
  const facts = [`s = ${layer.rank}`, layer.rows ? `n = ${layer.rows} rows` : "data-independent weights",
    layer.tokens ? `N = ${layer.tokens} tokens` : null, layer.heads ? `${layer.heads} heads` : null];
  return element(
    "div", { class: "layer" },
    element("div", { class: "layer-head" },
      element("div", {}, element("h3", {}, layer.name), element("p", {}, facts.filter(Boolean).join(" · "))), rankBars(layer)),
    element("div", { class: "grid" }, lambdaChart(layer), singularChart(layer)),
  );
}

function spectrumSection(run) {
  if (run.layers.length === 0) return null;
  return section("spectrum", "Spectrum",
    "What each primal layer makes of its rank: the weights of the kernel SVD, and how many directions the scores e and r use." +
      (run.spectraOf ? ` Of ${run.spectraOf}.` : ""),
    run.layers.map(layerBlock));
}
