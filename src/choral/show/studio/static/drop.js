// Dropping a file on the page opens it: a table, or a release of before.

export function prepareDropping(open) {
  let inside = 0;
  const files = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const shown = (on) => document.body.classList.toggle("dropping", on);
  document.addEventListener("dragenter", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    inside += 1;
    shown(true);
  });
  document.addEventListener("dragleave", (event) => {
    if (!files(event)) return;
    inside = Math.max(0, inside - 1);
    shown(inside > 0);
  });
  document.addEventListener("dragover", (event) => {
    if (files(event)) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    inside = 0;
    shown(false);
    open([...event.dataTransfer.files]);
  });
}
