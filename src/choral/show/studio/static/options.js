// How it is solved for: what the code looks at, what it shall be good for, how many codes; and what few people change.

import { columnsWith } from "./choose.js";
import { at, fill, h, options } from "./dom.js";
import { studio } from "./main.js";

const USUAL_CODES = 16;

export function furtherChoices(question, changed) {
  const select = (id, label, entries, chosen) => {
    const list = h("select", { id, onchange: changed });
    options(list, entries, chosen);
    return h("div", { class: "field" }, h("label", { class: "block", for: id }, label), list);
  };
  const segments = (name, legend, entries, chosen) => h("fieldset", { class: "field plain-set" },
    h("legend", {}, legend), h("div", { class: "segments" }, entries.map(([value, label]) => h("label", {},
      h("input", { type: "radio", name, value, checked: value === chosen, onchange: changed }), label))));
  const costs = h("textarea", { id: "loss", rows: 4, cols: 30, spellcheck: "false", oninput: changed });
  costs.value = question?.loss ?? "";
  return [
    h("p", { class: "quiet", id: "bins-note" },
      "Bins: 4 or q4 for equally many records in each, w10 for a width, 40,55,70 for edges; of dates decade, year, quarter, month, week or weekday; empty for none."),
    h("div", { class: "options" },
      segments("looks", "The code looks at", [["columns", "columns as they are"], ["score", "a learned score"]],
        question?.looks ?? (studio.table.try ? "columns" : "score")),
      segments("codes", "Codes", [["", "as few as do"], ["most", "at most"]], question?.codes ? "most" : ""),
      h("div", { class: "field", id: "most-codes" }, h("label", { class: "block", for: "codes" }, "At most so many codes"),
        h("input", { type: "number", id: "codes", min: 1, max: 10000, value: question?.codes ?? USUAL_CODES, oninput: changed })),
      select("utility", "It shall be good for", [["bits", "telling much (bits)"], ["accuracy", "right guesses (accuracy)"],
        ["squares", "a number (squared error)"], ["loss", "decisions with costs"]], question?.utility ?? "bits"),
    ),
    h("p", { class: "quiet", id: "looks-note" }),
    h("div", { class: "field", id: "losses" }, h("label", { class: "block", for: "loss" },
      "Costs, one on each line: action, value of the target, cost"), costs),
    h("details", { id: "advanced" }, h("summary", {}, "Advanced"),
      h("div", { class: "options" },
        select("missing", "Missing values", [["value", "are a value of their own"], ["drop", "leave their rows out"],
          ["error", "are an error"]], question?.missing ?? "value"),
        h("div", { class: "field" }, h("label", { class: "block", for: "min-count" }, "Treat alike what occurs less often than"),
          h("input", { type: "number", id: "min-count", min: 0, max: 1000000, value: question?.min_count ?? 5, oninput: changed })),
        select("rel-tol", "Search until the best is", [["", "as close as choral fit goes"], ["0.01", "within 1 %"],
          ["0.001", "within 0.1 %"], ["0.000001", "within 0.0001 %"]], String(question?.rel_tol ?? ""))),
      h("p", {}, h("label", {}, h("input", { type: "checkbox", id: "look", checked: question?.look_at_target ?? false,
        onchange: changed }), "The code may look at what it tells (when you hold it for every record)"))),
  ];
}

const picked = (name) => document.querySelector(`input[name="${name}"]:checked`)?.value ?? "";

export function furtherOptions() {
  return {
    look_at_target: at("look").checked, looks: picked("looks"),
    codes: picked("codes") ? Math.max(1, Math.round(Number(at("codes").value))) || USUAL_CODES : null,
    utility: at("utility").value, loss: at("utility").value === "loss" ? at("loss").value : "",
    missing: at("missing").value, min_count: Number(at("min-count").value || 0), rel_tol: Number(at("rel-tol").value) || null,
    leakage: null,
  };
}

export function showFurther() {
  at("most-codes").hidden = picked("codes") === "";
  at("losses").hidden = at("utility").value !== "loss";
  const used = columnsWith("use").length;
  fill("looks-note", picked("looks") === "score"
    ? `A score for the target is learned from all columns but those left out (${used + columnsWith("protect").length} now), unless their `
      + "combinations are few and common. The fewest codes are taken that lose at most 1 %."
    : "Every combination of the values of the columns with a part is a state of its own. As many codes as suffice; where a search may need "
      + "more than 16, the fewest that lose at most 1 %.");
}
