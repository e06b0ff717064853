// One run: header, tiles, findings, and the sections of the other files.
"use strict";

const protocolText = {
  honest: "checkpoint chosen on held-out training data, TEST used once",
  paper: "as published",
};
const lastText = "last weights kept, TEST used once";

function unfinishedText({ training }) {
  return training.step.length ? `unfinished, ${whenText(training, training.step.length - 1)}` : "unfinished";
}

function runBadges(run) {
  const { protocol, seed } = run.identity;
  return element("p", { class: "badges" },
    protocol ? badge(`${protocol} protocol`, protocol === "honest" ? "good" : "plain") : null,
    seed ? badge(`seed ${seed}`) : null,
    run.result ? null : badge(unfinishedText(run), "warn"));
}

function runHeader(run) {
  const { preset, model } = run.identity;
  const test = run.result?.test;
  const [split, curve] = judged(run);
  const { name, format } = measureOf(run.metric);
  const headline = isNumber(test?.score) ? [`Test ${name}`, format(test.score)] : [`${capital(split)} ${name} so far`, format(curve.score.at(-1))];
  return element("header", { class: "hero" },
    element("div", {},
      element("p", { class: "eyebrow" }, "primal report"),
      element("h1", {}, run.title),
      element("p", { class: "subtitle" }, [model, preset, run.directory].filter(Boolean).join(" · ")),
      runBadges(run)),
    element("div", { class: "headline" }, element("strong", {}, headline[1]), element("span", {}, headline[0])));
}

function tile(label, value, ...notes) {
  return element("div", { class: "tile" }, element("dt", {}, label), element("dd", { class: "value" }, value),
    notes.filter(Boolean).map((note) => element("dd", { class: "note" }, note)));
}

function rankTile(layers) {
  if (layers.length === 0) return null;
  const used = layers.map((layer) => Math.max(layer.effectiveRankE, layer.effectiveRankR));
  return tile("Effective rank", used.map(oneDigit).join(" / "),
    `of s = ${[...new Set(layers.map((layer) => layer.rank))].join(", ")}${layers.length > 1 ? ", by layer" : ""}`);
}

/** A number that only its family knows: its key is its name, and a large whole number a count. */
function alsoTile([key, value]) {
  const isLarge = Number.isInteger(value) && value >= 1e4;
  return tile(capital(key.replaceAll("_", " ")), isLarge ? large(value) : figure(value), isLarge ? whole(value) : null);
}

function tiles(run) {
  const result = run.result;
  if (!result) return run.layers.length ? element("dl", { class: "tiles" }, rankTile(run.layers)) : null;
  const { test } = result;
  const interval = test.interval ? `95 % interval ${percentFine(test.interval[0])}–${percentFine(test.interval[1])}` : null;
  const protocol = run.identity.protocol;
  const { name, format } = measureOf(run.metric);
  return element("dl", { class: "tiles" },
    tile(`Test ${name}`, format(test.score), `${protocol} protocol: ${result.keptLast ? lastText : protocolText[protocol] ?? ""}${result.refit ? ", after a refit on all of TRAIN" : ""}`, interval,
      isNumber(test.loss) && !isNumber(test.macroF1) && !isNumber(test.rmse) ? `test loss ${figure(test.loss)}` : null),
    isNumber(test.macroF1) ? tile("Macro F1", percent(test.macroF1), isNumber(test.loss) ? `test loss ${figure(test.loss)}` : null) : null,
    isNumber(test.rmse) ? tile("Test error", figure(test.rmse), `root mean square; mean absolute ${figure(test.mae)}`) : null,
    Object.entries(test.also).map(alsoTile),
    result.best ? tile(result.keptLast ? "Last weights" : "Best weights", capital(result.best.split(" of ")[0]), `of ${result.best.split(" of ")[1]}`,
      isNumber(result.validationScore) ? `validation ${name} ${format(result.validationScore)}` : null) : null,
    rankTile(run.layers),
    tile("Training time", duration(result.seconds), [result.threads ? `${result.threads} threads` : "", result.cpu].filter(Boolean).join(", ")),
    isNumber(result.tokensPerSecond) ? tile("Tokens per second", large(result.tokensPerSecond)) : null,
    isNumber(result.peakMemoryMb) ? tile("Peak memory", memory(result.peakMemoryMb)) : null,
    result.parameters ? tile("Parameters", large(result.parameters), whole(result.parameters)) : null);
}

function findingCard(finding) {
  return element("li", { class: `finding ${finding.severity}` },
    element("div", { class: "finding-head" }, badge(finding.severity, finding.severity === "warning" ? "warn" : "plain"),
      element("h3", {}, finding.title)),
    element("p", {}, finding.text), element("p", { class: "advice" }, finding.advice));
}

function findingsSection(run) {
  const content = run.findings.length
    ? element("ul", { class: "findings" }, run.findings.map(findingCard))
    : element("p", { class: "card empty" }, "None of the known failure signatures was found.");
  return section("findings", "Findings", null, content);
}

function configSection(run) {
  return section("configuration", "Configuration", null,
    element("details", { class: "card config" }, element("summary", {}, "config.toml, as resolved for this run"), element("pre", {}, run.config)));
}

/** Everything below the header. */
function runSections(run) {
  return [tiles(run), findingsSection(run), curvesSection(run), confusionSection(run), groupsSection(run), picturesSection(run), textsSection(run), placesSection(run), passagesSection(run), samplesSection(run), targetsSection(run), ...rolloutSections(run.result?.test.rollouts), spectrumSection(run), matricesSection(run), memorySection(run), configSection(run)].filter(Boolean);
}
