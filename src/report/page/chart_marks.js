// Drawn on top of a chart: vertical marks with a label, and error bars.
"use strict";

const marksPlugin = {
  id: "marks",
  afterDatasetsDraw(chart, _, options) {
    const { ctx, chartArea: area, scales } = chart;
    for (const mark of options.list || []) {
      const x = scales.x.getPixelForValue(mark.x);
      if (!(x >= area.left && x <= area.right)) continue;
      const isLeft = mark.side ? mark.side === "left" : x > (area.left + area.right) / 2;
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = themeColor(mark.color || "muted");
      ctx.setLineDash([3, 3]);
      ctx.beginPath();
      ctx.moveTo(x, area.top);
      ctx.lineTo(x, area.bottom);
      ctx.stroke();
      ctx.font = `11px ${Chart.defaults.font.family}`;
      ctx.textAlign = isLeft ? "right" : "left";
      ctx.fillText(mark.label, x + (isLeft ? -5 : 5), mark.low ? area.bottom - 8 : area.top + 10);
      ctx.restore();
    }
  },
};

const errorBarsPlugin = {
  id: "errorBars",
  afterDatasetsDraw(chart, _, options) {
    if (!options.enabled) return;
    const { ctx, scales } = chart;
    for (const set of chart.data.datasets) {
      ctx.save();
      ctx.strokeStyle = set.borderColor;
      ctx.lineWidth = 1.5;
      for (const point of set.data.filter((p) => isNumber(p.error))) {
        const x = scales.x.getPixelForValue(point.x);
        const [low, high] = [point.y - point.error, point.y + point.error].map((y) => scales.y.getPixelForValue(y));
        ctx.beginPath();
        ctx.moveTo(x, low);
        ctx.lineTo(x, high);
        for (const end of [low, high]) {
          ctx.moveTo(x - 5, end);
          ctx.lineTo(x + 5, end);
        }
        ctx.stroke();
      }
      ctx.restore();
    }
  },
};
