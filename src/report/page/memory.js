// The time scales that each layer has learnt.
"use strict";

const memoryNotes = { forward: "what came before", backward: "what comes after", "q and k": "what came before" };

function timeScaleChart(layer, memories) {
  return chartFigure({
    title: capital(layer), note: "Time scales in tokens, sorted", xLabel: "share of them, %", scales: ["log", "linear"],
    xRange: { min: 0, max: 100 }, realX: memories.length === 1,
    series: memories.map(({ memory, share, tokens }, i) => ({
      label: `${memory}: ${memoryNotes[memory] ?? ""}`, color: layerColors[i % layerColors.length], dash: i ? [5, 4] : undefined,
      x: share.map((value) => Math.round(1000 * value) / 10), y: tokens, points: share.length <= 8,
    })),
  });
}

function memorySection(run, id = "memory", title = "Memory") {
  if (run.timeScales.length === 0) return null;
  const layers = [...new Set(run.timeScales.map(({ layer }) => layer))];
  return section(id, title,
    "After how many tokens a layer has forgotten two thirds of what it saw: a fading average has these time scales in each of its channels.",
    element("div", { class: "grid" }, layers.map((layer) => timeScaleChart(layer, run.timeScales.filter((memory) => memory.layer === layer)))));
}
