// The question as text that runs: a command, or Python.

import { announce, at, h } from "./dom.js";

export function copying(view) {
  if (!view.copies.command) return null;
  const place = h("pre", { id: "copied", tabindex: 0, hidden: true, "aria-label": "the text that was copied" });
  const copy = (what) => async () => {
    place.textContent = view.copies[what];
    place.hidden = false;
    try {
      await navigator.clipboard.writeText(view.copies[what]);
      announce("Copied.");
      at("copy-note").textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(place);
      at("copy-note").textContent = "Marked: copy it with your keyboard.";
    }
  };
  const example = view.table.origin === "example"
    ? [" It needs the table beside it: ", h("a", { href: `/examples/${view.table.name}.csv`, download: "" }, `${view.table.name}.csv`), "."] : "";
  return h("div", { id: "copying" }, h("p", { class: "buttons" },
    h("button", { type: "button", id: "copy-command", onclick: copy("command") }, "Copy as command"),
    h("button", { type: "button", id: "copy-python", onclick: copy("python") }, "Copy as Python"),
    h("span", { class: "quiet", id: "copy-note", "aria-live": "polite" }), h("span", { class: "quiet" }, "It asks the same question.", example)),
  place);
}
