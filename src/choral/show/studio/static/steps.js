// Where one is: the step at hand is marked, those behind have a tick.

import { at } from "./dom.js";
import { isStale } from "./choose.js";
import { studio } from "./main.js";

let playing = false;

export function prepareSteps() {
  new IntersectionObserver(([seen]) => {
    playing = seen.isIntersecting;
    showSteps();
  }, { rootMargin: "-40% 0px -40% 0px" }).observe(at("game"));
}

function step() {
  if (studio.table === null && studio.view === null) return 0;
  if (studio.state?.job?.status === "running" && studio.state.job.kind === "fit") return 2;
  if (playing && studio.view !== null) return 4;
  if (studio.view !== null && !isStale()) return 3;
  return at("start").disabled ? 1 : 2;
}

export function showSteps() {
  const now = step();
  [...at("steps").querySelectorAll("a")].forEach((link, i) => {
    link.classList.toggle("done", i < now);
    if (i === now) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
  });
}
