"use strict";
/* The list of pages at the current one, and the search. The index is a file beside the pages: nothing else is asked for. */
{
  const MOST = 12; // results shown: what fits on a screen
  const AROUND = 90; // letters of text on either side of a word found
  const place = (id) => document.getElementById(id);

  const here = document.querySelector(".wide [aria-current]");
  if (here) here.closest("nav").scrollTop = here.offsetTop - here.closest("nav").clientHeight / 2;

  const form = place("search"), box = place("query"), found = place("found"), count = place("count");
  let index = null;

  const plain = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  const words = (text) => plain(text).match(/[\p{L}\p{N}_|+-]+/gu) ?? [];

  function load() {
    if (index !== null) return;
    index = [];
    const script = document.createElement("script");
    script.src = "search-index.js";
    script.onload = () => {
      index = choralIndex.map(([at, title, heading, text]) => ({ at, title, heading, text, titles: plain(title), headings: plain(heading), body: plain(text) }));
      show();
    };
    script.onerror = () => { index = null; count.textContent = "The index (search-index.js) is not beside this page."; };
    document.head.append(script);
  }

  /* How well a text holds a word: as a whole word, as the beginning of one, or inside. */
  function hits(text, word) {
    let score = 0, at = text.indexOf(word);
    for (let seen = 0; at >= 0 && seen < 20; seen += 1, at = text.indexOf(word, at + word.length)) {
      const begins = at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]);
      const ends = !/[\p{L}\p{N}]/u.test(text[at + word.length] ?? " ");
      score += begins && ends ? 3 : begins ? 2 : word.length > 3 ? 0.3 : 0;
    }
    return score;
  }

  function score(entry, asked) {
    let sum = 0;
    for (const word of asked) {
      const one = 12 * Math.min(hits(entry.headings, word), 3) + 8 * Math.min(hits(entry.titles, word), 3) + Math.log2(1 + hits(entry.body, word));
      if (one === 0) return 0;
      sum += one;
    }
    return entry.heading === "" ? sum * 1.2 : sum;
  }

  /* Where a word begins in a text, or else where it is inside one. */
  function whereabouts(text, word, from = 0) {
    for (let at = text.indexOf(word, from); at >= 0; at = text.indexOf(word, at + 1)) if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return at;
    return word.length > 3 ? text.indexOf(word, from) : -1;
  }

  function excerpt(entry, asked) {
    const at = Math.max(0, Math.min(...asked.map((word) => whereabouts(entry.body, word)).filter((n) => n >= 0), Infinity));
    const from = Number.isFinite(at) ? Math.max(0, at - AROUND) : 0;
    const text = entry.text.slice(from, from + 2 * AROUND);
    const line = document.createElement("span");
    line.className = "excerpt";
    const lower = plain(text).length === text.length ? plain(text) : text.toLowerCase();
    let done = 0;
    while (done < text.length) {
      const next = asked.map((word) => [whereabouts(lower, word, done), word.length]).filter(([n]) => n >= 0).sort((a, b) => a[0] - b[0] || b[1] - a[1])[0];
      if (!next) break;
      line.append(text.slice(done, next[0]), Object.assign(document.createElement("mark"), { textContent: text.slice(next[0], next[0] + next[1]) }));
      done = next[0] + next[1];
    }
    line.append(text.slice(done));
    if (from > 0) line.prepend("… ");
    if (from + 2 * AROUND < entry.text.length) line.append(" …");
    return line;
  }

  function row(entry, asked) {
    const link = Object.assign(document.createElement("a"), { href: entry.at });
    const name = document.createElement("strong");
    name.textContent = entry.heading ? `${entry.title} › ${entry.heading}` : entry.title;
    link.append(name, excerpt(entry, asked));
    const item = document.createElement("li");
    item.append(link);
    return item;
  }

  function show() {
    const asked = words(box.value);
    place("results").hidden = asked.length === 0;
    if (asked.length === 0) return found.replaceChildren();
    const best = (index ?? []).map((entry) => [score(entry, asked), entry]).filter(([s]) => s > 0).sort((a, b) => b[0] - a[0]);
    found.replaceChildren(...best.slice(0, MOST).map(([, entry]) => row(entry, asked)));
    const places = best.length > MOST ? `The best ${MOST} of ${best.length} places` : best.length === 1 ? "1 place" : `${best.length} places`;
    count.textContent = best.length === 0 ? `Nothing holds ${asked.length > 1 ? "all of " : ""}“${box.value.trim()}”.` : places;
  }

  function close() {
    place("results").hidden = true;
    box.value = "";
    box.focus();
  }

  function step(by) {
    const links = [...found.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement) + by;
    (at < 0 ? box : links[Math.min(at, links.length - 1)] ?? box).focus();
  }

  if (form) {
    form.hidden = false;
    box.addEventListener("focus", load);
    box.addEventListener("input", () => { load(); show(); });
    form.addEventListener("submit", (event) => { event.preventDefault(); found.querySelector("a")?.click(); });
    addEventListener("keydown", (event) => {
      if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) { event.preventDefault(); box.focus(); }
      if (!form.contains(document.activeElement)) return;
      if (event.key === "Escape") close();
      if (event.key === "ArrowDown") { event.preventDefault(); step(1); }
      if (event.key === "ArrowUp") { event.preventDefault(); step(-1); }
    });
    addEventListener("pointerdown", (event) => { if (!form.contains(event.target)) place("results").hidden = true; });
    if (location.hash.startsWith("#search=")) { // from a page that has no index
      box.value = decodeURIComponent(location.hash.slice("#search=".length));
      box.focus();
      load();
    }
  }
}
