// Right guesses: the same table for an estimate and for a result.

import { h, many, percent } from "./dom.js";

const MOST_GUESSES = 12;

// How often the best guess is right: the target, then everything protected.
export function guesses(every, id) {
  const told = (guess) => (guess.same ? "as before, exactly" : percent(guess.after));
  const rows = every.slice(0, MOST_GUESSES).map((guess) => h("tr", {},
    h("th", { scope: "row" }, h("bdi", {}, guess.name), h("span", { class: "quiet" }, guess.role === "target" ? " (told)" : " (protected)")),
    h("td", { class: "number" }, percent(guess.before)), h("td", { class: "number" }, told(guess))));
  const more = every.length - MOST_GUESSES;
  return rows.length ? h("table", { id, class: "guesses" }, h("caption", { class: "hidden-text" }, "How often the best guess is right"),
    h("thead", {}, h("tr", {}, ["guessed right", "without the code", "with it"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, rows, more > 0 ? h("tr", {}, h("td", { colspan: 3 }, `and ${many(more, "protected group")} more`)) : null)) : null;
}
