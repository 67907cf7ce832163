// Two results side by side: what was asked, what is told, what it costs.

import { get } from "./api.js";
import { at, bits, h, many, options, percent, warn } from "./dom.js";
import { picture } from "./pictures.js";

export function comparing(view, results) {
  const select = h("select", { id: "compare-with", onchange: () => show(view, select.value) });
  offer(select, view, results);
  return h("div", { id: "comparing", hidden: results.length < 2 }, h("p", { class: "buttons" },
    h("label", { for: "compare-with" }, "Beside it "), select), h("div", { id: "compared" }));
}

export function offer(select, view, results) {
  const others = results.filter((one) => one.name !== view.name);
  options(select, [["", "no other result"], ...others.map((one) => [one.name, `${one.name.replace("-", " ")}: ${one.said || one.reveal}`])],
    others.some((one) => one.name === select.value) ? select.value : "");
}

async function show(view, name) {
  if (!name) {
    at("compared").replaceChildren();
    return;
  }
  try {
    const other = await get(`/api/results/${name}`);
    if (at("compare-with").value === name) at("compared").replaceChildren(beside(view, other));
  } catch (error) {
    warn(error);
  }
}

function beside(one, two) {
  const both = [one, two];
  const row = (head, say) => h("tr", {}, h("th", { scope: "row" }, head), both.map((view) => h("td", {}, say(view))));
  const names = [...new Set(both.flatMap((view) => view.guesses.map((guess) => guess.name)))];
  const guessed = (name) => (view) => {
    const guess = view.guesses.find((each) => each.name === name);
    if (!guess) return "–";
    return guess.same ? `${percent(guess.before)}, with the code and without` : `${percent(guess.after)} instead of ${percent(guess.before)}`;
  };
  const worst = (view) => {
    const [fear] = view.findings?.fears ?? [];
    return fear ? `${fear.given.join(" and ")}: ${fear.about.join(" and ")} right ${percent(fear.guess_after)} instead of ${percent(fear.guess_before)}` : "nobody";
  };
  return h("div", {}, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "two results" }, h("table", { id: "two" },
    h("caption", { class: "hidden-text" }, "Two results side by side"),
    h("thead", {}, h("tr", {}, h("td", {}), both.map((view) => h("th", { scope: "col" }, view.name.replace("-", " "))))),
    h("tbody", {},
      row("asked: tell", (view) => `${view.reveal}, of ${view.table.name}`),
      row("protect", (view) => view.protect.join(", ")),
      row("also against who knows", (view) => view.against.join("; ") || "–"),
      row("good for", (view) => view.utility),
      row("looks at", (view) => (view.learned ? "a learned score and what is protected" : view.use.join(", "))),
      names.map((name) => row(`guessed right: ${name}`, guessed(name))),
      row("told", (view) => `${bits(view.information)} with ${many(view.codes, "code")}`),
      row("costs of what these columns tell", (view) => `${bits(Math.max(0, view.everything - view.information))} of ${bits(view.everything)}`),
      row("who learns most", worst)))),
  h("div", { class: "two" }, both.filter((view) => view.pictures.signature).map((view) => picture(view, "signature", ", side by side"))));
}
