// Building blocks of the page. Texts become text nodes and never markup, so nothing in a run can turn into code.
"use strict";

/** element("p", {class: "note"}, "text", child, ...); attributes that are null or false are left out. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** A section with a heading that the navigation can point at. */
function section(id, title, lead, ...children) {
  return element(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, title),
    lead ? element("p", { class: "lead" }, lead) : null,
    ...children,
  );
}

/** Wide content scrolls inside its own box, with the keyboard too; the page itself never does. */
function scrollBox(label, content) {
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, content);
}

/** columns: [{title, number: true for right-aligned}]; rows: arrays of texts or nodes; the first cell names the row. */
function dataTable(caption, columns, rows, attributes = {}) {
  const kind = (i) => (columns[i].number ? "number" : null);
  const head = columns.map((column, i) => element("th", { scope: "col", class: kind(i) }, column.title));
  const body = rows.map((row) =>
    element(
      "tr",
      { class: row.mark ? "mark" : null },
      row.map((cell, i) => element(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: kind(i) }, cell)),
    ),
  );
  return element(
    "table",
    { class: "data", ...attributes },
    element("caption", { class: "hidden" }, caption),
    element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, body),
  );
}

/** Buttons of which one is pressed. choices: [{value, label}] */
function switcher(label, choices, chosen, onChoice) {
  const buttons = choices.map((choice) =>
    element("button", { type: "button", "aria-pressed": String(choice.value === chosen) }, choice.label),
  );
  buttons.forEach((button, i) =>
    button.addEventListener("click", () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      onChoice(choices[i].value);
    }),
  );
  return element("div", { class: "switcher", role: "group", "aria-label": label }, buttons);
}

/** Closed at first; its content is made when it is opened. */
function lazyDetails(summary, makeContent) {
  const details = element("details", {}, element("summary", {}, summary));
  details.addEventListener("toggle", () => details.append(makeContent()), { once: true });
  return details;
}

function badge(text, kind) {
  return element("span", { class: `badge ${kind || ""}` }, text);
}
