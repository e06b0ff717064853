// Passages of the test text, token by token, on a colour that is the stronger the less the model expected them.
"use strict";

const surpriseSteps = [1, 4, 8, 12]; // bits at which the next shade begins

const surpriseShade = (bits) => (isNumber(bits) ? surpriseSteps.filter((step) => bits >= step).length : 0);

/** What stands for characters that leave no trace on paper. */
const blankSigns = [
  { text: "\n", sign: "↵", name: "end of a line" },
  { text: "\t", sign: "⇥", name: "tab" },
  { text: " ", sign: "·", name: "space that is a token" },
  { text: "", sign: "▫", name: "begins a character that a later token ends" },
];
const signOf = (character) => blankSigns.find(({ text }) => text === character)?.sign;

/** Spaces of a token that has more than spaces stay what they are; the end of a line is seen and ends the line. */
function tokenParts(text) {
  const blank = (character) => element("i", { "aria-hidden": "true" }, signOf(character));
  if (text === "") return [blank("")];
  const isBlank = text.trim() === "";
  return [...text].flatMap((character) => {
    if (character === "\n") return [blank(character), "\n"];
    return isBlank && signOf(character) ? [blank(character)] : [character];
  });
}

/** As in a string of a program, for tooltips and tables. */
const quoted = (text) => `“${text.replaceAll("\n", "↵").replaceAll("\t", "⇥")}”`;
const bitsText = (bits) => `${oneDigit(bits)} bits`;

function tokenSpan(text, bits) {
  return element("span", { class: `shade-${surpriseShade(bits)}`, title: `${quoted(text)}: ${bitsText(bits)}` }, tokenParts(text));
}

function tokenTable({ texts, bits }) {
  return scrollBox("Tokens", dataTable("Tokens", [{ title: "token" }, { title: "bits", number: true }], texts.map((text, i) => [quoted(text), isNumber(bits[i]) ? twoDigits.format(bits[i]) : "–"])));
}

function passageItem(passage) {
  const known = passage.bits.filter(isNumber);
  const mean = known.reduce((sum, bits) => sum + bits, 0) / known.length;
  return element("li", {},
    element("p", { class: "tokens", dir: "auto" }, passage.texts.map((text, i) => tokenSpan(text, passage.bits[i]))),
    element("div", { class: "passage-foot" }, element("small", {}, `${oneDigit(mean)} bits per token`), lazyDetails("Numbers", () => tokenTable(passage))));
}

function passageCard(title, explanation, passages) {
  if (passages.length === 0) return null;
  return element("div", { class: "card" }, element("h3", {}, title), element("p", { class: "explain" }, explanation),
    element("ol", { class: "passages" }, passages.map(passageItem)));
}

/** The shades, and the signs that occur. */
function surpriseLegend(passages) {
  const names = [`below ${surpriseSteps[0]}`, ...surpriseSteps.map((low, i) => (i + 1 < surpriseSteps.length ? `${low} to ${surpriseSteps[i + 1]}` : `${low} and more`))];
  const shades = names.map((name, i) => element("li", {}, element("span", { class: `shade-${i}`, "aria-hidden": "true" }), `${name}${i + 1 < names.length ? "" : " bits"}`));
  const texts = passages.flatMap((passage) => passage.texts);
  const occurs = ({ text: blank }) => texts.some((text) => (blank === "" ? text === "" : text.includes(blank) && (blank === "\n" || text.trim() === "")));
  const signs = blankSigns.filter(occurs).map(({ sign, name }) => element("li", {}, element("code", { "aria-hidden": "true" }, sign), name));
  return element("ul", { class: "shade-legend", "aria-label": "Legend" }, shades, signs);
}

function passagesSection(run) {
  const { mostSurprising: most = [], leastSurprising: least = [] } = run.result?.test ?? {};
  if (most.length + least.length === 0) return null;
  return section("passages", "Surprise",
    "Passages of the test text. The stronger the colour of a token, the less the model expected it: one that it gives one chance in 2ⁿ has n bits.",
    surpriseLegend([...most, ...least]),
    passageCard("Most surprising", "Those with the most bits per token.", most),
    passageCard("Least surprising", "Those with the fewest bits per token.", least));
}
