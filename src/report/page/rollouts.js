// An agent in its environment: what it was asked for and what it earned, beside the data, and the robot itself.
// rollouts (rollout_json.cpp): {robot, normalisation, random, expert, checkpoint, dataReturns, targets, animations}
"use strict";

const targetColors = ["series-1", "series-2", "series-3", "series-4", "series-5"];
const fullAnswer = 0.75, noAnswer = 0.25, strongAnswer = 1.25; // of a rise of the target, what the returns rise by

const returnText = (value) => (isNumber(value) && Math.abs(value) < 100 ? oneDigit(value) : whole(value));
const plusMinus = (text, value, deviation) => (isNumber(deviation) ? `${text(value)} ± ${text(deviation)}` : text(value));
const counted = (count, noun) => `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
const scoreOf = ({ random, expert }, value) => (expert === random ? NaN : (100 * (value - random)) / (expert - random));

/** "3,012, score 93.1" */
function returnAndScore(rollouts, value) {
  const score = scoreOf(rollouts, value);
  return isNumber(score) ? `${returnText(value)}, score ${oneDigit(score)}` : returnText(value);
}

const targetName = ({ target }) => (isNumber(target) ? `asked for ${returnText(target)}` : "agent");
const withEpisodes = (rollouts) => rollouts.targets.filter(({ returns }) => returns.length > 0);
const withTarget = (rollouts) => withEpisodes(rollouts).filter(({ target }) => isNumber(target));

/** Whether more is earned when more is asked for: between the lowest and the highest target. */
function obedienceSentence(low, high) {
  const asked = high.target - low.target, rise = high.mean - low.mean, answer = rise / asked;
  const facts = `Asked for ${returnText(high.target)} instead of ${returnText(low.target)}, the agent earns ${returnText(high.mean)} instead of ${returnText(low.mean)}`;
  const error = Math.hypot(...[low, high].map(({ deviation, returns }) => (deviation ?? 0) / Math.sqrt(returns.length)));
  if (Math.abs(rise) < 2 * error) return `${facts}: no more of a difference than chance makes.`;
  if (answer < 0) return `${facts}: less, where more was asked for.`;
  if (answer < noAnswer) return `${facts}: the target hardly matters to it.`;
  if (answer < fullAnswer) return `${facts}: it follows the target in part.`;
  return answer > strongAnswer ? `${facts}: it follows the target, and more strongly than asked.` : `${facts}: it does what it is asked.`;
}

function askedSentence(rollouts, targets) {
  const [low, high] = [targets[0], targets.at(-1)];
  if (high.target > low.target) return obedienceSentence(low, high);
  const share = low.target > 0 && low.mean > 0 ? `: ${whole((100 * low.mean) / low.target)} % of it` : "";
  return `Asked for ${returnText(low.target)}, the agent earns ${returnText(low.mean)} on average${share}.`;
}

/** What scores mean, and whose weights played. */
function scoreSentence({ normalisation, random, expert, checkpoint }) {
  const scale = expert === random ? null : `Score: 0 is a return of ${returnText(random)} (random), 100 one of ${returnText(expert)} (expert)${normalisation ? `, the scale of ${normalisation}` : ""}.`;
  return [scale, checkpoint ? `Played with the ${checkpoint} weights.` : null].filter(Boolean).join(" ");
}

function askedChart(rollouts, targets) {
  const asked = targets.map(({ target }) => target), earned = targets.map(({ mean }) => mean);
  const ends = [Math.min(0, ...asked), 1.08 * Math.max(...asked, 0)];
  return chartFigure({
    title: "Earned over asked for", note: "Mean return of the episodes, ± deviation; on the line it obeys", xLabel: "return that was asked for",
    realX: true, errors: true, format: (value) => returnAndScore(rollouts, value), yRange: { suggestedMin: 0, suggestedMax: Math.max(...targets.map(({ mean, deviation }) => mean + (deviation ?? 0))) },
    levels: rollouts.expert === rollouts.random ? [] : [{ y: rollouts.random, label: "score 0" }, { y: rollouts.expert, label: "score 100" }],
    series: [
      { label: "as asked", color: "muted", x: ends, y: ends, dash: [5, 4] },
      { label: "earned", color: "series-1", x: asked, y: earned, error: targets.map(({ deviation }) => deviation), points: true },
    ],
  });
}

function askedTable(rollouts, targets) {
  const columns = ["asked for", "earned", "score asked", "score earned", "steps", "episodes"].map((title) => ({ title, number: true }));
  const rows = targets.map((target) => [
    isNumber(target.target) ? returnText(target.target) : "–", plusMinus(returnText, target.mean, target.deviation),
    isNumber(target.target) ? oneDigit(scoreOf(rollouts, target.target)) : "–", plusMinus(oneDigit, target.score, target.scoreDeviation),
    whole(target.steps), whole(target.returns.length)]);
  const title = "Returns and scores by target";
  return element("div", { class: "card" }, element("h3", {}, "In returns and in scores"), element("p", { class: "explain" }, scoreSentence(rollouts)),
    scrollBox(title, dataTable(title, columns, rows, { class: "data dense" })));
}

function askedSection(rollouts) {
  const all = withEpisodes(rollouts), targets = withTarget(rollouts);
  if (all.length === 0) return null;
  const lead = targets.length ? askedSentence(rollouts, targets) : `The agent earns ${returnText(all[0].mean)} on average; it takes no target.`;
  return section("asked", "Asked for and earned", lead,
    element("div", { class: targets.length ? "grid" : null }, targets.length ? askedChart(rollouts, targets) : null, askedTable(rollouts, all)));
}

/** 1, 2 or 5 times a power of ten, so that about `count` of them fill the span. */
function roundStep(span, count) {
  const power = 10 ** Math.floor(Math.log10(span / count));
  return power * [1, 2, 5, 10].find((factor) => factor * power * count >= span);
}

/** Bins that hold all the values, and an empty one at either end, where the outline goes down to zero. */
function binsOf(values) {
  const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  const width = roundStep(Math.max(high - low, 1e-3 * Math.abs(high), 1e-3), 24);
  const first = Math.floor(low / width) - 1;
  const count = Math.floor(high / width) - first + 2;
  return { width, first, middles: Array.from({ length: count }, (_, i) => (first + i + 0.5) * width) };
}

function sharesOf(returns, { width, first, middles }) {
  const counts = middles.map(() => 0);
  for (const value of returns) counts[Math.floor(value / width) - first] += 1;
  return counts.map((count) => count / returns.length);
}

function returnsChart(rollouts) {
  const targets = withEpisodes(rollouts), data = rollouts.dataReturns;
  const asked = withTarget(rollouts).map(({ target }) => target);
  const bins = binsOf([...data, ...asked, ...targets.flatMap(({ returns }) => returns)]);
  const line = (label, color, returns) => {
    const y = returns.length ? sharesOf(returns, bins) : [];
    return { label: `${label}: ${counted(returns.length, "episode")}`, color, x: bins.middles, y, steps: true, band: { low: y.map(() => 0), high: y } };
  };
  return chartFigure({
    title: "Returns of the data and of the agent", note: `Share of the episodes, in steps of ${figure(bins.width)}; upright: what was asked for`, xLabel: "return",
    format: percent, tick: percentTick, yRange: { min: 0, grace: "10%" }, xRange: { min: bins.first * bins.width, max: bins.middles.at(-1) + bins.width / 2 },
    names: new Map(bins.middles.map((x) => [x, `${figure(x - bins.width / 2)} to ${figure(x + bins.width / 2)}`])),
    marks: targets.map(({ target }, i) => ({ x: target, label: returnText(target), color: targetColors[i % targetColors.length] })).filter(({ x }) => isNumber(x)),
    series: [line("data", "series-8", data), ...targets.map((target, i) => line(targetName(target), targetColors[i % targetColors.length], target.returns))],
  });
}

/** Where the agent's episodes lie among those that it learnt from. */
function returnsSentence({ dataReturns }, best) {
  if (dataReturns.length === 0) return null;
  const below = dataReturns.filter((value) => value < best.mean).length / dataReturns.length;
  const top = dataReturns.reduce((a, b) => Math.max(a, b));
  const who = isNumber(best.target) ? `Asked for ${returnText(best.target)}, the agent` : "The agent";
  const than = below === 1 ? "any" : `${Math.floor(100 * below)} %`;
  return `${who} earns on average more than ${than} of the ${counted(dataReturns.length, "episode")} of the data; the best of these earns ${returnText(top)}.`;
}

function returnsSection(rollouts) {
  const targets = withEpisodes(rollouts);
  if (targets.length === 0) return null;
  const best = targets.reduce((a, b) => (b.mean > a.mean ? b : a));
  return section("returns", "Returns", returnsSentence(rollouts, best), returnsChart(rollouts));
}

function robotFigure(rollouts, animation, view) {
  const asked = isNumber(animation.target) ? `; asked for ${returnText(animation.target)}` : "";
  const facts = `Return ${returnAndScore(rollouts, animation.earned)}${asked}; ${counted(animation.steps, "step")}`;
  return element("figure", { class: "card robot" },
    element("figcaption", {}, element("h3", {}, capital(animation.title)), element("p", {}, facts)),
    robotPlayer(animation, view, `${rollouts.robot} from the side, ${animation.title}. ${facts}`));
}

function robotSection(rollouts) {
  const animations = rollouts.animations.filter(({ frames, radii }) => frames.length > 0 && radii.length > 0);
  if (animations.length === 0) return null;
  const view = viewOf(animations);
  return section("robot", rollouts.robot, "The robot from the side, at the speed of the world; the camera goes along with it.",
    element("div", { class: "robots" }, animations.map((animation) => robotFigure(rollouts, animation, view))));
}

/** Of a run; nothing if it has no rollouts. */
const rolloutSections = (rollouts) => (rollouts ? [askedSection(rollouts), returnsSection(rollouts), robotSection(rollouts)] : []);

/** The page of `primal play`: {title, rollouts} */
function playHeader({ title, rollouts }) {
  const best = rollouts.animations.reduce((a, b) => (b.earned > a.earned ? b : a));
  const score = isNumber(best.score) ? `, score ${oneDigit(best.score)}` : "";
  const asked = isNumber(best.target) ? `, asked for ${returnText(best.target)}` : "";
  return element("header", { class: "hero" },
    element("div", {},
      element("p", { class: "eyebrow" }, "primal play"),
      element("h1", {}, title),
      element("p", { class: "subtitle" }, [rollouts.robot, scoreSentence(rollouts)].filter(Boolean).join(" · "))),
    element("div", { class: "headline" }, element("strong", {}, returnText(best.earned)),
      element("span", {}, `Return${rollouts.animations.length > 1 ? ` of the best episode` : ""}${score}${asked}`)));
}

/** The film first: it is what one came for. Charts need more episodes than the one that is seen. */
function playSections({ rollouts }) {
  const episodes = withEpisodes(rollouts).reduce((count, { returns }) => count + returns.length, 0);
  const charts = episodes > 1 ? [askedSection(rollouts), returnsSection(rollouts)] : [];
  return [robotSection(rollouts), ...charts].filter(Boolean);
}
