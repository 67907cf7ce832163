// What is promised beyond each column alone: groups of columns together, and against somebody who knows another column.

import { columnsWith } from "./choose.js";
import { at, bits, fill, h, options } from "./dom.js";
import { studio } from "./main.js";

let together = [];
let against = [];
let first = 1;
let costs = [];
let again = () => {};

const WORDS = ["each alone", "every two together", "every three together", "every four together"];

export function startPromises(question) {
  together = question?.together ?? [];
  against = question?.against ?? [];
  first = question?.order ?? 1;
  costs = [];
}

export function promises() {
  return { order: order(), together: order() > 1 ? [] : together, against };
}

const order = () => Number(at("order")?.value || first);

export function promiseChoices(changed) {
  again = changed;
  const addGroup = () => {
    const group = [...at("group-columns").querySelectorAll("input:checked")].map((box) => box.value);
    if (group.length > 1 && !together.some((one) => one.join("\n") === group.join("\n"))) {
      together = [...together, group];
      changed();
    }
  };
  const select = h("select", { id: "order", onchange: changed });
  options(select, WORDS.map((text, i) => [String(i + 1), text]), String(first));
  return [
    h("fieldset", { class: "group", id: "against" },
      h("legend", {}, "Also against somebody who knows …"),
      h("p", { class: "buttons" }, h("label", { class: "hidden-text", for: "known" }, "a column that others may know"),
        h("select", { id: "known" }),
        h("button", { type: "button", id: "add-known", onclick: () => promise([at("known").value]) }, "Add")),
      h("ul", { class: "chips", id: "promised" }),
      h("p", { class: "quiet" }, "It covers somebody who knows this column exactly, not in part, and no other beside it.")),
    h("details", { id: "together", open: together.length > 0 || first > 1 },
      h("summary", {}, "Protect columns together"),
      h("p", {}, h("label", { for: "order" }, "Protect them "), select),
      h("div", { id: "groups-body" },
        h("p", { class: "quiet" }, "A group stays private as a whole: every combination of its values."),
        h("fieldset", { class: "group" }, h("legend", {}, "Columns of the group"), h("div", { class: "roles", id: "group-columns" }),
          h("p", { class: "buttons" }, h("button", { type: "button", onclick: addGroup }, "Add the group"))),
        h("ul", { class: "chips", id: "groups" }))),
  ];
}

// One more promise: against whoever knows these columns, also the one that a finding names.
export function promise(known) {
  if (!known.every(Boolean) || against.some((one) => one.join("\n") === known.join("\n"))) return;
  against = [...against, known];
  again();
}

export function showCosts(found) {
  costs = found;
  showAgainst();
}

// In place: a box that stays keeps its tick and the focus.
export function showPromises() {
  const names = columnsWith("protect", "use");
  const body = at("group-columns");
  together = together.filter((group) => group.every((name) => names.includes(name)));
  const most = Math.max(1, Math.min(WORDS.length, columnsWith("protect").length));
  options(at("order"), WORDS.slice(0, most).map((text, i) => [String(i + 1), text]), String(Math.min(order(), most)));
  at("together").hidden = names.length < 2;
  at("groups-body").hidden = order() > 1;
  for (const box of [...body.children]) if (!names.includes(box.textContent)) box.remove();
  names.forEach((name, i) => {
    if (body.children[i]?.textContent === name) return;
    body.insertBefore(h("label", {}, h("input", { type: "checkbox", value: name }), h("bdi", {}, name)), body.children[i] ?? null);
  });
  const remove = (group) => {
    together = together.filter((one) => one !== group);
    again();
  };
  at("groups").hidden = !together.length;
  fill("groups", together.map((group) => h("li", {},
    h("button", { type: "button", onclick: () => remove(group), "aria-label": `remove the group ${group.join(" and ")}` },
      `${group.join(" + ")} ✕`))));
  showAgainst();
}

function showAgainst() {
  const hidden = columnsWith("protect");
  const usable = studio.table.columns.filter((column) => column.values > 0).map((column) => column.name);
  const known = usable.filter((name) => !(hidden.length === 1 && hidden[0] === name));
  against = against.filter((one) => one.every((name) => known.includes(name)));
  at("against").hidden = !hidden.length || !known.length;
  options(at("known"), known.map((name) => [name, name]), known.includes(at("known").value) ? at("known").value : known[0]);
  const price = (one) => {
    const found = costs.find((cost) => cost.known.join("\n") === one.join("\n"));
    return found ? ` costs ${found.right >= 0.0005 ? `${(100 * found.right).toFixed(1)} points of right guesses, ` : ""}${bits(found.bits)}` : "";
  };
  const remove = (one) => {
    against = against.filter((other) => other !== one);
    again();
  };
  at("promised").hidden = !against.length;
  fill("promised", against.map((one) => h("li", {},
    h("button", { type: "button", onclick: () => remove(one), "aria-label": `no longer against somebody who knows ${one.join(" and ")}` },
      h("bdi", {}, one.join(" + ")), " ✕"), h("span", { class: "quiet", "data-cost": one.join("+") }, price(one)))));
}
