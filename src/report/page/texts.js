// Test cases that are texts, or several texts judged together.
"use strict";

function textCase({ texts, truth, predicted, share }) {
  return element("li", { class: "card text-case" },
    element("p", {}, element("span", { class: "answer" }, "✗ "), element("b", {}, truth), " taken for ", element("b", {}, predicted),
      element("small", {}, percent(share))),
    element("div", { class: texts.length > 1 ? "grid" : null }, texts.map((text) => element("blockquote", { dir: "auto" }, text))));
}

function textsSection(run) {
  const cases = run.result?.test.texts ?? [];
  if (cases.length === 0) return null;
  return section("texts", "Texts", "The wrong answers that the model is surest of, with the share that it gives them and the beginnings of the texts.",
    element("ol", { class: "texts" }, cases.map(textCase)));
}
