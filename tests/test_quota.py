"""`--draw quota`: shares that can be counted, the same on all engines, once for each record, and what it costs."""

from __future__ import annotations

import hashlib
import json
import math
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction as F
from itertools import permutations, product
from pathlib import Path

import duckdb
import flint
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from pyarrow import csv, parquet
from scipy.stats import chi2
from test_quota_rounding import by_ranks
from typer.testing import CliRunner

from choral.draw import quota_cost
from choral.draw.engine import disclose_table
from choral.draw.quota import Chosen, Quotas, ratio_of, two_sided
from choral.draw.quota_cost import cost_of
from choral.draw.quota_rounding import rounded
from choral.draw.ranks import Deal, Ranks
from choral.errors import LawError, LedgerError, ProblemError
from choral.ledger.identity import positions
from choral.release.fit import fit
from choral.release.second import fit_after
from choral.show.cli import app

KEY = bytes(range(32))
SALT = bytes(range(16))
TWO = {"reveal": "income", "protect": ["sex", "race"], "use": ["sex", "race", "schooling"], "codes": 6}
ONE = {"reveal": "income", "protect": ["sex"], "use": ["sex", "schooling"]}
FALSE_ALARM = 1e-6
"""Of each test of chance; keys, salts and tables are fixed, so nothing here varies from run to run."""


def people(n, seed=1):
    """Invented people; incomes depend on schooling, and schooling on sex."""
    draws = np.random.default_rng(seed)
    sex, race = draws.integers(0, 2, n), draws.integers(0, 3, n)
    schooling = np.minimum(draws.integers(0, 4, n) + sex, 3)
    income = (draws.random(n) < 0.1 + 0.2 * schooling).astype(np.int64)
    who = draws.permutation(n) + 1000
    columns = {"who": who, "sex": np.array(["f", "m"])[sex], "race": race, "schooling": schooling, "income": income}
    return pa.table(columns)


@pytest.fixture(scope="module")
def table():
    return people(1200)


@pytest.fixture(scope="module")
def release(table):
    return replace(fit(table, **TWO), key=KEY, salt=SALT)


@pytest.fixture(scope="module")
def one(table):
    return replace(fit(table, **ONE), key=KEY, salt=SALT)


@pytest.fixture
def folder(tmp_path, table, release):
    parquet.write_table(table, tmp_path / "table.parquet")
    csv.write_csv(table, tmp_path / "table.csv")
    release.save(tmp_path / "release.choral")
    return tmp_path


def told(release, table, folder, name="codes.parquet", ledger="ledger", **options):
    options = {"id": "who", "draw": "quota", **options}
    done = disclose_table(release, table, folder / name, folder / ledger, force=True, **options)
    return parquet.read_table(done.output), done


def by_record(codes):
    return dict(zip(*(column.to_pylist() for column in codes.columns), strict=True))


def shares(table, codes, names):
    """n(z,y) and the product n(z) n(y)/N, counted from the published columns."""
    code = by_record(codes)
    pairs = [(tuple(row[n] for n in names), code[row["who"]]) for row in table.to_pylist()]
    joint, of_group, of_code = Counter(pairs), Counter(z for z, _ in pairs), Counter(y for _, y in pairs)
    total = len(pairs)
    return {(z, y): (joint[z, y], F(of_group[z] * of_code[y], total)) for z in of_group for y in of_code}


# ---------------------------------------------------------------------- shares, on all engines


def test_one_group_of_two_values_is_within_one_record_in_what_is_published(table, one, tmp_path):
    codes, done = told(one, table, tmp_path)
    counted = shares(table, codes, ["sex"])
    assert all(abs(n - share) < 1 for n, share in counted.values())
    assert done.draw == "quota"
    assert done.quota.bound == 1
    worst = max(abs(n - share) for n, share in counted.values())
    assert abs(done.quota.worst.deviation) == worst
    by_lots, _ = told(one, table, tmp_path, "lots.parquet", "other", draw="lots")
    assert any(abs(n - share) > 1 for n, share in shares(table, by_lots, ["sex"]).values())


def test_two_groups_are_below_what_is_promised_in_what_is_published(table, release, tmp_path):
    codes, done = told(release, table, tmp_path)
    assert all(abs(n - share) < 3 for n, share in shares(table, codes, ["sex"]).values())
    race = shares(table, codes, ["race"])
    assert all(
        abs(n - share) < 3 * (1 + share / sum(n for (_, c), (n, _) in race.items() if c == y))
        for (_, y), (n, share) in race.items()
    )
    assert done.quota.method == "Beck-Fiala"


def test_every_state_has_its_exact_sums_and_no_code_that_is_impossible(table, release, tmp_path):
    code = by_record(told(release, table, tmp_path)[0])
    found = Counter((release.recipe.state_of(row), code[row["who"]]) for row in table.to_pylist())
    sizes = Counter(release.recipe.state_of(row) for row in table.to_pylist())
    for s, (d, entries) in enumerate(release.disclosure.exact_channel.rows):
        assert sum(n for (t, _), n in found.items() if t == s) == sizes[s]
        chance = dict(entries)
        for y in range(release.codes):
            assert abs(found[s, y] - F(sizes[s] * chance.get(y, 0), d)) < 1


def test_files_and_frames_in_any_order_have_the_same_codes(folder, table, release):
    first = by_record(told(release, folder / "table.parquet", folder)[0])
    assert by_record(told(release, folder / "table.csv", folder)[0]) == {str(k): v for k, v in first.items()}
    shuffled = table.take(np.random.default_rng(1).permutation(table.num_rows))
    for frame in (table, shuffled, shuffled.to_pandas(), pl.from_arrow(shuffled)):
        codes = release.disclose(frame, id="who", ledger=folder / "ledger", draw="quota")
        codes = codes if isinstance(codes, pa.Table) else pa.table(codes) if isinstance(codes, dict) else codes
        columns = [
            list(codes[name]) if not isinstance(codes, pa.Table) else codes[name].to_pylist()
            for name in ("who", "code")
        ]
        assert dict(zip(*columns, strict=True)) == first
    connection = duckdb.connect(str(folder / "base.duckdb"))
    connection.execute(f"CREATE TABLE people AS SELECT * FROM '{folder / 'table.parquet'}'")
    connection.close()
    assert by_record(told(release, f"{folder / 'base.duckdb'}::people", folder)[0]) == first


def test_the_deal_is_that_of_cards_sorted_by_aes_of_the_identifiers(table, release, tmp_path):
    """Derived a second time: in each state, in the order of AES-256 under the key for quotas, the first get code 0."""
    code = by_record(told(release, table, tmp_path)[0])
    key = hashlib.blake2b(bytes.fromhex(release.digest), digest_size=32, key=KEY, person=b"quota").digest()
    aes = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    hands = {}
    for row in table.to_pylist():
        name = str(row["who"]).encode()
        block = name.ljust(14, b"\0") + bytes([len(name), 2])
        hands.setdefault(release.recipe.state_of(row), []).append((aes.update(block), row["who"]))
    quotas = Quotas.of(release)
    assert quotas.beside == ()
    for state, counts in zip(quotas.states, quotas.counts, strict=True):
        cards = [y for y in sorted(counts) for _ in range(counts[y])]
        assert [code[who] for _, who in sorted(hands[state])] == cards


def test_without_identifiers_rows_are_dealt_to_and_the_same_file_gives_the_same_codes(folder, table, one):
    first, _ = told(one, folder / "table.parquet", folder, id=None, with_rows=True)
    again, _ = told(one, folder / "table.parquet", folder, id=None, with_rows=True)
    assert first.equals(again)
    rows = (
        table.append_column("row", pa.array(np.arange(1, 1201)))
        .drop_columns(["who"])
        .rename_columns(["sex", "race", "schooling", "income", "who"])
    )
    assert all(abs(n - share) < 1 for n, share in shares(rows, first, ["sex"]).values())


def test_columns_that_the_state_does_not_have_are_counted_too(table, tmp_path):
    """A protected column that is not used, and a promise to whoever knows the target."""
    for rules in ({**ONE, "protect": ["sex", "race"]}, {**ONE, "protect": ["sex | income"]}):
        made = fit(table, **rules)
        codes, done = told(made, table, tmp_path, ledger=f"ledger {rules['protect']}")
        quotas = Quotas.of(made)
        assert quotas.beside
        for share in quotas.shares():
            assert abs(share.deviation) < share.bound
        assert abs(done.quota.worst.deviation) == max(abs(share.deviation) for share in quotas.shares())
        if rules["protect"] == ["sex | income"]:
            for income in (0, 1):
                inside = table.filter(pa.compute.equal(table["income"], income))
                kept = codes.filter(pa.compute.is_in(codes["who"], inside["who"].combine_chunks()))
                assert all(abs(n - share) < 1 for n, share in shares(inside, kept, ["sex"]).values())


def test_a_million_records_have_their_quotas_and_chance_alone_says_who(one, tmp_path):
    """Counts are exact; and of each cell, codes fall on odd and even rows as a deal of shuffled cards does."""
    sizes = [300_000, 200_001, 150_002, 349_997]
    values, cuts = (0, 0, 1, 1), [F(1, 3), F(2, 3)]
    base = Quotas.of(one)
    rows = tuple(by_ranks(sizes, values, cuts))
    counts = rounded(sizes, rows, [values], []).counts
    quotas = replace(
        base,
        numbers=(0, 1, 2, 3),
        sizes=tuple(sizes),
        rows=rows,
        codes=3,
        counts=counts,
        plain=counts,
        beside=(),
        widths=(),
    )
    deal = Deal(quotas, KEY, bytes(32))
    cells = np.repeat(np.arange(4), sizes)
    blocks = positions(0, len(cells))
    with Ranks(deal, tmp_path / "ranks") as ranks:
        for start in range(0, len(cells), 300_000):
            here = slice(start, start + 300_000)
            ranks.add(cells[here], deal.places(blocks[here]))
        ranks.check("it")
        drawing = ranks.drawing(bytes(32))
    assert not (tmp_path / "ranks").exists()
    codes = drawing.codes(cells, blocks)
    found = np.zeros((4, 3, 2), dtype=int)
    np.add.at(found, (cells, codes, np.arange(len(cells)) % 2), 1)
    assert [{y: int(n) for y, n in enumerate(row) if n} for row in found.sum(axis=2)] == [
        dict(sorted(c.items())) for c in counts
    ]
    statistic = degrees = 0
    for cell in found:
        expected = np.outer(cell.sum(axis=1), cell.sum(axis=0)) / cell.sum()
        kept = expected > 0
        statistic += float(((cell - expected)[kept] ** 2 / expected[kept]).sum())
        degrees += int((cell.sum(axis=1) > 0).sum()) - 1
    assert degrees >= 4
    assert FALSE_ALARM / 2 < chi2.sf(statistic, degrees) < 1 - FALSE_ALARM / 2
    total = found.sum(axis=(0, 2))
    for z in (0, 1):
        mine = found[[2 * z, 2 * z + 1]].sum(axis=(0, 2))
        assert all(abs(int(n) - F(int(mine.sum()) * int(t), len(cells))) < 1 for n, t in zip(mine, total, strict=True))


# ---------------------------------------------------------------------- what is refused


def test_quotas_are_for_the_tables_own_frequencies_without_budgets_and_for_a_first_release(table, release, tmp_path):
    for made, words in (
        (fit(table, **ONE, law="dirichlet"), "own frequencies"),
        (fit(table, **ONE, leakage={"sex": "0.01"}), "may tell something about sex"),
        (fit_after(release, table, "income", ["sex"], TWO["use"]), "comes after another"),
    ):
        with pytest.raises(ProblemError, match=words) as refused:
            told(made, table, tmp_path)
        assert "lots" in refused.value.remedy
    assert not list(tmp_path.iterdir())


def test_codes_of_few_bearers_are_refused(table, one, tmp_path):
    least = min(Quotas.of(one).bearers)
    few = replace(one, recipe=replace(one.recipe, min_count=least + 1))
    with pytest.raises(ProblemError, match=f"{least} bearers by quota, fewer than {least + 1}"):
        told(few, table, tmp_path)
    told(replace(one, recipe=replace(one.recipe, min_count=least)), table, tmp_path)


def test_words_that_mean_no_draw_are_refused():
    for words, match in (
        (("lot",), "lots"),
        (("lots", 1), 'draw="quota"'),
        (("quota", 0), "0.01"),
        (("quota", "x"), "0.01"),
    ):
        with pytest.raises(ProblemError, match=match):
            Chosen.of(*words)
    assert Chosen.of("quota", "0.30").written == "quota with noise 0.3"


@pytest.mark.parametrize("change", ["fewer", "more", "another value"])
def test_another_table_than_the_fitted_one_is_refused(table, release, tmp_path, change):
    rows = table.to_pylist()
    if change == "another value":
        rows[3]["schooling"] = 3 - rows[3]["schooling"]
    else:
        rows = rows[1:] if change == "fewer" else [*rows, {**rows[0], "who": 7}]
    with pytest.raises(LawError, match="second draw"):
        told(release, pa.Table.from_pylist(rows), tmp_path)
    assert not list(tmp_path.glob("*.parquet"))


def test_lots_after_quotas_and_quotas_after_lots_are_refused_with_and_without_identifiers(folder, table, release):
    for id in ("who", None):
        for first, second in product(("lots", "quota"), repeat=2):
            ledger = f"ledger {id} {first} {second}"
            told(release, folder / "table.parquet", folder, ledger=ledger, id=id, draw=first)
            if first == second:
                told(release, folder / "table.parquet", folder, ledger=ledger, id=id, draw=second)
                continue
            with pytest.raises(LedgerError, match=f"drawn by {first} .*drawn by {second}"):
                told(release, folder / "table.parquet", folder, ledger=ledger, id=id, draw=second)
        with pytest.raises(LedgerError, match="noise 1"):
            told(release, folder / "table.parquet", folder, ledger=f"ledger {id} quota quota", id=id, quota_noise=1)


def test_the_ledger_knows_a_table_drawn_by_quota_in_another_file_and_order(folder, table, release):
    shuffled = table.take(np.random.default_rng(1).permutation(table.num_rows))
    told(release, table, folder)
    told(release, shuffled, folder)
    with pytest.raises(LedgerError, match="whole table counts"):
        told(release, table.take(np.arange(table.num_rows)[::-1]), folder, draw="lots")


def test_one_person_exchanged_for_another_alike_is_a_second_draw_for_all(table, release, tmp_path):
    """The frequencies are those of the release; the ranks of others move."""
    told(release, table, tmp_path)
    rows = table.to_pylist()
    for i in range(40):
        rows[i]["who"] = 999_000 + i
    with pytest.raises(LedgerError, match=r"1160 of the identifiers .*whole table counts"):
        told(release, pa.Table.from_pylist(rows), tmp_path)
    codes, _ = told(release, pa.Table.from_pylist(rows), tmp_path, ledger="fresh")
    first = by_record(told(release, table, tmp_path)[0])
    assert any(first.get(who) != code for who, code in by_record(codes).items() if who < 999_000)


def test_a_table_fitted_anew_after_it_grew_is_refused_and_so_is_a_release_after_one_drawn_by_quota(
    table, release, tmp_path
):
    told(release, table, tmp_path)
    new = people(3, seed=9)
    new = new.set_column(0, "who", pa.array([5001, 5002, 5003]))  # with identifiers of their own, or they repeat one
    grown = pa.concat_tables([table, new])
    with pytest.raises(LedgerError, match="another release"):
        told(fit(grown, **TWO), grown, tmp_path)
    later = fit_after(release, table, "income", ["sex"], TWO["use"])
    with pytest.raises(LedgerError, match="drawn by quota"):
        told(later, table, tmp_path, draw="lots")
    some = table.slice(0, 200)
    with pytest.raises(LedgerError, match="whole table counts"):
        told(later, some, tmp_path, draw="lots")


def test_another_way_of_rounding_is_another_draw(table, release, tmp_path, monkeypatch):
    """If a later choral rounded otherwise, the ledger would refuse to draw anew."""
    told(release, table, tmp_path)
    monkeypatch.setattr(Quotas, "digest", property(lambda self: bytes(32)))
    with pytest.raises(LedgerError, match="whole table counts"):
        told(release, table, tmp_path)


POINTS = {
    "after the first reading": "ranks.Ranks.drawing = lambda *given: die()",
    "before the ledger commits": "engine.os.fsync = lambda handle: die()",
    "before the file has its name": "engine.put_file_in_place = lambda *given: die()",
}


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_any_point_the_same_command_completes(folder, release, point):
    program = textwrap.dedent(f"""
        import os, signal
        from choral.draw import engine, ranks
        from choral.release.file import load_release
        def die(): os.kill(os.getpid(), signal.SIGKILL)
        release = load_release("release.choral")
        {POINTS[point]}
        engine.disclose_table(release, "table.parquet", "codes.parquet", "ledger", "who", draw="quota")
    """)
    ended = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not (folder / "codes.parquet").exists()
    again, _ = told(release, folder / "table.parquet", folder)
    assert again.equals(told(release, folder / "table.parquet", folder, ledger="in peace")[0])
    assert not list(folder.glob(".*"))
    if point == "before the file has its name":
        with pytest.raises(LedgerError, match="drawn by quota"):
            told(release, folder / "table.parquet", folder, draw="lots")


# ---------------------------------------------------------------------- noise


def test_the_ratio_of_the_noise_is_e_to_the_minus_epsilon_rounded_down():
    for epsilon in ("0.01", "0.3", "1", "7.25", "20"):
        with flint.ctx.workprec(200):
            exact = (-flint.arb(flint.fmpq(*F(epsilon).as_integer_ratio()))).exp() * flint.arb(2) ** 64
            assert exact.floor() == ratio_of(Decimal(epsilon))


def test_noise_has_the_two_sided_geometric_law_exactly_as_said():
    ratio = ratio_of(Decimal("0.5"))
    drawn = Counter(two_sided(KEY, i, 3, ratio) for i in range(4000))
    a = ratio / 2**64
    classes = range(-6, 7)
    law = [(1 - a) / (1 + a) * a ** abs(k) for k in classes]
    counts = [drawn[k] for k in classes]
    law, counts = [*law, 1 - sum(law)], [*counts, 4000 - sum(counts)]
    statistic = sum((n - 4000 * p) ** 2 / (4000 * p) for n, p in zip(counts, law, strict=True))
    assert FALSE_ALARM / 2 < chi2.sf(statistic, len(law) - 1) < 1 - FALSE_ALARM / 2


def test_noise_keeps_the_sums_of_cells_and_possible_codes_and_depends_on_the_key(release):
    plain, noisy = Quotas.of(release), Quotas.of(release, Decimal("0.3"))
    assert noisy.counts != plain.counts == noisy.plain
    for size, (_, entries), row in zip(noisy.sizes, noisy.rows, noisy.counts, strict=True):
        assert sum(row.values()) == size
        assert all(n > 0 for n in row.values())
        assert set(row) <= {y for y, n in entries if n}
    assert Quotas.of(release, Decimal("0.3")).counts == noisy.counts
    assert Quotas.of(replace(release, key=bytes(32)), Decimal("0.3")).counts != noisy.counts
    assert Quotas.of(release, Decimal(20)).counts == plain.counts
    assert all(share.bound is None for share in noisy.shares())


# ---------------------------------------------------------------------- what it costs


def small(sizes, values, cuts, one):
    """Quotas of a tiny table, made by hand: cells with these sizes and values, and codes cut by rank."""
    rows = tuple(by_ranks(sizes, values, cuts))
    counts = rounded(sizes, rows, [values], []).counts
    promise = replace(Quotas.of(one).promises[0], sets=tuple(values), known=(0,) * len(sizes))
    shown = tuple((str(z),) for z in values)
    return replace(
        Quotas.of(one), columns=("sex",), numbers=tuple(range(len(sizes))), states=tuple(range(len(sizes))),
        values=shown, sizes=tuple(sizes), rows=rows, promises=(promise,), codes=len(cuts) + 1, counts=counts, plain=counts,
        method="flow", bound=1,
    )  # fmt: skip


def bits_of(joint):
    """I(A; B) of counts or masses {(a, b): m}."""
    total = sum(joint.values())
    of_a, of_b = Counter(), Counter()
    for (a, b), m in joint.items():
        of_a[a] += m
        of_b[b] += m
    return sum(float(m / total) * math.log2(m * total / (of_a[a] * of_b[b])) for (a, b), m in joint.items() if m)


def test_the_bearers_formula_is_what_enumerating_all_lots_gives(one):
    """Six records in three cells; every outcome of all lots is weighed, and the last bearer of a code taken at random."""
    sizes, values = (2, 1, 3), (0, 0, 1)
    quotas = small(sizes, values, [F(2, 5)], one)
    chance = [{y: F(n, d) for y, n in entries} for d, entries in quotas.rows]
    cell_of = [c for c, n in enumerate(sizes) for _ in range(n)]
    bearers = 3
    joint = Counter()
    for codes in product((0, 1), repeat=6):
        weight = math.prod((chance[c].get(y, F(0)) for c, y in zip(cell_of, codes, strict=True)), start=F(1))
        mine = [values[c] for c, y in zip(cell_of, codes, strict=True) if y == 0]
        if weight and len(mine) == bearers:
            for last in range(bearers):
                joint[mine[last], sum(mine) - mine[last]] += weight / bearers
    inside = [z == 1 for z in values]
    found = quota_cost._bearers("", bearers, *quota_cost._laws_of_lots(quotas, inside, 0, composed=True))
    assert math.isclose(found.bits, bits_of(joint), abs_tol=1e-12)
    total, seen = sum(joint.values()), {others for _, others in joint}
    right = sum(max(joint[0, others], joint[1, others]) for others in seen) / total
    assert math.isclose(found.guess_after, float(right), abs_tol=1e-12)


def test_lots_tell_who_knows_the_totals_what_is_left_of_them(one):
    """Of 5 and 7 records one bearer in a code is left over: in the proportion of those that are not known to have it."""
    quotas = small((3, 2, 7), (0, 0, 1), [F(2, 5)], one)
    inside, bearers = [True, True, False], 4
    found = quota_cost._bearers("", bearers, *quota_cost._laws_of_lots(quotas, inside, 0, composed=False))
    joint = Counter()
    for others in range(bearers):
        ways = math.comb(5, others) * math.comb(7, bearers - 1 - others)
        joint["has", others] += ways * (5 - others)
        joint["has not", others] += ways * (7 - (bearers - 1 - others))
    assert math.isclose(found.bits, bits_of(joint), abs_tol=1e-12)
    assert math.isclose(found.guess_before, 7 / 12)


def test_the_last_of_all_records_is_what_enumerating_all_deals_gives(one):
    """Every assignment of codes with the candidate's quotas is as likely as any other; those that look alike are weighed."""
    sizes, values, cuts = (3, 1, 2), (0, 0, 1), [F(1, 2)]
    quotas = small(sizes, values, cuts, one)
    expected_bits = expected_right = 0.0
    total = sum(sizes)

    def deals(counts, cell_of):
        """All ways in which records in these cells get codes, and how likely each is."""
        ways = [((), F(1))]
        for c in range(3):
            cards = [y for y, n in sorted(counts[c].items()) for _ in range(n)]
            hands = set(permutations(cards))
            ways = [((*codes, (c, hand)), weight / len(hands)) for codes, weight in ways for hand in hands]
        for chosen, weight in ways:
            hands = {c: list(hand) for c, hand in chosen}
            yield tuple(hands[c].pop(0) for c in cell_of), weight

    for cell, size in enumerate(sizes):
        others = [c for c, n in enumerate(sizes) for _ in range(n - (c == cell))]
        likely = []
        for candidate in range(3):
            changed = [sum(1 for c in others if c == k) + (k == candidate) for k in range(3)]
            counts = rounded(changed, quotas.rows, [values], []).counts
            likely.append(dict(Counter()))
            for codes, weight in deals(counts, [*others, candidate]):
                likely[-1][codes] = likely[-1].get(codes, 0) + weight
        for codes, weight in likely[cell].items():
            after = Counter()
            for candidate in range(3):
                after[values[candidate]] += F(sizes[candidate], total) * likely[candidate].get(codes, 0)
            mine, most = after[values[cell]], max(after.values())
            prior = F(sum(n for n, z in zip(sizes, values, strict=True) if z == values[cell]), total)
            share = float(F(size, total) * weight)
            expected_bits += share * math.log2(mine / sum(after.values()) / prior)
            expected_right += share * (mine == most) / sum(m == most for m in after.values())
    found = quota_cost._others(quotas, "sex", [str(z) for z in values])
    assert math.isclose(found.bits, expected_bits, abs_tol=1e-9)
    assert math.isclose(found.guess_after, max(expected_right, found.guess_before), abs_tol=1e-9)
    assert found.method == "exact"


def compositions(n, cells):
    if cells == 1:
        yield (n,)
        return
    for first in range(n + 1):
        yield from ((first, *rest) for rest in compositions(n - first, cells - 1))


def test_what_quotas_tell_where_records_are_independent_draws_is_what_the_page_says():
    """docs/promises.md: ten records of two bits, all their compositions weighed; all codes are seen, and no other record.

    Records are alike, so all that the codes of others tell is how often each occurs.
    """
    rows = (
        (16, ((0, 15), (1, 1))),
        (1, ((1, 1),)),
        (8, ((0, 3), (1, 5))),
        (1, ((0, 1),)),
    )  # of the page's first example
    law, bits, n = (F(4, 10), F(1, 10), F(2, 10), F(3, 10)), list(product((0, 1), repeat=2)), 10
    joint = [Counter(), Counter()]
    for sizes in compositions(n, 4):
        weight = math.factorial(n) * math.prod(p**k / F(math.factorial(k)) for p, k in zip(law, sizes, strict=True))
        counts = rounded(sizes, rows, [[a for a, _ in bits], [b for _, b in bits]], []).counts
        seen = sum(row.get(0, 0) for row in counts)
        for cell, row in zip(bits, counts, strict=True):
            for y, many in row.items():
                for i in (0, 1):
                    joint[i][cell[i], (y, seen)] += weight * many / n
    assert [sum(one.values()) for one in joint] == [1, 1]
    told = [round(bits_of(one), 4) for one in joint]
    page = (Path(__file__).parent.parent / "docs" / "promises.md").read_text(encoding="utf-8")
    assert f"tell {told[0]} bits about X1 and\n{told[1]} about X2, where lots tell zero" in page


def test_shares_tell_who_knows_the_composition_less_by_the_square_of_the_records(one):
    """docs/promises.md: I(sex; code) in the published table, by quota and on average by lots, of 1000 and 10000 records."""
    found = {}
    for n in (1000, 10_000):
        quotas = small(
            (n * 3 // 10 + 1, n // 5 + 2, n * 7 // 40, n * 13 // 40 - 3), (0, 0, 1, 1), [F(1, 3), F(2, 3)], one
        )
        by_quota = sum(s.records / n * math.log2(s.records / s.product) for s in quotas.shares() if s.records)
        draws, by_lots = np.random.default_rng(1), []
        for _ in range(40):
            counts = tuple(
                dict(enumerate(draws.multinomial(size, [dict(e).get(y, 0) / d for y in range(3)]).tolist()))
                for size, (d, e) in zip(quotas.sizes, quotas.rows, strict=True)
            )
            by_lots.append(
                sum(s.records / n * math.log2(s.records / s.product) for s in quotas.shares(counts) if s.records)
            )
        found[n] = by_quota, sum(by_lots) / len(by_lots)
    assert found[1000][0] < 2e-5 < 2e-4 < found[1000][1] < 2e-3
    assert found[10_000][0] < 2e-7
    assert 5 < found[1000][1] / found[10_000][1] < 20


def test_noise_makes_both_learn_less_and_shares_worse(one):
    plain = cost_of(Quotas.of(one))
    assert plain.bearers.guess_after == 1
    assert plain.bearers.bits > 0.9
    assert plain.others_by_lots.bits == 0
    quotas = small((3000, 2000, 1500, 3500), (0, 0, 1, 1), [F(1, 2)], one)
    inside = [value == ("0",) for value in quotas.values]
    told = []
    for epsilon in ("5", "2", "0.5", "0.1"):  # to somebody who sees as many bearers as there would be without noise
        noisy = replace(quotas, noise=Decimal(epsilon))
        told.append(quota_cost._bearers("", quotas.bearers[0], *quota_cost._laws(noisy, inside, 0)).bits)
    assert told == sorted(told, reverse=True)
    assert told[0] > 0.8
    assert told[-1] < 0.02


def test_a_table_too_large_to_be_rounded_for_every_candidate_is_bounded_by_all_there_is(release, monkeypatch):
    monkeypatch.setattr(quota_cost, "MOST_ROUNDING", 0)
    found = cost_of(Quotas.of(release)).others
    assert (found.method, found.guess_after) == ("at most", 1)
    assert found.bits <= math.log2(3)


# ---------------------------------------------------------------------- the command


def test_the_command_says_that_it_is_not_more_private_with_the_numbers_of_this_table(folder, release):
    command = [
        "disclose",
        str(folder / "release.choral"),
        str(folder / "table.csv"),
        "-o",
        str(folder / "codes.csv"),
        "--id",
        "who",
    ]
    ended = CliRunner().invoke(app, [*command, "--draw", "quota"])
    assert ended.exit_code == 0, ended.output
    for words in (
        "by quota",
        "promised: below",
        "NOT more private",
        "all other records",
        "all other bearers",
        "by lots nothing",
    ):
        assert words in ended.output
    facts = json.loads(CliRunner().invoke(app, [*command, "--draw", "quota", "--force", "--json"]).output)
    assert facts["draw"] == "quota"
    assert facts["quota"]["largest_deviation"] < facts["quota"]["bound"]
    assert set(facts["quota"]["knows_all_other_bearers"]) == {"quota", "lots", "lots_knowing_composition"}
    assert facts["quota"]["noise"] is None
    refused = CliRunner().invoke(app, [*command, "--draw", "quota", "--quota-noise", "0.3", "--force"])
    assert refused.exit_code == 1
    assert "second draw" in str(refused.exception)
    help_text = CliRunner().invoke(app, ["disclose", "--help"]).output
    assert "NOT" in help_text
    assert "--quota-noise" in help_text


# ---------------------------------------------------------------------- Spark


@pytest.mark.spark
def test_spark_draws_the_same_codes_by_quota_and_its_ledger_refuses_the_same(folder, table, release):
    from choral.draw import spark

    def by_spark(source, name, **options):
        options = {"draw": "quota", **options}
        done = spark.disclose_table(
            release, source, folder / name, folder / "spark ledger", "who", force=True, **options
        )
        return by_record(parquet.read_table(folder / name).select(["who", "code"])), done

    with spark.started() as session:
        first = by_record(told(release, folder / "table.parquet", folder, ledger="other")[0])
        found, done = by_spark(folder / "table.parquet", "a.parquet")
        assert found == first
        assert (done.draw, done.quota.method) == ("quota", "Beck-Fiala")
        frame = session.read.parquet(str(folder / "table.parquet")).repartition(5)
        assert by_spark(frame, "b.parquet")[0] == first
        with pytest.raises(LedgerError, match="drawn by quota"):
            by_spark(folder / "table.parquet", "c.parquet", draw="lots")
        with pytest.raises(LawError, match="second draw"):
            by_spark(frame.where("who != 1000"), "c.parquet")
        with pytest.raises(LedgerError, match="whole table counts"):
            by_spark(
                frame.selectExpr("IF(who = 1000, 7, who) AS who", "sex", "race", "schooling", "income"), "c.parquet"
            )
        noisy, _ = told(release, folder / "table.parquet", folder, ledger="third", quota_noise=0.5)
        done = spark.disclose_table(
            release, frame, folder / "d.parquet", folder / "fourth", "who", draw="quota", quota_noise=0.5
        )
        assert by_record(parquet.read_table(folder / "d.parquet").select(["who", "code"])) == by_record(noisy)
        assert done.quota.bound is None
    assert not (folder / "c.parquet").exists()


@pytest.mark.spark
def test_spark_counts_columns_that_the_state_does_not_have(table, tmp_path):
    from choral.draw import spark

    made = fit(table, **{**ONE, "protect": ["sex | income"]})
    parquet.write_table(table, tmp_path / "table.parquet")
    codes, _ = told(made, tmp_path / "table.parquet", tmp_path)
    with spark.started():
        spark.disclose_table(
            made, tmp_path / "table.parquet", tmp_path / "by_spark.parquet", tmp_path / "second", "who", draw="quota"
        )
    assert by_record(parquet.read_table(tmp_path / "by_spark.parquet")) == by_record(codes)


# ---------------------------------------------------------------------- the audit and the report


def test_the_audit_counts_shares_in_place_of_tests_of_lots(table, release, tmp_path):
    codes, done = told(release, table, tmp_path)
    found = release.audit(table, codes, seed=1)
    assert found.passed
    counted = {("sex", z, y): n for ((z,), y), (n, _) in shares(table, codes, ["sex"]).items()}
    assert all(
        share.records == counted[share.promise, share.value[4:], share.code]
        for share in found.quota.shares
        if share.promise == "sex"
    )
    assert found.quota.worst.deviation == done.quota.worst.deviation
    assert all(abs(share.deviation) < share.bound for share in found.quota.shares)
    assert not found.composition, "that is computed for lots"
    assert all(test.order is not None for test in found.output.tests), "tests of lots do not apply"
    assert "drawn by quota" in " ".join(found.notes).lower()
    assert found.to_json()["quota"]["as_settled"]
    joint = shares(table, codes, ["race"])
    bits = sum(n / 1200 * math.log2(n / share) for n, share in joint.values() if n)
    assert math.isclose(
        found.quota.bits,
        max(bits, sum(n / 1200 * math.log2(n / s) for n, s in shares(table, codes, ["sex"]).values() if n)),
    )


def test_codes_that_are_not_the_quotas_are_recognised(table, one, tmp_path):
    by_lots, _ = told(one, table, tmp_path, draw="lots")
    assert one.audit(table, by_lots, seed=1).quota is None
    wrong = one.audit(table, by_lots, seed=1, draw="quota")
    assert not wrong.quota.as_settled
    assert not wrong.passed
    assert "NOT those of the quotas" in wrong.summary
    noisy, _ = told(one, table, tmp_path, ledger="other", quota_noise=0.5)
    assert one.audit(table, noisy, seed=1, draw="quota", quota_noise=0.5).quota.kept
    assert not one.audit(table, noisy, seed=1, draw="quota").passed


def test_codes_alone_are_recognised_by_the_key(folder, table, one):
    codes, _ = told(one, folder / "table.parquet", folder, id=None)
    assert codes.column_names == ["code"]
    assert one.audit(folder / "table.parquet", folder / "codes.parquet", seed=1).quota.kept


def test_the_report_shows_the_shares_and_what_they_cost(folder, table, one):
    told(one, table, folder)
    page = one.report(folder / "page.html", table=table, disclosed=folder / "codes.parquet").read_text(encoding="utf-8")
    assert 'id="quota"' in page
    for words in ("equal share", "NOT more private", "all other bearers of a code"):
        assert words in page
    told(one, table, folder, "lots.parquet", "second", draw="lots")
    page = one.report(folder / "lots.html", table=table, disclosed=folder / "lots.parquet").read_text(encoding="utf-8")
    assert 'id="quota"' not in page
