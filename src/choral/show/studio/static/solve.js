// Solving: start, watch the certified interval close, stop and keep, or cancel.

import { post } from "./api.js";
import { question } from "./choose.js";
import { announce, at, atMost, bits, calm, fill, h, warn } from "./dom.js";
import { refresh, studio } from "./main.js";

const NARROW = 7;
const STAGES = { starting: "Starting", counting: "Counting records", learning: "Learning a score", searching: "Searching",
  "looking for states that are alike": "Looking for states that are alike", "joining codes": "Joining codes",
  "making the code exact": "Making the code exact", "stating what is proved": "Stating what is proved",
  verifying: "Verifying", drawing: "Drawing pictures", weighing: "Looking for who learns more" };
const CLOSED = ["verifying", "drawing", "weighing"];
const LONG = 30;

export function prepareSolving() {
  at("start").addEventListener("click", () => solve({ table: studio.table.number, question: question() }));
  at("keep").addEventListener("click", () => stop(true));
  at("cancel").addEventListener("click", () => stop(false));
}

export async function solve(asked) {
  calm();
  studio.following = true;
  try {
    await post("/api/solve", asked);
  } catch (error) {
    warn(error);
  }
  await refresh();
}

async function stop(keep) {
  try {
    await post(`/api/stop?keep=${keep}`);
  } catch (error) {
    warn(error);
  }
  await refresh();
}

export function showJob(job) {
  const running = job?.status === "running";
  at("keep").hidden = !(running && job.kind === "fit");
  at("keep").disabled = job?.stage !== "searching";
  at("cancel").hidden = !running;
  if (!job) {
    fill("progress");
    return;
  }
  const what = { curve: "The curve", open: "The release", fit: "The search" }[job.kind];
  const time = job.seconds < 0.1 ? "a moment" : job.seconds < 100 ? `${job.seconds.toFixed(1)} s` : `${Math.floor(job.seconds / 60)} min ${Math.floor(job.seconds % 60)} s`;
  if (job.status === "failed") {
    fill("progress", h("p", { class: "good" }, job.error), h("p", {}, job.remedy));
    announce(job.error);
    return;
  }
  const words = {
    running: `${STAGES[job.stage] ?? job.stage}${job.note && job.stage === "learning" ? `: ${job.note}` : ""} … ${time}`,
    cancelled: `${what} was cancelled after ${time}. Nothing of it was kept.`,
    done: `${what} ${job.kind === "open" ? "was verified and is open" : "is finished"}, after ${time}.`,
  }[job.status];
  const children = [h("p", { id: "job-words" }, words)];
  if (job.last && job.status !== "cancelled") children.push(...interval(job));
  if (job.status === "running" && job.stage === "searching" && job.kind === "fit" && job.seconds > LONG) {
    children.push(h("p", { class: "quiet", id: "long" }, "This takes a while. You may go on looking around, or stop and keep the "
      + "best so far: it is private, and its bound holds."));
  }
  fill("progress", ...children);
  announce(job.status === "running" ? STAGES[job.stage] ?? job.stage : words);
}

function interval(job) {
  const [, information, upper, message] = job.last;
  const gap = Math.max(upper - information, 10 ** -NARROW);
  const share = CLOSED.includes(job.stage) ? 1 : Math.min(1, Math.max(0, -Math.log10(gap)) / NARROW);
  const most = Math.max(upper, information, 1e-12);
  const x = (value) => (1000 * value) / most;
  const words = bits(information) === atMost(upper) ? `Certified: ${bits(information)}, and no private code tells more (${message})`
    : `Certified interval: ${bits(information)} to ${atMost(upper)} (${message})`;
  return [
    ...(job.status === "done" ? [h("p", { class: "quiet" }, words)]
      : [h("label", { for: "bar", class: "quiet" }, words), h("progress", { id: "bar", max: 1, value: share })]),
    h("svg", { class: "interval", viewBox: "0 0 1000 40", preserveAspectRatio: "none", role: "img",
      "aria-label": `achieved ${bits(information)}, proved never to exceed ${atMost(upper)}` },
    h("rect", { class: "all", x: 0, y: 8, width: 1000, height: 24 }),
    h("rect", { class: "open", x: x(information), y: 8, width: Math.max(0, x(upper) - x(information)), height: 24 }),
    h("rect", { class: "told", x: 0, y: 8, width: x(information), height: 24 })),
  ];
}
