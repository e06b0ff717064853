// Several runs side by side: table, seeds summed up, curves on top of each other, differing settings.
"use strict";

const runColors = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6", "series-7", "series-8"];

/** A colour per run; with more runs than colours, one per group. */
function colorOfRun(data) {
  if (data.runs.length <= runColors.length) return (i) => runColors[i];
  const groupOf = new Map(data.comparison.groups.flatMap((group, g) => group.runs.map((run) => [run, g])));
  return (i) => (groupOf.has(i) ? runColors[groupOf.get(i) % runColors.length] : "muted");
}

/** What all runs are judged by; nothing if they differ in it. */
function commonMeasure(data) {
  const kinds = new Set(data.runs.map((run) => run.metric.key));
  return kinds.size === 1 ? measureOf(data.runs[0].metric) : null;
}

function runsTable(data) {
  const common = commonMeasure(data);
  const columns = ["run", "seed", `test ${common?.column ?? "score"}`, "data", "preset", "model", "protocol", "time", "memory"]
    .map((title, i) => ({ title, number: [1, 2, 7, 8].includes(i) }));
  const colors = colorOfRun(data);
  const rows = data.runs.map((run, i) => {
    const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = `var(--${colors(i)})`;
    const { preset, model, data: set, protocol, seed } = run.identity;
    const { test, seconds, peakMemoryMb } = run.result ?? {};
    const score = isNumber(test?.score) ? (common?.fine ?? measureOf(run.metric).format)(test.score)
      : run.result ? "no test" : unfinishedText(run);
    return [element("span", {}, swatch, run.name), seed, score, set, preset, model, protocol, duration(seconds), memory(peakMemoryMb)];
  });
  return scrollBox("Runs", dataTable("Runs", columns, rows));
}

/** Of groups with one metric. */
const bestOf = (groups) => groups.reduce((a, b) => (isBetter(measureOf(a.metric), b.score, a.score) ? b : a));

function groupsTable(data) {
  const { groups } = data.comparison;
  if (groups.length === 0) return null;
  const common = commonMeasure(data);
  const columns = ["data", "preset", "model", "protocol", "seeds", `test ${common?.column ?? "score"}`, "time"].map((title, i) => ({ title, number: i > 3 }));
  const rows = groups.map((group) => {
    const own = measureOf(group.metric);
    const measure = common ?? { fine: own.format };
    const score = element("span", { class: "with-meter" }, own.highest === 1 ? meter(group.score) : null, withDeviation(measure, group.score, group.deviation));
    const row = [group.data, group.preset, group.model, group.protocol, String(group.runs.length), score, duration(group.seconds)];
    const rivals = groups.filter((other) => other.data === group.data && other.protocol === group.protocol && sameMetric(other.metric, group.metric));
    row.mark = rivals.length > 1 && group === bestOf(rivals);
    return row;
  });
  return element("div", { class: "card" }, element("h3", {}, "Over the seeds"),
    element("p", { class: "explain" }, "Mean ± standard deviation of the finished runs that differ in their seed only. Bold: the best of its data and protocol."),
    scrollBox("Over the seeds", dataTable("Over the seeds", columns, rows)));
}

function overlayChart(data, title, key, options, isShown = () => true) {
  const colors = colorOfRun(data);
  const labels = new Set(data.runs.filter(isShown).map((run) => stepLabel(run.training)));
  const splits = [...new Set(data.runs.filter(isShown).map((run) => judged(run)[0]))];
  const series = data.runs.flatMap((run, i) => {
    const [, curve] = judged(run);
    return isShown(run) ? [{ label: run.name, color: colors(i), x: curve.step, y: curve[key] }] : [];
  });
  return chartFigure({ title, note: `On ${splits.join(" or ")} data`, xLabel: labels.size === 1 ? [...labels][0] : "step", ...options(series), series });
}

/** What the scores of runs on the same data are compared with; those on different data have nothing in common. */
function commonLevels(runs) {
  if (new Set(runs.map((run) => run.identity.data)).size > 1) return [];
  return runs.map(levelsOf).find((levels) => levels.length > 0) ?? [];
}

/** One per metric: accuracies and R² have no axis in common. */
function scoreCharts(data) {
  const metrics = new Map(data.runs.map((run) => [run.metric.key, run.metric]));
  return [...metrics.values()].map((metric) => {
    const measure = measureOf(metric);
    const isShown = (run) => sameMetric(run.metric, metric);
    const levels = commonLevels(data.runs.filter(isShown));
    const options = (series) => ({ scales: scoreScales(series), format: measure.format, tick: measure.tick, yRange: scoreRange(measure, series, levels), levels });
    return overlayChart(data, capital(measure.name), "score", options, isShown);
  });
}

function differencesCard(data) {
  const { differences } = data.comparison;
  if (differences.length === 0) {
    return element("p", { class: "card empty" }, "All runs have the same configuration.");
  }
  const columns = [{ title: "key" }, ...data.runs.map((run) => ({ title: run.name }))];
  const rows = differences.map(({ key, values }) => [element("code", {}, key), ...values.map((value) => value || "–")]);
  return element("div", { class: "card" }, element("h3", {}, "Settings that differ"),
    scrollBox("Settings that differ", dataTable("Settings that differ", columns, rows)));
}

function comparisonSection(data) {
  return section("comparison", "Comparison", null,
    element("div", { class: "card" }, element("h3", {}, "Runs"), runsTable(data)),
    groupsTable(data),
    element("div", { class: "grid" },
      scoreCharts(data), overlayChart(data, "Loss", "loss", () => ({ scales: ["linear", "log"] })), placesOverlay(data.runs, colorOfRun(data)), matrixCharts(data.runs, colorOfRun(data))),
    differencesCard(data));
}

function comparisonHeader(data) {
  const finished = data.runs.filter((run) => run.result);
  const { groups } = data.comparison;
  // The protocols do not measure the same thing: an honest number comes first, even if a paper number is higher.
  const rivals = groups.filter((group) => sameMetric(group.metric, groups[0].metric));
  const honest = rivals.filter((group) => group.protocol === "honest");
  const best = groups.length ? bestOf(honest.length ? honest : rivals) : null;
  const titles = [...new Set(data.runs.map((run) => run.title))];
  return element("header", { class: "hero" },
    element("div", {},
      element("p", { class: "eyebrow" }, "primal report"),
      element("h1", {}, `Comparison of ${data.runs.length} runs`),
      element("p", { class: "subtitle" }, titles.join(" · ")),
      finished.length < data.runs.length ? element("p", { class: "badges" }, badge(`${data.runs.length - finished.length} unfinished`, "warn")) : null),
    best ? element("div", { class: "headline" }, element("strong", {}, measureOf(best.metric).format(best.score)),
      element("span", {}, `Best test ${measureOf(best.metric).name}: ${best.model}, ${best.protocol} protocol` +
        (best.runs.length > 1 ? `, mean of ${best.runs.length} runs` : ""))) : null);
}

/** One run at a time, chosen from a list. */
function runDetails(data) {
  const list = element("select", { id: "run-choice" }, data.runs.map((run, i) => element("option", { value: String(i) }, run.name)));
  const place = element("div", {});
  const show = () => {
    const run = data.runs[Number(list.value)];
    place.replaceChildren(element("p", { class: "subtitle" }, run.directory), runBadges(run), ...runSections(run));
    if (place.isConnected) drawCharts(place);
  };
  list.addEventListener("change", show);
  show();
  return element("div", { class: "details" },
    element("div", { class: "chooser" }, element("label", { for: "run-choice" }, "Run in detail"), list), place);
}
