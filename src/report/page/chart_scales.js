// The axes of a chart: colours, linear, logarithmic and symmetric logarithmic scales.
"use strict";

function themeColor(name, alpha) {
  const value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return alpha === undefined ? value : value + Math.round(255 * alpha).toString(16).padStart(2, "0");
}

/** Linear within +-unit, logarithmic beyond: shows both signs and many magnitudes. */
const symlog = (unit) => ({
  forward: (y) => Math.asinh(y / unit / 2) / Math.LN10,
  backward: (v) => 2 * unit * Math.sinh(v * Math.LN10),
});

/** Values below a ten-thousandth of the largest are as good as zero. */
function symlogUnit(series) {
  const sizes = series.flatMap((line) => line.y).filter(isNumber).map(Math.abs);
  const top = Math.max(1e-12, ...sizes);
  return 10 ** Math.round(Math.log10(Math.max(Math.min(...sizes.filter((size) => size > 0), top), top / 1e4)));
}

function symlogTicks(scale, unit) {
  const { forward, backward } = symlog(unit);
  const ticks = [0];
  for (let size = unit; size <= Math.max(Math.abs(backward(scale.min)), Math.abs(backward(scale.max))); size *= 10) {
    ticks.push(size, -size);
  }
  const shown = ticks.map(forward).filter((v) => v >= scale.min && v <= scale.max);
  return shown.sort((a, b) => a - b).map((value) => ({ value }));
}

/** From low, which is above zero, to high. */
function powersOfTwo(low, high) {
  const powers = [];
  for (let power = 2 ** Math.ceil(Math.log2(low)); power <= high; power *= 2) powers.push(power);
  return powers;
}

/** Figures that are never negative start at zero, others get some air. */
function rangeOf(spec, scale) {
  if (spec.yRange) return spec.yRange;
  const isPositive = spec.series.every((line) => line.y.every((y) => !(y < 0)));
  return scale === "linear" && isPositive ? { min: 0, grace: "4%" } : { grace: scale === "log" ? 0 : "6%" };
}

function axesOf(spec, scale, unit) {
  const grid = { color: themeColor("grid"), drawBorder: false, tickLength: 0 };
  const ticks = { color: themeColor("muted"), padding: 6, maxRotation: 0, autoSkipPadding: 18 };
  const { backward } = symlog(unit);
  const y = { type: scale === "log" ? "logarithmic" : "linear", grid, ...rangeOf(spec, scale) };
  y.ticks = { ...ticks, maxTicksLimit: spec.small ? 4 : 6, callback: (value) => spec.tick(scale === "symlog" ? backward(value) : value) };
  if (scale === "log") {
    const isDecade = (value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6;
    y.afterBuildTicks = (axis) => {
      const decades = axis.ticks.filter((tick) => isDecade(tick.value));
      if (decades.length > 1) axis.ticks = decades;
    };
  }
  if (scale === "symlog") y.afterBuildTicks = (axis) => { axis.ticks = symlogTicks(axis, unit); };
  const xTicks = spec.realX ? { ...ticks, callback: tickFigure } : { ...ticks, precision: 0 };
  const x = { type: "linear", grid: { ...grid, display: false }, ticks: xTicks, ...spec.xRange };
  if (spec.xLog) {
    x.type = "logarithmic";
    x.ticks.callback = tickFigure;
    x.afterBuildTicks = (axis) => { axis.ticks = powersOfTwo(axis.min, axis.max).map((value) => ({ value })); };
  }
  x.title = { display: Boolean(spec.xLabel) && !spec.small, text: spec.xLabel, color: themeColor("muted"), font: { size: 11 } };
  if (spec.labels) x.ticks = { ...x.ticks, stepSize: 1, callback: (value) => spec.labels[value] ?? "" };
  return { x, y };
}
