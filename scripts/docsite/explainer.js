"use strict";
/* The figures of the explainer. Every number comes from choralXor; this file draws and says them. */
{
  const place = (id) => document.getElementById(id);
  const column = (x) => `${(100 * x + 1e-9).toFixed(1)} %`; // halves that doubles leave a little below are rounded up, too
  const percent = (x) => column(x).replace(".0 ", " ");
  const bitsOf = (x) => `${Number(x.toPrecision(3))} bit${Number(x.toPrecision(3)) === 1 ? "" : "s"}`;
  const PEOPLE = 300; // enough that one in seven is seen to be one in seven
  const SAME = 5e-10; // what is written is rounded far above this

  function drawn(parent, tag, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }

  /* One variable under every code: codes are as wide as they are probable, and stand where they say the variable is. */
  function panel(share, about, told, top, height, svg) {
    const left = 46, width = 240, y = (v) => top + height * (1 - v);
    const moved = Math.max(...about.given.map((q) => Math.abs(q - about.prior)));
    const heading = told ? `told: ${about.name} = 1` : `hidden: ${about.name} = 1`;
    drawn(svg, "text", { x: left, y: told ? 14 : top - 18, class: "heading" }, heading);
    const aside = told ? `before: ${percent(about.prior)}` : moved < SAME ? "0, exactly" : `moves ${(100 * moved).toFixed(1)} points`;
    drawn(svg, "text", { x: left + width, y: told ? 14 : top - 18, "text-anchor": "end", class: "quiet" }, aside);
    for (const mark of [0, 0.5, 1]) {
      drawn(svg, "line", { x1: left, x2: left + width, y1: y(mark), y2: y(mark), class: "axis" });
      drawn(svg, "text", { x: left - 6, y: y(mark) + 4, "text-anchor": "end", class: "quiet" }, `${100 * mark} %`);
    }
    drawn(svg, "line", { x1: left, x2: left + width, y1: y(about.prior), y2: y(about.prior), class: "before" });
    let at = left, path = "";
    share.forEach((part, code) => {
      const next = at + part * width;
      path += `${path ? "L" : "M"}${at},${y(about.given[code])}L${next},${y(about.given[code])}`;
      at = next;
    });
    drawn(svg, "path", { d: path, class: told ? "told" : moved < SAME ? "kept" : "kept moves" });
    if (!told) return;
    at = left;
    share.forEach((part, code) => {
      drawn(svg, "circle", { cx: at + (part * width) / 2, cy: y(about.given[code]), r: 3 + 12 * Math.sqrt(part), class: "dot" });
      at += part * width;
    });
  }

  function figure(section, code) {
    const spoken = sentence(code);
    const left = document.createElementNS("http://www.w3.org/2000/svg", "svg"), right = left.cloneNode();
    for (const [svg, height] of [[left, 230], [right, 230]]) {
      svg.setAttribute("viewBox", `0 0 304 ${height}`);
      svg.setAttribute("role", "img");
    }
    left.setAttribute("aria-label", `Told: ${spoken}`);
    right.setAttribute("aria-label", `Hidden: ${code.kept.map((about) => `${about.name} ${about.given.map(percent).join(", ")}`).join("; ")}`);
    panel(code.share, code.told, true, 40, 160, left);
    drawn(left, "text", { x: 46, y: 224, class: "quiet" }, "codes; width: share of the records");
    code.kept.forEach((about, i) => panel(code.share, about, false, 32 + 120 * i, 70, right));
    section.querySelector(".figure").replaceChildren(left, right);
    section.querySelector(".finding").textContent = spoken;
  }

  function guessed({ name, guess }) {
    return Math.abs(guess.after - guess.before) < SAME ? `${name} ${percent(guess.before)} either way` : `${name} is guessed right ${percent(guess.after)} instead of ${percent(guess.before)}`;
  }

  function sentence(code) {
    const leaks = code.kept.filter((about) => about.bits > SAME).map((about) => `${bitsOf(about.bits)} about ${about.name}`);
    const leak = leaks.length ? `, and ${leaks.join(" and ")}` : ", and nothing about X1 or X2";
    return `${[code.told, ...code.kept].map(guessed).join("; ")}. The code tells ${bitsOf(code.told.bits)} about W${leak}.`;
  }

  function cells(row, texts, tag = "td") {
    row.append(...texts.map((text) => Object.assign(document.createElement(tag), { textContent: text })));
    return row;
  }

  function channel(code) {
    const head = cells(document.createElement("tr"), ["X1 X2", "probability", ...code.share.map((_, y) => `code ${y}`)], "th");
    const rows = choralXor.STATES.map((x, s) => cells(document.createElement("tr"), [x.join(" "), code.p[s].toFixed(3), ...code.channel[s].map((q) => (code.p[s] > SAME ? column(q) : "–"))]));
    place("leaning").querySelector("table").replaceChildren(head, ...rows);
  }

  function pairs(code) {
    const found = choralXor.twice(code);
    const head = cells(document.createElement("tr"), ["two codes", "how often", "X1 is 1", "X2 is 1"], "th");
    const rows = found.map(({ codes, probability, bits, certain }) => {
      const row = cells(document.createElement("tr"), [codes.join(" and "), column(probability), ...bits.map(column)]);
      if (certain.some(Boolean)) row.className = "certain";
      return row;
    });
    place("twice").querySelector("table").replaceChildren(head, ...rows);
    const sure = found.filter(({ certain }) => certain.some(Boolean));
    const told = sure.map(({ codes, bits, certain }) => `codes ${codes.join(" and ")} give away that ${[0, 1].filter((i) => certain[i]).map((i) => `X${i + 1} is ${Math.round(bits[i])}`).join(" and ")}`);
    const often = sure.reduce((all, { probability }) => all + probability, 0);
    place("twice").querySelector(".finding").textContent = sure.length
      ? `Before the first draw X1 was 1 with ${percent(code.kept[0].prior)} and X2 with ${percent(code.kept[1].prior)}. Two draws: ${told.join("; ")}. That happens to ${percent(often)} of the people.`
      : "With this law two draws give nobody's bit away for sure: choose .4, .1, .2, .3 above.";
  }

  function chosen(weights) {
    let at = (crypto.getRandomValues(new Uint32Array(1))[0] + 0.5) / 2 ** 32;
    return Math.max(0, weights.findIndex((w) => (at -= w) < 0));
  }

  function draw() {
    const code = current(), certain = new Map(choralXor.twice(code).map((pair) => [pair.codes.join(), pair.certain.some(Boolean)]));
    let caught = 0;
    const dots = Array.from({ length: PEOPLE }, () => {
      const state = chosen(code.p);
      const two = [chosen(code.channel[state]), chosen(code.channel[state])].sort();
      const known = certain.get(two.join()) ?? false;
      caught += known;
      return Object.assign(document.createElement("i"), { className: known ? "known" : "" });
    });
    place("people").replaceChildren(...dots);
    const said = `Of ${PEOPLE} people, ${caught} have a bit that everybody now knows for sure. With one draw each, there were none.`;
    place("people").setAttribute("aria-label", said);
    place("caught").textContent = said;
  }

  /* The third slider runs between the least and the most that "both" can be, given the first two. */
  function bounds() {
    const a = place("a").value / 100, b = place("b").value / 100;
    return { a, b, least: Math.max(0, a + b - 1), most: Math.min(a, b) };
  }

  function current() {
    const { a, b, least, most } = bounds();
    return choralXor.hidden(choralXor.law(a, b, least + ((most - least) * place("c").value) / 100));
  }

  function all() {
    const code = current();
    place("a-said").textContent = percent(code.kept[0].prior);
    place("b-said").textContent = percent(code.kept[1].prior);
    place("c-said").textContent = percent(code.p[3]);
    figure(place("leaning"), code);
    channel(code);
    pairs(code);
    place("people").replaceChildren();
    place("caught").textContent = "";
    leakage();
  }

  function leakage() {
    const ratio = place("r").value / 100;
    place("r-said").textContent = ratio.toFixed(2);
    figure(place("leakage"), choralXor.within(current().p, ratio));
  }

  figure(place("fair"), choralXor.hidden(choralXor.law(0.5, 0.5, 0.25)));
  for (const id of ["a", "b", "c"]) place(id).addEventListener("input", all);
  place("r").addEventListener("input", leakage);
  place("draw").addEventListener("click", draw);
  for (const button of document.querySelectorAll("[data-law]")) {
    button.addEventListener("click", () => {
      const [a, b, both] = button.dataset.law.split(" ").map((text) => text / 100);
      place("a").value = Math.round(100 * a);
      place("b").value = Math.round(100 * b);
      const { least, most } = bounds();
      place("c").value = Math.round((100 * (both - least)) / (most - least));
      all();
    });
  }
  all();
}
