// Numbers as people read them.
"use strict";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

const percentDigits = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const twoDigits = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const threeDigits = new Intl.NumberFormat("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const wholeDigits = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fewDigits = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

const percent = (share) => (isNumber(share) ? `${percentDigits.format(100 * share)} %` : "–");
const percentFine = (share) => (isNumber(share) ? twoDigits.format(100 * share) : "–");
const whole = (value) => (isNumber(value) ? wholeDigits.format(value) : "–");
const oneDigit = (value) => (isNumber(value) ? percentDigits.format(value) : "–");
const thousandths = (value) => (isNumber(value) && Math.abs(value) < 1000 ? threeDigits.format(value) : figure(value));

/** Four significant digits; very small and very large ones as 1.2e-5. */
function figure(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return fewDigits.format(value);
}

/** Labels of an axis: no more digits than needed. */
function tickFigure(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.999e-3 || size >= 1e5)) return value.toExponential(1).replace(".0e", "e").replace("e+", "e");
  return String(Number(value.toPrecision(6)));
}

function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  if (seconds < 1) return `${wholeDigits.format(1000 * seconds)} ms`;
  if (seconds < 60) return `${oneDigit(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** 6400000 -> "6.4 M" */
function large(value) {
  if (!isNumber(value)) return "–";
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= size) return `${new Intl.NumberFormat("en", { maximumSignificantDigits: 3 }).format(value / size)} ${unit}`;
  }
  return fewDigits.format(value);
}

const memory = (mb) => (!isNumber(mb) ? "–" : mb >= 1024 ? `${oneDigit(mb / 1024)} GB` : `${whole(mb)} MB`);

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const percentTick = (value) => `${Math.round(1000 * value) / 10} %`;

/** What is worth knowing of some metrics, by their keys. `usual`: first scores may lie far below it, and would press the others flat. */
const knownMetrics = {
  accuracy: { note: "Share of right answers" },
  r2: { name: "R²", note: "1 − squared error / that of always answering the mean", highest: 1, usual: -1 },
  normalised_score: { note: "0: a random agent, 100: an expert", format: oneDigit, fine: oneDigit },
};

/** How scores of a metric {key, name, share, lower_is_better} look. `column` and `fine`: in tables, whose headings have the unit. */
function measureOf({ key, name, share, lower_is_better: lower }) {
  const common = { name, note: lower ? "Less is better" : "", lower: Boolean(lower), lowest: -Infinity, highest: Infinity, usual: -Infinity };
  const shape = share
    ? { column: `${name} %`, format: percent, fine: percentFine, tick: percentTick, lowest: 0, highest: 1, usual: 0 }
    : { column: name, format: thousandths, fine: thousandths, tick: tickFigure };
  const measure = { ...common, ...shape, ...knownMetrics[key] };
  return share ? measure : { ...measure, column: measure.name };
}

const sameMetric = (a, b) => a.key === b.key;

/** Whether score a is better than score b. */
const isBetter = (measure, a, b) => (measure.lower ? a < b : a > b);

const withDeviation = (measure, mean, deviation) =>
  isNumber(deviation) ? `${measure.fine(mean)} ± ${measure.fine(deviation)}` : measure.fine(mean);

/** Scores that fall by a factor, as perplexities do, are read from a logarithmic axis. */
function scoreScales(series) {
  const scores = series.flatMap((line) => line.y).filter(isNumber);
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  const curves = series.map((line) => line.y.filter(isNumber));
  const falls = curves.every((curve) => curve.length === 0 || curve.at(-1) <= curve[0]);
  return falls && low > 1 && high > 10 * low ? ["log", "linear"] : ["linear"];
}

/** The part of the y axis that matters for curves of scores and levels to compare them with. */
function scoreRange({ usual, lowest, highest }, series, levels = []) {
  const heights = levels.map(({ y }) => y);
  const air = 0.08; // below the lowest level, for its label
  const shown = heights.length ? { suggestedMin: Math.max(lowest, Math.min(...heights) - air), suggestedMax: Math.max(...heights) } : {};
  if (highest === Infinity) return shown;
  const curves = series.map((line) => line.y.filter(isNumber)).filter((curve) => curve.length > 0);
  const risesFromBelow = curves.some((curve) => Math.min(...curve) < usual) && curves.every((curve) => curve.at(-1) > usual);
  return risesFromBelow ? { min: usual, max: 1, grace: 0 } : { max: 1, grace: 0, ...shown };
}
