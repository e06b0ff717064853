// Predicted over true targets: on the line, the answer is right.
"use strict";

function targetsChart(test) {
  const truth = test.pairs.map((pair) => pair[0]), answer = test.pairs.map((pair) => pair[1]);
  const ends = [Math.min(...truth), Math.max(...truth)];
  return chartFigure({
    title: "Answers", note: "Predicted over true target", xLabel: "true target", realX: true, yRange: { grace: "6%" },
    series: [
      { label: "right answer", color: "muted", x: ends, y: ends, dash: [5, 4] },
      { label: "predicted", color: "series-1", x: truth, y: answer, dots: true },
    ],
  });
}

function errorsChart(test) {
  const errors = test.pairs.map(([truth, answer]) => Math.abs(answer - truth)).sort((a, b) => a - b);
  return chartFigure({
    title: "Errors", note: "Share of the answers that are at most so far from the truth", xLabel: "error", realX: true, format: percent,
    tick: percentTick, yRange: { min: 0, max: 1, grace: 0 }, xRange: { min: 0 },
    series: [{ label: "answers", color: "series-1", x: errors, y: errors.map((_, i) => (i + 1) / errors.length) }],
  });
}

function targetsSection(run) {
  const test = run.result?.test;
  if (!test?.pairs?.length) return null;
  const lead = `Half of the answers are within ${figure(test.medianError)} of the truth` +
    (test.pairs.length < test.cases ? `; ${whole(test.pairs.length)} of ${whole(test.cases)} test cases are drawn.` : ".");
  return section("targets", "Targets", lead, element("div", { class: "grid" }, targetsChart(test), errorsChart(test)));
}
