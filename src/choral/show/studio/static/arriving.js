// A result that is finished comes into sight; again when its words and its picture are there, which may make the page long
// enough for it only then. Whoever scrolls, points or types meanwhile stays where they are.

import { at } from "./dom.js";

let waited = null;

export function expect(name) {
  waited = name;
  at("result").scrollIntoView();
}

// At once: a gliding page that is filled meanwhile may stop on its way.
export function arrive(name) {
  if (name === waited) at("result").scrollIntoView({ behavior: "instant" });
}

for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) {
  addEventListener(kind, () => { waited = null; }, { passive: true });
}
