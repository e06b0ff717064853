// A sweep: error bars over one key, heat maps over two, one heat map per combination of the others for more.
"use strict";

/** "validation accuracy"; for a table "validation accuracy %". */
const scoreName = (data) => `${data.part} ${measureOf(data.metric).name}`;
const columnTitle = (data) => `${data.part} ${measureOf(data.metric).column}`;

/** Shades from the worst to the best cell; the spread is often small, and it is what one looks for. */
function shadeOf(data, cells) {
  const values = cells.map((cell) => cell.score).filter(isNumber);
  const low = Math.min(...values), high = Math.max(...values);
  const part = (value) => (measureOf(data.metric).lower ? high - value : value - low) / (high - low);
  return (value) => (high > low ? 0.06 + 0.86 * part(value) : 0.5);
}

function sweepCell(data, cell, shade) {
  if (!cell || !isNumber(cell.score)) return element("td", { class: "none" }, cell ? cell.state : "–");
  const strength = shade(cell.score);
  const { fine } = measureOf(data.metric);
  const isBest = data.best !== null && data.cells[data.best] === cell;
  const node = element("td", { class: `hit${strength > strongShade ? " strong" : ""}${isBest ? " best" : ""}`, title: cell.run },
    element("b", {}, fine(cell.score)),
    isNumber(cell.deviation) ? element("small", {}, `± ${fine(cell.deviation)}`) : null,
    cell.finished ? null : element("small", {}, cell.state));
  node.style.setProperty("--shade", strength.toFixed(3));
  return node;
}

function heatMap(data, fixed, title) {
  const [rowKey, columnKey] = data.keys;
  const shade = shadeOf(data, data.cells);
  const find = (row, column) => {
    const wanted = { ...fixed, [rowKey.name]: row, [columnKey.name]: column };
    return data.cells.find((cell) => Object.entries(wanted).every(([key, value]) => cell.values[key] === value));
  };
  const rows = rowKey.values.map((row) => element("tr", {}, element("th", { scope: "row" }, row),
    columnKey.values.map((column) => sweepCell(data, find(row, column), shade))));
  return element("div", { class: "card" }, element("h3", {}, title),
    element("p", { class: "explain" }, `Rows: ${rowKey.name}. Columns: ${columnKey.name}. ${capital(columnTitle(data))}; outlined: the best.`),
    scrollBox(title, element("table", { class: "confusion sweep" },
      element("caption", { class: "hidden" }, `${title}: ${scoreName(data)} by ${rowKey.name} and ${columnKey.name}`),
      element("thead", {}, element("tr", {}, element("td", {}, `${rowKey.name} \\ ${columnKey.name}`),
        columnKey.values.map((column) => element("th", { scope: "col" }, column)))),
      element("tbody", {}, rows))));
}

/** Every combination of the values of `keys`: [{key: value, ...}]; one empty combination for no keys. */
function combinations(keys) {
  return keys.reduce((list, key) => list.flatMap((head) => key.values.map((value) => ({ ...head, [key.name]: value }))), [{}]);
}

/** Around the scores and their bars, with some air, and never beyond what is possible. */
function barsRange(cells, { lowest, highest }) {
  const ends = cells.filter((cell) => isNumber(cell?.score))
    .flatMap(({ score, deviation }) => [score - (deviation ?? 0), score + (deviation ?? 0)]);
  if (ends.length === 0) return { min: 0, max: 1 };
  const low = Math.min(...ends), high = Math.max(...ends), air = Math.max(0.3 * (high - low), 0.01);
  return { min: Math.max(lowest, low - air), max: Math.min(highest, high + air) };
}

function sweepLine(data) {
  const [key] = data.keys;
  const cells = key.values.map((value) => data.cells.find((cell) => cell.values[key.name] === value));
  const measure = measureOf(data.metric);
  return chartFigure({
    title: `${capital(scoreName(data))} by ${key.name}`, note: "Mean over the seeds; bars: standard deviation", xLabel: key.name, labels: key.values,
    format: measure.format, tick: measure.tick, errors: true, yRange: barsRange(cells, measure),
    xRange: { min: -0.3, max: key.values.length - 0.7, afterBuildTicks: (axis) => { axis.ticks = key.values.map((_, value) => ({ value })); } },
    series: [{ label: scoreName(data), color: "series-1", x: cells.map((_, i) => i), y: cells.map((cell) => cell?.score ?? null),
      error: cells.map((cell) => cell?.deviation ?? null), points: true }],
  });
}

function sweepPicture(data) {
  if (data.keys.length === 0) return [];
  if (data.keys.length === 1) return [sweepLine(data)];
  const others = data.keys.slice(2);
  const maps = combinations(others).map((fixed) =>
    heatMap(data, fixed, Object.entries(fixed).map(([key, value]) => `${key} = ${value}`).join(", ") || capital(scoreName(data))));
  return [element("div", { class: others.length ? "grid" : "" }, maps)];
}

function sweepTable(data) {
  const columns = [...data.keys.map((key) => ({ title: key.name })),
    ...[columnTitle(data), "seeds", "time"].map((title) => ({ title, number: true })), { title: "run" }];
  const rows = data.cells.map((cell, i) => {
    const row = [...data.keys.map((key) => cell.values[key.name] ?? "–"), withDeviation(measureOf(data.metric), cell.score, cell.deviation),
      String(cell.seeds), duration(cell.seconds), cell.finished ? cell.run : cell.state];
    row.mark = i === data.best;
    return row;
  });
  return section("table", "All combinations", null, element("div", { class: "card" }, scrollBox("All combinations", dataTable("All combinations", columns, rows))));
}

function sweepHeader(data) {
  const best = data.best === null ? null : data.cells[data.best];
  const finished = data.cells.filter((cell) => cell.finished).length;
  const bestText = best ? data.keys.map((key) => `${key.name} = ${best.values[key.name]}`).join(", ") : "";
  return element("header", { class: "hero" },
    element("div", {},
      element("p", { class: "eyebrow" }, "primal sweep"),
      element("h1", {}, data.title),
      element("p", { class: "subtitle" }, data.keys.map((key) => key.name).join(" × ")),
      element("p", { class: "badges" }, data.protocol ? badge(`${data.protocol} protocol`, data.protocol === "honest" ? "good" : "plain") : null,
        badge(`${finished} of ${data.cells.length} finished`, finished < data.cells.length ? "warn" : "plain"))),
    best ? element("div", { class: "headline" }, element("strong", {}, measureOf(data.metric).format(best.score)), element("span", {}, `Best ${scoreName(data)}: ${bestText}`)) : null);
}

function sweepSections(data) {
  return [section("picture", capital(measureOf(data.metric).name), null, ...sweepPicture(data)), sweepTable(data)];
}
