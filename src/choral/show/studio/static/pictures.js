// The pictures of a result, drawn by the studio; each is dark where the page is.

import { arrive } from "./arriving.js";
import { at, h } from "./dom.js";

const TITLES = { signature: "Told and hidden", ladder: "How much is told", posteriors: "What the codes say",
  channel: "The channel", closing: "How the interval closed" };

// `where` tells two regions with the same picture apart.
export function picture(view, name, where = "") {
  return h("figure", {},
    h("div", { class: "paper", tabindex: 0, role: "region", "aria-label": `${TITLES[name]}, ${view.name.replace("-", " ")}${where}` },
      h("picture", {},
        name === "signature" ? h("source", { media: "(max-width: 44rem)", srcset: `/results/${view.name}/signature-narrow.svg` }) : null,
        h("img", { src: `/results/${view.name}/${name}.svg`, alt: view.pictures[name], "data-picture": name }))),
    name === "signature" ? h("figcaption", {}, "A dot is a code, its area how often it is seen; dashed is what is known without it. "
      + "A straight line is the same under every code; a band, within a budget, is not.") : null);
}

// The first picture at once, the others folded; in place while they are being drawn.
export function showPictures(view) {
  const now = `${view.name} ${Object.keys(view.pictures)}`;
  if (!at("pictures") || at("pictures").dataset.drawn === now) return;
  at("pictures").dataset.drawn = now;
  const [first, ...rest] = Object.keys(TITLES).filter((name) => name in view.pictures);
  at("pictures").replaceChildren(...(first ? [picture(view, first)] : [h("p", { class: "quiet" }, "The picture is being drawn …")]));
  at("pictures").querySelector("img")?.addEventListener("load", () => arrive(view.name));
  const open = at("more-pictures").open;
  at("more-pictures").hidden = !rest.length;
  at("more-pictures").replaceChildren(h("summary", {}, `${rest.length} more pictures`), ...rest.map((name) => picture(view, name)));
  at("more-pictures").open = open;
}
