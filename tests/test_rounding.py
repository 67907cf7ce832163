"""No number of a card tells a count closely: every table of counts is tried, and what the card leaves open is listed."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from fractions import Fraction

import pytest

from choral.errors import ProblemError
from choral.release.card import card_of, decode
from choral.release.fit import fit
from choral.release.rounding import rounded

NUMBERS = ("precision", "records", "step", "information", "p_y", "values", "other", "p_w_given_y")


def shown(counts, total, least):
    """All that a card says of a table of counts: what is withheld, what is named, and every number as exactly as it is."""
    found = rounded([[Fraction(n, total) for n in row] for row in counts], total, least)
    if found is None:
        return None
    posteriors = tuple(row and tuple(row) for row in found.p_w_given_y)
    return (found.named, found.other, tuple(found.p_y), posteriors, found.records, found.decimals, found.information)


def counts_of(counts, named):
    """Every count that the card could be asked about, by name: of cells, of codes, of values; and of what is pooled."""
    values = [*([w] for w in named), [w for w in range(len(counts[0])) if w not in named]]
    for y, row in enumerate(counts):
        yield ("code", y), sum(row)
        yield from ((("cell", *some, y), sum(row[w] for w in some)) for some in values if some)
    yield from ((("value", *some), sum(row[w] for row in counts for w in some)) for some in values if some)


def tables(cells, most):
    """All tables of this many counts with at most so many records."""
    if cells == 0:
        yield ()
        return
    for n in range(most + 1):
        yield from ((n, *rest) for rest in tables(cells - 1, most - n))


@pytest.mark.parametrize(
    ("codes", "values", "least", "most"), [(2, 2, 2, 14), (1, 2, 5, 45), (1, 3, 3, 24), (1, 4, 2, 15)]
)
def test_every_count_has_enough_values_that_the_whole_card_allows(codes, values, least, most):
    """By enumeration of all tables up to a size, for who knows the number of records and for who does not.

    A card that a table of the largest size has may belong to larger ones too, which are not tried: it is left out.
    """
    allowed = defaultdict(lambda: defaultdict(set))
    for flat in tables(codes * values, most):
        total = sum(flat)
        counts = [flat[y * values : (y + 1) * values] for y in range(codes)]
        card = shown(counts, total, least) if total else None
        for known in (None, total) if card else ():
            allowed[card, known]["records"].add(total)
            for name, n in counts_of(counts, card[0]):
                allowed[card, known][name].add(n)
    tried = {True: 0, False: 0}
    for (card, known), of_card in allowed.items():
        if known is None and max(of_card["records"]) == most:
            continue
        for name, found in of_card.items():
            is_total = name == "records" or (codes == 1 and name[0] == "code")
            if known is None or not is_total:
                assert len(found) >= least, (card, known, name, sorted(found))
                tried[known is None] += 1
    assert min(tried.values()) > 5


def people(rng, n):
    """A small table with a target of which some values are rare, and columns that tell about it."""
    rows = []
    for _ in range(n):
        a, b = rng.randrange(2), rng.randrange(2)
        crime = ["thief", "none"][a ^ b] if rng.random() < 0.9 else rng.choice(["thief", "none", "fraud"])
        rows.append({"crime": crime, "a": a, "b": b})
    rows[0]["crime"] = "murderer"
    return rows


@pytest.mark.parametrize("seed", range(12))
def test_random_small_tables_keep_their_counts(seed):
    """From the public document alone: what every count can be, and that it can be what it is."""
    rng = random.Random(seed)
    n, least = rng.randrange(60, 400), rng.choice([3, 5, 8])
    rows = people(rng, n)
    release = fit(rows, "crime", ["a", "b"], ["a", "b"], min_count=least)
    card = card_of(release)
    text, document = json.dumps(card.document), card.document
    assert "murderer" not in text
    assert not re.search(rf"(?<!about ){n} records", text)
    if document["p_y"] is None:
        assert all(document[name] is None for name in NUMBERS)
        return
    d, step = release.disclosure, document["step"]
    assert step >= 2 * least
    for value, of in ((w, [row["crime"] for row in rows].count(w)) for w in card.values):
        assert of >= least, value
    values = d.problem.target.values
    total = 0
    for y, row in enumerate(card.p_w_given_y):
        near = [
            step * int(n * d.p_y[y] * d.p_w_given_y[y][values.index(w)] / step + Fraction(1, 2)) for w in card.values
        ]
        total += sum(near)
        if not document["other"]:
            assert (row is None) == (not any(near))
            assert row is None or row == [round(m / sum(near), document["precision"]) for m in near]
    if not document["other"]:
        assert document["records"] == total
    assert abs(document["records"] - n) <= step * len(values) * d.codes


def test_a_rare_value_is_not_named_and_rare_values_together_are_pooled(tmp_path):
    rows = [{"W": ["yes", "no"][a ^ b], "a": a, "b": b} for a in (0, 1) for b in (0, 1) for _ in range(36)]
    rows[0]["W"] = "murderer"
    lone = card_of(fit(rows, "W", ["a", "b"], ["a", "b"]))
    assert sorted(lone.values) == ["no", "yes"]
    assert lone.document["other"] is False
    for i in range(24):
        rows[i]["W"] = f"crime {i % 12}"
    pooled = card_of(fit(rows, "W", ["a", "b"], ["a", "b"]))
    assert pooled.document["other"] is True
    assert "crime" not in json.dumps(pooled.document)
    assert pooled.columns[-1] == "p(W: other values)"
    assert decode(pooled, {"code": [0, 1]}, tmp_path / "out.csv") == 2
    head, *lines = (tmp_path / "out.csv").read_text().splitlines()
    assert head.strip('"').endswith("p(W: other values)")
    assert [float(line.split(",")[-1]) for line in lines] == [row[-1] for row in pooled.p_w_given_y]


def test_a_code_that_is_too_rare_has_no_posterior(tmp_path):
    rows = [{"W": w, "a": w, "b": b} for w in (0, 1) for b in (0, 1) for _ in range(40)]
    rows += [{"W": 0, "a": 2, "b": 0}] * 3 + [{"W": 1, "a": 2, "b": 1}] * 3
    release = fit(rows, "W", ["b"], ["a", "b"], min_count=2)
    card = card_of(release)
    rare = [y for y, p in enumerate(release.disclosure.p_y) if len(rows) * p < 4]
    for y in rare:
        assert card.p_w_given_y[y] is None
    assert decode(card, {"code": list(range(card.codes))}, tmp_path / "out.csv") == card.codes


def test_numbers_that_would_tell_counts_to_who_knows_how_many_records_there_are_are_withheld(tmp_path):
    """66 and 66 of 132 are rounded to 70 and 70, which are 65 or more each: that leaves 65, 66 and 67."""
    rows = [{"W": a ^ b, "a": a, "b": b} for a in (0, 1) for b in (0, 1) for _ in range(33)]
    card = card_of(fit(rows, "W", ["a", "b"], ["a", "b"]))
    assert card.document["p_y"] is None
    assert card.document["records"] is None
    assert "132" not in " ".join([card.document["law"]["about"], *card.document["guarantee"]])
    with pytest.raises(ProblemError, match="to within less than 5"):
        decode(card, {"code": [0]}, tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_a_precision_that_the_counts_do_not_have_is_refused():
    rows = [{"W": a ^ b, "a": a, "b": b} for a in (0, 1) for b in (0, 1) for _ in range(75)]
    release = fit(rows, "W", ["a", "b"], ["a", "b"])
    assert card_of(release).document["precision"] == card_of(release, 2).document["precision"] == 2
    assert card_of(release, 1).document["precision"] == 1
    with pytest.raises(ProblemError, match="steps of 10"):
        card_of(release, 3)
