"use strict";
/* A second verifier of choral's release files, written from docs/release-format.md and from nothing else.

   It recomputes, in whole numbers, that a release is private: every promise of the file under its law. It recomputes how much is told. It does
   NOT check that no private channel tells more, nor what the file cannot show (that the law is that of the table, that records are drawn for as
   the recipe says). It needs nothing but itself: in a browser `choralVerifier.verify(bytes)`, in a shell

       node verifier.js release.choral [more files] [--json] [--budget STEPS]

   which exits with 0 if everything that it checks holds in every file, 1 if not, 2 if a file cannot be read. */

const choralVerifier = (() => {
  // ---- failing ----------------------------------------------------------------------------------------------------

  class Failed extends Error {
    constructor(claim, reason) {
      super(reason);
      this.claim = claim;
    }
  }

  function need(holds, claim, reason) {
    if (!holds) throw new Failed(claim, typeof reason === "function" ? reason() : reason);
  }

  /* Work is priced before it begins. A step is one operation on short numbers, about a tenth of a microsecond; of long ones, that many
     machine words by that many words cost the more. */
  const STEPS = 3e8; // about half a minute
  const STEPS_PER_CHARACTER = 300;

  class Meter {
    constructor(budget) {
      this.budget = budget;
      this.spent = 0;
    }

    pay(steps, what) {
      this.spent += steps;
      need(this.spent <= this.budget, "budget", () => `to check ${what} takes more than the ${this.budget} steps allowed; this says nothing about the claim itself`);
    }
  }

  // ---- JSON, strictly: no key twice, whole numbers as BigInt, objects as Map ----------------------------------------

  const DEEPEST = 400;
  const LONGEST_NUMBER = 1000;

  function readJson(text) {
    let at = 0;
    const wrong = (reason) => new Failed("file", `it is not JSON, or it was cut off (${reason} at character ${at})`);
    const blank = /[ \t\n\r]*/y;
    const number = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
    const plain = /[^"\\\u0000-\u001f]*/y;
    const escapes = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

    function match(pattern) {
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (found) at = pattern.lastIndex;
      return found;
    }

    function string() {
      at += 1; // the quotation mark
      let found = "";
      for (;;) {
        found += match(plain)[0];
        if (text[at] === '"') {
          at += 1;
          need(!/\p{Cs}/u.test(found), "file", "it holds half a surrogate pair");
          return found;
        }
        if (text[at] !== "\\") throw wrong("a text does not end, or holds a control character");
        const escape = text[at + 1];
        if (escape === "u") {
          const digits = text.slice(at + 2, at + 6);
          if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw wrong("a bad escape");
          found += String.fromCharCode(parseInt(digits, 16));
          at += 6;
        } else {
          if (!Object.hasOwn(escapes, escape ?? "")) throw wrong("a bad escape");
          found += escapes[escape];
          at += 2;
        }
      }
    }

    function value(depth) {
      if (depth > DEEPEST) throw wrong("nested too deep");
      match(blank);
      const first = text[at];
      let found;
      if (first === "{") found = object(depth);
      else if (first === "[") found = list(depth);
      else if (first === '"') found = string();
      else found = word();
      match(blank);
      return found;
    }

    function word() {
      for (const [name, meaning] of [["true", true], ["false", false], ["null", null]]) {
        if (text.startsWith(name, at)) {
          at += name.length;
          return meaning;
        }
      }
      const found = match(number);
      if (!found) throw wrong("something that is no value");
      if (found[2] === undefined && found[3] === undefined) {
        need(found[1].replace("-", "").length <= LONGEST_NUMBER, "file", "it holds a whole number of more than 1000 digits");
        return BigInt(found[1]);
      }
      const float = Number(found[0]);
      need(Number.isFinite(float), "file", "it holds a number beyond all floats");
      return float;
    }

    function list(depth) {
      const found = [];
      at += 1;
      match(blank);
      if (text[at] === "]") {
        at += 1;
        return found;
      }
      for (;;) {
        found.push(value(depth + 1));
        const next = text[at];
        if (next !== "," && next !== "]") throw wrong("a list that does not go on");
        at += 1;
        if (next === "]") return found;
      }
    }

    function object(depth) {
      const found = new Map();
      at += 1;
      match(blank);
      if (text[at] === "}") {
        at += 1;
        return found;
      }
      for (;;) {
        match(blank);
        if (text[at] !== '"') throw wrong("an object without a key");
        const key = string();
        need(!found.has(key), "file", () => `the key ${quoted(key)} is given twice`);
        match(blank);
        if (text[at] !== ":") throw wrong("a key without a value");
        at += 1;
        found.set(key, value(depth + 1));
        const next = text[at];
        if (next !== "," && next !== "}") throw wrong("an object that does not go on");
        at += 1;
        if (next === "}") return found;
      }
    }

    const found = value(0);
    if (at !== text.length) throw wrong("something follows its end");
    return found;
  }

  /* The one spelling that is digested: keys in the order of their code points, no blanks, floats as the shortest digits that give them back. */
  function writeJson(value) {
    if (value instanceof Map) {
      const keys = [...value.keys()].sort(byCodePoints);
      return `{${keys.map((key) => `${JSON.stringify(key)}:${writeJson(value.get(key))}`).join(",")}}`;
    }
    if (Array.isArray(value)) return `[${value.map(writeJson).join(",")}]`;
    if (typeof value === "bigint") return value.toString();
    if (typeof value === "number") return writeFloat(value);
    return JSON.stringify(value);
  }

  function byCodePoints(left, right) {
    const [a, b] = [[...left], [...right]];
    for (let i = 0; i < Math.min(a.length, b.length); i += 1) {
      if (a[i] !== b[i]) return a[i].codePointAt(0) - b[i].codePointAt(0);
    }
    return a.length - b.length;
  }

  /* A point and a digit always; an exponent of two digits at least, below 1e-4 and from 1e16 on. */
  function writeFloat(value) {
    if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
    const [mantissa, power] = Math.abs(value).toExponential().split("e");
    const digits = mantissa.replace(".", "");
    const exponent = Number(power);
    const sign = value < 0 ? "-" : "";
    if (exponent < -4 || exponent >= 16) {
      const places = String(Math.abs(exponent)).padStart(2, "0");
      return `${sign}${mantissa}e${exponent < 0 ? "-" : "+"}${places}`;
    }
    if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
    const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
    return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
  }

  // ---- SHA-256 (FIPS 180-4) ----------------------------------------------------------------------------------------

  const [ROUNDS, START] = (() => {
    const primes = [];
    for (let k = 2; primes.length < 64; k += 1) if (primes.every((p) => k % p)) primes.push(k);
    const fraction = (x) => Math.floor((x - Math.floor(x)) * 2 ** 32) >>> 0;
    return [primes.map((p) => fraction(Math.cbrt(p))), primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)))];
  })();

  function sha256(bytes) {
    const blocks = new Uint8Array(((bytes.length + 72) >> 6) << 6);
    blocks.set(bytes);
    blocks[bytes.length] = 0x80;
    const view = new DataView(blocks.buffer);
    view.setBigUint64(blocks.length - 8, BigInt(bytes.length) * 8n);
    const hash = Uint32Array.from(START);
    const w = new Uint32Array(64);
    const turn = (x, k) => (x >>> k) | (x << (32 - k));
    for (let block = 0; block < blocks.length; block += 64) {
      for (let i = 0; i < 16; i += 1) w[i] = view.getUint32(block + 4 * i);
      for (let i = 16; i < 64; i += 1) {
        const small = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >>> 3);
        const large = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >>> 10);
        w[i] = w[i - 16] + small + w[i - 7] + large;
      }
      let [a, b, c, d, e, f, g, h] = hash;
      for (let i = 0; i < 64; i += 1) {
        const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
        const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
      }
      [a, b, c, d, e, f, g, h].forEach((x, i) => { hash[i] += x; });
    }
    return [...hash].map((x) => x.toString(16).padStart(8, "0")).join("");
  }

  // ---- numbers -----------------------------------------------------------------------------------------------------

  function whole(text, claim) {
    need(typeof text === "string" && /^[0-9a-f]+$/.test(text), claim, () => `${quoted(text)} is not a hexadecimal integer`);
    return BigInt(`0x${text}`);
  }

  /* [numerator, denominator], the denominator positive. */
  function fraction(text, claim) {
    need(typeof text === "string", claim, () => `${quoted(text)} is not a fraction`);
    const negative = text.startsWith("-");
    const [above, below, ...more] = text.slice(negative ? 1 : 0).split("/");
    need(more.length === 0, claim, () => `${quoted(text)} is not a fraction`);
    const [numerator, denominator] = [whole(above, claim), below === undefined ? 1n : whole(below, claim)];
    need(denominator > 0n, claim, () => `the fraction ${quoted(text)} has no denominator`);
    return [negative ? -numerator : numerator, denominator];
  }

  function bitLength(n) {
    const digits = n.toString(16);
    return 4 * (digits.length - 1) + (32 - Math.clz32(parseInt(digits[0], 16)));
  }

  const words = (n) => 1 + n.toString(16).length / 16;
  const product = (a, b) => 1 + (a * b) / 32; // steps of multiplying or dividing numbers of so many words

  function gcd(a, b, meter = null) {
    if (meter !== null) { // Euclid divides some 40 times for every word of the shorter number
      const [long, short] = [words(a), words(b)].sort((x, y) => y - x);
      meter.pay(40 * short * (1 + long / 16), "common divisors");
    }
    while (b) [a, b] = [b, a % b];
    return a;
  }

  function commonMultiple(numbers, meter) {
    let found = 1n;
    for (const n of numbers) {
      meter.pay(product(words(found), words(n)), "common denominators");
      if (found % n !== 0n) found *= n / gcd(found, n, meter);
    }
    return found;
  }

  /* Fractions that are probabilities, as integers over one denominator. */
  function probabilities(listed, meter) {
    need(Array.isArray(listed) && listed.length > 0, "law", "it lists no probabilities");
    const parts = listed.map((text) => fraction(text, "law"));
    need(parts.every(([above]) => above >= 0n), "law", "a probability is negative");
    const below = commonMultiple(parts.map((part) => part[1]), meter);
    const above = parts.map(([a, b]) => a * (below / b));
    need(sum(above) === below, "law", "probabilities do not sum to one");
    return { above, below };
  }

  function sum(numbers) {
    return numbers.reduce((a, b) => a + b, 0n);
  }

  // ---- values: each has one spelling, and those of one alphabet differ as numbers, instants or texts ------------------

  const DEEPEST_VALUE = 20;
  const LONGEST_TEXT = 1000;

  /* A text that is the same for equal values and for no others. */
  function symbol(value, depth = 0) {
    need(depth <= DEEPEST_VALUE, "law", "a value is nested too deep");
    if (value === null) return "null";
    if (typeof value === "string") return JSON.stringify(value);
    if (typeof value === "boolean") return value ? "1/1" : "0/1";
    if (typeof value === "bigint") return `${value}/1`;
    if (typeof value === "number") return ofFloat(value);
    need(value instanceof Map && value.size === 1, "law", () => `${quoted(value)} is no value of the format`);
    const [[kind, content]] = value;
    if (kind === "tuple" && Array.isArray(content)) return `(${content.map((item) => symbol(item, depth + 1)).join(";")})`;
    const reading = { fraction: ofFraction, float: ofInfinity, date: ofDate, datetime: ofInstant, decimal: ofDecimal };
    need(Object.hasOwn(reading, kind) && typeof content === "string", "law", () => `${quoted(value)} is no value of the format`);
    const found = content.length <= LONGEST_TEXT ? reading[kind](content) : null;
    need(found !== null, "law", () => `${quoted(content)} is not how a ${kind} is written`);
    return found;
  }

  function lowest(above, below) {
    const common = gcd(above < 0n ? -above : above, below);
    return `${above / common}/${below / common}`;
  }

  function ofFloat(value) {
    let [mantissa, power] = [value, 0];
    while (!Number.isInteger(mantissa)) {
      mantissa *= 2;
      power += 1;
    }
    return lowest(BigInt(mantissa), 1n << BigInt(power));
  }

  function ofFraction(text) {
    const parts = /^(-?[1-9][0-9]*|0)(?:\/([1-9][0-9]*))?$/.exec(text);
    if (!parts) return null;
    const found = lowest(BigInt(parts[1]), BigInt(parts[2] ?? 1));
    return (found.endsWith("/1") ? found.slice(0, -2) : found) === text ? found : null;
  }

  function ofInfinity(text) {
    return text === "inf" || text === "-inf" ? text : null;
  }

  function ofDate(text) {
    const parts = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text);
    return parts && days(parts.slice(1).map(Number)) !== null ? `date ${text}` : null;
  }

  /* Days since the first of January of the year 1, in the calendar of today; null for a day that does not exist. */
  function days([year, month, day]) {
    const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
    const lengths = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > lengths[month - 1]) return null;
    const before = year - 1;
    const whole_years = 365 * before + Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400);
    return whole_years + lengths.slice(0, month - 1).reduce((a, b) => a + b, 0) + day - 1;
  }

  function ofInstant(text) {
    const clock = "([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\\.([0-9]{6}))?";
    const zone = "(?:([+-])([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\\.([0-9]{6}))?)?)?";
    const parts = new RegExp(`^([0-9]{4})-([0-9]{2})-([0-9]{2})T${clock}${zone}$`).exec(text);
    if (!parts) return null;
    const day = days(parts.slice(1, 4).map(Number));
    const [hour, minute, second] = parts.slice(4, 7).map(Number);
    if (day === null || hour > 23 || minute > 59 || second > 59 || parts[7] === "000000") return null;
    const micros = (h, m, s, rest) => BigInt((h * 60 + m) * 60 + s) * 1000000n + BigInt(rest ?? 0);
    const local = BigInt(day) * 86400000000n + micros(hour, minute, second, parts[7]);
    if (parts[8] === undefined) return `local ${local}`;
    const [hours, minutes, seconds] = [9, 10, 11].map((i) => Number(parts[i] ?? 0));
    const offset = micros(hours, minutes, seconds, parts[12]);
    if (hours > 23 || minutes > 59 || seconds > 59 || parts[12] === "000000") return null;
    if ((parts[11] === "00" && parts[12] === undefined) || (offset === 0n && parts[8] === "-")) return null;
    return `instant ${parts[8] === "+" ? local - offset : local + offset}`;
  }

  /* Plain where the exponent is not positive and at most five zeros follow the point, scientific elsewhere. */
  function ofDecimal(text) {
    if (text === "Infinity" || text === "-Infinity") return text.replace("Infinity", "inf");
    const parts = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:E([+-][0-9]+))?$/.exec(text);
    if (!parts) return null;
    const written = Number(parts[4] ?? 0);
    if (Math.abs(written) > 1000) return null;
    const digits = (parts[2] + (parts[3] ?? "")).replace(/^0+(?=[0-9])/, "");
    const exponent = written - (parts[3] ?? "").length;
    if (parts[1] + decimalText(digits, exponent) !== text) return null;
    const above = BigInt(parts[1] + digits);
    return exponent < 0 ? lowest(above, 10n ** BigInt(-exponent)) : lowest(above * 10n ** BigInt(exponent), 1n);
  }

  function decimalText(digits, exponent) {
    const left = exponent + digits.length; // digits before the point
    const point = exponent <= 0 && left > -6 ? left : 1;
    let found = digits;
    if (point <= 0) found = `0.${"0".repeat(-point)}${digits}`;
    else if (point < digits.length) found = `${digits.slice(0, point)}.${digits.slice(point)}`;
    const power = left - point;
    return power === 0 ? found : `${found}E${power < 0 ? "-" : "+"}${Math.abs(power)}`;
  }

  function alphabet(listed, what, size = null) {
    need(Array.isArray(listed) && listed.length > 0, "law", `${what} has no values`);
    need(size === null || listed.length === size, "law", `${what} has another number of values than probabilities`);
    const symbols = listed.map((value) => symbol(value));
    need(new Set(symbols).size === symbols.length, "law", `${what} lists a value twice`);
    return symbols;
  }

  // ---- names -------------------------------------------------------------------------------------------------------

  /* Signs that silence a vowel: combining class 9. */
  const VIRAMAS = /[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a\u1714\u1715\u1734\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua82c\ua8c4\ua953\ua9c0\uaaf6\uabed\u{10a3f}\u{11046}\u{11070}\u{1107f}\u{110b9}\u{11133}\u{11134}\u{111c0}\u{11235}\u{112ea}\u{1134d}\u{11442}\u{114c2}\u{115bf}\u{1163f}\u{116b6}\u{1172b}\u{11839}\u{1193d}\u{1193e}\u{119e0}\u{11a34}\u{11a47}\u{11a99}\u{11c3f}\u{11d44}\u{11d45}\u{11d97}]/u;
  const ARABIC = /(?=[\u0600-\u08ff])\p{Script_Extensions=Arabic}/u;
  const SHOWS_NOTHING = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;
  const LOOK_ALIKES = {
    a: "аαɑᴀ", c: "сϲᴄ", d: "ԁ", e: "е", g: "ɡց", h: "һհ", i: "іιıɩᎥ", j: "јϳȷ", k: "кκ", l: "ӏ", m: "м", n: "пηո", o: "оοօᴏσ", p: "рρ", q: "ԛզ",
    r: "г", s: "ѕ", u: "υսʋ", v: "νᴠ", w: "ԝωᴡ", x: "хχ", y: "уγʏ", z: "ᴢ", A: "АΑᎪ", B: "ВвΒ", C: "СϹᏟ", E: "ЕΕᎬ", G: "ԌᏀ", H: "НнΗᎻ", I: "ІΙ",
    J: "ЈᎫ", K: "КΚᏦ", L: "ԼᏞʟ", M: "МΜᎷ", N: "Ν", O: "ОΟՕⵔ", P: "РΡᏢ", Q: "Ԛ", S: "ЅᏚՏ", T: "ТтΤτᎢ", U: "Ս", V: "Ꮩ", W: "ԜᏔ", X: "ХΧ",
    Y: "УҮΥ", Z: "ΖᏃ", 3: "ЗӠ", "-": "‐‑‒–—―−⁃˗", "'": "‘’ʹʻʼʽ′ˈꞌ", "/": "⁄∕", ":": "∶ː꞉", ".": "․", "·": "‧∙⋅", "!": "ǃ",
  };
  const SEEN_AS = new Map(Object.entries(LOOK_ALIKES).flatMap(([seen, others]) => [...others].map((other) => [other, seen])));

  /* Why a name could be misread, or null. */
  function misread(name) {
    if (name === "") return "it is empty";
    if (/[,|+]/.test(name)) return "it contains one of , | +, which separate names";
    if (/^ | $/.test(name)) return "it begins or ends with a blank";
    if (name !== name.normalize("NFC")) return "it is not in the composed form of Unicode (NFC)";
    if (/^\p{M}/u.test(name)) return "it begins with a mark that joins the character before it";
    const letters = [...name];
    const at = letters.findIndex((letter, i) => letter !== " " && SHOWS_NOTHING.test(letter) && !shapes(letters, i));
    return at < 0 ? null : `it contains ${codePoint(letters[at])}, which shows nothing there`;
  }

  /* Whether a joiner shapes its neighbours: after a virama, or (the one that keeps apart) between two Arabic characters. */
  function shapes(letters, i) {
    const [before, after] = [letters[i - 1], letters[i + 1]];
    if (before === undefined || after === undefined) return false;
    if (letters[i] === "\u200c" && ARABIC.test(before) && ARABIC.test(after)) return true;
    return (letters[i] === "\u200c" || letters[i] === "\u200d") && VIRAMAS.test(before);
  }

  function seenAs(name) {
    const replaced = (text) => [...text].map((letter) => SEEN_AS.get(letter) ?? letter).join("");
    return replaced(replaced(name).normalize("NFKD")).replace(/ +/g, " ");
  }

  function codePoint(letter) {
    return `U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  }

  /* A name as it is shown: with its code points, where it is not plain ASCII. */
  function shown(name) {
    return /^[ -~]*$/.test(name) ? name : `${name} [${[...name].map(codePoint).join(" ")}]`;
  }

  /* Anything of the file, in ASCII and not too long. */
  function quoted(value) {
    const text = value === undefined ? "nothing" : writeJson(value).replace(/[^ -~]/gu, (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);
    return text.length > 80 ? `${text.slice(0, 77)}…` : text;
  }

  function checkNames(columns) {
    need(Array.isArray(columns) && columns.length > 0 && columns.every((name) => typeof name === "string"), "law", "it has no columns");
    const seen = new Map();
    for (const name of columns) {
      const reason = misread(name);
      need(reason === null, "law", () => `${quoted(name)} cannot be a column: ${reason}`);
      const skeleton = seenAs(name);
      need(!seen.has(skeleton), "law", () => `the columns ${quoted(seen.get(skeleton))} and ${quoted(name)} are the same or look alike`);
      seen.set(skeleton, name);
    }
  }

  /* Different columns out of some, as a list. */
  function columnsOf(listed, columns, claim) {
    need(Array.isArray(listed) && listed.length > 0, claim, "it names no column");
    for (const name of listed) need(columns.includes(name), claim, () => `${quoted(name)} is no column of the law`);
    need(new Set(listed).size === listed.length, claim, "it names a column twice");
    return listed;
  }

  // ---- laws --------------------------------------------------------------------------------------------------------

  /* A law gives its states, each as a text of its indices, and `joint(what)`: for each state the values of `what` with integer weights,
     P(state, value) up to one factor. */

  const keyOf = (indices) => indices.join(",");

  function tableLaw(law, document, claim, meter) {
    const columns = law.get("columns");
    checkNames(columns);
    const alphabets = law.get("alphabets");
    need(Array.isArray(alphabets) && alphabets.length === columns.length, "law", "it does not list one alphabet per column");
    const symbols = alphabets.map((listed, i) => alphabet(listed, `the column ${shown(columns[i])}`));
    const cells = law.get("cells");
    need(Array.isArray(cells) && cells.length > 0, "law", "it has no cells");
    meter.pay(cells.length * columns.length * 4, "the law");
    const seen = new Set();
    const weighed = cells.map((cell) => {
      need(Array.isArray(cell) && cell.length === columns.length + 1, "law", () => `${quoted(cell)} is no cell`);
      const indices = cell.slice(0, -1);
      const inside = indices.every((index, i) => typeof index === "bigint" && index >= 0n && index < symbols[i].length);
      need(inside, "law", () => `the cell ${quoted(indices)} is outside the alphabets`);
      const weight = whole(cell[columns.length], "law");
      need(weight > 0n, "law", () => `the cell ${quoted(indices)} has no weight`);
      const key = keyOf(indices);
      need(!seen.has(key), "law", () => `the cell ${quoted(indices)} is listed twice`);
      seen.add(key);
      return { indices, weight };
    });
    const reveal = columnsOf(document.get("reveal"), columns, claim ?? "target");
    const use = columnsOf(document.get("use"), columns, claim ?? "use");
    const places = (names) => names.map((name) => columns.indexOf(name));
    const at = places(use);
    const stateOf = (cell) => keyOf(at.map((i) => cell.indices[i]));
    return {
      columns, symbols, reveal, use,
      states: new Set(weighed.map(stateOf)),
      about: `${cells.length} cells over ${columns.length} columns: ${columns.map((name, i) => `${shown(name)} (${symbols[i].length} values)`).join(", ")}`,
      group: (names) => columnsOf(names, columns, "protected groups"),
      called: (names) => names.map(shown).join(" and "),
      joint(names, keep = () => true) {
        const found = new Map();
        const where = places(names);
        for (const cell of weighed) {
          const value = where.map((i) => cell.indices[i]);
          if (keep(value)) add(found, stateOf(cell), keyOf(value), cell.weight);
        }
        return found;
      },
    };
  }

  function add(joint, state, value, weight) {
    if (!joint.has(state)) joint.set(state, new Map());
    const values = joint.get(state);
    values.set(value, (values.get(value) ?? 0n) + weight);
  }

  /* What laws of samples have in common: a prior of W, and one column for the target and one for the state. */
  function sampledLaw(law, document, state, meter) {
    need(!law.has("cells"), "law", "it lists cells, as only a table does");
    const prior = probabilities(law.get("prior"), meter);
    const only = (key, name) => Array.isArray(document.get(key)) && document.get(key).length === 1 && document.get(key)[0] === name;
    need(only("reveal", "W"), "target", "such a law reveals W");
    need(only("use", state), "use", `the channel of such a law looks at the ${state}`);
    const listed = document.get("channel") instanceof Map ? document.get("channel").get("states") : null;
    need(Array.isArray(listed), "channel", "it lists no states");
    return { prior, most: listed.length };
  }

  function channelRows(rows, values, prior, meter) {
    need(Array.isArray(rows) && rows.length === prior.above.length, "law", "a channel needs one row per value of W");
    const found = rows.map((row) => probabilities(row, meter));
    need(found.every((row) => row.above.length === found[0].above.length), "law", "the rows of a channel have different lengths");
    const below = commonMultiple(found.map((row) => row.below), meter);
    const above = found.map((row) => row.above.map((a) => a * (below / row.below)));
    alphabet(values, "a channel", above[0].length);
    return { above, below };
  }

  function exchangeableLaw(law, document, meter) {
    const { prior, most } = sampledLaw(law, document, "type", meter);
    const channel = channelRows(law.get("channel"), law.get("values"), prior, meter);
    alphabet(law.get("target values"), "the target", prior.above.length);
    const n = law.get("n");
    need(typeof n === "bigint" && n >= 2n, "law", "it needs at least two samples");
    const values = channel.above[0].length;
    const possible = prior.above.map((p, w) => (p > 0n ? channel.above[w] : null)).filter((row) => row !== null);
    const types = typesOf(n, values, possible, most, meter);
    const choose = binomials(meter);
    const size = (Number(n) * bitLength(channel.below)) / 64; // words of a power
    meter.pay(types.length * values * prior.above.length * 2 * product(size, size), "the weights of the types");
    const weights = types.map((type) => {
      const arrangements = multinomial(type, choose);
      return prior.above.map((p, w) => type.reduce((a, count, v) => a * channel.above[w][v] ** count, p * arrangements));
    });
    return {
      columns: ["W", "type"], reveal: ["W"], use: ["type"],
      states: new Set(types.map(keyOf)),
      about: `${n} samples of ${values} values, independent given W (${prior.above.length} values), through one channel; ${types.length} types, whose weights were recomputed`,
      group(names) {
        const k = /^any ([1-9][0-9]{0,8})$/.exec(Array.isArray(names) && names.length === 1 ? names[0] : "");
        need(k && BigInt(k[1]) <= n, "protected groups", () => `${quoted(names)} is not "any k"`);
        return names;
      },
      called: (names) => (names[0] === "W" ? "W" : `${names[0]} of the ${n} samples`),
      joint(names) {
        const found = new Map();
        if (names[0] === "W") {
          types.forEach((type, i) => weights[i].forEach((weight, w) => { if (weight) add(found, keyOf(type), String(w), weight); }));
          return found;
        }
        const k = BigInt(names[0].slice(4));
        types.forEach((type, i) => {
          const weight = sum(weights[i]);
          for (const part of partsOf(type, k, meter)) {
            add(found, keyOf(type), keyOf(part), part.reduce((a, count, v) => a * choose(type[v], count), weight));
          }
        });
        return found;
      },
    };
  }

  /* Types of positive probability, each from the values that some value of W allows; more than the file lists are not listed. */
  function typesOf(n, values, rows, most, meter) {
    const found = new Map();
    for (const row of rows) {
      const allowed = row.flatMap((p, v) => (p > 0n ? [v] : []));
      const counts = Array(values).fill(0n);
      const extend = (i, left) => {
        meter.pay(values, "the types");
        if (i === allowed.length - 1) {
          counts[allowed[i]] = left;
          found.set(keyOf(counts), [...counts]);
          need(found.size <= most, "channel", `it lists ${most} states, and the law has more`);
          return;
        }
        for (let count = 0n; count <= left; count += 1n) {
          counts[allowed[i]] = count;
          extend(i + 1, left - count);
        }
        counts[allowed[i]] = 0n;
      };
      extend(0, n);
    }
    return [...found.values()];
  }

  /* All ways to take k of the samples of a type, as counts. */
  function partsOf(type, k, meter) {
    const found = [];
    const after = type.map((_, v) => sum(type.slice(v + 1)));
    const part = [];
    const extend = (v, left) => {
      meter.pay(20 * type.length * words(left), "the values of a group");
      if (v === type.length) {
        found.push([...part]);
        return;
      }
      const least = left > after[v] ? left - after[v] : 0n;
      const greatest = left < type[v] ? left : type[v];
      for (let count = least; count <= greatest; count += 1n) {
        part.push(count);
        extend(v + 1, left - count);
        part.pop();
      }
    };
    extend(0, k);
    return found;
  }

  /* Binomial coefficients, each row as far as it was asked for. */
  function binomials(meter) {
    const rows = new Map();
    return (n, k) => {
      if (k > n - k) k = n - k;
      if (!rows.has(n)) rows.set(n, [1n]);
      const row = rows.get(n);
      for (let i = BigInt(row.length); i <= k; i += 1n) {
        meter.pay(2 + words(row[row.length - 1]) * words(n), "binomial coefficients");
        row.push((row[row.length - 1] * (n - i + 1n)) / i);
      }
      return row[Number(k)];
    };
  }

  function multinomial(type, choose) {
    let [left, found] = [sum(type), 1n];
    for (const count of type) {
      found *= choose(left, count);
      left -= count;
    }
    return found;
  }

  const GREATEST_SCORE = 1n << 62n;

  function sensorsLaw(law, document, meter) {
    const { prior, most } = sampledLaw(law, document, "score", meter);
    const [channels, values, scores] = ["channels", "values", "scores"].map((key) => law.get(key));
    need(Array.isArray(channels) && channels.length >= 2, "law", "it needs at least two sensors");
    for (const listed of [values, scores]) need(Array.isArray(listed) && listed.length === channels.length, "law", "it needs values and scores for every sensor");
    const rows = channels.map((channel, i) => channelRows(channel, values[i], prior, meter));
    scores.forEach((listed, i) => {
      const sound = Array.isArray(listed) && listed.length === rows[i].above[0].length
        && listed.every((score) => typeof score === "bigint" && score >= -GREATEST_SCORE && score <= GREATEST_SCORE);
      need(sound, "law", "scores are whole numbers up to 2^62, one per reading");
    });
    const names = channels.map((_, i) => `X${i + 1}`);
    const targets = prior.above.map((_, w) => w).filter((w) => prior.above[w] > 0n);
    const all = targets.map((w) => totals(rows, scores, w, null, most, meter));
    const states = new Set(all.flatMap((found) => [...found.keys()].map(String)));
    need(states.size <= most, "channel", `it lists ${most} states, and the law has ${states.size}`);
    return {
      columns: ["W", ...names, "score"], reveal: ["W"], use: ["score"], states,
      about: `${channels.length} different sensors, independent given W (${prior.above.length} values); ${states.size} values of the score, whose weights were recomputed`,
      group(listed) {
        need(Array.isArray(listed) && listed.length === 1 && names.includes(listed[0]), "protected groups", () => `${quoted(listed)} is not of this law`);
        return listed;
      },
      called: (listed) => listed[0],
      joint([name]) {
        const found = new Map();
        targets.forEach((w, at) => {
          if (name === "W") {
            for (const [score, weight] of all[at]) add(found, String(score), String(w), prior.above[w] * weight);
            return;
          }
          const i = names.indexOf(name);
          const others = totals(rows, scores, w, i, most, meter);
          rows[i].above[w].forEach((p, reading) => {
            if (p === 0n) return;
            meter.pay(others.size * 4, "the scores");
            for (const [score, weight] of others) add(found, String(score + scores[i][reading]), String(reading), prior.above[w] * p * weight);
          });
        });
        return found;
      },
    };
  }

  /* How likely each sum of scores is given a value of W, up to a factor, with one sensor left out or none. A sum of sensors has no fewer
     values than a sum of some of them, so more than the file lists are not followed. */
  function totals(rows, scores, w, without, most, meter) {
    let found = new Map([[0n, 1n]]);
    rows.forEach((row, i) => {
      if (i === without) return;
      const next = new Map();
      row.above[w].forEach((p, reading) => {
        if (p === 0n) return;
        meter.pay(found.size * (4 + i * words(row.below)), "the scores");
        for (const [score, weight] of found) {
          const total = score + scores[i][reading];
          next.set(total, (next.get(total) ?? 0n) + p * weight);
        }
      });
      found = next;
      need(found.size <= most, "channel", `it lists ${most} states, and the law has more`);
    });
    return found;
  }

  function readLaw(document, meter) {
    const law = document.get("law");
    need(law instanceof Map, "law", "there is none");
    const kind = law.get("kind");
    if (kind === "table") return tableLaw(law, document, null, meter);
    if (kind === "exchangeable") return exchangeableLaw(law, document, meter);
    if (kind === "sensors") return sensorsLaw(law, document, meter);
    throw new Failed("law", `${quoted(kind)} is no kind of law`);
  }

  // ---- the channel -------------------------------------------------------------------------------------------------

  /* For every code the states that have it, with p(code | state) as a fraction. */
  function readChannel(document, law) {
    const channel = document.get("channel");
    need(channel instanceof Map, "channel", "there is none");
    const [count, states, rows] = ["codes", "states", "rows"].map((key) => channel.get(key));
    need(typeof count === "bigint" && count > 0n, "channel", "it has no codes");
    need(Array.isArray(states) && Array.isArray(rows) && states.length === rows.length, "channel", "it does not list one row per state");
    need(count <= rows.reduce((a, row) => a + (Array.isArray(row) ? row.length : 0), 0), "channel", "some codes are never used");
    const codes = Array.from({ length: Number(count) }, () => []);
    const seen = new Set();
    states.forEach((state, s) => {
      const sound = Array.isArray(state) && state.every((index) => typeof index === "bigint");
      const key = sound ? keyOf(state) : null;
      need(sound && law.states.has(key), "channel", () => `the state ${quoted(state)} has no probability under the law`);
      need(!seen.has(key), "channel", () => `the state ${quoted(state)} is listed twice`);
      seen.add(key);
      readRow(rows[s], state, key, codes);
    });
    need(seen.size === law.states.size, "channel", `it lists ${seen.size} states, and the law has ${law.states.size}`);
    need(codes.every((entries) => entries.length > 0), "channel", "some codes are never used");
    return codes;
  }

  function readRow(row, state, key, codes) {
    need(Array.isArray(row) && row.length > 1, "channel", () => `the state ${quoted(state)} has no weights`);
    const below = whole(row[0], "channel");
    need(below > 0n, "channel", () => `the denominator of the state ${quoted(state)} is zero`);
    let [last, total] = [-1n, 0n];
    for (const entry of row.slice(1)) {
      need(Array.isArray(entry) && entry.length === 2 && typeof entry[0] === "bigint", "channel", () => `bad entry ${quoted(entry)} at the state ${quoted(state)}`);
      const above = whole(entry[1], "channel");
      need(entry[0] > last && entry[0] < codes.length && above > 0n, "channel", () => `codes out of order at the state ${quoted(state)}`);
      codes[Number(entry[0])].push({ key, above, below });
      [last, total] = [entry[0], total + above];
    }
    need(total === below, "prior", () => `the weights of the state ${quoted(state)} do not sum to its denominator`);
  }

  // ---- promises ----------------------------------------------------------------------------------------------------

  /* Of a joint law of states and values: the weight of each value, the total, and for each code the mass of each value with it, as integers over
     a denominator of the code's own, and their sum. Where a state's weights and its denominator have a common divisor, it is divided out first. */
  function withCodes(joint, codes, meter, what) {
    const values = new Map();
    for (const [, inState] of joint) {
      for (const [value, weight] of inState) values.set(value, (values.get(value) ?? 0n) + weight);
    }
    const reduced = new Map();
    const shares = codes.map((entries) => {
      for (const { key, below } of entries) {
        if (joint.has(key) && !reduced.has(key)) reduced.set(key, lowestTerms(joint.get(key), below, meter));
      }
      const here = entries.filter(({ key }) => reduced.has(key));
      const below = commonMultiple(new Set(here.map(({ key }) => reduced.get(key).below)), meter);
      const found = new Map();
      for (const { key, above } of here) {
        const { weights, below: own, long } = reduced.get(key);
        const factor = above * (below / own);
        meter.pay(weights.length * (1 + product(long, words(factor))), what);
        for (const [value, weight] of weights) found.set(value, (found.get(value) ?? 0n) + weight * factor);
      }
      const all = sum([...found.values()]);
      return { below, found, all };
    });
    const total = sum([...values.values()]);
    const longest = shares.reduce((most, { all }) => Math.max(most, words(all)), 1);
    meter.pay(codes.length * values.size * 2 * product(longest, words(total)), what);
    return { values, total, shares };
  }

  /* The weights of a state over its denominator, in lowest terms. */
  function lowestTerms(inState, below, meter) {
    let common = below;
    for (const [, weight] of inState) {
      if (weight % common !== 0n) common = gcd(common, weight, meter);
    }
    const weights = [...inState].map(([value, weight]) => [value, weight / common]);
    return { weights, below: below / common, long: weights.reduce((most, [, weight]) => Math.max(most, words(weight)), 1) };
  }

  /* p(z, y) p() = p(z) p(y), for every value and every code: whole numbers on both sides. */
  function independent({ values, total, shares }) {
    return shares.every(({ found, all }) => [...values].every(([value, weight]) => (found.get(value) ?? 0n) * total === weight * all));
  }

  /* p(z) <= ratio p(z | y) and p(z | y) <= ratio p(z). */
  function within({ values, total, shares }, [above, below]) {
    return shares.every(({ found, all }) => [...values].every(([value, weight]) => {
      const [given, before] = [(found.get(value) ?? 0n) * total, weight * all];
      return before * below <= given * above && given * below <= before * above;
    }));
  }

  const LONGEST_BUDGET = 2000;

  function amount(text, kind) {
    need(typeof text === "string" && text.length <= LONGEST_BUDGET, "budgets", () => `${quoted(text)} is no amount`);
    const [above, below] = fraction(text, "budgets");
    need(kind === "leakage" ? above > 0n : above > below, "budgets", () => `${kind} ${quoted(text)} is no budget`);
    return [above, below];
  }

  /* What is promised: groups with their budgets, conditions, further laws. Nothing is computed yet. */
  function readPromises(document, law) {
    const conditions = readConditions(document, law);
    const listed = document.get("protect");
    need(Array.isArray(listed) && (listed.length > 0 || conditions.length > 0), "protected groups", "the list is empty: nothing is protected");
    const groups = listed.map((names) => {
      need(Array.isArray(names) && names.length > 0, "protected groups", () => `${quoted(names)} is no group of columns`);
      return law.group(names);
    });
    const seen = new Set();
    for (const names of groups) {
      const key = JSON.stringify([...names].sort());
      need(!seen.has(key), "protected groups", () => `${quoted(names)} is listed twice`);
      seen.add(key);
    }
    const also = document.has("also") ? document.get("also") : [];
    need(Array.isArray(also), "further laws", "they are not a list");
    const budgets = document.get("budgets") ?? null;
    if (budgets === null) return { groups, budgets: groups.map(() => null), conditions, also };
    need(conditions.length === 0, "conditions", "they are not defined beside budgets");
    need(also.length === 0, "budgets", "they are not defined together with further laws");
    need(Array.isArray(budgets) && budgets.length === groups.length, "budgets", "they are not one per group");
    const read = budgets.map((budget) => {
      if (budget === null) return null;
      const [kind] = budget instanceof Map && budget.size === 1 ? budget.keys() : [];
      need(kind === "leakage" || kind === "ratio", "budgets", () => `${quoted(budget)} is no budget`);
      return { kind, most: amount(budget.get(kind), kind) };
    });
    return { groups, budgets: read, conditions, also };
  }

  function readConditions(document, law) {
    const listed = document.get("given") ?? null;
    if (listed === null) return [];
    const claim = "conditions";
    need(document.get("version") === 2n, claim, "they belong to version 2 of the format");
    need(document.get("law").get("kind") === "table", claim, "they are defined for laws that are tables");
    need(Array.isArray(listed) && listed.length > 0, claim, "there are none");
    return listed.map((entry) => {
      const keys = entry instanceof Map ? [...entry.keys()] : [];
      need(keys.length > 0 && keys.every((key) => ["hidden", "known", "only"].includes(key)), claim, () => `bad promise ${quoted(entry)}`);
      const [hidden, known] = ["hidden", "known"].map((key) => columnsOf(entry.get(key), law.columns, claim));
      need(!hidden.some((name) => known.includes(name)), claim, "a column is hidden from somebody who knows it");
      need(!hidden.some((name) => law.reveal.includes(name)), claim, "what is revealed is promised to be hidden");
      const only = entry.has("only") ? entry.get("only") : new Map();
      need(only instanceof Map && [...only.keys()].every((name) => known.includes(name)), claim, "it is limited to values of other columns");
      const limits = [...only].map(([name, value]) => {
        const index = law.symbols[law.columns.indexOf(name)].indexOf(symbol(value));
        need(index >= 0, claim, () => `${shown(name)} never has the value ${quoted(value)}`);
        return { name, value, index: BigInt(index) };
      });
      return { hidden, known, limits };
    });
  }

  function checkGroup(names, budget, stated, law, codes, meter) {
    const called = law.called(names);
    const joint = law.joint(names);
    const found = withCodes(joint, codes, meter, `the promise about ${called}`);
    if (budget === null) {
      need(independent(found), `privacy of ${names.join("+")}`, () => `the code tells something about ${called}`);
      return `The code tells nothing about ${called}: with every code, each value is exactly as likely as without.`;
    }
    if (budget.kind === "ratio") {
      need(within(found, budget.most), `ratio of ${names.join("+")}`, () => `some value of ${called} becomes likelier or less likely by more than its budget`);
    }
    const bits = information(roughly(joint, codes, meter), meter);
    statedAbove(stated, bits, `leakage of ${names.join("+")}`);
    const [above, below] = budget.most;
    if (budget.kind === "ratio") {
      return `Given any code, no value of ${called} is more than ${atMost(above, below)} times as likely as without, nor less likely by more than that factor.`;
    }
    need(bits.high * below <= above << PLACES, `leakage of ${names.join("+")}`, () => `more is told about ${called} than its budget of ${atMost(above, below)} bits`);
    return `The code tells at most ${atMost(above, below)} bits about ${called}.`;
  }

  function checkCondition({ hidden, known, limits }, law, codes, meter) {
    const what = hidden.map(shown).join(" and ");
    const where = limits.map(({ name, value }) => ` (where ${shown(name)} is ${quoted(value)})`).join("");
    const called = `${known.map(shown).join(" and ")}${where}`;
    const at = limits.map(({ name, index }) => [hidden.length + known.indexOf(name), index]);
    const joint = law.joint([...hidden, ...known], (value) => at.every(([place, index]) => value[place] === index));
    need(joint.size > 0, "conditions", `the promise about ${what} given ${called} is about nothing`);
    const knownOf = (value) => value.split(",").slice(hidden.length).join(",");
    const { values, shares } = withCodes(joint, codes, meter, `the promise about ${what} given ${called}`);
    const ofKnown = summed(values, knownOf);
    for (const { found } of shares) {
      const told = summed(found, knownOf);
      for (const [value, weight] of values) {
        const v = knownOf(value);
        const holds = (found.get(value) ?? 0n) * ofKnown.get(v) === weight * (told.get(v) ?? 0n);
        need(holds, `privacy of ${hidden.join("+")} | ${known.join("+")}`, () => `to somebody who knows ${called}, the code tells something about ${what}`);
      }
    }
    return `To somebody who already knows ${called}, the code tells nothing more about ${what}.`;
  }

  /* For every value v of what is known, how likely each code is given it, as [mass, unit, weight of v]; only where something is promised. */
  function givenKnown({ known, limits }, law, codes, meter, claim) {
    const at = limits.map(({ name, index }) => [known.indexOf(name), index]);
    const { values, shares } = withCodes(law.joint(known, (value) => at.every(([place, index]) => value[place] === index)), codes, meter, claim);
    return new Map([...values].map(([v, weight]) => [v, shares.map(({ found, below }) => [found.get(v) ?? 0n, below * weight])]));
  }

  /* A promise with a condition under a further law: it is kept there, and given what is known no code is likelier than under the laws before. */
  function checkConditionUnder(condition, other, codes, meter, claim, before) {
    const told = givenKnown(condition, other, codes, meter, claim);
    if (told.size === 0) return;
    checkCondition(condition, other, codes, meter);
    for (const [v, here] of told) {
      const there = before.get(v) ?? here;
      before.set(v, there);
      const wide = here.reduce((most, [, unit], y) => Math.max(most, words(unit), words(there[y][1])), 1);
      meter.pay(here.length * 2 * product(wide, wide), claim);
      const same = here.every(([mass, unit], y) => mass * there[y][1] === there[y][0] * unit);
      need(same, claim, () => `to somebody who knows ${condition.known.map(shown).join(" and ")}, a code tells which law holds`);
    }
  }

  function summed(values, key) {
    const found = new Map();
    for (const [value, weight] of values) found.set(key(value), (found.get(key(value)) ?? 0n) + weight);
    return found;
  }

  /* The same under a further law, and every code as likely as under the law. */
  function checkFurther(listed, number, law, promises, before, codes, meter) {
    const claim = `further law ${number}`;
    need(listed instanceof Map && listed.get("kind") === "table" && law.symbols !== undefined, claim, "it is no table");
    const columns = listed.get("columns");
    need(Array.isArray(columns), claim, "it has no columns");
    for (const name of columns) need(law.columns.includes(name), claim, () => `${quoted(name)} is no column of the law`);
    const needed = [...law.use, ...promises.groups.flat(), ...promises.conditions.flatMap(({ hidden, known }) => [...hidden, ...known])];
    need(needed.every((name) => columns.includes(name)), claim, "it lacks a column that is used or protected");
    const asked = new Map([["reveal", [...law.use]], ["use", [...law.use]]]);
    const other = tableLaw(listed, asked, claim, meter);
    other.columns.forEach((name, i) => {
      const same = keyOf(other.symbols[i]) === keyOf(law.symbols[law.columns.indexOf(name)]);
      need(same, claim, () => `its alphabet of ${shown(name)} is not that of the law`);
    });
    for (const state of other.states) need(law.states.has(state), claim, () => `its state ${state} has no probability under the law`);
    for (const names of promises.groups) {
      need(independent(withCodes(other.joint(names), codes, meter, claim)), claim, () => `under it, the code tells something about ${law.called(names)}`);
    }
    promises.conditions.forEach((condition, i) => checkConditionUnder(condition, other, codes, meter, claim, before[i]));
    const [here, there] = [law, other].map((one) => withCodes(one.joint(law.use), codes, meter, claim));
    const mass = (one, other, y) => one.shares[y].all * other.shares[y].below * other.total; // of a code, in one unit for both
    const same = codes.every((_, y) => mass(here, there, y) === mass(there, here, y));
    need(same, claim, "a code is not as likely as under the law, so it tells which law holds");
  }

  // ---- bits ----------------------------------------------------------------------------------------------------------

  /* Logarithms in fixed point, with 256 binary places. For m in [1, 2), log m = 2 artanh t with t = (m - 1)/(m + 1) <= 1/3, by 84 terms of
     its series: what is cut off is below 9^-84 < 2^-256, and each of some 300 roundings costs at most 2^-256 times at most 84; the error is
     below 2^-230. A probability that is summed from n terms, each rounded down, is too small by at most d = n 2^-256; then -x log x is wrong by at
     most d log(1/d) <= 256 d, for it is concave and zero at zero, with slope at least -log e. So much times the number of probabilities, with n and
     this number below 2^30 each by the price of a term, is far below the 2^-150 by which an interval is widened. */
  const PLACES = 256n;
  const ONE = 1n << PLACES;
  const WIDER = 1n << (PLACES - 150n);
  const TERMS = 84n;
  const LOGARITHM = 300; // steps

  function artanh(t) {
    const square = (t * t) >> PLACES;
    let [power, found] = [t, 0n];
    for (let i = 0n; i < TERMS; i += 1n) {
      found += power / (2n * i + 1n);
      power = (power * square) >> PLACES;
    }
    return found;
  }

  const HALF_OF_LOG_TWO = artanh(ONE / 3n);

  function log2(n) {
    const k = BigInt(bitLength(n) - 1);
    const m = k <= PLACES ? n << (PLACES - k) : n >> (k - PLACES);
    return k * ONE + (artanh(((m - ONE) << PLACES) / (m + ONE)) << PLACES) / HALF_OF_LOG_TWO;
  }

  /* p(z, y) for every code, rounded down, over 2^256: from a joint law, without a common denominator. */
  function roughly(joint, codes, meter) {
    const total = sum([...joint.values()].map((inState) => sum([...inState.values()])));
    return codes.map((entries) => {
      const found = new Map();
      for (const { key, above, below } of entries) {
        const inState = joint.get(key) ?? new Map();
        meter.pay(inState.size * (2 + 2 * product(words(below * total), words(below) + 4)), "what is told");
        for (const [value, weight] of inState) found.set(value, (found.get(value) ?? 0n) + ((weight * above) << PLACES) / (below * total));
      }
      return found;
    });
  }

  function entropy(probabilities, meter) {
    let bits = 0n;
    for (const x of probabilities) {
      meter.pay(LOGARITHM, "logarithms");
      if (x > 0n) bits += (x * (PLACES * ONE - log2(x))) >> PLACES;
    }
    return bits;
  }

  /* I(Z;Y) = H(Z) + H(Y) - H(Z,Y) in bits, as an interval of integers over 2^256. */
  function information(codes, meter) {
    const values = new Map();
    for (const found of codes) {
      for (const [value, share] of found) values.set(value, (values.get(value) ?? 0n) + share);
    }
    const both = entropy(codes.flatMap((found) => [...found.values()]), meter);
    const bits = entropy(values.values(), meter) + entropy(codes.map((found) => sum([...found.values()])), meter) - both;
    return { low: bits - WIDER, high: bits + WIDER };
  }

  /* A decimal of the claims, as a fraction. */
  function claimed(text, claim) {
    const sound = typeof text === "string" && text.length < 40 && /^(?:[0-9]+\.?[0-9]*|\.[0-9]+)$/.test(text);
    need(sound, claim, () => `${quoted(text)} is not a decimal number`);
    const places = text.includes(".") ? text.length - text.indexOf(".") - 1 : 0;
    return [BigInt(text.replace(".", "")), 10n ** BigInt(places)];
  }

  const CERTAIN = ONE / 10n ** 30n; // how far a stated number may be on the wrong side: what computing in intervals may cost
  const ROUNDED = (2n * ONE) / 10n ** 15n; // and on the right one: two units of the fifteenth place

  /* stated <= bits < stated + 2e-15 */
  function statedBelow(text, { low, high }, claim) {
    const [above, below] = claimed(text, claim);
    const stated = (above * ONE) / below;
    need(stated <= low + CERTAIN, claim, () => `${text} is stated, but only ${decimal(high, ONE)} bits are told`);
    need(high - stated < ROUNDED, claim, () => `${text} is stated, but ${decimal(high, ONE)} bits are told`);
  }

  /* bits <= stated < bits + 2e-15 */
  function statedAbove(text, { low, high }, claim) {
    const [above, below] = claimed(text, claim);
    const stated = (above * ONE) / below;
    const sound = high <= stated + CERTAIN && stated - low < ROUNDED;
    need(sound, claim, () => `${text} is stated, but ${decimal(high, ONE)} bits are told`);
  }

  /* A fraction for people: digits rounded down, without zeros at the end. */
  function decimal(above, below, places = 6) {
    const scaled = (above * 10n ** BigInt(places)) / below;
    const digits = String(scaled).padStart(places + 1, "0");
    const text = `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/\.?0+$/, "");
    return scaled === 0n && above > 0n ? `less than 0.${"0".repeat(places - 1)}1` : text;
  }

  /* A fraction for people, rounded up in the fifteenth place. */
  function atMost(above, below) {
    const scale = 10n ** 15n;
    return decimal((above * scale + below - 1n) / below, scale, 15);
  }

  /* How often the likeliest value is right, without the code and with it, in per cent. */
  function rightGuesses(codes) {
    const greatest = (numbers) => [...numbers].reduce((a, b) => (a > b ? a : b), 0n);
    const without = new Map();
    for (const found of codes) {
      for (const [value, share] of found) without.set(value, (without.get(value) ?? 0n) + share);
    }
    const shares = [greatest(without.values()), sum(codes.map((found) => greatest(found.values())))];
    return shares.map((share) => decimal((share * 1000n + ONE / 2n) >> PLACES, 10n, 1));
  }

  // ---- a file --------------------------------------------------------------------------------------------------------

  const NOT_CHECKED = [
    "that no private code could tell more (the upper bound that the file states)",
    "that the law in the file is that of the table, and that codes are drawn as the file says: no verifier can see that",
  ];
  const NOTHING_ELSE = "Nothing else is promised: other columns, and columns together that are not named together above, may be told about.";
  const RECIPE_NOT_CHECKED = "how a record becomes a state (the recipe): choral verify compares it with the rest";

  const UTILITY_NOT_CHECKED = "what the code is worth for the utility that the file names, and that no private code is worth more";

  function readFile(bytes) {
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new Failed("file", "it is not text in UTF-8");
    }
    const document = readJson(text);
    need(document instanceof Map, "file", "it is not a choral release");
    const format = document.get("format");
    need(format !== "choral card", "file", "it is a public card; give the release file");
    need(format === "choral release", "file", "it is not a choral release");
    const version = document.get("version");
    need(typeof version === "bigint", "file", "it does not say its version");
    need(version === 1n || version === 2n, "file", `it has version ${version}, and this verifier knows 1 and 2`);
    need(document.get("notes") instanceof Map, "file", "it has no notes");
    const rest = new Map([...document].filter(([key]) => key !== "digest"));
    const digest = sha256(new TextEncoder().encode(writeJson(rest)));
    need(document.get("digest") === digest, "digest", "the file was altered or cut after it was written");
    return { document, characters: text.length };
  }

  function readClaims(document, budgets) {
    const claims = document.get("claims");
    need(claims instanceof Map, "claims", "there are none");
    for (const key of ["information", "upper_bound"]) claimed(claims.get(key), key);
    const leakage = claims.has("leakage") ? claims.get("leakage") : budgets.map(() => null);
    need(Array.isArray(leakage) && leakage.length === budgets.length, "leakage", "it is not stated for every group");
    const matching = leakage.every((stated, i) => (stated === null) === (budgets[i] === null));
    need(matching, "leakage", "it is stated exactly for groups with a budget");
    return { information: claims.get("information"), leakage };
  }

  /* Whether a file is private, and whether it tells as much as it says. `found.private` and `found.holds` (that too) are the verdicts; where
     one is false, `found.claim` and `found.reason` say why. `found.promises` are sentences, each of which was checked. */
  function verify(bytes, { budget = null } = {}) {
    const found = { private: false, holds: false, claim: null, reason: null, about: null, reveal: [], use: [], promises: [], told: null, notChecked: [...NOT_CHECKED] };
    try {
      const { document, characters } = readFile(bytes);
      const meter = new Meter(budget ?? STEPS + STEPS_PER_CHARACTER * characters);
      meter.pay(characters, "the file");
      checkDocument(document, meter, found);
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      [found.claim, found.reason] = [error.claim, error.message];
    }
    return found;
  }

  function checkDocument(document, meter, found) {
    const law = readLaw(document, meter);
    const promises = readPromises(document, law);
    const claims = readClaims(document, promises.budgets);
    const codes = readChannel(document, law);
    Object.assign(found, { about: law.about, reveal: law.reveal.map(shown), use: law.use.map(shown), codes: codes.length });
    if (document.has("recipe")) found.notChecked.unshift(RECIPE_NOT_CHECKED);
    if ((document.get("utility") ?? null) !== null) {
      need(document.get("version") === 2n, "utility", "it belongs to version 2 of the format");
      found.notChecked.unshift(UTILITY_NOT_CHECKED);
    }
    promises.groups.forEach((names, i) => found.promises.push(checkGroup(names, promises.budgets[i], claims.leakage[i], law, codes, meter)));
    for (const condition of promises.conditions) found.promises.push(checkCondition(condition, law, codes, meter));
    const before = promises.also.length > 0 ? promises.conditions.map((condition) => givenKnown(condition, law, codes, meter, "further laws")) : [];
    promises.also.forEach((listed, i) => checkFurther(listed, i + 1, law, promises, before, codes, meter));
    if (promises.also.length > 0) {
      found.promises.push(`All this holds under ${promises.also.length} further law${promises.also.length > 1 ? "s" : ""} too, and no code tells which law holds.`);
    }
    found.private = true;
    const target = roughly(law.joint(law.reveal), codes, meter);
    statedBelow(claims.information, information(target, meter), "information");
    const [without, withCode] = rightGuesses(target);
    found.told = `Guessing ${law.reveal.map(shown).join(" and ")} by the likeliest value is right in ${without} % of cases without the code and in ${withCode} % with it (${Number(claims.information).toPrecision(3)} bits are told).`;
    found.holds = true;
  }

  return { verify, log2, NOTHING_ELSE };
})();

// ---- in a shell ------------------------------------------------------------------------------------------------------

if (typeof module !== "undefined" && typeof require === "function") {
  module.exports = choralVerifier;
  if (require.main === module) process.exitCode = command(process.argv.slice(2));
}

function command(given) {
  const usage = "usage: node verifier.js release.choral [more files] [--json] [--budget STEPS]\n";
  const { files, json, budget } = options(given);
  if (files.length === 0 || Number.isNaN(budget)) {
    process.stderr.write(usage);
    return 2;
  }
  let status = 0;
  for (const file of files) {
    let bytes;
    try {
      bytes = require("node:fs").readFileSync(file);
    } catch (error) {
      process.stderr.write(`${file} cannot be read (${error.code})\n`);
      return 2;
    }
    const found = choralVerifier.verify(bytes, { budget });
    if (!found.holds) status = 1;
    process.stdout.write(json ? `${JSON.stringify(found)}\n` : said(found));
  }
  return status;
}

function options(given) {
  const [files, found] = [[], { json: false, budget: null }];
  for (let i = 0; i < given.length; i += 1) {
    if (given[i] === "--json") found.json = true;
    else if (given[i] === "--budget") found.budget = /^[1-9][0-9]{0,14}$/.test(given[i += 1] ?? "") ? Number(given[i]) : NaN;
    else if (given[i].startsWith("--")) found.budget = NaN;
    else files.push(given[i]);
  }
  return { files, ...found };
}

function said(found) {
  const lines = [];
  const say = (what, text) => lines.push(`${what.padEnd(13)}${text}`);
  if (found.about !== null) {
    say("law", found.about);
    say("reveals", found.reveal.join(", "));
    say("looks at", found.use.join(", "));
  }
  for (const promise of found.promises) say("holds", promise);
  if (found.private) say("", choralVerifier.NOTHING_ELSE);
  if (found.told !== null) say("holds", found.told);
  for (const what of found.notChecked) say("not checked", what);
  if (found.claim !== null) say("FAILED", `${found.claim}: ${found.reason}`);
  else say("PRIVATE", "every line above that holds was checked, and nothing else");
  return `${lines.join("\n")}\n`;
}
