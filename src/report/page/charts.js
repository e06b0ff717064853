// Line charts on Chart.js: theme, scales, marks, text alternatives. A chart is described by a plain object:
//   {title, note, xLabel, format, scales: ["linear", "log", "symlog"], series: [{label, color, x, y, dash, points, dots, band, steps}],
//    marks: [{x, label, color, side, low}], levels: [{y, label}], labels (names on the x axis), errors: true, small: true,
//    realX: true (x are measured, not counted: they may repeat, and the table lists the points of the last series),
//    xLog: true (a logarithmic x axis), names: Map (what to call places x that stand for others)}
"use strict";

const drawnCharts = new Map(); // canvas -> {chart, spec, scale}

function pointsOf(line, values, forward) {
  return line.x
    .map((x, i) => ({ x, y: isNumber(values[i]) ? forward(values[i]) : null, raw: values[i], error: line.error?.[i] }))
    .filter((point) => point.y !== null);
}

function datasetsOf(spec, forward) {
  return spec.series.flatMap((line) => {
    const color = themeColor(line.color);
    const lone = pointsOf(line, line.y, forward).length === 1;
    const main = {
      label: line.label,
      data: pointsOf(line, line.y, forward),
      borderColor: color,
      backgroundColor: color,
      borderWidth: spec.small ? 1.5 : 2,
      borderDash: line.dash || [],
      showLine: !line.dots,
      stepped: line.steps ? "middle" : false,
      pointRadius: line.dots ? 2.5 : line.points || lone ? 4 : 0,
      pointHoverRadius: 4,
      pointHitRadius: 8,
      clip: 6,
    };
    if (!line.band) return [main];
    const edge = { borderWidth: 0, pointRadius: 0, pointHitRadius: 0, backgroundColor: themeColor(line.color, 0.16), stepped: main.stepped, isBand: true };
    return [
      main,
      { ...edge, label: `${line.label}, low`, data: pointsOf(line, line.band.low, forward) },
      { ...edge, label: `${line.label}, high`, data: pointsOf(line, line.band.high, forward), fill: "-1" },
    ];
  });
}

/** Chart.js' own labels, with the dashes of the lines. */
function legendLabels(chart) {
  const labels = Chart.defaults.plugins.legend.labels.generateLabels(chart);
  return labels.map((label) => ({ ...label, lineDash: chart.data.datasets[label.datasetIndex].borderDash }));
}

function chartConfig(spec, scale) {
  const unit = scale === "symlog" ? symlogUnit(spec.series) : 1;
  const forward = scale === "symlog" ? symlog(unit).forward : scale === "log" ? (y) => (y > 0 ? y : null) : (y) => y;
  const isShown = (item) => !item.dataset?.isBand;
  return {
    type: "line",
    data: { datasets: datasetsOf(spec, forward) },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      parsing: false,
      normalized: true,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      scales: axesOf(spec, scale, unit),
      plugins: {
        marks: { list: spec.marks },
        levels: { list: spec.levels },
        errorBars: { enabled: Boolean(spec.errors) },
        decimation: { enabled: true, algorithm: "min-max" },
        legend: {
          display: spec.series.length > 1,
          align: "start",
          labels: { color: themeColor("ink"), usePointStyle: true, pointStyle: "line", boxWidth: 22, padding: 14, generateLabels: legendLabels,
            filter: (item, data) => !data.datasets[item.datasetIndex].isBand },
        },
        tooltip: {
          backgroundColor: themeColor("tooltip"), titleColor: themeColor("on-tooltip"), bodyColor: themeColor("on-tooltip"),
          padding: 10, cornerRadius: 8, boxPadding: 4, usePointStyle: true, filter: isShown,
          callbacks: {
            title: (items) => (items.length ? (spec.labels ? spec.labels[items[0].raw.x] : `${spec.xLabel} ${xText(spec, items[0].raw.x)}`) : ""),
            label: (item) => ` ${item.dataset.label}: ${spec.format(item.raw.raw)}`,
          },
        },
      },
    },
  };
}

function draw(canvas, spec, scale) {
  drawnCharts.get(canvas)?.chart.destroy();
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  const chart = new Chart(canvas, chartConfig(spec, scale));
  drawnCharts.set(canvas, { chart, spec, scale });
}

/** Draws the charts below `root`, which must be in the document, and forgets those that no longer are. */
function drawCharts(root) {
  for (const [canvas, drawn] of drawnCharts) {
    if (canvas.isConnected) continue;
    drawn.chart.destroy();
    drawnCharts.delete(canvas);
  }
  for (const canvas of root.querySelectorAll("canvas:not(.picture)")) draw(canvas, canvas.spec, canvas.scale);
  const hasArea = ({ chart }) => chart.chartArea && chart.chartArea.width > 0 && chart.chartArea.height > 0;
  document.body.dataset.charts = [...drawnCharts.values()].filter(hasArea).length + document.querySelectorAll("canvas.picture").length;
}

/** What a screen reader says of a chart; the table below it has all the numbers. */
function chartSummary(spec) {
  const lines = spec.series.map((line) => {
    const values = line.y.filter(isNumber);
    if (values.length === 0) return `${line.label}: no values`;
    if (values.length === 1) return `${line.label}: ${spec.format(values[0])}`;
    return `${line.label}: from ${spec.format(values[0])} to ${spec.format(values.at(-1))}`;
  });
  const levels = (spec.levels ?? []).map(({ label }) => label);
  return `${spec.title}. ${lines.join("; ")}.${levels.length ? ` To compare with: ${levels.join("; ")}.` : ""}`;
}

const xText = (spec, x) => spec.names?.get(x) ?? (spec.realX ? figure(x) : String(x));

function pointTable(spec) {
  const { label, x, y } = spec.series.at(-1);
  const columns = [spec.xLabel, label].map((title) => ({ title, number: true }));
  return dataTable(spec.title, columns, x.map((place, i) => [figure(place), spec.format(y[i])]));
}

function placeTable(spec) {
  const places = [...new Set(spec.series.flatMap((line) => line.x))].sort((a, b) => a - b);
  const at = spec.series.map((line) => new Map(line.x.map((x, i) => [x, line.y[i]])));
  const columns = [{ title: spec.xLabel || "", number: true }, ...spec.series.map((line) => ({ title: line.label, number: true }))];
  const rows = places.map((x) => [spec.labels ? spec.labels[x] : xText(spec, x), ...at.map((values) => spec.format(values.get(x)))]);
  return dataTable(spec.title, columns, rows);
}

const chartTable = (spec) => scrollBox(`${spec.title}: numbers`, spec.realX ? pointTable(spec) : placeTable(spec));

/** The whole figure: heading, choice of scale, canvas, table. Nothing if no series has a value. */
function chartFigure(description) {
  const spec = { scales: ["linear"], format: figure, tick: tickFigure, ...description };
  spec.series = spec.series.filter((line) => line.y.some(isNumber));
  if (spec.series.length === 0) return null;
  const canvas = element("canvas", { role: "img", "aria-label": chartSummary(spec) });
  canvas.spec = spec;
  canvas.scale = spec.scales[0];
  const names = { linear: "linear", log: "log", symlog: "sym. log" };
  const choose = (scale) => {
    canvas.scale = scale;
    draw(canvas, spec, scale);
  };
  const choices = spec.scales.map((value) => ({ value, label: names[value] }));
  return element(
    "figure",
    { class: spec.small ? "card chart small" : "card chart" },
    element(
      "figcaption",
      {},
      element("div", {}, element("h3", {}, spec.title), spec.note ? element("p", {}, spec.note) : null),
      choices.length > 1 ? switcher(`Scale of ${spec.title}`, choices, canvas.scale, choose) : null,
    ),
    element("div", { class: "canvas" }, canvas),
    lazyDetails("Numbers", () => chartTable(spec)),
  );
}

function redrawAll() {
  for (const [canvas, drawn] of drawnCharts) draw(canvas, drawn.spec, drawn.scale);
}

/** Colours follow the system's theme; on paper everything is light. */
function followTheme() {
  Chart.register(marksPlugin, levelsPlugin, errorBarsPlugin);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  const setPrinting = (isPrinting) => {
    document.documentElement.dataset.printing = isPrinting;
    redrawAll();
  };
  addEventListener("beforeprint", () => setPrinting(true));
  addEventListener("afterprint", () => setPrinting(false));
}
