// Loss, score, J, learning rate and gradient norm over the steps.
"use strict";

const splitColors = { validation: "series-2", test: "series-3" };
const layerColors = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6"];

/** What a run was judged by while it trained. */
function judged(run) {
  if (run.validation.step.length) return ["validation", run.validation];
  return run.test.step.length ? ["test", run.test] : ["training", run.training];
}

function splitSeries(run, key) {
  return ["validation", "test"].map((split) => ({
    label: split, color: splitColors[split], x: run[split].step, y: run[split][key],
  }));
}

/** Of a record of the run: "epoch 12", or "step 350" where it ends no pass over the training part. */
function whenText({ step, epoch }, i) {
  return Number.isInteger(epoch[i]) ? `epoch ${epoch[i]}` : `step ${step[i]}`;
}

/** "step", and how many make an epoch where the records end whole ones. */
function stepLabel({ step, epoch }) {
  const at = epoch.findIndex((value) => value >= 1);
  const each = at < 0 ? NaN : step[at] / epoch[at];
  const isWhole = epoch.every((value, i) => Math.abs(value * each - step[i]) < 0.5);
  return Number.isInteger(each) && isWhole ? `step (an epoch has ${each})` : "step";
}

function bestMark(run, low) {
  if (!run.result?.best || run.result.keptLast) return [];
  const [, curve] = judged(run);
  // Older runs wrote down the epoch only.
  const at = curve.step.findIndex((step, i) => (run.result.bestStep >= 0 ? step === run.result.bestStep : curve.epoch[i] === run.result.bestEpoch));
  return at < 0 ? [] : [{ x: curve.step[at], label: `best: ${whenText(curve, at)}`, low }];
}

function lossChart(run) {
  const { step, taskLoss, loss } = run.training;
  const isSame = loss.every((value, i) => value === taskLoss[i]);
  return chartFigure({
    title: "Loss", note: isSame ? "Task loss since the record before" : "Task loss, and with the KSVD term added", xLabel: stepLabel(run.training),
    scales: ["linear", "log"], marks: bestMark(run),
    series: [
      { label: "training, task", color: "series-1", x: step, y: taskLoss },
      { label: "training, total", color: "series-4", x: step, y: isSame ? [] : loss, dash: [5, 4] },
      ...splitSeries(run, "loss"),
    ],
  });
}

/** Scores that need no model, as lines to compare with. */
function levelsOf(run) {
  const { format } = measureOf(run.metric);
  return (run.result?.test.referenceLines ?? []).filter(({ score }) => isNumber(score)).map(({ name, score }) => ({ y: score, label: `${name} ${format(score)}` }));
}

function scoreChart(run) {
  const measure = measureOf(run.metric);
  const levels = levelsOf(run);
  const series = [{ label: "training", color: "series-1", x: run.training.step, y: run.training.score }, ...splitSeries(run, "score")];
  return chartFigure({
    title: capital(measure.name), note: measure.note, xLabel: stepLabel(run.training), marks: bestMark(run, !measure.lower),
    scales: scoreScales(series), format: measure.format, tick: measure.tick, yRange: scoreRange(measure, series, levels), levels, series,
  });
}

function objectiveChart(run) {
  const { step, objective } = run.training;
  const layerName = (i) => run.layers[i]?.name ?? `layer ${i + 1}`;
  return chartFigure({
    title: "KSVD objective J", note: "Mean J of each primal layer; zero at a kernel SVD", xLabel: stepLabel(run.training),
    scales: ["linear", "symlog"], marks: [],
    series: objective.map((y, i) => ({ label: layerName(i), color: layerColors[i % layerColors.length], x: step, y })),
  });
}

function smallChart(run, key, title, scales) {
  const series = [{ label: title, color: "series-1", x: run.training.step, y: run.training[key] }];
  return chartFigure({ title, xLabel: stepLabel(run.training), small: true, scales, series });
}

function curvesSection(run) {
  const figures = [lossChart(run), scoreChart(run), objectiveChart(run)];
  const small = [smallChart(run, "learningRate", "Learning rate", ["linear"]), smallChart(run, "gradientNorm", "Gradient norm", ["linear", "log"])];
  if ([...figures, ...small].every((figure) => figure === null)) {
    return section("curves", "Training", null, element("p", { class: "card empty" }, "Nothing has been recorded yet."));
  }
  return section("curves", "Training", null, element("div", { class: "grid" }, figures, element("div", { class: "stack" }, small)));
}
