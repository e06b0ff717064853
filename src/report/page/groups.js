// The share of right answers in groups of test cases.
"use strict";

const cssShare = (share) => `${(100 * share).toFixed(2)}%`;

/** The share as a bar, its 95 % interval as a line, the share of all cases as a tick. */
function groupBar({ interval }, share, overall) {
  const part = (kind, from, to) => {
    const node = element("span", { class: kind });
    node.style.left = cssShare(from);
    node.style.width = cssShare(to - from);
    return node;
  };
  return element("span", { class: "group-bar", "aria-hidden": "true" },
    part("filled", 0, share), interval ? part("interval", interval[0], interval[1]) : null, part("overall", overall, overall));
}

function groupCard(group) {
  const sum = (key) => group.rows.reduce((total, row) => total + row[key], 0);
  const overall = sum("right") / Math.max(sum("cases"), 1);
  const columns = [{ title: group.name }, { title: "" }, ...["right", "95 % interval", "cases"].map((title) => ({ title, number: true }))];
  const rows = group.rows.map((row) => {
    const share = row.cases > 0 ? row.right / row.cases : NaN;
    const interval = row.interval ? `${oneDigit(100 * row.interval[0])}–${oneDigit(100 * row.interval[1])}` : "–";
    return [element("span", { class: "name", title: row.name }, row.name), groupBar(row, share || 0, overall), percent(share), interval, whole(row.cases)];
  });
  const title = `By ${group.name}`;
  return element("div", { class: "card" }, element("h3", {}, title), scrollBox(title, dataTable(title, columns, rows, { class: "data groups" })));
}

function groupsSection(run) {
  const groups = run.result?.test.groups ?? [];
  if (groups.length === 0) return null;
  return section("groups", "Groups",
    "Which test cases are right. Bar: the share of right answers; thin line: its 95 % interval; upright tick: the share of all cases.",
    element("div", { class: groups.length > 1 ? "grid" : null }, groups.map(groupCard)));
}
