// Opening a table: an example, a file, or a file of the allowed folder.

import { post } from "./api.js";
import { announce, at, calm, fill, h, many, options, warn } from "./dom.js";
import { choose, refresh, studio } from "./main.js";

async function opening(work) {
  calm();
  fill("opened", "Looking at the table …");
  try {
    const table = await work();
    choose(table);
    await refresh();
    announce(`${table.name} is open: ${many(table.rows, "row")}, ${many(table.columns.length, "column")}.`);
    at("choose").scrollIntoView();
  } catch (error) {
    fill("opened");
    warn(error);
  }
  if (studio.state) showTables(studio.state);
}

export function prepareOpening() {
  for (const button of document.querySelectorAll("[data-example]")) {
    button.addEventListener("click", () => opening(() => post(`/api/example/${button.dataset.example}`)));
  }
  at("file").addEventListener("change", (event) => {
    const [file] = event.target.files;
    if (!file) return;
    if (file.size > Number(document.body.dataset.limit)) {
      warn({
        what: `${file.name} is larger than ${document.body.dataset.limitWords}.`,
        remedy: "Start the studio with a larger --upload-limit, or put the file into a folder and start with --folder DIR.",
      });
    } else {
      opening(() => post(`/api/upload?name=${encodeURIComponent(file.name)}`, file));
    }
    event.target.value = "";
  });
}

export function showTables({ files, tables }) {
  if (files !== null && !at("from-folder")) {
    const select = h("select", { id: "from-folder" });
    options(select, files.map((name) => [name, name]));
    const open = () => opening(() => post(`/api/file?name=${encodeURIComponent(select.value)}`));
    fill("folder", h("h3", {}, h("label", { for: "from-folder" }, "A file in the allowed folder")),
      files.length
        ? h("p", { class: "buttons" }, select, h("button", { type: "button", onclick: open }, "Open"))
        : h("p", { class: "quiet" }, "There is no table in it."));
  }
  const { table } = studio;
  if (table === null) {
    fill("opened");
    return;
  }
  const text = `${table.name} is open: ${many(table.rows, "row")}, ${many(table.columns.length, "column")}.`;
  if (tables.length < 2) {
    fill("opened", text);
  } else if (at("which")?.dataset.tables !== String(tables.length) || at("which").value !== String(table.number)) {
    const select = h("select", { id: "which", "data-tables": tables.length,
      onchange: () => choose(tables.find((one) => String(one.number) === select.value)) });
    options(select, tables.map((one) => [String(one.number), `${one.number}: ${one.name} (${many(one.rows, "row")})`]),
      String(table.number));
    fill("opened", h("label", { for: "which" }, "Table "), select);
  }
}
