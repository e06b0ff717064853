// How layers mix their tokens: singular values of attention matrices, or of the kernel matrices of primal layers.
"use strict";

const matrixOf = ({ kind }) => (kind === "primal" ? "kernel" : "attention");

const layerNamesOf = (runs) => [...new Set(runs.flatMap(({ matrices }) => (matrices?.layers ?? []).map(({ layer }) => layer)))];

/** A line per run for one layer; of runs that have it. */
function matrixLines(runs, colors, layer) {
  return runs.flatMap((run, i) => {
    const facts = run.matrices?.layers.find((one) => one.layer === layer && !one.leftOut);
    const label = facts && (runs.length > 1 ? `${run.name}: ${facts.kind}` : `${facts.kind}, ${matrixOf(facts)} matrix`);
    return facts ? [{ label, color: colors(i), facts }] : [];
  });
}

/** All layers of one run. */
const layerLines = (run) => (run.matrices?.layers ?? []).flatMap((facts, i) =>
  facts.leftOut ? [] : [{ label: `${facts.layer}: ${facts.kind}`, color: layerColors[i % layerColors.length], facts }]);

function placeAxis(lines) {
  const last = Math.max(2, ...lines.map(({ facts }) => facts.places.at(-1)));
  return { xLabel: "number of singular values", xLog: last > 40, xRange: { min: 1, max: last } };
}

function shareBand({ explained, explainedDeviations: spread }) {
  if (spread.length === 0) return undefined;
  return { low: explained.map((share, i) => Math.max(0, share - spread[i])), high: explained.map((share, i) => Math.min(1, share + spread[i])) };
}

/** The published picture: how few singular values hold how much of the energy. */
function explainedChart(title, lines, shares) {
  if (lines.length === 0) return null;
  const lowest = Math.min(...lines.map(({ facts }) => facts.explained[0]));
  return chartFigure({
    title, note: "Cumulative explained variance; band: standard deviation over heads and samples", ...placeAxis(lines),
    format: percent, tick: percentTick, yRange: { min: lowest > 0.6 ? 0.5 : 0, max: 1, grace: 0 },
    levels: shares.slice(0, 2).map((share) => ({ y: share, label: `${Math.round(100 * share)} %` })),
    series: lines.map(({ label, color, facts }) =>
      ({ label, color, x: facts.places, y: facts.explained, band: shareBand(facts), points: facts.places.length <= 12 })),
  });
}

// What a matrix is known to: attention matrices are made in float32.
const leastValue = (facts) => (matrixOf(facts) === "kernel" ? 1e-10 : 1e-7);

function matrixValueChart(title, lines) {
  if (lines.length === 0) return null;
  return chartFigure({
    title, note: "Singular values as shares of the largest, mean over heads and samples; those that are rounding are left out", ...placeAxis(lines), scales: ["log", "linear"],
    series: lines.map(({ label, color, facts }) => ({
      label, color, x: facts.places, points: facts.places.length <= 12,
      y: facts.values.map((value) => (value > leastValue(facts) * facts.values[0] ? value / facts.values[0] : null)),
    })),
  });
}

function headRange(facts, at) {
  const ranks = facts.headRanks.map((ranks) => ranks[at]);
  const [low, high] = [Math.min(...ranks), Math.max(...ranks)];
  return low === high ? String(low) : `${low}–${high}`;
}

function rankRow(facts, shares, headShare) {
  const { layer, kind, leftOut } = facts;
  if (leftOut) return [layer, `${kind}: ${leftOut}`, ...Array(4 + shares.length).fill("–")];
  const spread = isNumber(facts.effectiveRankDeviation) ? ` ± ${twoDigits.format(facts.effectiveRankDeviation)}` : "";
  return [layer, `${kind}, ${matrixOf(facts)} matrix`, whole(facts.samples), whole(facts.tokens), `${twoDigits.format(facts.effectiveRank)}${spread}`,
    ...facts.ranks.map(String), headRange(facts, headShare)];
}

/** Ranks that keep shares of the energy, and the setting to copy. */
function rankCard(run, title) {
  const { layers, shares, headShare, advice, notes } = run.matrices;
  const names = shares.map((share) => `for ${Math.round(100 * share)} %`);
  const columns = ["layer", "matrix", "samples", "tokens", "effective rank", ...names, `heads, ${names[headShare]}`].map((text, i) => ({ title: text, number: i > 1 }));
  const lines = advice.map(({ share, setting }) =>
    element("p", {}, `To keep ${Math.round(100 * share)} % of the energy: `, element("code", {}, `--set ${setting}`)));
  return element("div", { class: "card" }, element("h3", {}, title),
    element("p", { class: "explain" }, "The smallest number of singular values whose squares hold a share of the sum of all squares, on the mean over heads and samples."),
    scrollBox(title, dataTable(title, columns, layers.map((facts) => rankRow(facts, shares, headShare)))),
    element("div", { class: "advice-lines" }, lines), notes.map((note) => element("p", { class: "explain" }, `${capital(note)}.`)));
}

const sharesShown = (runs) => runs.find(({ matrices }) => matrices).matrices.shares;

/** Two charts per layer, with a line per run. */
function matrixGrid(runs, colors) {
  return element("div", { class: "grid" }, layerNamesOf(runs).flatMap((layer) => {
    const lines = matrixLines(runs, colors, layer);
    return [explainedChart(capital(layer), lines, sharesShown(runs)), matrixValueChart(`${capital(layer)}, singular values`, lines)];
  }));
}

/** Of one run, all layers together. */
function matricesSection(run) {
  if (!run.matrices) return null;
  const lines = layerLines(run);
  return section("matrices", "Attention matrices",
    "How each layer mixes its tokens: its attention matrix, or of a primal layer the kernel matrix of the conditions of its kernel SVD." +
      (run.matrices.of ? ` Of ${run.matrices.of}.` : ""),
    lines.length ? element("div", { class: "grid" },
      explainedChart("Cumulative explained variance", lines, run.matrices.shares), matrixValueChart("Singular values", lines)) : null,
    rankCard(run, "Rank that each layer needs"));
}

/** Of several runs: the published picture, layer by layer; nothing if fewer than two have matrices. */
function matrixCharts(runs, colors) {
  if (runs.filter(({ matrices }) => matrices).length < 2) return [];
  return layerNamesOf(runs).map((layer) => explainedChart(`Attention matrices, ${layer}`, matrixLines(runs, colors, layer), sharesShown(runs)));
}
