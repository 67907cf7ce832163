// The trade-off: what more could be told if a little may leak, and a slider along the curve.

import { post } from "./api.js";
import { question } from "./choose.js";
import { at, bits, calm, facts, fill, h, warn } from "./dom.js";
import { refresh, studio } from "./main.js";
import { solve } from "./solve.js";

let drawn = null;
let shown = "";

at("draw-curve").addEventListener("click", async () => {
  calm();
  try {
    await post("/api/curve", { table: studio.table.number, question: question() });
  } catch (error) {
    warn(error);
  }
  await refresh();
});

export function showCurve(curve, job) {
  at("draw-curve").disabled = studio.table === null || job?.status === "running";
  if (!curve) return;
  const now = `${curve.number} ${curve.points.length} ${curve.status}`;
  if (now === shown) return;
  shown = now;
  if (!curve.points.length) {
    fill("curve-body", h("p", {}, curve.status === "running" ? "Computing …" : ""));
    return;
  }
  if (drawn !== curve.number || !at("budget")) drawCurve(curve);
  drawn = curve.number;
  at("budget").dispatchEvent(new CustomEvent("more", { detail: curve.points }));
  fill("curve-end", curve.status === "done"
    ? h("figure", {}, h("div", { class: "paper", tabindex: 0, role: "region", "aria-label": "the trade-off curve" },
      h("img", { src: `/curve.svg?${curve.number}`, alt: curve.finding, id: "curve-picture" })))
    : h("p", {}, curve.status === "running" ? `${curve.points.length} points so far …` : "The curve was not finished; these points hold."));
}

// Once for a curve: points are added while the slider is used, which starts where nothing leaks.
function drawCurve({ about }) {
  let points = [];
  const slider = h("input", { type: "range", id: "budget", min: 0, max: 0, step: 1, value: 0 });
  const told = h("div", { id: "point", "aria-live": "polite" });
  const leakage = () => (points[slider.value].budget === "0" ? null : points[slider.value].budget);
  const use = h("button", { type: "button", id: "use-budget",
    onclick: () => solve({ ...about, question: { ...about.question, leakage: leakage() } }) }, "Solve with this budget");
  const named = (role) => Object.keys(about.question.roles).filter((name) => about.question.roles[name] === role).join(", ");
  const tell = () => {
    const point = points[slider.value];
    slider.setAttribute("aria-valuetext", `${point.budget} bits`);
    told.replaceChildren(facts([
      ["may leak, of each group", `${point.budget} bits`],
      ["leaks at most", bits(point.achieved_leakage)],
      ["tells", bits(point.information)],
      ["no code within the budget tells more than", bits(point.upper_bound)],
    ]));
  };
  slider.addEventListener("input", tell);
  slider.addEventListener("more", ({ detail }) => {
    points = detail;
    slider.max = points.length - 1;
    tell();
  });
  fill("curve-body", h("p", { class: "quiet" }, `About ${named("reveal")}; protected: ${named("protect")}.`),
    h("label", { for: "budget" }, "Leakage that is allowed"), slider, told, h("p", { class: "buttons" }, use), h("div", { id: "curve-end" }));
}
