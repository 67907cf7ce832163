// A result: in words, in numbers, in pictures, with its limits; and what can be taken away.

import { get, post } from "./api.js";
import { markStale } from "./choose.js";
import { at, bits, calm, facts, fill, h, many, options, percent, warn } from "./dom.js";
import { showGame } from "./game.js";
import { studio } from "./main.js";

const TITLES = { signature: "Told and hidden", ladder: "How much is told", posteriors: "What the codes say",
  channel: "The channel", closing: "How the interval closed" };

let asked = null;
let turn = 0;

export function showResults(results, finished) {
  at("result").hidden = at("game").hidden = results.length === 0;
  if (!results.length) return;
  const names = results.map((one) => one.name);
  if (studio.following && names.includes(finished)) studio.shown = finished;
  if (!names.includes(studio.shown)) studio.shown = names.at(-1);
  if (at("view").dataset.name === studio.shown) showPictures(results.find((one) => one.name === studio.shown));
  if (!at("which-result")) {
    const select = h("select", { id: "which-result", onchange: () => {
      studio.shown = select.value;
      studio.following = false;
      showView(studio.shown);
    } });
    fill("results", h("label", { for: "which-result" }, "Result "), select,
      h("p", { class: "quiet" }, studio.state.kept
        ? `Finished results are kept in ${studio.state.kept}.`
        : "Finished results stay here, also when the page is reloaded, until the studio ends: download what you want to keep."));
  }
  options(at("which-result"), results.map((one) => [one.name, inShort(one)]), studio.shown);
  if (asked !== studio.shown) showView(studio.shown);
}

const inShort = (one) => `${one.name.replace("-", " ")}: ${one.table.name}, ${one.information.toFixed(6)} bits about ${one.reveal}`
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
  const private_ = Object.entries(view.leakage).map(([group, leak]) => `${group}: ${leak === 0 ? "0 bits, exactly" : bits(leak)}`);
  fill("view",
    h("div", { class: "summary", id: "summary" }, view.summary.map((text) => h("p", {}, text))),
    facts([
      ["tells", h("span", { id: "information" }, bits(view.information, 9))],
      ["no private code exceeds", h("span", { id: "upper-bound" }, bits(view.upper_bound, 9))],
      ["of what the used columns tell", bits(view.everything, 9)],
      ["of all there is to know", `${bits(view.entropy, 9)} (${percent(view.efficiency)})`],
      ["told about what is protected", private_.join("; ")],
      ["codes", `${view.codes}, for ${many(view.states, "state")}`],
      ["looks at", view.use.join(", ")],
      ["table", `${view.table.name}, ${many(view.rows, "record")}`],
    ]),
    h("div", { id: "pictures" }),
    h("h3", {}, "What is guaranteed"), h("ul", { id: "guarantee" }, view.guarantee.map((text) => h("li", {}, text))),
    h("h3", {}, "What is not"), h("ul", { id: "limits" }, view.limits.map((text) => h("li", {}, text))),
    h("details", {}, h("summary", {}, "How it was found, and its digest"),
      facts([["how", view.how], ["digest", view.digest], ["check it", "choral verify release.choral"]])),
    downloads(view));
  showPictures(view);
  showGame(view);
}

function showPictures(view) {
  const place = at("pictures");
  const now = `${view.name} ${Object.keys(view.pictures)}`;
  if (!place || place.dataset.drawn === now) return;
  place.dataset.drawn = now;
  const drawn = Object.entries(TITLES).filter(([name]) => name in view.pictures).map(([name, title]) => h("figure", {},
    h("div", { class: "paper", tabindex: 0, role: "region", "aria-label": title },
      h("img", { src: `/results/${view.name}/${name}.svg`, alt: view.pictures[name], "data-picture": name })),
    h("figcaption", {}, `${title}. ${view.pictures[name]}.`)));
  place.replaceChildren(...drawn);
}

const refused = (view, anew) => h("p", { class: "buttons" },
  h("button", { type: "button", id: "open-earlier", onclick: () => at("release-file").click() }, "Open the release of before"),
  h("button", { type: "button", id: "start-anew", onclick: anew },
    `Nothing that ${view.ledger} records was ever given to anybody: put it aside and start another`));

function downloads(view) {
  const note = h("div", { id: "download-note", "aria-live": "polite" });
  const id = h("select", { id: "id-column" });
  const columns = studio.state.tables.find((one) => one.digest === view.table.digest)?.columns ?? [];
  options(id, [["", "nothing: codes alone"], ...columns.map((column) => [column.name, column.name])], "");
  const kind = h("select", { id: "ending" });
  options(kind, [[".csv", "CSV"], [".parquet", "Parquet"]], ".csv");
  const make = (what, body, sure = false) => async () => {
    calm();
    note.replaceChildren("Preparing …");
    try {
      const wanted = { ...body(), nothing_was_given_away: sure };
      const { href, name } = await post(`/api/results/${view.name}/${what}`, what === "report" ? undefined : wanted);
      note.replaceChildren(h("a", { href, download: "" }, `Save ${name}`), what === "codes" && !studio.state.kept
        ? h("p", {}, "Save the release too: only it gives these records the same codes again, and another one is refused.") : "");
      note.firstChild.click();
      note.firstChild.focus();
    } catch (error) {
      note.replaceChildren(h("p", { class: "good" }, error.what), h("p", {}, error.remedy),
        error.status === 409 ? refused(view, make(what, body, true)) : "");
    }
  };
  const none = () => ({});
  return h("div", { id: "downloads" }, h("h3", {}, "Take it away"),
    h("ul", { class: "plain" },
      h("li", {}, h("a", { href: `/results/${view.name}/release.choral`, download: "", id: "get-release" }, "The release"),
        h("span", { class: "quiet" }, " holds the law and the key: keep it to yourself")),
      h("li", {}, h("button", { type: "button", id: "get-card", onclick: make("card", none) }, "The public card"),
        h("span", { class: "quiet" }, " for whoever gets the codes: what each code says, rounded")),
      h("li", { class: "buttons" }, h("button", { type: "button", id: "get-codes",
        onclick: make("codes", () => ({ id: id.value || null, ending: kind.value })) }, "The disclosed codes"),
        h("label", { for: "id-column" }, "identified by "), id, h("label", { for: "ending" }, "as "), kind),
      h("li", {}, h("button", { type: "button", id: "get-report", onclick: make("report", none) }, "The report"),
        h("span", { class: "quiet" }, " for whoever decides: one page, with the pictures and the limits"))),
    h("p", { class: "quiet", id: "ledger" }, view.table.origin === "example"
      ? "The people of this table are invented: what is handed out is recorded beside the results alone."
      : `Cards and codes that are handed out are recorded in ${view.ledger}, which refuses what would tell about a record twice.`),
    note);
}
