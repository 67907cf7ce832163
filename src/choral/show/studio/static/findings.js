// Who learns more than nothing: the worst first, with the promise that stops it and what that costs.

import { bits, h, percent } from "./dom.js";
import { promise } from "./promises.js";

const FIRST = 3;

export function findings(view) {
  if (view.findings === null) return h("div", { id: "findings" }, h("p", { class: "quiet" }, "Looking for who learns more …"));
  const { fears } = view.findings;
  if (!fears.length) {
    return h("div", { id: "findings" }, h("p", {}, "Nobody who knows one other column of this table learns noticeably more about what is protected."));
  }
  const worst = fears.slice(0, FIRST).map((one) => finding(view, one));
  const others = fears.slice(FIRST).map((one) => finding(view, one));
  return h("div", { id: "findings" }, h("h3", {}, "Who learns more"), ...worst,
    others.length ? h("details", {}, h("summary", {}, `${others.length} more`), ...others) : null);
}

function finding(view, one) {
  const [known, about] = [one.given, one.about].map((names) => names.join(" and "));
  const target = view.guesses.find((guess) => guess.role === "target");
  const points = target && one.still_guessed !== null ? 100 * (target.after - one.still_guessed) : null;
  const cost = one.still_told === null ? "What that costs, solving says."
    : `That costs ${points >= 0.05 ? `${points.toFixed(1)} points of right guesses, ` : ""}${bits(Math.max(0, view.information - one.still_told))} `
      + `of ${bits(view.information)}.`;
  return h("div", { class: "warning" },
    h("p", {}, h("b", {}, "Somebody who knows ", h("bdi", {}, known), " "), "guesses ", h("bdi", {}, about),
      ` right ${percent(one.guess_after)} with the code instead of ${percent(one.guess_before)} (${bits(one.bits)}).`),
    h("p", { class: "buttons" }, view.question.roles
      ? h("button", { type: "button", "data-promise": one.promise, onclick: () => promise(one.given) }, `Promise ${one.promise} too`) : "",
    h("span", {}, cost)));
}
