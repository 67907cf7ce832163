// What can be taken away: the release, the card, the codes, the report.

import { get, post } from "./api.js";
import { at, calm, h, options } from "./dom.js";
import { studio } from "./main.js";

const refused = (view, anew) => h("p", { class: "buttons" },
  h("button", { type: "button", id: "open-earlier", onclick: () => at("release-file").click() }, "Open the release of before"),
  h("button", { type: "button", id: "start-anew", onclick: anew },
    `Nothing that ${view.ledger} records was ever given to anybody: put it aside and start another`));

export function downloads(view) {
  const note = h("div", { id: "download-note", "aria-live": "polite" });
  const id = h("select", { id: "id-column" });
  const columns = studio.state.tables.find((one) => one.digest === view.table.digest)?.columns ?? [];
  options(id, [["", "nothing: codes alone"], ...columns.map((column) => [column.name, column.name])], "");
  const kind = h("select", { id: "ending" });
  options(kind, [[".csv", "CSV"], [".parquet", "Parquet"]], ".csv");
  const draw = h("select", { id: "draw" });
  options(draw, [["lots", "lots"], ["quota", "quota: equal shares that can be counted"]], "lots");
  const told = h("div", { id: "quota-note", "aria-live": "polite" });
  const noise = h("input", { id: "quota-noise", inputmode: "decimal", size: "5", placeholder: "none" });
  const noisy = h("span", { hidden: "" }, h("label", { for: "quota-noise" }, "with noise of epsilon "), noise);
  const epsilon = () => { // what is no number goes as it is, and is refused: never drawn without the noise
    const text = noise.value.trim().replace(",", ".");
    if (draw.value !== "quota" || text === "") return null;
    return Number.isFinite(Number(text)) ? Number(text) : text;
  };
  const cost = async () => {
    const asked = `${draw.value} ${noise.value}`;
    noisy.hidden = draw.value !== "quota";
    told.replaceChildren();
    if (draw.value !== "quota") return;
    try {
      const { sentences } = await get(`/api/results/${view.name}/quota${epsilon() === null ? "" : `?noise=${encodeURIComponent(epsilon())}`}`);
      if (asked === `${draw.value} ${noise.value}`) told.replaceChildren(...sentences.map((sentence, i) => h("p", { class: i === 1 ? "good" : "" }, sentence)));
    } catch (error) {
      told.replaceChildren(h("p", { class: "good" }, error.what), h("p", {}, error.remedy));
    }
  };
  draw.addEventListener("change", cost);
  noise.addEventListener("change", cost);
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
      h("li", { class: "take" }, h("a", { href: `/results/${view.name}/release.choral`, download: "", id: "get-release", class: "button" }, "The release"),
        h("span", { class: "quiet" }, "holds the law and the key: keep it to yourself")),
      h("li", { class: "take" }, h("button", { type: "button", id: "get-card", onclick: make("card", none) }, "The public card"),
        h("span", { class: "quiet" }, "for whoever gets the codes: what each code says, rounded")),
      h("li", { class: "take" }, h("button", { type: "button", id: "get-codes",
        onclick: make("codes", () => ({ id: id.value || null, ending: kind.value, draw: draw.value, quota_noise: epsilon() })) }, "The disclosed codes"),
        h("span", { class: "choice" }, h("span", {}, h("label", { for: "id-column" }, "identified by "), id),
          h("span", {}, h("label", { for: "ending" }, "as "), kind), h("span", {}, h("label", { for: "draw" }, "drawn by "), draw), noisy)),
      h("li", {}, told),
      h("li", { class: "take" }, h("button", { type: "button", id: "get-report", onclick: make("report", none) }, "The report"),
        h("span", { class: "quiet" }, "for whoever decides: one page, with the pictures and the limits"))),
    h("p", { class: "quiet", id: "ledger" }, view.table.origin === "example"
      ? "The people of this table are invented: what is handed out is recorded beside the results alone."
      : `Cards and codes that are handed out are recorded in ${view.ledger}, which refuses what would tell about a record twice.`),
    note);
}
