// Draws the results of `primal bench`: {machine, settings, measurements, cases, roofline, goals} in #data. Building blocks and
// charts are those of the report. When done, <body> carries data-ready and data-charts, or data-error.
"use strict";

addEventListener("error", (event) => {
  document.body.dataset.error = event.message;
  document.body.prepend(element("p", { class: "failure", role: "alert" }, `This page could not be drawn: ${event.message}`));
});

const SUBJECTS = [
  { name: "floor", label: "floor", color: "series-8", about: "the matrix products alone" },
  { name: "products", label: "all products", color: "series-6", about: "every matrix product of ours" },
  { name: "copy", label: "copy", color: "series-7", about: "a copy of the tokens" },
  { name: "ours", label: "ours", color: "series-1", about: "primal" },
  { name: "eager", label: "eager", color: "series-2", about: "the same in plain PyTorch" },
  { name: "compile", label: "torch.compile", color: "series-5", about: "eager, compiled" },
  { name: "linear", label: "linear", color: "series-3", about: "linear attention, elu + 1" },
  { name: "softmax", label: "softmax", color: "series-4", about: "scaled_dot_product_attention" },
  { name: "pass", label: "forward pass", color: "series-6", about: "of the model over as many tokens" },
];
const LONGEST_BAR = 4; // multiples of ours; longer bars are cut

const microseconds = (value) => (isNumber(value) ? `${figure(value)} µs` : "–");
const times = (value) => (isNumber(value) ? `${value >= 100 ? whole(value) : value.toFixed(2)} ×` : "–");
const placeOf = (m) => (m.length === 0 ? m.what : `${m.what}, ${{ decode: "position", generation: "tokens", threads: "threads" }[m.case] ?? "N"} = ${whole(m.length)}`);

function quantity(m, value) {
  if (m.unit === "MB") return value >= 1 ? memory(value) : `${figure(1024 * value)} kB`;
  return value >= 1 ? `${figure(value)} s` : value >= 1e-3 ? `${figure(1e3 * value)} ms` : `${figure(1e6 * value)} µs`;
}

/** Measurements that compare with each other: [[m, ...], ...] */
function groupsOf(measurements) {
  const groups = new Map();
  for (const m of measurements) {
    const key = JSON.stringify([m.case, m.what, m.length]);
    groups.set(key, [...(groups.get(key) ?? []), m]);
  }
  return [...groups.values()];
}

function header({ machine, settings, goals }) {
  const count = (status) => goals.filter((goal) => goal.status === status).length;
  const about = [machine.cpu, `${machine.threads} of ${machine.cores} cores`, `PyTorch ${machine.torch}`, machine.date?.slice(0, 10), machine.commit && `commit ${machine.commit}`];
  return element("header", { class: "hero" },
    element("div", {},
      element("p", { class: "eyebrow" }, "primal bench"),
      element("h1", {}, "Speed and memory"),
      element("p", { class: "subtitle" }, about.filter(Boolean).join(" · ")),
      element("p", { class: "badges" },
        badge(`${settings.sizes} sizes`, settings.sizes === "full" ? "" : "warn"), badge(`${settings.repeats} repeats, in turn`),
        machine.primal_cpu_target ? badge(`kernels: ${machine.primal_cpu_target}`) : null,
        count("miss") ? badge(`${count("miss")} goals missed`, "warn") : null)),
    goals.length === 0 ? null : element("div", { class: "headline" },
      element("strong", {}, `${count("pass")} / ${goals.length}`), element("span", {}, "goals reached")));
}

function goalsSection({ goals, settings }) {
  if (goals.length === 0) return null;
  const columns = [{ title: "goal" }, { title: "wanted", number: true }, { title: "measured", number: true }, { title: "" }];
  const rows = goals.map((goal) => [
    `${goal.case}: ${goal.name}`, `${goal.relation === "<=" ? "≤" : "≥"} ${goal.limit}`, isNumber(goal.value) ? goal.value.toFixed(2) : "–",
    badge(goal.status, { pass: "good", miss: "warn" }[goal.status])]);
  const lead = settings.sizes === "full" ? "Judged on the best of the repeats." : "Sizes of this run are smaller than those of the goals: an indication only.";
  return section("goals", "Goals", lead, element("div", { class: "card" }, scrollBox("Goals", dataTable("Goals", columns, rows, { class: "data goals" }))));
}

/** A logarithmic x axis with a tick at each measured place. */
function logAxis(places) {
  return {
    type: "logarithmic", min: Math.min(...places), max: Math.max(...places),
    ticks: { color: () => themeColor("muted"), padding: 6, maxRotation: 0, callback: (value) => whole(value) },
    afterBuildTicks: (axis) => { axis.ticks = [...new Set(places)].map((value) => ({ value })); },
  };
}

function overLength(found, title, note, format, tick, valueOf) {
  const series = SUBJECTS.map(({ name, label, color }) => {
    const points = found.filter((m) => m.subject === name).sort((a, b) => a.length - b.length);
    return { label, color, x: points.map((m) => m.length), y: points.map(valueOf), points: true };
  });
  if (found.length === 0) return null;
  return chartFigure({ title, note, xLabel: "N", xRange: logAxis(found.map((m) => m.length)), scales: ["log", "linear"], format, tick, series });
}

function growthSection({ measurements }) {
  const time = (name, what, text, which = "") => overLength(measurements.filter((m) => m.case === name && m.what === what && m.unit === "s"),
    `${capital(what)}, time per token${which}`, text, microseconds, tickFigure, (m) => (1e6 * m.best) / m.tokens);
  const peak = (name, what, title, text) => overLength(measurements.filter((m) => m.case === name && m.what === what && m.unit === "MB"),
    title, text, memory, tickFigure, (m) => m.best);
  const small = "One sequence, the layer of the LRA model; microseconds";
  const large = "The same number of tokens at every N; microseconds";
  const wide = "One sequence, the large layer; microseconds";
  const charts = [
    time("growth", "forward", small), time("growth", "forward+backward", small),
    time("wide-growth", "forward", wide, ", large layer"), time("wide-growth", "forward+backward", wide, ", large layer"),
    peak("growth", "memory", "Peak memory of forward+backward", "One sequence, the layer of the LRA model; MB"),
    peak("memory", "layer", "Peak memory of forward+backward, large layer", "The same number of tokens at every N; MB"),
    time("layer", "forward", large, ", large layer"), time("layer", "forward+backward", large, ", large layer"),
  ].filter(Boolean);
  if (charts.length === 0) return null;
  return section("length", "Over the length", "Time per token stays where it is if the cost is linear in N; with softmax attention it grows with N.",
    element("div", { class: "grid" }, charts));
}

function bar(subject, value, unit) {
  const fill = element("span", { class: value > LONGEST_BAR ? "fill cut" : "fill" });
  fill.style.width = `${(100 * Math.min(value, LONGEST_BAR)) / LONGEST_BAR}%`;
  fill.style.background = `var(--${subject.color})`;
  const line = element("span", { class: "bar-unit", "aria-hidden": "true" });
  line.style.left = `${100 / LONGEST_BAR}%`;
  return element("div", { class: subject.name === "ours" ? "bar ours" : "bar", title: subject.about },
    element("span", { class: "label" }, subject.label), element("span", { class: "track" }, fill, line), element("span", { class: "number" }, unit ?? times(value)));
}

function barGroup(group) {
  const ours = group.find((m) => m.subject === "ours");
  if (!ours || group.length < 2) return null;
  const bars = SUBJECTS.map((subject) => [subject, group.find((m) => m.subject === subject.name)]).filter(([, m]) => m)
    .map(([subject, m]) => bar(subject, m.best / ours.best, m === ours ? quantity(m, m.best) : undefined));
  return element("div", { class: "bar-group" }, element("h4", {}, placeOf(ours)), bars);
}

function ratiosSection({ measurements, cases }) {
  const cards = Object.keys(cases).filter((name) => !name.endsWith("growth")).map((name) => {
    const groups = groupsOf(measurements.filter((m) => m.case === name)).map(barGroup).filter(Boolean);
    return groups.length ? element("div", { class: "card" }, element("h3", {}, name === "lra" ? "LRA model" : capital(name)), element("div", { class: "bars" }, groups)) : null;
  }).filter(Boolean);
  if (cards.length === 0) return null;
  return section("ratios", "Beside ours", "Multiples of what ours takes (dashed line: 1), best of the repeats; shorter is better. Bars that fade go on.",
    element("div", { class: "columns" }, cards));
}

function rooflineChart({ machine, roofline }, what) {
  const points = roofline.filter((point) => point.what === what);
  if (points.length === 0 || !machine.limits) return null;
  const { gigaflops: peak, gigabytes_per_second: bandwidth } = machine.limits;
  const corner = peak / bandwidth;
  const intensities = points.map((point) => point.intensity);
  const ends = [Math.min(corner / 4, ...intensities.map((v) => v / 2)), Math.max(corner * 4, ...intensities.map((v) => v * 2))];
  const roof = [ends[0], corner, ends[1]];
  const decades = [0.1, 1, 10, 100, 1000].filter((v) => v > ends[0] && v < ends[1]);
  const series = SUBJECTS.map(({ name, label, color }) => {
    const own = points.filter((point) => point.subject === name).sort((a, b) => a.intensity - b.intensity);
    return { label, color, x: own.map((p) => p.intensity), y: own.map((p) => p.gigaflops), points: true };
  });
  return chartFigure({
    title: capital(what), note: "Useful work per second (GFLOP/s) over work per byte (FLOP/B); a point per N", xLabel: "FLOP/B",
    xRange: { ...logAxis([...ends]), afterBuildTicks: (axis) => { axis.ticks = decades.map((value) => ({ value })); } },
    scales: ["log", "linear"], format: (v) => `${figure(v)} GFLOP/s`,
    series: [{ label: "limit of the machine", color: "muted", dash: [5, 4], x: roof, y: roof.map((v) => Math.min(peak, bandwidth * v)) }, ...series],
  });
}

function rooflineSection(data) {
  const charts = ["forward", "forward+backward"].map((what) => rooflineChart(data, what)).filter(Boolean);
  if (charts.length === 0) return null;
  const { gigaflops, gigabytes_per_second: bandwidth } = data.machine.limits;
  return section("roofline", "Roofline of the layer",
    `Measured limits: ${whole(gigaflops)} GFLOP/s in one large matrix product, ${figure(bandwidth)} GB/s of memory. The work is that of the floor for every subject; bytes are what its operators read and write, each input and output once.`,
    element("div", { class: "grid" }, charts));
}

function numbersSection({ measurements, cases }) {
  const columns = ["case", "", "subject", "best", "median", "repeats"].map((title, i) => ({ title, number: i > 2 }));
  const rows = measurements.map((m) => [m.case, placeOf(m), SUBJECTS.find((s) => s.name === m.subject)?.label ?? m.subject,
    quantity(m, m.best), quantity(m, m.median), String(m.repeats)]);
  const notes = Object.entries(cases).flatMap(([name, about]) => (about.notes ?? []).map((note) => `${name}: ${note}`));
  return section("numbers", "All numbers", null,
    notes.length ? element("p", { class: "lead" }, notes.join("; ")) : null,
    element("details", { class: "card" }, element("summary", {}, `${rows.length} measurements`), scrollBox("All numbers", dataTable("All numbers", columns, rows, { class: "data dense" }))));
}

function showPage() {
  const data = JSON.parse(document.getElementById("data").textContent);
  followTheme();
  const main = element("main", { id: "main" }, [goalsSection, growthSection, ratiosSection, rooflineSection, numbersSection].map((make) => make(data)));
  const links = [...main.querySelectorAll("section > h2")].map((heading) => element("a", { href: `#${heading.parentElement.id}` }, heading.textContent));
  document.getElementById("page").append(header(data), element("nav", { "aria-label": "Sections" }, links), main,
    element("footer", {}, "Made by primal. This file is complete and asks for nothing from the network."));
  drawCharts(main);
  document.body.dataset.height = Math.ceil(document.getElementById("page").getBoundingClientRect().bottom); // for a picture
  document.body.dataset.ready = "true";
}

showPage();
