"use strict";
/* The search of a page that loads nothing: what is looked for is found on the first page. */
{
  const form = document.getElementById("search"), box = document.getElementById("query");
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (box.value.trim()) location.href = `index.html#search=${encodeURIComponent(box.value.trim())}`;
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
    event.preventDefault();
    box.focus();
  });
}
