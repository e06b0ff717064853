// Thin horizontal lines across a chart, to compare its curves with. Their labels stand where they hide least.
"use strict";

const labelHeight = 14; // pixels

/** As much of the text as fits into so many pixels. */
function fittingText(ctx, text, width) {
  let shown = text;
  while (shown.length > 1 && ctx.measureText(shown).width > width) shown = `${shown.slice(0, -2).trimEnd()}…`;
  return shown;
}

/** Height of a curve at a place, both in pixels; nothing where it has not begun or has ended. */
function heightAt(points, x) {
  const next = points.findIndex((point) => point.x >= x);
  if (next < 0 || (next === 0 && points[0].x > x)) return null;
  const { x: right, y: high } = points[next], { x: left, y: low } = points[Math.max(next - 1, 0)];
  return right === left ? high : low + ((high - low) * (x - left)) / (right - left);
}

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** How much a label would cover of the curves and marks, and above all of other levels and the labels before it. */
function coverCost(chart, box, others) {
  const places = Array.from({ length: 12 }, (_, i) => box.left + ((box.right - box.left) * i) / 11);
  const isInside = (y) => y !== null && y > box.top && y < box.bottom;
  const levels = others.filter(({ y, label }) => isInside(y) || (label && overlap(label, box)));
  const marks = (chart.options.plugins.marks.list ?? []).map(({ x }) => chart.scales.x.getPixelForValue(x))
    .filter((x) => x > box.left && x < box.right);
  const curves = chart.data.datasets.map((_, i) => chart.getDatasetMeta(i).data)
    .flatMap((points) => places.filter((x) => isInside(heightAt(points, x))));
  return curves.length + marks.length + 100 * levels.length;
}

/** At the right or left end, above the line or below it. */
function labelBox(chart, level, others, width) {
  const { left, right, top, bottom } = chart.chartArea;
  const boxes = [-1, 1].flatMap((side) => [right - 4 - width, left + 4].map((start) => {
    const upper = side < 0 ? level.y - labelHeight - 2 : level.y + 2;
    return { left: start, right: start + width, top: upper, bottom: upper + labelHeight };
  })).filter((box) => box.top >= top && box.bottom <= bottom);
  const cost = new Map(boxes.map((box) => [box, coverCost(chart, box, others)]));
  return boxes.reduce((best, box) => (cost.get(box) < cost.get(best) ? box : best), boxes[0]);
}

function drawLevel(chart, level, others) {
  const { ctx, chartArea: area } = chart;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = themeColor("muted");
  ctx.setLineDash([2, 4]);
  ctx.beginPath();
  ctx.moveTo(area.left, level.y);
  ctx.lineTo(area.right, level.y);
  ctx.stroke();
  ctx.font = `11px ${Chart.defaults.font.family}`;
  ctx.textBaseline = "middle";
  const text = fittingText(ctx, level.text, area.width - 8);
  level.label = labelBox(chart, level, others, ctx.measureText(text).width);
  if (level.label) ctx.fillText(text, level.label.left, (level.label.top + level.label.bottom) / 2);
  ctx.restore();
}

const levelsPlugin = {
  id: "levels",
  beforeDatasetsDraw(chart, _, options) {
    const { chartArea: area, scales } = chart;
    const levels = (options.list || []).map(({ y, label }) => ({ y: scales.y.getPixelForValue(y), text: label }))
      .filter(({ y }) => y >= area.top && y <= area.bottom);
    for (const level of levels) drawLevel(chart, level, levels.filter((other) => other !== level));
  },
};
