"use strict";
/* Two bits X1, X2, their exclusive or W, and the code that tells most about W: all that the explainer shows is computed here.
   A law is the list of the probabilities of 00, 01, 10, 11. A posterior is such a list too, given a code. */
const choralXor = (() => {
  const STATES = [[0, 0], [0, 1], [1, 0], [1, 1]];
  const NONE = 1e-12; // below this a probability is zero, and two numbers are equal: doubles have sixteen digits

  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const one = (p) => p[1] + p[2]; // P(W = 1)
  const bit = (p, i) => sum(p.filter((_, s) => STATES[s][i] === 1)); // P(Xi = 1)
  const h = (q) => [q, 1 - q].reduce((bits, x) => (x > NONE ? bits - x * Math.log2(x) : bits), 0);

  /* The law of two bits that are 1 with probabilities a and b, and both with probability c. */
  const law = (a, b, c) => [1 - a - b + c, b - c, a - c, c].map((x) => (Math.abs(x) < NONE ? 0 : x));

  /* Every posterior that leaves both bits as they were is p + t (1, -1, -1, 1): a line with two ends, one code for each. */
  function hidden(p) {
    const high = Math.min(p[1], p[2]), low = -Math.min(p[0], p[3]);
    if (high < NONE || -low < NONE) return coded(p, [p], [1]);
    const at = (t) => [p[0] + t, p[1] - t, p[2] - t, p[3] + t].map((x) => Math.max(x, 0));
    return coded(p, [at(high), at(low)], [-low / (high - low), high / (high - low)]);
  }

  /* The same where no value of a bit may become more than `ratio` times more or less likely. Of all posteriors that keep to it,
     the corners suffice; the best mixture of corners that gives back the law is a basis of a linear programme: all are tried. */
  function within(p, ratio) {
    if (ratio - 1 < NONE) return hidden(p);
    const some = [0, 1, 2, 3].filter((s) => p[s] > NONE);
    const corners = cornersOf(p, ratio).filter((q) => q.every((x, s) => some.includes(s) || x < NONE)), left = corners.map((q) => h(one(q)));
    let best = null;
    for (const basis of choices(corners.length, some.length)) {
      const weights = solved(some.map((s) => [...basis.map((k) => corners[k][s]), p[s]]));
      if (weights === null || weights.some((u) => u < -1e-9)) continue;
      const cost = sum(basis.map((k, i) => weights[i] * left[k]));
      if (best === null || cost < best.cost - NONE) best = { cost, basis, weights };
    }
    const kept = []; // codes that say the same about W are one code: it tells as much, and leaks no more
    best.basis.forEach((k, i) => {
      const u = best.weights[i], like = kept.find((code) => Math.abs(one(code.q) - one(corners[k])) < 1e-9);
      if (u < 1e-9) return;
      if (like) Object.assign(like, { q: like.q.map((x, s) => (like.u * x + u * corners[k][s]) / (like.u + u)), u: like.u + u });
      else kept.push({ q: corners[k], u });
    });
    return coded(p, kept.map(({ q }) => q), kept.map(({ u }) => u));
  }

  function cornersOf(p, ratio) {
    const walls = STATES.map((_, s) => ({ row: STATES.map((__, t) => +(s === t)), least: 0 }));
    for (const i of [0, 1]) {
      const row = STATES.map((x) => x[i]), q = bit(p, i);
      const low = Math.max(q / ratio, 1 - (1 - q) * ratio), high = Math.min(q * ratio, 1 - (1 - q) / ratio);
      walls.push({ row, least: low }, { row: row.map((x) => -x), least: -high });
    }
    const found = [];
    for (const three of choices(walls.length, 3)) {
      const q = solved([[1, 1, 1, 1, 1], ...three.map((k) => [...walls[k].row, walls[k].least])]);
      if (q === null || walls.some(({ row, least }) => sum(row.map((r, s) => r * q[s])) < least - 1e-10)) continue;
      if (!found.some((other) => other.every((x, s) => Math.abs(x - q[s]) < 1e-10))) found.push(q.map((x) => Math.max(x, 0)));
    }
    return found;
  }

  function* choices(n, k, from = 0) {
    if (k === 0) yield [];
    else for (let i = from; i <= n - k; i += 1) for (const rest of choices(n, k - 1, i + 1)) yield [i, ...rest];
  }

  /* A square system by elimination with the largest pivot; null where it has no single solution. */
  function solved(rows) {
    const a = rows.map((row) => [...row]), n = a.length;
    for (let c = 0; c < n; c += 1) {
      let pivot = c;
      for (let r = c + 1; r < n; r += 1) if (Math.abs(a[r][c]) > Math.abs(a[pivot][c])) pivot = r;
      if (Math.abs(a[pivot][c]) < 1e-11) return null;
      [a[c], a[pivot]] = [a[pivot], a[c]];
      for (let r = 0; r < n; r += 1) {
        if (r === c) continue;
        const times = a[r][c] / a[c][c];
        if (times !== 0) for (let j = c; j <= n; j += 1) a[r][j] -= times * a[c][j];
      }
    }
    return a.map((row, i) => row[n] / row[i]);
  }

  /* What there is to say of a code: in the order of what it tells. */
  function coded(p, posteriors, shares) {
    const order = posteriors.map((_, y) => y).sort((a, b) => one(posteriors[a]) - one(posteriors[b]));
    const given = order.map((y) => posteriors[y]), share = order.map((y) => shares[y]);
    const channel = STATES.map((_, s) => share.map((u, y) => (p[s] > NONE ? (u * given[y][s]) / p[s] : 0)));
    const guess = (of) => ({ before: Math.max(of(p), 1 - of(p)), after: sum(given.map((q, y) => share[y] * Math.max(of(q), 1 - of(q)))) });
    const bits = (of) => Math.max(0, h(of(p)) - sum(given.map((q, y) => share[y] * h(of(q)))));
    const about = (name, of) => ({ name, prior: of(p), given: given.map(of), guess: guess(of), bits: bits(of) });
    return { p, share, given, channel, told: about("W", one), kept: [0, 1].map((i) => about(`X${i + 1}`, (q) => bit(q, i))) };
  }

  /* What two draws for one record say: for every pair of codes how probable it is, and the law of the bits then. */
  function twice(code) {
    const pairs = [];
    for (let y = 0; y < code.share.length; y += 1) {
      for (let z = y; z < code.share.length; z += 1) {
        const times = y === z ? 1 : 2; // either may come first
        const mass = STATES.map((_, s) => times * code.p[s] * code.channel[s][y] * code.channel[s][z]);
        const all = sum(mass);
        if (all < NONE) continue;
        const q = mass.map((m) => m / all);
        pairs.push({ codes: [y, z], probability: all, bits: [bit(q, 0), bit(q, 1)], certain: [0, 1].map((i) => bit(q, i) < NONE || bit(q, i) > 1 - NONE) });
      }
    }
    return pairs;
  }

  return { STATES, law, hidden, within, twice };
})();
if (typeof module !== "undefined") module.exports = choralXor;
