// A result: guesses first, the picture, who learns more; then numbers in full, limits, and what can be taken away.

import { get } from "./api.js";
import { arrive } from "./arriving.js";
import { markStale } from "./choose.js";
import { comparing, offer } from "./compare.js";
import { copying } from "./copying.js";
import { showCurve } from "./curve.js";
import { at, bits, facts, fill, h, inFull, many, options, percent, warn } from "./dom.js";
import { downloads } from "./downloads.js";
import { findings } from "./findings.js";
import { showGame } from "./game.js";
import { guesses } from "./guesses.js";
import { studio } from "./main.js";
import { showPictures } from "./pictures.js";
import { showRounds } from "./rounds.js";
import { showSteps } from "./steps.js";

let asked = null;
let turn = 0;

export function showResults(results, finished) {
  at("result").hidden = at("game").hidden = results.length === 0;
  if (!results.length) return;
  const names = results.map((one) => one.name);
  if (studio.following && names.includes(finished)) studio.shown = finished;
  if (!names.includes(studio.shown)) studio.shown = names.at(-1);
  if (at("view").dataset.name === studio.shown) {
    showPictures(results.find((one) => one.name === studio.shown));
    showLater(studio.view);
    at("comparing").hidden = results.length < 2;
    offer(at("compare-with"), studio.view, results);
  }
  if (!at("which-result")) {
    const select = h("select", { id: "which-result", onchange: () => {
      studio.shown = select.value;
      studio.following = false;
      showView(studio.shown);
    } });
    fill("results", h("p", { class: "buttons" }, h("label", { for: "which-result" }, "Result "), select),
      h("p", { class: "quiet" }, studio.state.kept
        ? `Finished results are kept in ${studio.state.kept}.`
        : "Finished results stay here, also when the page is reloaded, until the studio ends: download what you want to keep."));
  }
  options(at("which-result"), results.map((one) => [one.name, inShort(one)]), studio.shown);
  if (asked !== studio.shown) showView(studio.shown);
}

const inShort = (one) => `${one.name.replace("-", " ")}: ${one.table.name}, ${bits(one.information)} about ${one.reveal}`
  + (one.private ? "" : ", with a budget");

async function showView(name) {
  const mine = ++turn;
  asked = name;
  let view;
  try {
    view = await get(`/api/results/${name}`);
  } catch (error) {
    if (mine !== turn) return;
    asked = null;
    warn(error);
    return;
  }
  if (mine !== turn) return;
  at("view").dataset.name = name;
  studio.view = view;
  markStale();
  fill("view",
    h("p", { id: "headline" }, `${view.said || view.summary[0]}`),
    guesses(view.guesses, "guesses"),
    h("div", { id: "pictures" }),
    h("div", { class: "summary", id: "summary" }, view.summary.map((text) => h("p", {}, text))),
    findings(view),
    view.warnings.map((one) => h("div", { class: "warning" }, h("p", { class: "good" }, one.what), h("p", {}, one.remedy))),
    view.remarks.map((text) => h("p", { class: "quiet" }, text)),
    copying(view), comparing(view, studio.state.results),
    h("details", { id: "more-pictures", hidden: true }),
    h("details", {}, h("summary", {}, "What is guaranteed, and what is not"),
      h("h3", {}, "What is guaranteed"), h("ul", { id: "guarantee" }, view.guarantee.map((text) => h("li", {}, text))),
      h("h3", {}, "What is not"), h("ul", { id: "limits" }, view.limits.map((text) => h("li", {}, text)))),
    details(view), downloads(view));
  showPictures(view);
  showRounds(view);
  showGame(view);
  showCurve(studio.state.job);
  showSteps();
  arrive(name);
}

function details(view) {
  const hidden = Object.entries(view.leakage).map(([group, leak]) => `${group}: ${leak === 0 ? "0 bits, exactly" : inFull(leak)}`);
  return h("details", { id: "in-full" }, h("summary", {}, "Numbers in full, how it was found, and its digest"), facts([
    ["tells", h("span", { id: "information" }, inFull(view.information))],
    ["no private code exceeds", h("span", { id: "upper-bound" }, inFull(view.upper_bound))],
    ["of what the used columns tell", inFull(view.everything)],
    ["of all there is to know", `${inFull(view.entropy)} (${percent(view.efficiency)})`],
    ["told about what is protected", hidden.join("; ")],
    ["also hidden, given what others know", view.against.join("; ") || "–"],
    ["codes", `${view.codes}, for ${many(view.states, "state")}`],
    ["looks at", view.use.join(", ")],
    ["table", `${view.table.name}, ${many(view.rows, "record")}`],
    ["how", view.how], ["digest", view.digest], ["check it", "choral verify release.choral"],
  ]));
}

// What is found after a result is there: who learns more, and the rounds that show it.
async function showLater(view) {
  const { job } = studio.state;
  if (view.findings !== null || view.table.origin === "release" || (job?.status === "running" && job.result === view.name)) return;
  if (view.looked) return;
  view.looked = true;
  try {
    view.findings = (await get(`/api/results/${view.name}`)).findings ?? { fears: [], strips: [] };
  } catch (error) {
    view.looked = false;
    return;
  }
  if (studio.view !== view) return;
  at("findings").replaceWith(findings(view));
  showRounds(view);
}
