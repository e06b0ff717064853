// An ablation: by how much each variant differs from the preset, with 95 % intervals, and what it costs.
"use strict";

const plotWidth = 320, plotHeight = 26; // of one row

/** All differences and their ends on one axis that has 0 in it. */
function differenceAxis(rows) {
  const ends = rows.filter(({ difference }) => isNumber(difference.mean))
    .flatMap(({ difference: { mean, half } }) => [mean - (half ?? 0), mean + (half ?? 0)]);
  const low = Math.min(0, ...ends), high = Math.max(0, ...ends), air = 0.04 * (high - low) || 1;
  return (value) => (plotWidth * (value - low + air)) / (high - low + 2 * air);
}

/** Better, worse, or, if the interval has 0 in it, neither. */
function verdictOf({ mean, half }, lower) {
  if (!isNumber(mean) || !isNumber(half) || Math.abs(mean) <= half) return "open";
  return mean > 0 !== lower ? "better" : "worse";
}

function differencePlot({ difference: { mean, half } }, x, verdict) {
  if (!isNumber(mean)) return "–";
  const middle = plotHeight / 2;
  const interval = isNumber(half) ? [svgNode("path", { class: "interval", d: `M${x(mean - half).toFixed(1)} ${middle}H${x(mean + half).toFixed(1)}` })] : [];
  return svgNode("svg", { class: `difference ${verdict}`, viewBox: `0 0 ${plotWidth} ${plotHeight}`, "aria-hidden": "true" },
    svgNode("path", { class: "zero", d: `M${x(0).toFixed(1)} 0V${plotHeight}` }), ...interval,
    svgNode("circle", { cx: x(mean).toFixed(1), cy: middle, r: 4.5 }));
}

const verdictWords = { better: "better", worse: "worse", open: "open" };

const signed = (format, value) => (isNumber(value) ? `${value > 0 ? "+" : value < 0 ? "−" : ""}${format(Math.abs(value))}` : "–");

/** "+1.20 ± 0.80" */
const signedWithHalf = (format, { mean, half }) => signed(format, mean) + (isNumber(half) ? ` ± ${format(half)}` : "");

const ablationState = (data, { seeds, failed }) => (failed > 0 ? `${failed} failed` : seeds < data.seeds ? `${seeds} of ${data.seeds} seeds` : null);

function effectSection(data) {
  const measure = measureOf(data.metric), variants = data.rows.slice(1).filter(({ skipped }) => !skipped);
  const x = differenceAxis(variants);
  const columns = [{ title: "variant" }, { title: "what changes" }, { title: columnTitle(data), number: true }, { title: "difference", number: true }, { title: "" }, { title: "it is" }];
  const rows = data.rows.filter(({ skipped }) => !skipped).map((row, i) => {
    const verdict = verdictOf(row.difference, measure.lower);
    return [row.variant, [row.change, ablationState(data, row)].filter(Boolean).join("; "), withDeviation(measure, row.score.mean, row.score.half),
      i === 0 ? "–" : signedWithHalf(measure.fine, row.difference), i === 0 ? "" : differencePlot(row, x, verdict), i === 0 ? "" : verdictWords[verdict]];
  });
  const better = measure.lower ? "Left of the line is better." : "Right of the line is better.";
  const lead = data.seeds > 1
    ? `Differences to the preset with the same seeds; ± and bars: 95 % intervals of the mean (Student). ${better} Open: the interval has 0 in it. About one interval in twenty leaves 0 out by chance.`
    : `Differences to the preset with the same seed. ${better} One seed says nothing about chance: repeat with --seeds.`;
  return section("effect", capital(scoreName(data)), lead, element("div", { class: "card" },
    scrollBox("Effect of each variant", dataTable("Effect of each variant", columns, rows, { class: "data ablation" }))));
}

const valueWithHalf = (format, { mean, half }) => (isNumber(mean) ? format(mean) + (isNumber(half) ? ` ± ${format(half)}` : "") : "–");
const timesWithHalf = (ratio) => (isNumber(ratio.mean) ? `${valueWithHalf((value) => twoDigits.format(value), ratio)} ×` : "–");


const significantDigits = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** A row per variant; `cells` makes those behind its name, and gets a function that leaves a cell of the preset itself empty. */
function variantTable(data, name, titles, cells) {
  const columns = [{ title: "variant" }, ...titles.map((title) => ({ title, number: true }))];
  const rows = data.rows.filter(({ skipped }) => !skipped).map((row, i) => [row.variant, ...cells(row, (cell) => (i === 0 ? "–" : cell))]);
  return element("div", { class: "card" }, scrollBox(name, dataTable(name, columns, rows)));
}

function ksvdEffectSection(data) {
  const size = (value) => significantDigits.format(value), rank = (value) => twoDigits.format(value);
  return section("ksvd", "KSVD", "Means over the seeds, with their 95 % intervals; differences are to the preset with the same seeds. |J|: of the primal layers with the kept weights. Effective rank: of their scores.",
    variantTable(data, "KSVD", ["|J|", "difference", "effective rank", "difference"], (row, beside) =>
      [valueWithHalf(size, row.objective), beside(signedWithHalf(size, row.objective_difference)),
        valueWithHalf(rank, row.effective_rank), beside(signedWithHalf(rank, row.effective_rank_difference))]));
}

function costSection(data) {
  return section("cost", "Cost", "× is to the preset with the same seeds. Speeds are fair only if nothing else ran meanwhile; memory is that of the whole process.",
    variantTable(data, "Cost", ["parameters", "tokens/s", "speed to base", "peak memory", "memory to base"], (row, beside) =>
      [whole(row.parameters), valueWithHalf(large, row.tokens_per_second), beside(timesWithHalf(row.speed_ratio)),
        valueWithHalf(memory, row.peak_memory_mb), beside(timesWithHalf(row.memory_ratio))]));
}

function ablationSettings(data) {
  const columns = [{ title: "variant" }, { title: "keys" }, { title: "run" }];
  const rows = data.rows.map((row) => [row.variant, row.skipped ? `not trained: ${row.skipped}` : row.set.join("  ") || "–", row.skipped ? "–" : row.run]);
  return section("settings", "Settings", null, element("div", { class: "card" }, scrollBox("Settings", dataTable("Settings", columns, rows))));
}

function ablationHeader(data) {
  const trained = data.rows.filter(({ skipped }) => !skipped), [base] = data.rows;
  const finished = trained.filter(({ seeds }) => seeds === data.seeds).length;
  return element("header", { class: "hero" },
    element("div", {},
      element("p", { class: "eyebrow" }, "primal ablate"),
      element("h1", {}, data.title),
      element("p", { class: "subtitle" }, `${trained.length - 1} variants, ${data.seeds === 1 ? "1 seed" : `${data.seeds} seeds`} each`),
      element("p", { class: "badges" }, badge(`${data.protocol} protocol`, data.protocol === "honest" ? "good" : "plain"),
        badge(`${finished} of ${trained.length} finished`, finished < trained.length ? "warn" : "plain"))),
    isNumber(base.score.mean) ? element("div", { class: "headline" }, element("strong", {}, measureOf(data.metric).format(base.score.mean)),
      element("span", {}, `${capital(scoreName(data))} of the preset`)) : null);
}

function ablationSections(data) {
  return [effectSection(data), ksvdEffectSection(data), costSection(data), ablationSettings(data)];
}
