// Building the page: everything that comes from data is text, never markup.

export const at = (id) => document.getElementById(id);

export function h(tag, attributes = {}, ...children) {
  const svg = ["svg", "rect", "line", "circle", "path", "text", "g"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "checked" || name === "selected" || name === "value") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  const there = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== "");
  element.append(...(svg || tag === "option" ? there : there.flatMap(unbroken)));
  return element;
}

// A number stays with its unit: no line ends between them.
export function unbroken(child) {
  if (typeof child !== "string") return [child];
  return child.split(/((?:[<>] )?[\d.,]*\d (?:%|bits?\b))/).filter(Boolean).map((text) => {
    if (!/\d (?:%|bits?)$/.test(text) || text === child) return text;
    const whole = document.createElement("span");
    whole.className = "unbroken";
    whole.textContent = text;
    return whole;
  });
}

export function fill(id, ...children) {
  at(id).replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined).flatMap(unbroken));
}

export function warn(error) {
  fill("notice", h("p", { class: "good" }, error.what ?? String(error)), error.remedy ? h("p", {}, error.remedy) : null);
  at("notice").scrollIntoView({ block: "nearest" });
}

export const calm = () => fill("notice");

export const announce = (text) => {
  if (at("live").textContent !== text) at("live").textContent = text;
};

// As the library says them (describe/display.py): three digits, and nothing below a thousandth.
export const bits = (value) => {
  const text = value > 0 && value < 0.001 ? "< 0.001" : String(Number(value.toPrecision(3)));
  return `${text} bit${text === "1" ? "" : "s"}`;
};

// A bound in three digits, rounded up: what is read is a bound too.
export const atMost = (bound) => {
  const near = Number(bound.toPrecision(3));
  return bits(near >= bound ? near : near + 10 ** (Math.floor(Math.log10(bound)) - 2));
};

export const inFull = (value, digits = 9) => `${value.toFixed(digits)} bits`;

export const percent = (share) => `${(100 * share).toFixed(1)} %`;

export const many = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

// In place: somebody may be choosing, so a list that is right already is left alone.
export function options(select, entries, chosen) {
  const now = [...select.options].map((one) => [one.value, one.label]);
  if (JSON.stringify(now) !== JSON.stringify(entries)) {
    select.replaceChildren(...entries.map(([value, label]) => h("option", { value, selected: value === chosen }, label)));
  } else if (select.value !== chosen) {
    select.value = chosen;
  }
}

export function facts(entries) {
  return h("dl", { class: "numbers" }, entries.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}
