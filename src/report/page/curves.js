// Loss, score, J, learning rate and gradient norm over the epochs.
"use strict";

const splitColors = { validation: "series-2", test: "series-3" };
const layerColors = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6"];

/** What a run was judged by while it trained. */
function judged(run) {
  if (run.validation.epoch.length) return ["validation", run.validation];
  return run.test.epoch.length ? ["test", run.test] : ["training", run.epochs];
}

function splitSeries(run, key) {
  return ["validation", "test"].map((split) => ({
    label: split, color: splitColors[split], x: run[split].epoch, y: run[split][key],
  }));
}

function bestEpochMark(run, low) {
  const best = run.result?.bestEpoch;
  return best && !run.result.keptLast ? [{ x: best, label: `best epoch ${best}`, low }] : [];
}

function lossChart(run) {
  const { epoch, taskLoss, loss } = run.epochs;
  const isSame = loss.every((value, i) => value === taskLoss[i]);
  return chartFigure({
    title: "Loss", note: isSame ? "Task loss per epoch" : "Task loss, and with the KSVD term added", xLabel: "epoch",
    scales: ["linear", "log"], marks: bestEpochMark(run),
    series: [
      { label: "training, task", color: "series-1", x: epoch, y: taskLoss },
      { label: "training, total", color: "series-4", x: epoch, y: isSame ? [] : loss, dash: [5, 4] },
      ...splitSeries(run, "loss"),
    ],
  });
}

function scoreChart(run) {
  const measure = measures[run.measure];
  const series = [{ label: "training", color: "series-1", x: run.epochs.epoch, y: run.epochs.score }, ...splitSeries(run, "score")];
  return chartFigure({
    title: capital(measure.name), note: measure.note, xLabel: "epoch", marks: bestEpochMark(run, true),
    format: measure.format, tick: measure.tick, yRange: scoreRange(measure, series), series,
  });
}

function objectiveChart(run) {
  const { epoch, objective } = run.epochs;
  const layerName = (i) => run.layers[i]?.name ?? `layer ${i + 1}`;
  return chartFigure({
    title: "KSVD objective J", note: "Mean J of each primal layer; zero at a kernel SVD", xLabel: "epoch",
    scales: ["linear", "symlog"], marks: [],
    series: objective.map((y, i) => ({ label: layerName(i), color: layerColors[i % layerColors.length], x: epoch, y })),
  });
}

function smallChart(run, key, title, scales) {
  const series = [{ label: title, color: "series-1", x: run.epochs.epoch, y: run.epochs[key] }];
  return chartFigure({ title, xLabel: "epoch", small: true, scales, series });
}

function curvesSection(run) {
  const figures = [lossChart(run), scoreChart(run), objectiveChart(run)];
  const small = [smallChart(run, "learningRate", "Learning rate", ["linear"]), smallChart(run, "gradientNorm", "Gradient norm", ["linear", "log"])];
  if ([...figures, ...small].every((figure) => figure === null)) {
    return section("curves", "Training", null, element("p", { class: "card empty" }, "No epoch has been recorded yet."));
  }
  return section("curves", "Training", null, element("div", { class: "grid" }, figures, element("div", { class: "stack" }, small)));
}
