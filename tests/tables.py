"""Random tables for the tests of releases, and independence checked in integers, without choral."""

from __future__ import annotations

import datetime
from collections import Counter
from decimal import Decimal
from fractions import Fraction

from hypothesis import assume
from hypothesis import strategies as st

KINDS = {
    "bool": st.booleans(),
    "int": st.integers(-3, 3),
    "big": st.sampled_from([2**53, 2**53 + 1, -(2**62), 7]),
    "float": st.sampled_from([0.0, -0.0, 0.1, 1 / 3, -2.5, 1e300, float("inf"), float("nan")]),
    "text": st.sampled_from(["a", "b", "it's", 'say "x"', "ä, ö", "", "-", "NULL", " 1"]),
    "decimal": st.sampled_from([Decimal("1.50"), Decimal("-0.25"), Decimal("1E+2"), Decimal("3")]),
    "date": st.sampled_from([datetime.date(2020, 1, 31), datetime.date(1969, 7, 20)]),
    "moment": st.sampled_from([datetime.datetime(2020, 1, 31, 12, 30, 0, 5), datetime.datetime(1969, 7, 20)]),
}


@st.composite
def tables(draw, least=30, most=80, columns=(2, 4), kinds=tuple(KINDS), missing=True):
    """Columns of several kinds with repeated values, as a list of records; W is text with two values."""
    chosen = [draw(st.sampled_from(kinds)) for _ in range(draw(st.integers(*columns)))]
    n = draw(st.integers(least, most))
    random = draw(st.randoms(use_true_random=False))
    pools = []
    for kind in chosen:
        pool = draw(st.lists(KINDS[kind], min_size=2, max_size=4))
        pools.append([*pool, None] if missing and draw(st.booleans()) else pool)
    rows = [{f"x{i}": random.choice(pool) for i, pool in enumerate(pools)} for _ in range(n)]
    for row in rows:
        row["W"] = "yes" if random.random() < 0.3 + 0.4 * (row["x0"] == rows[0]["x0"]) else "no"
    rows[0]["W"], rows[1]["W"] = "yes", "no"
    for i, pool in enumerate(pools):
        if all(row[f"x{i}"] is None for row in rows):
            rows[0][f"x{i}"] = pool[0]
        assume(not all(plain(row[f"x{i}"]) in (None, "") for row in rows))  # an empty text is missing, too
    return rows


def plain(value):
    """A value as something equal exactly when a table's values are: NaN and empty text are missing, and -0.0 is 0.0."""
    return None if value is None or value != value or value == "" else value


def leaks(rows, states, channel, group):
    """Whether a code tells about a group of columns of these rows, each taken as likely as any other; in integers.

    `states` are the rows' positions in the channel, given as rows (denominator, ((code, numerator), …)).
    """
    together = Counter((tuple(plain(row[name]) for name in group), s) for row, s in zip(rows, states, strict=True))
    joint, of_code, of_group = Counter(), Counter(), Counter()
    for (z, s), count in together.items():
        denominator, entries = channel[s]
        of_group[z] += count
        for y, n in entries:
            joint[z, y] += Fraction(count * n, denominator)
            of_code[y] += Fraction(count * n, denominator)
    return any(joint[z, y] * len(rows) != of_group[z] * of_code[y] for z in of_group for y in of_code)
