"""Linkage attacks, run for real on tables that were disclosed by choral: which succeed, as the pages say, and which fail.

Each counts right guesses. An attack that the pages say works has to work, and one that they say fails must do no better than
somebody who saw no code, by more than five standard deviations of chance.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from random import Random

from attack.tally import Attack, Tally

import choral as ch
from choral.errors import ChoralError, LedgerError

DEVIATIONS = 5
"""Of chance: less than one in a million tries is a false alarm."""
PEOPLE = 1200
LAW = {(0, 0): 4, (0, 1): 1, (1, 0): 2, (1, 1): 3}
"""Of two bits, in tenths: the example of the page about promises."""


def table_in(
    folder: Path, draw: Random, name: str = "t.csv", ids: str = "random"
) -> tuple[Path, dict[str, tuple[int, int]]]:
    """A table sorted by both bits, with identifiers at random or in its order; and who is who."""
    bits = [cell for cell, n in LAW.items() for _ in range(n * PEOPLE // 10)]
    numbers = list(range(PEOPLE)) if ids == "sorted" else draw.sample(range(10**6), PEOPLE)
    who = {f"{n:07}": cell for n, cell in zip(numbers, bits, strict=True)}
    path = folder / name
    rows = [f"{person},{a},{b},{2 * a + b}" for person, (a, b) in who.items()]
    path.write_text("\n".join(["who,X1,X2,both", *rows]) + "\n", encoding="utf-8")
    return path, who


def fitted(path: Path, folder: Path, name: str = "r.choral") -> ch.Release:
    """A release of the table that tells about both bits together, and about neither alone."""
    release = ch.fit(path, "both", ["X1", "X2"], ["X1", "X2"])
    release.save(folder / name)
    return release


def told(release: ch.Release, path: Path, folder: Path, name: str, **options) -> list[dict[str, str]]:
    """What was given out, in the order of the file."""
    release.disclose(path, folder / name, **options)
    with (folder / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def channel_of(release: ch.Release) -> dict[tuple[int, int], list[Fraction]]:
    """p(code | state), which the adversary knows."""
    return {cell: list(release.disclosure.channel_of({"X1": cell[0], "X2": cell[1]})) for cell in LAW}


def better_than_chance(right: int, tries: int, chance: float) -> bool:
    """Whether more guesses are right than somebody who saw nothing would have, beyond luck."""
    return right > tries * chance + DEVIATIONS * math.sqrt(tries * chance * (1 - chance))


def guesses(likelihood: dict[str, dict[tuple[int, int], float]], who, bit: int) -> int:
    """Right guesses at a bit by whoever knows the law, from how likely each state makes what was seen of a person."""
    right = 0
    for person, seen in likelihood.items():
        mass = Counter()
        for cell, n in LAW.items():
            mass[cell[bit]] += n * seen[cell]
        right += max(mass, key=lambda z: (mass[z], z)) == who[person][bit]
    return right


def best_without(bit: int) -> float:
    """How often somebody guesses right who saw nothing."""
    mass = Counter()
    for cell, n in LAW.items():
        mass[cell[bit]] += n / 10
    return max(mass.values())


def one_code(draw: Random, folder: Path, tally: Tally) -> None:
    """All codes with their identifiers: no bit is guessed better than without; the pair is told."""
    path, who = table_in(folder, draw)
    release = fitted(path, folder)
    rows, channel = told(release, path, folder, "codes.csv", id="who"), channel_of(release)
    seen = {row["who"]: {cell: float(channel[cell][int(row["code"])]) for cell in LAW} for row in rows}
    for bit in (0, 1):
        right, chance = guesses(seen, who, bit), best_without(bit)
        tally.expect(
            not better_than_chance(right, PEOPLE, chance), "one code: a protected bit is guessed no better", right
        )
    both = sum(max(LAW, key=lambda cell: LAW[cell] * seen[p][cell]) == who[p] for p in who)
    tally.expect(better_than_chance(both, PEOPLE, 0.4), "one code: what was not protected, the pair, is told", both)


def two_draws(draw: Random, folder: Path, tally: Tally) -> None:
    """Two independent draws give X2 away where they differ; the ledger refuses the second."""
    path, who = table_in(folder, draw)
    first, second = fitted(path, folder), fitted(path, folder, "s.choral")
    codes = {row["who"]: row["code"] for row in told(first, path, folder, "one.csv", id="who")}
    again = {row["who"]: row["code"] for row in told(first, path, folder, "again.csv", id="who")}
    tally.expect(codes == again, "two draws: the same release gives the same codes again", "codes changed")
    try:
        told(second, path, folder, "two.csv", id="who")
        refused = False
    except LedgerError:
        refused = True
    tally.expect(
        refused and not (folder / "two.csv").exists(), "two draws: a second release of the same people is refused", ""
    )
    beside = {
        row["who"]: row["code"] for row in told(second, path, folder, "two.csv", id="who", ledger=folder / "other")
    }
    channel, other = channel_of(first), channel_of(second)
    seen = {p: {c: float(channel[c][int(codes[p])] * other[c][int(beside[p])]) for c in LAW} for p in who}
    sure = [p for p in who if sum(1 for z in (0, 1) if any(seen[p][c] for c in LAW if c[1] == z)) == 1]
    wrong = [p for p in sure if not any(seen[p][c] for c in LAW if c[1] == who[p][1])]
    tally.expect(
        len(sure) > PEOPLE / 20 and not wrong,
        "two draws beside the ledger: X2 is known for sure where they differ",
        len(sure),
    )


def windows(codes: list[int], channel, width: int = 25) -> list[tuple[int, int]]:
    """For each place the state that makes the codes around it likeliest."""
    found = []
    logs = {cell: [math.log(float(p) or 1e-9) for p in row] for cell, row in channel.items()}
    for i in range(len(codes)):
        near = Counter(codes[max(0, i - width) : i + width + 1])
        found.append(max(LAW, key=lambda cell: sum(n * logs[cell][y] for y, n in near.items())))
    return found


def order(draw: Random, folder: Path, tally: Tally) -> None:
    """Windows of codes tell a sorted table in its own order, or by identifiers in that order; not as arranged."""
    ids = draw.choice(["random", "sorted"])
    path, who = table_in(folder, draw, ids=ids)
    release = fitted(path, folder)
    channel = channel_of(release)
    rows = told(release, path, folder, "keyed.csv", id="who")

    def right(listed):
        found = windows([int(row["code"]) for row in listed], channel)
        return [sum(g[bit] == who[row["who"]][bit] for g, row in zip(found, listed, strict=True)) for bit in (0, 1)]

    keyed = right(rows)
    held = not any(better_than_chance(n, PEOPLE, best_without(bit) + 0.05) for bit, n in enumerate(keyed))
    tally.expect(held, "order: windows of codes as they are arranged tell nothing", keyed)
    table = right(told(release, path, folder, "table.csv", id="who", arrange="table"))
    tally.expect(table[0] > 0.8 * PEOPLE, "order: where the order of the table was asked for, windows tell X1", table)
    by_id = right(sorted(rows, key=lambda row: row["who"]))
    if ids == "sorted":
        tally.expect(by_id[0] > 0.8 * PEOPLE, "order: identifiers in the order of an attribute tell it", by_id)
    else:
        held = not any(better_than_chance(n, PEOPLE, best_without(bit) + 0.05) for bit, n in enumerate(by_id))
        tally.expect(held, "order: random identifiers tell nothing", by_id)


def composition(draw: Random, folder: Path, tally: Tally) -> None:
    """Whoever knows how often each combination occurs, in a table of ten: a lone code pins its record."""
    channel = channel_of_example()
    cells = [cell for cell, n in LAW.items() for _ in range(n)]
    pinned = tries = 0
    for _ in range(400):
        codes = [
            next(y for y in (0, 1) if u < sum(channel[c][: y + 1])) for c, u in ((c, draw.random()) for c in cells)
        ]
        tries += 1
        if codes.count(1) == 1:
            pinned += 1
            tally.expect(cells[codes.index(1)] == (0, 1), "composition: a lone code 1 among ten is the lone 01", codes)
    expected = (15 / 16) ** 4 * (3 / 8) ** 2  # the other six: four 00 and two 10 get code 0, three 11 always do
    spread = math.sqrt(expected * (1 - expected) / tries)
    near = abs(pinned / tries - expected) < DEVIATIONS * spread
    tally.expect(near, "composition: how often that happens is what the page says", (pinned, tries, expected))
    leaks = [ch.audit(example(), records=rows).composition[1].bits for rows in (10, 100, 1000)]
    tally.expect(
        leaks[0] > 9 * leaks[1] > 81 * leaks[2] > 0,
        "composition: the audit finds it, and that it falls like 1/rows",
        leaks,
    )


def example() -> ch.Disclosure:
    """The disclosure of the page about promises."""
    return ch.self_disclose(ch.Joint.from_counts(LAW, names=["X1", "X2"]))


def channel_of_example() -> dict[tuple[int, int], list[float]]:
    """Its channel."""
    d = example()
    return {cell: [float(p) for p in d.channel_of({"X1": cell[0], "X2": cell[1]})] for cell in LAW}


def side_knowledge(draw: Random, folder: Path, tally: Tally) -> None:
    """Whoever knows X1 learns X2 from the code, unless that was promised: then no better than from X1 alone."""
    path, who = table_in(folder, draw)
    release = fitted(path, folder)
    channel = channel_of(release)
    rows = told(release, path, folder, "codes.csv", id="who")
    codes = {row["who"]: int(row["code"]) for row in rows}
    known = sum(
        max((0, 1), key=lambda z, p=p: LAW[who[p][0], z] * channel[who[p][0], z][codes[p]]) == who[p][1] for p in who
    )
    without = sum(max(LAW[a, 0], LAW[a, 1]) for a in (0, 1)) / 10
    tally.expect(
        better_than_chance(known, PEOPLE, without), "side knowledge: whoever knows X1 learns X2 from the code", known
    )
    three = [
        (a, b, c, (a + b + c + int(draw.random() < 0.1)) % 2)
        for a in (0, 1)
        for b in (0, 1)
        for c in (0, 1)
        for _ in range(60)
    ]
    people = folder / "three.csv"
    people.write_text(
        "\n".join(["who,a,b,c,W", *(f"q{i},{','.join(map(str, row))}" for i, row in enumerate(three))]) + "\n"
    )
    given = ch.fit(people, "W", ["a", "a | b"], ["a", "b", "c"])
    given.save(folder / "given.choral")
    seen = told(given, people, folder, "three_codes.csv", id="who", ledger=folder / "third")
    table = defaultdict(Counter)
    for row in seen:
        a, b, *_ = three[int(row["who"][1:])]
        table[b, row["code"]][a] += 1
    right = sum(max(count.values()) for count in table.values())
    slack = DEVIATIONS * math.sqrt(len(three)) * len(table) ** 0.5
    tally.expect(
        right < len(three) / 2 + slack, "side knowledge: what was promised given b is kept from who knows b", right
    )
    d, law = given.disclosure, given.disclosure.law
    exact = all(
        _given(law, d, b, y, 1) * _given(law, d, b, None, None)
        == _given(law, d, b, None, 1) * _given(law, d, b, y, None)
        for b in (0, 1)
        for y in range(d.codes)
    )
    tally.expect(exact, "side knowledge: … exactly, by the law of the release", "a | b is told about")


def _given(law, d, b, y, a) -> Fraction:
    """The mass of records with b, with a and code y where they are named."""
    total = Fraction(0)
    for values, p in law.items():
        record = dict(zip(law.names, values, strict=True))
        if record["b"] == b and a in (None, record["a"]):
            total += p * (1 if y is None else d.channel_of(record)[y])
    return total


def two_cards(draw: Random, folder: Path, tally: Tally) -> None:
    """Cards of tables that differ by one person are refused where identifiers tell; on the curator's word, one is told."""
    rows = [(f"c{i}", i % 2, i // 2 % 2, (i + i // 2) % 2) for i in range(399)]
    extra = ("c399", 1, 1, draw.randint(0, 1))
    cards = []
    for name, listed in (("one", rows), ("two", [*rows, extra])):
        path = folder / f"{name}.csv"
        path.write_text("\n".join(["who,a,b,W", *(",".join(map(str, row)) for row in listed)]) + "\n")
        cards.append((ch.fit(path, "W", ["a", "b"], ["a", "b"], id="who"), path))
    book = folder / "book"
    (first, one), (second, two) = cards
    first.card(folder / "one.json", table=one, ledger=book)
    try:
        second.card(folder / "two.json", table=two, ledger=book)
        refused = False
    except ChoralError:
        refused = True
    tally.expect(
        refused and not (folder / "two.json").exists(),
        "two cards: of nearly the same people, the second is refused",
        "",
    )
    found = [release.card().document for release, _ in cards]
    steps = {document["records"] % document["step"] for document in found}
    tally.expect(steps == {0}, "two cards: each counts in steps, so that it names no exact number", steps)
    target, posteriors = draw.randint(0, 1), []
    for name, more in (("three", []), ("four", [target])):
        path = folder / f"{name}.csv"
        listed = [0] * 194 + [1] * 194 + more  # the next record with either value moves a rounded count
        path.write_text("\n".join(["a,W", *(f"x,{w}" for w in listed)]) + "\n")
        release = ch.fit(path, "W", ["a"], ["a", "W"])
        release.card(folder / f"{name}.json", table=path, ledger=folder / "word", other_people=True)
        posteriors.append(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))
    before, after = (dict(zip(card["values"], _counted(card), strict=True)) for card in posteriors)
    told_of = [w for w in before if after[w] - before[w] > 5]  # half a step
    tally.expect(
        told_of == [target], "two cards on the curator's word: who was added is told, as the page says", told_of
    )


def _counted(card) -> list[float]:
    """The rounded number of records of each value, from what a card says."""
    rows = [(p, row) for p, row in zip(card["p_y"], card["p_w_given_y"], strict=True) if row is not None]
    return [round(sum(card["records"] * p * row[w] for p, row in rows)) for w in range(len(card["values"]))]


ATTACKS = [
    Attack("linkage", one_code, short=1, share=1),
    Attack("linkage", two_draws, short=1, share=1),
    Attack("linkage", order, short=2, share=1),
    Attack("linkage", composition, short=1, share=0.3),
    Attack("linkage", side_knowledge, short=1, share=1),
    Attack("linkage", two_cards, short=1, share=0.5),
]
