// Choosing what to tell, protect and use; and what is feasible, said at once.

import { post } from "./api.js";
import { at, bits, fill, h, many, options } from "./dom.js";
import { studio } from "./main.js";

const ROLES = [["reveal", "tell"], ["protect", "protect"], ["use", "use"], ["none", "leave out"]];
const WAIT = 250;

let together = [];
let timer = null;
let asked = 0;

export function showChoices(table, question) {
  together = question?.together ?? [];
  const role = (name) => {
    if (question) return question.roles[name] ?? "none";
    return ["reveal", "protect", "use"].find((kind) => table.try?.[kind].includes(name)) ?? "none";
  };
  const rows = table.columns.map((column, i) => columnRow(column, i, role(column.name), question));
  const head = ["column", "holds", "part", "bins"].map((text) => h("th", { scope: "col" }, text));
  fill("choices",
    h("div", { class: "scroll" }, h("table", { id: "columns" },
      h("caption", { class: "hidden-text" }, "The columns of the table and the part that each plays"),
      h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))),
    furtherChoices(question));
  options(at("order"), orders(), String(question?.order ?? 1));
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
  const bins = column.numeric
    ? [h("span", { class: "quiet narrow", "aria-hidden": "true" }, "bins "),
      h("input", { type: "text", size: 9, value: rule, "aria-label": `bins of ${column.name}`, "data-bins": column.name,
        "aria-describedby": "bins-note", oninput: changed })]
    : "";
  return h("tr", { "data-column": column.name },
    h("th", { scope: "row", class: "name" }, column.name),
    h("td", { class: "values" }, unusable ? `${column.holds}: cannot be used`
      : `${column.holds}, ${many(column.values, "value")}${missing}`, h("br"), h("span", { class: "quiet" }, shown)),
    h("td", {}, h("fieldset", { class: "roles" }, h("legend", { class: "hidden-text" }, `part of ${column.name}`), radios)),
    h("td", {}, bins));
}

function furtherChoices(question) {
  const select = (id, label, entries, chosen) => {
    const list = h("select", { id, onchange: changed });
    options(list, entries, chosen);
    return h("div", { class: "field" }, h("label", { class: "block", for: id }, label), list);
  };
  return [
    h("p", { class: "quiet", id: "bins-note" },
      "Bins: 4 or q4 for equally many records in each, w10 for a width, 40,55,70 for edges; empty for none."),
    h("div", { class: "options" },
      select("order", "Protect them", [["1", "each alone"]], "1"),
      select("missing", "Missing values", [["value", "are a value of their own"], ["drop", "leave their rows out"],
        ["error", "are an error"]], question?.missing ?? "value"),
      h("div", { class: "field" }, h("label", { class: "block", for: "min-count" }, "Treat alike what occurs less often than"),
        h("input", { type: "number", id: "min-count", min: 0, max: 1000000, value: question?.min_count ?? 5, oninput: changed })),
      select("rel-tol", "Search until the best is", [["0.01", "within 1 %"], ["0.001", "within 0.1 %"],
        ["0.000001", "within 0.0001 %"]], String(question?.rel_tol ?? 0.001)),
    ),
    h("p", {}, h("label", {}, h("input", { type: "checkbox", id: "look", checked: question?.look_at_target ?? false,
      onchange: changed }), "The code may look at what it tells (when you hold it for every record)")),
    togetherChoices(),
  ];
}

function togetherChoices() {
  const add = () => {
    const group = [...at("group-columns").querySelectorAll("input:checked")].map((box) => box.value);
    if (group.length > 1 && !together.some((one) => one.join("\n") === group.join("\n"))) {
      together = [...together, group];
      changed();
    }
  };
  return h("details", { id: "together", open: together.length > 0 },
    h("summary", {}, "Protect some columns together"),
    h("p", { class: "quiet" }, "A group stays private as a whole: every combination of its values."),
    h("fieldset", { class: "group" }, h("legend", {}, "Columns of the group"), h("div", { class: "roles", id: "group-columns" }),
      h("p", { class: "buttons" }, h("button", { type: "button", onclick: add }, "Add the group"))),
    h("ul", { class: "chips", id: "groups" }));
}

// In place: a box that stays keeps its tick and the focus.
function showTogether() {
  const names = columnsWith("protect", "use");
  const body = at("group-columns");
  together = together.filter((group) => group.every((name) => names.includes(name)));
  at("together").hidden = names.length < 2 || order() > 1;
  for (const box of [...body.children]) if (!names.includes(box.textContent)) box.remove();
  names.forEach((name, i) => {
    if (body.children[i]?.textContent === name) return;
    body.insertBefore(h("label", {}, h("input", { type: "checkbox", value: name }), name), body.children[i] ?? null);
  });
  const remove = (group) => {
    together = together.filter((one) => one !== group);
    changed();
  };
  at("groups").hidden = !together.length;
  fill("groups", together.map((group) => h("li", {},
    h("button", { type: "button", onclick: () => remove(group), "aria-label": `remove the group ${group.join(" and ")}` },
      `${group.join(" + ")} ✕`))));
}

function columnsWith(...roles) {
  return studio.table.columns.map((column, i) => [column.name, chosenRole(i)])
    .filter(([, role]) => roles.includes(role)).map(([name]) => name);
}

const chosenRole = (i) => document.querySelector(`input[name="role-${i}"]:checked`)?.value ?? "none";
const order = () => Number(at("order").value || 1);

function orders() {
  const words = ["each alone", "every two together", "every three together", "every four together"];
  const most = Math.max(1, Math.min(words.length, columnsWith("protect").length));
  return words.slice(0, most).map((text, i) => [String(i + 1), text]);
}

export function question() {
  const roles = {};
  studio.table.columns.forEach((column, i) => {
    if (chosenRole(i) !== "none") roles[column.name] = chosenRole(i);
  });
  const bins = {};
  for (const input of document.querySelectorAll("[data-bins]")) {
    if (input.value.trim() && roles[input.dataset.bins]) bins[input.dataset.bins] = input.value.trim();
  }
  return {
    roles, bins, look_at_target: at("look").checked, order: order(), together: order() > 1 ? [] : together,
    missing: at("missing").value, min_count: Number(at("min-count").value || 0), rel_tol: Number(at("rel-tol").value),
  };
}

// All that is chosen, also the bins of columns that are left out.
export function chosen() {
  const inputs = [...document.querySelectorAll("[data-bins]")];
  return { ...question(), bins: Object.fromEntries(inputs.map((input) => [input.dataset.bins, input.value])), together };
}

// Says so when the result that is shown answers another question than the one that is chosen now.
export function markStale() {
  const { view, table } = studio;
  if (view === null || table === null || !view.question.roles) {
    fill("stale");
    return;
  }
  const plain = ({ roles, bins, leakage, ...rest }) => [roles, bins, rest].map((one) => JSON.stringify(Object.entries(one).sort()));
  const same = view.table.digest === table.digest && String(plain(view.question)) === String(plain(question()));
  fill("stale", same ? "" : "This result is of other choices than those above: solve again to see theirs.");
}

function changed() {
  asked += 1;
  options(at("order"), orders(), at("order").value);
  showTogether();
  clearTimeout(timer);
  timer = setTimeout(look, WAIT);
  markStale();
}

async function look() {
  const mine = asked;
  const known = question();
  const { roles } = known;
  const has = (role) => Object.values(roles).includes(role);
  if (!has("reveal") || !(has("protect") || known.together.length)) {
    fill("outlook", h("p", {}, "Choose one column to tell about and at least one to protect: then you see here what is feasible."));
    mayStart(`${has("reveal") ? "No column is protected" : "No column is chosen to tell about"}: choose one above.`);
    return;
  }
  try {
    const found = await post("/api/outlook", { table: studio.table.number, question: known });
    if (mine === asked) showOutlook(found);
  } catch (error) {
    if (mine !== asked) return;
    fill("outlook", h("p", { class: "good" }, error.what), h("p", {}, error.remedy ?? ""));
    mayStart(error.what);
  }
}

function showOutlook(found) {
  const feasible = {
    true: `Something can be told: at most ${bits(found.upper_bound)} about ${found.reveal}.`,
    false: "Nothing can be told: what is protected determines all that could be said.",
    null: `At most ${bits(found.upper_bound)} about ${found.reveal} can be told; whether any can, solving says.`,
  }[String(found.feasible)];
  const rank = found.rank === null ? "said when solving, the problem is large" : `${found.rank}; nullity ${found.nullity}`;
  fill("outlook", h("h3", {}, "What is feasible"), h("p", { class: "good", id: "feasible" }, feasible),
    h("dl", { class: "numbers" }, [
      ["there is to know, H(W)", bits(found.entropy)],
      ["without privacy, I(W;X)", bits(found.information)],
      ["with privacy, at most", bits(found.upper_bound)],
      ["states", `${found.states.toLocaleString("en")}, from ${many(found.rows, "record")}`],
      ["rank of what is protected", rank],
      ["how", found.plan ?? "said when solving"],
      ...Object.entries(found.alphabets).map(([name, values]) => [`bins of ${name}`, values.join(" · ")]),
    ].map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    ...found.advice.map((text) => h("p", {}, text)));
  mayStart();
}

// Solve can be pressed, or says beside it why not.
function mayStart(whyNot = "") {
  at("start").disabled = whyNot !== "";
  fill("why-not", whyNot);
}
