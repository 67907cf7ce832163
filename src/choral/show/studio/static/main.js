// The page: it asks where things are, shows it, and asks again while a search runs.

import { get } from "./api.js";
import { expect } from "./arriving.js";
import { chosen, showChoices } from "./choose.js";
import { showCurve } from "./curve.js";
import { at, calm, warn } from "./dom.js";
import { prepareOpening, showTables } from "./open.js";
import { showResults } from "./result.js";
import { prepareSolving, showJob } from "./solve.js";
import { prepareSteps, showSteps } from "./steps.js";

const SOON = 300;
const LATER = 3000;

// `following`: whether the next result is shown when it is finished, which ends when another one is chosen or played with.
export const studio = { state: null, table: null, shown: null, view: null, following: true };

const left = new Map();
let silent = false;
let timer = null;
let asked = 0;
let answered = 0;

export async function refresh() {
  clearTimeout(timer);
  const mine = ++asked;
  try {
    const state = await get("/api/state");
    if (mine < answered) return;
    answered = mine;
    const before = studio.state;
    studio.state = state;
    if (silent) calm();
    silent = false;
    show(before);
  } catch (error) {
    if (mine < answered) return;
    silent = true;
    warn(error);
    if (error.status === 401) return;
  }
  clearTimeout(timer);
  timer = setTimeout(refresh, studio.state?.job?.status === "running" ? SOON : LATER);
}

function show(before) {
  const { tables, job, results } = studio.state;
  document.body.dataset.known = "";
  if (studio.table === null && tables.length) {
    const about = job?.about;
    choose(tables.find((table) => table.number === about?.table) ?? tables.at(-1), about?.question ?? null);
  }
  showTables(studio.state);
  showDesk();
  showJob(job);
  const finished = before !== null && job?.result && job.result !== before.job?.result ? job.result : null;
  showResults(results, finished);
  showCurve(job);
  showSteps();
  if (finished !== null && studio.shown === finished && studio.following) expect(finished);
}

function showDesk() {
  at("choose").hidden = studio.table === null;
  at("solve").hidden = studio.table === null && !studio.state?.job;
  at("welcome").hidden = studio.table !== null || Boolean(studio.state?.results.length);
}

// Opening a table anew brings back what was chosen in it.
export function choose(table, question = null) {
  if (studio.table !== null) left.set(studio.table.number, chosen());
  studio.table = table;
  at("opening").open = false;
  showDesk();
  showChoices(table, question ?? left.get(table.number) ?? null);
}

if (location.search) history.replaceState(null, "", "/");
prepareOpening();
prepareSolving();
prepareSteps();
refresh();
