// The page of `primal analyze`: spectra of one run or several, ranks, scores, and the check against a kernel SVD.
"use strict";

const runColorAt = (i) => runColors[i % runColors.length];
const columnColors = ["series-1", "series-8", "series-2", "series-3"];

function analysisHeader(data) {
  const [first] = data.runs;
  const isOne = data.runs.length === 1;
  return element("header", { class: "hero" },
    element("div", {},
      element("p", { class: "eyebrow" }, "primal analyze"),
      element("h1", {}, isOne ? first.name : `Spectra of ${data.runs.length} runs`),
      data.runs.map((run) => element("p", { class: "subtitle" }, `${run.directory}: ${run.what}`))));
}

function compareMatrices(data) {
  const runs = data.runs.filter(({ matrices }) => matrices);
  if (runs.length === 0) return null;
  const of = [...new Set(runs.map(({ matrices }) => matrices.of))].filter(Boolean);
  return section("matrices", "Attention matrices",
    "How each layer mixes its tokens: its attention matrix, or of a primal layer the kernel matrix of the conditions of its kernel SVD." +
      (of.length ? ` Of ${of.join("; or of ")}.` : ""),
    matrixGrid(data.runs, runColorAt));
}

function ranksSection(data) {
  const runs = data.runs.filter(({ matrices }) => matrices);
  if (runs.length === 0) return null;
  return section("ranks", "Ranks", null,
    element("div", { class: "stack" }, runs.map((run) => rankCard(run, data.runs.length > 1 ? run.name : "Rank that each layer needs"))));
}

/** Shares between 0 and 1, a dot for each set of weights. */
function shareChart(table) {
  const rows = table.rows.filter(({ isShare }) => isShare);
  if (rows.length === 0) return null;
  return chartFigure({
    title: "Measures between 0 and 1", note: "Mean and standard deviation", labels: rows.map(({ label }) => label.trim()),
    xLabel: "", format: thousandths, errors: true, yRange: { min: 0, max: 1, grace: 0 }, 
    xRange: { min: -0.5, max: rows.length - 0.5, afterBuildTicks: (axis) => { axis.ticks = rows.map((_, value) => ({ value })); } },
    series: table.columns.map((label, c) => ({
      label, color: columnColors[c % columnColors.length], dots: true, x: rows.map((_, i) => i),
      y: rows.map(({ cells }) => cells[c].mean), error: rows.map(({ cells }) => cells[c].deviation),
    })),
  });
}

function kernelChart(table) {
  const series = table.columns.flatMap((label, c) => {
    const y = table.explained[c];
    return y.length ? [{ label, color: columnColors[c % columnColors.length], x: places(y), y, points: y.length <= 40 }] : [];
  });
  if (series.length === 0) return null;
  return chartFigure({
    title: "Energy of the kernel", note: "In the first pairs of the kernel matrix; random weights have the kernel of the trained model", xLabel: "pairs",
    format: percent, tick: percentTick, yRange: { min: 0, max: 1, grace: 0 },
    xRange: { min: 1, max: Math.max(2, ...series.map(({ x }) => x.length)) }, series,
  });
}

function ksvdLayer(table) {
  const columns = [{ title: "" }, ...["a kernel SVD has", ...table.columns].map((title) => ({ title, number: true }))];
  const rows = table.rows.map(({ label, wanted, cells }) => [label, wanted, ...cells.map(({ text }) => text.replace(" +- ", " ± "))]);
  const title = `${capital(table.layer)} as a kernel SVD`;
  const isSolved = ["holds", "other_pairs"].includes(table.grade);
  return element("div", { class: "stack" },
    element("div", { class: "card" }, element("h3", {}, title), element("p", { class: "explain" }, table.about),
      element("p", {}, badge(isSolved ? "a kernel SVD" : "no kernel SVD", isSolved ? "good" : "warn"), " ", table.verdict),
      scrollBox(title, dataTable(title, columns, rows, { class: "data dense" }))),
    shareChart(table), kernelChart(table));
}

function changedCard({ title, columns, rows }) {
  if (rows.length === 0) return null;
  const heads = ["scores instead", ...columns].map((text, i) => ({ title: text, number: i > 0 }));
  return element("div", { class: "card" }, element("h3", {}, title), scrollBox(title, dataTable(title, heads, rows)));
}

function ksvdSection(run, i, isOne) {
  if (run.ksvd.length === 0) return null;
  return section(`ksvd-${i + 1}`, isOne ? "Kernel SVD" : `Kernel SVD: ${run.name}`,
    "Whether each primal layer holds a kernel SVD of what it sees, beside the same model untrained and random weights of its size.",
    element("div", { class: "stack" }, run.ksvd.map(ksvdLayer), changedCard(run.changed)));
}

function scoresSection(run, i, isOne) {
  if (run.layers.length === 0) return null;
  return section(`scores-${i + 1}`, isOne ? "Scores" : `Scores: ${run.name}`,
    "What each primal layer makes of its rank: the weights of the kernel SVD, and how many directions the scores e and r use.",
    run.layers.map(layerBlock));
}

function findingSection(run, i, isOne) {
  if (run.findings.length === 0) return null;
  return section(`findings-${i + 1}`, isOne ? "Findings" : `Findings: ${run.name}`, null,
    element("ul", { class: "findings" }, run.findings.map(findingCard)));
}

function analysisSections(data) {
  const isOne = data.runs.length === 1;
  const ofEach = (make) => data.runs.map((run, i) => make(run, i, isOne));
  return [compareMatrices(data), ranksSection(data), ...ofEach(ksvdSection), ...ofEach(scoresSection),
    ...ofEach((run, i, isOne) => memorySection(run, `memory-${i + 1}`, isOne ? "Memory" : `Memory: ${run.name}`)), ...ofEach(findingSection)].filter(Boolean);
}
