// Playing the adversary: guess, see the code, guess again; the score beside what the best adversary reaches.

import { get, post } from "./api.js";
import { announce, at, calm, facts, fill, h, many, options, percent, warn } from "./dom.js";
import { studio } from "./main.js";

let records = 0;
let turn = 0;

export async function showGame(view) {
  const mine = ++turn;
  let found;
  try {
    found = await get(`/api/results/${view.name}/game`);
  } catch (error) {
    warn(error);
    return;
  }
  if (mine !== turn) return;
  ({ records } = found);
  if (!records || !view.subjects.length) {
    fill("game-body", h("p", {}, "There are too many values to guess."));
    return;
  }
  const about = h("select", { id: "about", onchange: () => begin(view, about.value) });
  const named = (one) => `${one.name} (${one.role === "target" ? "told" : "protected"})`;
  const first = view.subjects.find((one) => one.role === "protected") ?? view.subjects[0];
  options(about, view.subjects.map((one) => [one.name, named(one)]), first.name);
  fill("game-body", h("h3", {}, "Try it yourself"),
    h("p", {}, "You know the law of the table, and pick a record. Guess a value, see the code of the record, and guess again. "
      + `There are ${many(records, "record")}, drawn at random for this game with codes of their own.`),
    h("p", { class: "buttons" }, h("label", { for: "about" }, "Guess "), about),
    h("div", { id: "round" }), h("div", { id: "score" }));
  begin(view, first.name);
}

async function begin(view, name) {
  const mine = ++turn;
  const subject = view.subjects.find((one) => one.name === name);
  fill("round");
  let scores;
  try {
    ({ scores } = await get(`/api/results/${view.name}/game`));
  } catch (error) {
    warn(error);
    return;
  }
  if (mine !== turn) return;
  showScore(subject, scores[name]);
  const number = h("input", { type: "number", id: "record", min: 1, max: records,
    value: 1 + Math.floor(Math.random() * records) });
  const best = h("button", { type: "button", id: "best", onclick: () => letBestPlay(view, subject) },
    "Let the best adversary play all the rest");
  fill("round",
    h("p", { class: "buttons" }, h("label", { for: "record" }, "Record "), number, best),
    bars(subject, subject.prior, null),
    guesses(subject, "Your guess, without the code", "before", (guess) => seeCode(view, subject, Number(number.value), guess),
      subject.prior.indexOf(Math.max(...subject.prior))));
}

// A guess is proposed only where there is none to be swayed: after the code, whoever plays decides.
function guesses(subject, legend, name, act, proposed = -1) {
  const radios = subject.values.map((value, i) => h("label", {}, h("input", {
    type: "radio", name: `guess-${name}`, value: i, checked: i === proposed, onchange: () => { button.disabled = false; },
  }), h("bdi", {}, value)));
  const body = h("div", { class: "roles" }, radios);
  const guess = async () => {
    studio.following = false;
    button.disabled = true;
    await act(Number(body.querySelector("input:checked").value));
    button.disabled = false;
  };
  const button = h("button", { type: "button", class: "main", disabled: proposed < 0, onclick: guess }, "Guess");
  return h("fieldset", { class: "group", id: `guess-${name}` }, h("legend", {}, legend), body, h("p", { class: "buttons" }, button));
}

async function seeCode(view, subject, record, guess) {
  calm();
  const mine = turn;
  try {
    const seen = await post(`/api/results/${view.name}/before`, { about: subject.name, record, guess });
    if (mine !== turn) return;
    const same = subject.unmoved
      ? "The code moves nothing: before and after are equal, exactly."
      : "The code moves the probabilities.";
    fill("round", h("p", { id: "seen" }, `Record ${record} has code ${seen.code}. ${same}`),
      bars(subject, subject.prior, seen.given),
      guesses(subject, "Your guess, with the code", "after", (second) => seeTruth(view, subject, record, second)));
    at("guess-after").querySelector("input").focus();
    announce(`Code ${seen.code}. ${same}`);
  } catch (error) {
    warn(error);
  }
}

async function seeTruth(view, subject, record, guess) {
  const mine = turn;
  try {
    const told = await post(`/api/results/${view.name}/after`, { about: subject.name, record, guess });
    if (mine !== turn) return;
    const words = `${subject.name} of record ${record} is ${subject.values[told.truth]}. Your first guess was `
      + `${told.first ? "right" : "wrong"}, your second ${told.second ? "right" : "wrong"}.`;
    const again = h("button", { type: "button", class: "main", onclick: () => begin(view, subject.name) }, "Another record");
    fill("round", h("p", { id: "truth" }, words), h("p", { class: "buttons" }, again));
    again.focus();
    announce(words);
    showScore(subject, told.score);
  } catch (error) {
    warn(error);
  }
}

async function letBestPlay(view, subject) {
  const mine = turn;
  try {
    const { score } = await post(`/api/results/${view.name}/best`, { about: subject.name });
    if (mine !== turn) return;
    showScore(subject, score);
    announce("The best adversary has played.");
  } catch (error) {
    warn(error);
  }
}

function showScore(subject, score) {
  const rate = (right) => (score.rounds ? `${right} of ${score.rounds} (${percent(right / score.rounds)})` : "–");
  fill("score", h("h3", {}, `Score about ${subject.name}`), facts([
    ["right without the code", h("span", { id: "score-before" }, rate(score.before))],
    ["right with the code", h("span", { id: "score-after" }, rate(score.after))],
    ["the best adversary without the code", h("span", { id: "best-before" }, percent(score.best_before))],
    ["the best adversary with the code", h("span", { id: "best-after" }, percent(score.best_after))],
  ]));
}

function bars(subject, prior, given) {
  const rows = subject.values.flatMap((value, i) => {
    const after = given ? `, after ${percent(given[i])}` : "";
    return [h("span", { class: "values" }, value),
      h("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", role: "img",
        "aria-label": `${value}: before ${percent(prior[i])}${after}` },
      h("rect", { class: "before", x: 0, y: given ? 1 : 6, width: 100 * prior[i], height: 8 }),
      given ? h("rect", { class: "after", x: 0, y: 11, width: 100 * given[i], height: 8 }) : null),
      h("span", { class: "share", "aria-hidden": "true" }, percent(prior[i]), given ? [h("br"), percent(given[i])] : "")];
  });
  return h("div", {}, h("p", { class: "quiet" }, given ? "grey: before; blue: after seeing the code" : "what is known before"),
    h("div", { class: "bars" }, rows));
}
