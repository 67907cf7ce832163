// Choosing: the part that each column plays, and all that is chosen as one question.

import { at, fill, h, many } from "./dom.js";
import { studio } from "./main.js";
import { furtherChoices, furtherOptions, showFurther } from "./options.js";
import { expect } from "./outlook.js";
import { promiseChoices, promises, showPromises, startPromises } from "./promises.js";

const ROLES = [["reveal", "tell"], ["protect", "protect"], ["use", "use"], ["none", "leave out"]];
const MANY = 12;

export function showChoices(table, question) {
  startPromises(question);
  const unasked = table.try ? "none" : "use";
  const role = (name) => {
    if (question) return question.roles[name] ?? "none";
    return ["reveal", "protect", "use"].find((kind) => table.try?.[kind].includes(name)) ?? unasked;
  };
  const rows = table.columns.map((column, i) => columnRow(column, i, column.values ? role(column.name) : "none", question));
  const head = ["column", "holds", "part", "bins"].map((text) => h("th", { scope: "col" }, text));
  fill("choices",
    everyColumn(table),
    h("div", { class: "scroll" }, h("table", { id: "columns" },
      h("caption", { class: "hidden-text" }, "The columns of the table and the part that each plays"),
      h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))),
    promiseChoices(changed), furtherChoices(question, changed));
  changed();
}

function columnRow(column, i, role, question) {
  const shown = column.shown.slice(0, 4).join(", ") + (column.values > column.shown.length ? ", …" : "");
  const missing = column.missing ? `; ${many(column.missing, "row")} without` : "";
  const unusable = column.values === 0;
  const radios = ROLES.map(([value, label]) => h("label", {}, h("input", {
    type: "radio", name: `role-${i}`, value, checked: role === value, disabled: unusable && value !== "none", onchange: changed,
  }), label));
  const rule = question ? question.bins[column.name] ?? "" : column.bins;
  const bins = column.rule
    ? [h("span", { class: "quiet narrow", "aria-hidden": "true" }, "bins "),
      h("input", { type: "text", size: 7, value: rule, "aria-label": `bins of ${column.name}`, "data-bins": column.name,
        "aria-describedby": "bins-note", oninput: changed })]
    : "";
  return h("tr", { "data-column": column.name },
    h("th", { scope: "row", class: "name" }, h("bdi", {}, column.name)),
    h("td", { class: "values holds" }, unusable ? `${column.holds}: cannot be used`
      : `${column.holds}, ${many(column.values, "value")}${missing}: `, h("br"), h("bdi", { class: "quiet" }, shown)),
    h("td", {}, h("fieldset", { class: "segments" }, h("legend", { class: "hidden-text" }, `part of ${column.name}`), radios)),
    h("td", {}, bins));
}

// One button for all columns but the one that is told; a search where the list is long.
function everyColumn(table) {
  const set = (role) => () => {
    table.columns.forEach((column, i) => {
      if (column.values === 0 || chosenRole(i) === "reveal") return;
      document.querySelector(`input[name="role-${i}"][value="${role}"]`).checked = true;
    });
    changed();
  };
  const buttons = ROLES.slice(1).map(([role, label]) => h("button", { type: "button", "data-all": role, onclick: set(role) }, label));
  const search = h("input", { type: "search", id: "find", placeholder: "find a column", "aria-label": "find a column",
    oninput: () => {
      const text = search.value.toLocaleLowerCase();
      for (const row of at("columns").tBodies[0].rows) row.hidden = !row.dataset.column.toLocaleLowerCase().includes(text);
    } });
  return h("div", { class: "every" }, h("span", { id: "all-label" }, "All columns but the target:"),
    h("div", { class: "segments", role: "group", "aria-labelledby": "all-label" }, buttons),
    table.columns.length > MANY ? search : null);
}

export function columnsWith(...roles) {
  return studio.table.columns.map((column, i) => [column.name, chosenRole(i)])
    .filter(([, role]) => roles.includes(role)).map(([name]) => name);
}

const chosenRole = (i) => document.querySelector(`input[name="role-${i}"]:checked`)?.value ?? "none";

export function question() {
  const roles = {};
  studio.table.columns.forEach((column, i) => {
    if (chosenRole(i) !== "none") roles[column.name] = chosenRole(i);
  });
  const bins = {};
  for (const input of document.querySelectorAll("[data-bins]")) {
    if (input.value.trim() && (roles[input.dataset.bins] || promises().against.flat().includes(input.dataset.bins))) {
      bins[input.dataset.bins] = input.value.trim();
    }
  }
  return { roles, bins, ...promises(), ...furtherOptions() };
}

// All that is chosen, also the bins of columns that are left out.
export function chosen() {
  const inputs = [...document.querySelectorAll("[data-bins]")];
  return { ...question(), bins: Object.fromEntries(inputs.map((input) => [input.dataset.bins, input.value])) };
}

// Says so when the result that is shown answers another question than the one that is chosen now.
export function markStale() {
  const stale = isStale();
  fill("stale", stale ? "This result is of other choices than those that are made now: solve again to see theirs." : "");
  at("estimate").hidden = studio.table === null || (studio.view !== null && !stale);
}

export function isStale() {
  const { view, table } = studio;
  if (view === null || table === null || !view.question.roles) return false;
  const now = question();
  const plain = ({ roles, bins, ...rest }) => [roles, bins, Object.fromEntries(Object.keys(now).map((key) => [key, rest[key] ?? null]))]
    .map((one) => JSON.stringify(Object.entries(one).filter(([key]) => key !== "roles" && key !== "bins").sort()));
  return view.table.digest !== table.digest || String(plain(view.question)) !== String(plain(now));
}

export function changed() {
  showPromises();
  showFurther();
  expect(question());
  markStale();
}
