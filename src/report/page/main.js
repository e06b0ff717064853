// Draws the page from the data in #data: {kind: "runs", runs, comparison} (run_json.cpp, report_page.cpp) or
// {kind: "sweep", ...} (sweep_page.cpp) or {kind: "play", title, rollouts} (play_page.cpp)
// or {kind: "ksvd", ...} (ksvd_page.cpp) or {kind: "ablation", ...} (ablation_page.cpp)
// or {kind: "analysis", runs} (analysis_page.cpp). When done, <body> carries data-ready and data-charts, the number of
// charts and pictures drawn; an error is shown in the page and carried in data-error.
"use strict";

addEventListener("error", (event) => {
  document.body.dataset.error = event.message;
  document.body.prepend(element("p", { class: "failure", role: "alert" }, `This page could not be drawn: ${event.message}`));
});

function navigation(main) {
  const links = [...main.querySelectorAll("section > h2")].map((heading) =>
    element("a", { href: `#${heading.parentElement.id}` }, heading.textContent));
  return links.length > 1 ? element("nav", { "aria-label": "Sections" }, links) : null;
}

function contents(data) {
  if (data.kind === "sweep") return [sweepHeader(data), sweepSections(data)];
  if (data.kind === "play") return [playHeader(data), playSections(data)];
  if (data.kind === "ablation") return [ablationHeader(data), ablationSections(data)];
  if (data.kind === "ksvd") return [ksvdHeader(data), ksvdSections(data)];
  if (data.kind === "analysis") return [analysisHeader(data), analysisSections(data)];
  if (data.comparison) return [comparisonHeader(data), [comparisonSection(data), runDetails(data)]];
  return [runHeader(data.runs[0]), runSections(data.runs[0])];
}

function showPage() {
  const data = JSON.parse(document.getElementById("data").textContent);
  followTheme();
  const [header, sections] = contents(data);
  const main = element("main", { id: "main" }, sections);
  const page = document.getElementById("page");
  page.append(header, navigation(main) ?? "", main, element("footer", {}, "Made by primal. This file is complete and asks for nothing from the network."));
  drawCharts(main);
  document.body.dataset.ready = "true";
}

showPage();
