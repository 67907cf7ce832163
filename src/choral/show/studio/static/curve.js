// The trade-off: what more could be told if a little may leak, and a slider along the curve.

import { post } from "./api.js";
import { question } from "./choose.js";
import { at, bits, calm, facts, fill, h, warn } from "./dom.js";
import { refresh, studio } from "./main.js";
import { solve } from "./solve.js";

let curve = null;
let drawn = "";

at("draw-curve").addEventListener("click", async () => {
  calm();
  try {
    await post("/api/curve", { table: studio.table.number, question: question() });
  } catch (error) {
    warn(error);
  }
  await refresh();
});

export function showCurve(latest, job) {
  at("draw-curve").disabled = studio.table === null || job?.status === "running";
  curve = latest || null;
  if (curve === null) return;
  const now = `${curve.number} ${curve.points.length} ${curve.status}`;
  if (now === drawn) return;
  drawn = now;
  const { points } = curve;
  if (!points.length) {
    fill("curve-body", h("p", {}, curve.status === "running" ? "Computing …" : ""));
    return;
  }
  const slider = h("input", { type: "range", id: "budget", min: 0, max: points.length - 1, step: 1, value: points.length - 1 });
  const told = h("div", { id: "point", "aria-live": "polite" });
  const { about } = curve;
  const leakage = () => (points[slider.value].budget === "0" ? null : points[slider.value].budget);
  const use = h("button", { type: "button", id: "use-budget",
    onclick: () => solve({ ...about, question: { ...about.question, leakage: leakage() } }) }, "Solve with this budget");
  const named = (role) => Object.keys(about.question.roles).filter((name) => about.question.roles[name] === role).join(", ");
  const move = () => {
    const point = points[slider.value];
    slider.setAttribute("aria-valuetext", `${point.budget} bits`);
    told.replaceChildren(facts([
      ["may leak, of each group", `${point.budget} bits`],
      ["leaks at most", bits(point.achieved_leakage)],
      ["tells", bits(point.information)],
      ["no code within the budget tells more than", bits(point.upper_bound)],
    ]));
  };
  slider.addEventListener("input", move);
  move();
  const picture = curve.status === "done"
    ? h("figure", {}, h("div", { class: "paper", tabindex: 0, role: "region", "aria-label": "the trade-off curve" },
      h("img", { src: `/curve.svg?${curve.number}`, alt: curve.finding, id: "curve-picture" })))
    : h("p", {}, curve.status === "running" ? `${points.length} points so far …` : "The curve was not finished; these points hold.");
  fill("curve-body", h("p", { class: "quiet" }, `About ${named("reveal")}; protected: ${named("protect")}.`), h("label", { for: "budget" }, "Leakage that is allowed"), slider, told,
    h("p", { class: "buttons" }, use), picture);
}
