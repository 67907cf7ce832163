"use strict";
/* The page around the verifier: a file in, sentences out. The verifier runs in a worker of its own, so that the page stays alive. */
{
  const place = (id) => document.getElementById(id);
  const source = `${place("library").textContent}\nonmessage = ({ data }) => postMessage(choralVerifier.verify(new Uint8Array(data)));`;
  let worker = null;

  function fill(list, sentences) {
    place(list).replaceChildren(...sentences.map((sentence) => Object.assign(document.createElement("li"), { textContent: sentence })));
  }

  function heading(found) {
    if (found.holds) return "✓ This file keeps what it promises";
    if (found.private) return "✗ Private, but it does not tell what it says";
    return found.claim === "budget" ? "✗ Not checked: it would take too long here" : "✗ Refused: do not rely on this file";
  }

  function show(found, name) {
    place("verdict").className = found.holds ? "holds" : "fails";
    place("verdict-heading").textContent = heading(found);
    place("reason").textContent = found.holds ? `${name}: ${found.about}.` : `${name} fails at “${found.claim}”: ${found.reason}.`;
    place("promised").hidden = !found.private;
    fill("promises", [...found.promises, choralVerifier.NOTHING_ELSE]);
    place("telling").hidden = !found.holds;
    place("told").textContent = found.holds ? `It is about ${found.reveal.join(" and ")}, and looks at ${found.use.join(", ")}. ${found.told}` : "";
    fill("unchecked", found.private ? found.notChecked : ["anything after the claim that failed", ...found.notChecked]);
    place("verdict").hidden = false;
    place("status").textContent = `${name} was read in this window and sent nowhere.`;
    place("verdict-heading").focus();
  }

  async function check(file) {
    worker?.terminate();
    place("verdict").hidden = true;
    place("status").textContent = `Checking ${file.name} …`;
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const mine = new Worker(address);
    worker = mine;
    mine.onmessage = ({ data }) => show(data, file.name);
    mine.onerror = (error) => {
      error.preventDefault();
      place("status").textContent = `${file.name} could not be checked (${error.message}). This is a defect of this page, and says nothing about the file.`;
    };
    try {
      const bytes = await file.arrayBuffer();
      mine.postMessage(bytes, [bytes]);
    } catch {
      place("status").textContent = `${file.name} cannot be read.`;
    }
    URL.revokeObjectURL(address);
  }

  place("file").addEventListener("change", ({ target }) => {
    if (target.files.length > 0) check(target.files[0]);
  });
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
    addEventListener(kind, (event) => {
      event.preventDefault();
      place("drop").classList.toggle("over", kind === "dragenter" || kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length > 0) check(event.dataTransfer.files[0]);
    });
  }
}
