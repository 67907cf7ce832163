// What to expect, while one chooses: at once what needs no solving, then a quick answer that holds.

import { post, Refusal } from "./api.js";
import { at, atMost, bits, facts, fill, h, many, percent } from "./dom.js";
import { guesses } from "./guesses.js";
import { studio } from "./main.js";
import { showCosts } from "./promises.js";
import { showSteps } from "./steps.js";

const WAIT = 250;

let timer = null;
let asked = 0;

// Asks for what to expect of a question, when nothing was changed for a moment.
export function expect(question) {
  asked += 1;
  clearTimeout(timer);
  timer = setTimeout(() => look(question), WAIT);
}

async function look(question) {
  const mine = asked;
  const has = (role) => Object.values(question.roles).includes(role);
  if (!has("reveal") || !(has("protect") || question.together.length)) {
    fill("outlook", h("p", {}, "Choose one column to tell about and at least one to protect: then you see here what can be told."));
    mayStart(`${has("reveal") ? "No column is protected" : "No column is chosen to tell about"}: choose one above.`);
    return;
  }
  const body = { table: studio.table.number, question };
  try {
    const found = await post("/api/outlook", body);
    if (mine !== asked) return;
    showOutlook(found);
    const quick = await post("/api/estimate", body);
    if (mine === asked && !quick.superseded) showEstimate(quick, found);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (mine !== asked) return;
    fill("outlook", h("p", { class: "good" }, error.what), h("p", {}, error.remedy ?? ""));
    mayStart(error.status === 0 ? "" : error.what);
  }
}

function showOutlook(found) {
  const told = () => {
    if (found.learned) return `A score for ${found.reveal} is learned when you solve.`;
    if (found.feasible === false) return `Nothing can be told about ${found.reveal}: what is protected determines all that could be said.`;
    const most = `at most ${atMost(found.upper_bound)}`;
    return found.feasible ? `Something can be told about ${found.reveal}: ${most}.` : `About ${found.reveal} ${most} can be told; whether any can, solving says.`;
  };
  const rank = found.rank === null ? "said when solving" : `${found.rank}; nullity ${found.nullity}`;
  fill("outlook", h("p", { class: "good", id: "feasible" }, told()),
    h("div", { id: "quick" }, found.feasible === false ? "" : h("p", { class: "quiet" }, "A quick estimate is on its way …")),
    ...found.advice.map((one) => h("div", { class: "warning" }, h("p", { class: "good" }, one.what), h("p", {}, one.remedy))),
    h("details", {}, h("summary", {}, "Numbers behind it"), facts([
      [`${found.reveal} is guessed right without a code`, percent(found.guess_before)],
      ["there is to know, H(W)", bits(found.entropy)],
      ["without privacy, I(W;X)", found.information === null ? "said when solving" : bits(found.information)],
      ["with privacy, at most", found.upper_bound === null ? "said when solving" : atMost(found.upper_bound)],
      ["states", found.states === null ? "said when solving" : `${found.states.toLocaleString("en")}, from ${many(found.rows, "record")}`],
      ["rank of what is protected", rank],
      ["how", found.plan ?? "said when solving"],
      ...Object.entries(found.alphabets).map(([name, values]) => [`bins of ${name}`, values.join(" · ")]),
    ])));
  mayStart();
}

function showEstimate(quick, found) {
  if (!at("quick")) return;
  if (quick.why_not) {
    at("quick").replaceChildren(h("p", { class: "quiet" }, quick.why_not));
    return;
  }
  const learned = quick.learned ? `, by a score learned from ${fewer(quick.learned)}` : "";
  const [told, most] = [bits(quick.information), atMost(quick.upper_bound)];
  at("quick").replaceChildren(
    h("p", { id: "estimated", class: "good" }, `Quick estimate: ${quick.said}.`),
    guesses(quick.guesses, "expected"),
    h("p", { class: "quiet" }, `${told === most ? told : `${told} to ${most}`}, with ${many(quick.codes, "code")}${learned}. `
      + "Solving makes it exact, certified and ready to be given away."),
    ...quick.remarks.map((text) => h("p", { class: "quiet" }, text)));
  at("feasible").className = "quiet"; // guesses first, then what is known in bits
  if (found.learned) fill("feasible", howLearned(found.reveal, quick.learned));
  at("feasible").before(at("quick"));
  showCosts(quick.costs);
}

const fewer = ({ records, of }) => (records < of ? `${records.toLocaleString("en")} of ${many(of, "record")}` : `all ${many(of, "record")}`);

// Of a score: what the estimate has done already, and what solving does.
function howLearned(reveal, lesson) {
  if (!lesson) return `No score for ${reveal} is needed: the columns are counted as they stand.`;
  return lesson.records < lesson.of
    ? `Solving learns the score for ${reveal} from more of the records: it may tell more than is estimated here.`
    : `Solving learns the same score for ${reveal}.`;
}

// Solve can be pressed, or says beside it why not.
function mayStart(whyNot = "") {
  at("start").disabled = whyNot !== "";
  fill("why-not", whyNot);
  showSteps();
}
