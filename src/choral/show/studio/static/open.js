// Opening a table: an example, a file, or a file of the allowed folder.

import { post } from "./api.js";
import { announce, at, calm, fill, h, many, options, warn } from "./dom.js";
import { prepareDropping } from "./drop.js";
import { choose, refresh, studio } from "./main.js";

let asked = 0;

// The table that was asked for last is shown; one that arrives after it is in the list.
async function opening(work) {
  const mine = ++asked;
  calm();
  fill("looking", "Looking at the table …");
  try {
    const table = await work();
    if (mine !== asked) {
      await refresh();
      return;
    }
    choose(table);
    await refresh();
    announce(`${table.name} is open: ${many(table.rows, "row")}, ${many(table.columns.length, "column")}.`);
    at("choose").scrollIntoView({ block: "start" });
  } catch (error) {
    warn(error);
  } finally {
    if (mine === asked) fill("looking");
  }
}

const openTable = (file) => opening(() => post(`/api/upload?name=${encodeURIComponent(file.name)}`, file));

export function prepareOpening() {
  for (const button of document.querySelectorAll("[data-example]")) {
    button.addEventListener("click", () => opening(() => post(`/api/example/${button.dataset.example}`)));
  }
  for (const [id, use] of [["file", openTable], ["release-file", openRelease]]) {
    at(id).addEventListener("change", (event) => {
      const [file] = event.target.files;
      if (file && fits(file)) use(file);
      event.target.value = "";
    });
  }
  prepareDropping((files) => {
    if (files.length !== 1) {
      warn({ what: `${files.length} files were dropped.`, remedy: "Drop one table at a time." });
    } else if (fits(files[0])) {
      (files[0].name.endsWith(".choral") ? openRelease : openTable)(files[0]);
    }
  });
}

function fits(file) {
  if (file.size <= Number(document.body.dataset.limit)) return true;
  warn({
    what: `${file.name} is larger than ${document.body.dataset.limitWords}.`,
    remedy: "Start the studio with a larger --upload-limit, or put the file into a folder and start with --folder DIR.",
  });
  return false;
}

async function openRelease(file) {
  calm();
  studio.following = true;
  try {
    await post(`/api/release?name=${encodeURIComponent(file.name)}`, file);
  } catch (error) {
    warn(error);
  }
  await refresh();
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
  if (table === null) return;
  const text = `${table.name} is open: ${many(table.rows, "row")}, ${many(table.columns.length, "column")}.`;
  if (tables.length < 2) {
    fill("opened", text);
    return;
  }
  if (!at("which")) {
    const select = h("select", { id: "which", onchange: () => {
      asked += 1;
      choose(studio.state.tables.find((one) => String(one.number) === select.value));
    } });
    fill("opened", h("label", { for: "which" }, "Table "), select);
  }
  options(at("which"), tables.map((one) => [String(one.number), `${one.number}: ${one.name} (${many(one.rows, "row")})`]),
    String(table.number));
}
