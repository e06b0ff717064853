// What a model wrote.
"use strict";

function sampleItem({ prompt, text }) {
  return element("li", { class: "card" },
    element("div", { class: "sample", dir: "auto" },
      prompt ? element("b", { class: "prompt", title: "the prompt" }, prompt) : null,
      text || element("span", { class: "empty" }, "(nothing)")));
}

function samplesSection(run) {
  const samples = run.result?.test.samples ?? [];
  if (samples.length === 0) return null;
  const hasPrompt = samples.some(({ prompt }) => prompt !== "");
  return section("samples", "Samples", `What the model wrote${hasPrompt ? ", after the prompts that are set apart" : " from nothing"}.`,
    element("ol", { class: "samples" }, samples.map(sampleItem)));
}
