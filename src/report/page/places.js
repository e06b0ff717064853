// The loss of tokens by how many others of their block stand before them. A test has byPlace: [{from, to, bits}], places from 0.
"use strict";

const fewPlaces = 4; // at the beginning of a block, where there is next to no context
const sameBits = 0.01; // less is no difference worth a sentence

/** "1", "257 to 512": people count from one. */
const placeName = ({ from, to }) => (from === to ? whole(from + 1) : `${whole(from + 1)} to ${whole(to + 1)}`);

/** In the middle of its range, as a logarithmic axis has it. */
const placeMiddle = ({ from, to }) => Math.sqrt((from + 1) * (to + 1));

const knownPlaces = (run) => (run.result?.test.byPlace ?? []).filter(({ bits }) => isNumber(bits));

function meanBits(ranges) {
  const size = ({ from, to }) => to - from + 1;
  const sum = (valueOf) => ranges.reduce((total, range) => total + valueOf(range), 0);
  return sum((range) => range.bits * size(range)) / sum(size);
}

/** Whether the model gains from what it has read; nothing where no range is far from the beginning. */
function contextSentence(ranges) {
  const first = ranges.filter(({ to }) => to < fewPlaces), last = ranges.at(-1);
  if (first.length === 0 || last.from < fewPlaces) return null;
  const gain = meanBits(first) - last.bits;
  const count = first.at(-1).to + 1;
  const [far, near] = [`Tokens with at least ${whole(last.from)} others before them`, count > 1 ? `the first ${count} of a block` : "the first of a block"];
  if (Math.abs(gain) < sameBits) return `${far} are as hard to predict as ${near}: the model makes no use of what it has read.`;
  if (gain < 0) return `${far} are ${twoDigits.format(-gain)} bits harder to predict than ${near}: what the model has read does not help it.`;
  return `${far} are ${twoDigits.format(gain)} bits easier to predict than ${near}: the model uses what it has read.`;
}

/** lines: [{label, color, ranges}] */
function placesChart(title, lines) {
  const ranges = lines.flatMap((line) => line.ranges);
  return chartFigure({
    title, note: "Mean surprise of a token, −log₂ p, in bits", xLabel: "place in the block", xLog: true, yRange: { grace: "8%" },
    names: new Map(ranges.map((range) => [placeMiddle(range), placeName(range)])),
    series: lines.map((line) => ({
      label: line.label, color: line.color, x: line.ranges.map(placeMiddle), y: line.ranges.map(({ bits }) => bits), points: true,
    })),
  });
}

function placesSection(run) {
  const ranges = knownPlaces(run);
  if (ranges.length === 0) return null;
  return section("places", "Loss by place in the block", contextSentence(ranges),
    placesChart("Bits per token", [{ label: "bits per token", color: "series-1", ranges }]));
}

/** Of several runs; nothing if none of them has such losses. */
function placesOverlay(runs, colorOf) {
  return placesChart("Loss by place in the block", runs.map((run, i) => ({ label: run.name, color: colorOf(i), ranges: knownPlaces(run) })));
}
