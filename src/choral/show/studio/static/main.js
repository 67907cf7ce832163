// The page: it asks where things are, shows it, and asks again while a search runs.

import { get } from "./api.js";
import { showChoices } from "./choose.js";
import { showCurve } from "./curve.js";
import { at, calm, warn } from "./dom.js";
import { prepareOpening, showTables } from "./open.js";
import { showResults } from "./result.js";
import { prepareSolving, showJob } from "./solve.js";

const SOON = 300;
const LATER = 3000;

export const studio = { state: null, table: null, shown: null };

let silent = false;
let timer = null;

export async function refresh() {
  clearTimeout(timer);
  let running = false;
  try {
    const before = studio.state;
    studio.state = await get("/api/state");
    if (silent) calm();
    silent = false;
    running = studio.state.job?.status === "running";
    show(before);
  } catch (error) {
    silent = true;
    warn(error);
    if (error.status === 401) return;
  }
  timer = setTimeout(refresh, running ? SOON : LATER);
}

function show(before) {
  const { tables, job, curve, results } = studio.state;
  showTables(studio.state);
  if (before === null && tables.length) {
    const about = job?.about;
    choose(tables.find((table) => table.number === about?.table) ?? tables.at(-1), about?.question);
  }
  at("choose").hidden = at("solve").hidden = studio.table === null;
  showJob(job);
  showCurve(curve, job);
  const finished = before !== null && job?.result && job.result !== before.job?.result ? job.result : null;
  showResults(results, finished);
}

export function choose(table, question = null) {
  studio.table = table;
  at("choose").hidden = at("solve").hidden = false;
  showChoices(table, question);
}

if (location.search) history.replaceState(null, "", "/");
prepareOpening();
prepareSolving();
refresh();
