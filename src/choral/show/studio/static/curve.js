// The trade-off of the result that is shown: what more could be told if a little may leak, and a mark that the slider moves.

import { get, post } from "./api.js";
import { at, atMost, bits, calm, facts, fill, h, warn } from "./dom.js";
import { refresh, studio } from "./main.js";
import { solve } from "./solve.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 260, 56, 16, 12, 40];

let drawn = "";
let shown = null;

at("draw-curve").addEventListener("click", async () => {
  calm();
  try {
    await post(`/api/results/${studio.view.name}/curve`);
  } catch (error) {
    warn(error);
  }
  await refresh();
});

// Of the result that is shown: its own curve, or the points of it that a search has found so far.
export function showCurve(job) {
  const { view } = studio;
  if (view === null) return;
  const mine = job?.kind === "curve" && job.about.result === view.name ? job : null;
  const whyNot = noCurve(view);
  at("draw-curve").hidden = view.curve.length > 0;
  at("draw-curve").disabled = whyNot !== "" || job?.status === "running";
  const points = view.curve.length ? view.curve : mine?.points ?? [];
  const now = `${view.name} ${points.length} ${mine?.status}`;
  if (now === drawn) return;
  drawn = now;
  if (mine?.status === "done" && !view.curve.length) keep(view);
  if (!points.length) {
    shown = null;
    fill("curve-body", h("p", { class: "quiet" }, mine?.status === "running" ? "Computing …" : whyNot));
    return;
  }
  if (shown?.name !== view.name) shown = drawCurve(view);
  shown.more(points);
  fill("curve-end", mine?.status === "running" ? `${points.length} points so far …`
    : mine && mine.status !== "done" ? "The curve was not finished; these points hold." : "");
}

function noCurve(view) {
  if (view.against.length) return "A budget beside promises against side knowledge is not possible: solve without them to see the curve.";
  if (view.utility !== "bits") return "The curve is in bits: solve for bits to see it.";
  return "";
}

async function keep(view) {
  try {
    view.curve = (await get(`/api/results/${view.name}`)).curve;
  } catch (error) {
    warn(error);
  }
}

// Leakage from left to right, denser towards nothing: the square root of it, for the chart, the mark and the slider alike.
const along = (budget) => Math.sqrt(Number(budget));

// Once for a result: points are added while the slider is used, which starts where the result is.
function drawCurve(view) {
  let points = [];
  let place = 0;
  const chart = h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "curve", role: "img", id: "curve-picture" });
  const slider = h("input", { type: "range", id: "budget", min: 0, max: 1, step: "any", value: 0 });
  const told = h("div", { id: "point", "aria-live": "polite" });
  const budgeted = () => ({ ...view.question, leakage: points[place].budget === "0" ? null : points[place].budget });
  const again = () => {
    const table = studio.state.tables.find((one) => one.digest === view.table.digest);
    if (!table) warn({ what: "The table of this result is not open.", remedy: "Open that very table again, and then ask again." });
    else solve({ table: table.number, question: budgeted() });
  };
  const use = h("button", { type: "button", id: "use-budget", onclick: again }, "Solve with this budget");
  const go = (to) => {
    place = Math.min(points.length - 1, Math.max(0, to));
    const point = points[place];
    slider.value = along(point.budget);
    slider.setAttribute("aria-valuetext", `${point.budget} bits`);
    paint(chart, points, place, view);
    told.replaceChildren(facts([
      ["may leak, of each group", `${point.budget} bits`],
      ["leaks at most", atMost(point.achieved_leakage)],
      ["tells", bits(point.information)],
      ["no code within the budget tells more than", atMost(point.upper_bound)],
    ]));
  };
  slider.addEventListener("input", () => {
    const far = points.map((point) => Math.abs(along(point.budget) - Number(slider.value)));
    go(far.indexOf(Math.min(...far)));
  });
  slider.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    go(place + step);
  });
  fill("curve-body", h("p", { class: "quiet" }, `About ${view.reveal}; protected: ${view.protect.join(", ")}.`),
    h("div", { class: "curve-box" }, chart,
      h("label", { for: "budget", class: "hidden-text" }, "Leakage that is allowed"), slider),
    told, view.question.roles ? h("p", { class: "buttons" }, use) : "", h("p", { id: "curve-end", class: "quiet" }));
  return {
    name: view.name,
    more: (found) => {
      points = found;
      slider.max = Math.max(...points.map((point) => along(point.budget))) || 1;
      go(place);
    },
  };
}

// The certified intervals as a band, its lower edge what is achieved, and the mark where the slider is.
function paint(chart, points, place, view) {
  const most = Math.max(...points.map((point) => along(point.budget))) || 1;
  const top = Math.max(...points.map((point) => point.upper_bound)) * 1.05 || 1;
  const x = (point) => LEFT + ((WIDTH - LEFT - RIGHT) * along(point.budget)) / most;
  const y = (value) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * value) / top;
  const line = (value) => points.map((point) => `${x(point)},${y(value(point))}`).join(" L");
  const back = [...points].reverse().map((point) => `${x(point)},${y(point.information)}`).join(" L");
  const text = (at, words, more = {}) => h("text", { x: at[0], y: at[1], ...more }, words);
  const here = points[place];
  chart.setAttribute("aria-label", `${view.reveal}: from ${bits(points[0].information)} where nothing leaks to `
    + `${bits(points.at(-1).information)} where ${points.at(-1).budget} bits may leak; the mark is at ${here.budget} bits, ${bits(here.information)}`);
  const ticks = points.filter((point, i) => i === 0 || i === points.length - 1 || x(point) - x(points[i - 1]) > 50);
  chart.replaceChildren(
    h("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(0), y2: y(0) }),
    ...[0, 0.5, 1].map((share) => text([LEFT - 6, y(share * top / 1.05) + 4], (share * top / 1.05).toFixed(3), { "text-anchor": "end" })),
    ...ticks.map((point) => text([x(point), HEIGHT - BOTTOM + 16], point.budget, { "text-anchor": "middle" })),
    text([(LEFT + WIDTH) / 2, HEIGHT - 6], "bits that may leak of each group", { "text-anchor": "middle" }),
    h("path", { class: "band", d: `M${line((point) => point.upper_bound)} L${back} Z` }),
    h("path", { class: "line", d: `M${line((point) => point.information)}` }),
    ...points.map((point) => h("circle", { class: "dot", cx: x(point), cy: y(point.information), r: 3 })),
    h("line", { class: "mark", x1: x(here), x2: x(here), y1: TOP, y2: y(0) }),
    h("circle", { class: "mark", id: "mark", cx: x(here), cy: y(here.information), r: 7 }));
}
