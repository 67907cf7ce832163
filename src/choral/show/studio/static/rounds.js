// Three hundred rounds of the best adversary as dots: without the code and with it, the target beside what is protected.

import { announce, at, h, percent, unbroken } from "./dom.js";

const EVERY = 15;
const AT_ONCE = 5;

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function showRounds(view) {
  const place = at("rounds");
  const strips = view.findings?.strips ?? [];
  place.hidden = !strips.length;
  if (!strips.length) {
    place.replaceChildren();
    return;
  }
  const of = (test) => strips.filter(test);
  const scenes = [["Who knows the law alone", of((one) => !one.knows && !one.promise)]];
  const knowing = strips.find((one) => one.knows && !one.promise);
  if (knowing) {
    scenes.push([`Who also knows ${knowing.knows}`, [strips.find((one) => one.role === "target"), knowing]]);
    const promised = of((one) => one.promise);
    if (promised.length) scenes.push([`… with the promise ${promised[0].promise}`, promised]);
  }
  const body = h("div", { id: "dots" });
  const radios = scenes.map(([label], i) => h("label", {}, h("input", { type: "radio", name: "scene", value: i, checked: i === 0,
    onchange: () => play(body, scenes[i][1]) }), h("bdi", {}, label)));
  place.replaceChildren(
    h("p", {}, `The best adversary plays ${strips[0].before.length} rounds: each is a record with a code, drawn at random for this game. `
      + "A filled dot is a right guess."),
    h("fieldset", { class: "segments scenes" }, h("legend", { class: "hidden-text" }, "Who plays"), radios),
    h("p", { class: "buttons" }, h("button", { type: "button", id: "again", onclick: () => {
      play(body, scenes[Number(place.querySelector("input:checked").value)][1]);
    } }, "Play again")),
    body);
  play(body, scenes[0][1], true);
}

let running = null;

// Rows grow together, round by round; at once for whoever wants no motion, and for the first scene, which nobody asked for.
function play(body, strips, atOnce = false) {
  clearInterval(running);
  const panels = strips.map(panel);
  body.replaceChildren(...panels.map((one) => one.element));
  const rounds = strips[0].before.length;
  let played = atOnce || still() ? rounds : 0;
  const grow = () => {
    panels.forEach((one) => one.show(played));
    if (played >= rounds) {
      clearInterval(running);
      announce(strips.map((one) => verdict(one)).join(" "));
    }
    played = Math.min(rounds, played + AT_ONCE);
  };
  grow();
  if (played < rounds || !atOnce) running = setInterval(grow, EVERY);
}

const sum = (list, count) => list.slice(0, count).reduce((total, one) => total + one, 0);

function verdict(strip) {
  const who = strip.knows ? `Who knows ${strip.knows} ` : "The code ";
  if (!strip.gains) return `${strip.about}: ${strip.knows ? `with the code, who knows ${strip.knows}` : "nobody"} guesses ${strip.knows ? "as before" : "better"}.`;
  return strip.role === "target" ? `${strip.about} is guessed better with the code.` : `${who}guesses ${strip.about} better with the code.`;
}

function panel(strip) {
  const rows = [["without the code", strip.before, strip.best_before], ["with the code", strip.after, strip.best_after]].map(([label, list, best]) => {
    const dots = h("div", { class: "dots", "aria-hidden": "true" }, list.map((right) => h("i", { class: right ? "right" : "wrong" })));
    const score = h("span", { class: "score" });
    return { dots, score, list, best, element: h("div", { class: "row" }, h("p", {}, h("b", {}, label), " ", score), dots) };
  });
  const words = h("p", { class: "verdict" });
  return {
    element: h("div", { class: "panel card", "data-about": strip.about, "data-role": strip.role, "data-knows": strip.knows ?? "", "data-promise": strip.promise ?? "" },
      h("h3", {}, h("bdi", {}, strip.about), strip.role === "target" ? " (told)" : " (protected)",
        strip.knows ? h("span", { class: "quiet" }, ` by who knows ${strip.knows}`) : ""),
      rows.map((row) => row.element), words),
    show: (count) => {
      for (const { dots, score, list, best } of rows) {
        for (let i = 0; i < list.length; i += 1) dots.children[i].hidden = i >= count;
        const right = sum(list, count);
        score.replaceChildren(...unbroken(count ? `${right} of ${count} right (${percent(right / count)}); on average ${percent(best)}` : ""));
      }
      words.textContent = count >= strip.before.length ? verdict(strip) : "";
    },
  };
}
