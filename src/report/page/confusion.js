// The confusion matrix as a coloured table, and the scores of each class.
"use strict";

const strongShade = 0.8; // from here on white letters are easier to read on blue than black ones
const longName = 4; // letters of a class name that still fit above a narrow column
const manyClasses = 14; // from here on cells and rows are drawn smaller

function confusionCell(count, rowTotal, isHit, trueName, predictedName) {
  const share = rowTotal > 0 ? count / rowTotal : 0;
  const shade = count === 0 ? 0 : isHit ? 0.1 + 0.8 * share : 0.12 + 0.8 * Math.sqrt(share);
  const cell = element(
    "td",
    { class: `${isHit ? "hit" : "miss"}${isHit && shade > strongShade ? " strong" : ""}`,
      title: `${trueName} taken for ${predictedName}: ${count} of ${rowTotal}` },
    count === 0 ? "" : String(count),
  );
  cell.style.setProperty("--shade", shade.toFixed(3));
  return cell;
}

function confusionTable(test) {
  const names = test.classes.map((c) => c.name);
  const upright = names.some((name) => name.length > longName) ? "upright" : null;
  const head = names.map((name) => element("th", { scope: "col", class: upright, title: name }, element("span", {}, name)));
  const rows = test.confusion.map((row, i) =>
    element(
      "tr", {},
      element("th", { scope: "row", title: names[i] }, element("span", {}, names[i])),
      row.map((count, j) => confusionCell(count, test.classes[i].cases, i === j, names[i], names[j])),
    ),
  );
  return element(
    "table", { class: names.length > manyClasses ? "confusion dense" : "confusion" },
    element("caption", {}, "Rows: true class. Columns: predicted class. Blue: right, orange: wrong; the shade is the share of the row."),
    element("thead", {}, element("tr", {}, element("td", {}), head)),
    element("tbody", {}, rows),
  );
}

function meter(share) {
  const bar = element("span", { class: "meter", "aria-hidden": "true" }, element("span", {}));
  bar.firstChild.style.width = `${(100 * Math.max(share || 0, 0)).toFixed(1)}%`;
  return bar;
}

function classTable(test) {
  const columns = ["class", "cases", "precision", "recall", "F1"].map((title, i) => ({ title, number: i > 0 }));
  const rows = test.classes.map((c) => [
    element("span", { class: "name", title: c.name }, c.name), whole(c.cases), percent(c.precision), percent(c.recall),
    element("span", { class: "with-meter" }, meter(c.f1), percent(c.f1)),
  ]);
  return dataTable("Scores of each class", columns, rows, { class: rows.length > manyClasses ? "data dense" : "data" });
}

function confusionSection(run) {
  const test = run.result?.test;
  if (!test?.classes?.length) return null;
  const worst = test.classes.filter((c) => c.cases > 0).sort((a, b) => a.recall - b.recall)[0];
  const lead = `${whole(test.hits)} of ${whole(test.cases)} test cases are right.` +
    (worst && worst.recall < 1 ? ` The class missed most is ${worst.name}: ${percent(worst.recall)} of its cases are found.` : "");
  return section(
    "classes", "Classes", lead,
    element("div", { class: "split" },
      element("div", { class: "card" }, scrollBox("Confusion matrix", confusionTable(test))),
      element("div", { class: "card grow" }, scrollBox("Scores of each class", classTable(test)))),
  );
}
