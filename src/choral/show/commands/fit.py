"""`choral bounds`, `plan`, `fit` and `decode`: from a table to a release, and from a card and codes to posteriors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choral.errors import ColumnError, FileInTheWayError, LawError, ProblemError
from choral.show.options import (
    AsJson,
    Bins,
    Empty,
    Engine,
    Force,
    LawOption,
    Ledger,
    Master,
    MinCount,
    Missing,
    Order,
    Protect,
    Reveal,
    Table,
    Use,
    counted,
    examples,
    groups,
    on_spark,
    print_json,
    split,
)

if TYPE_CHECKING:
    from choral.describe.joint import Joint
    from choral.design.result import Disclosure
    from choral.ledger.book import Ledger as OpenLedger
    from choral.problem.pose import Group
    from choral.release.card import Card
    from choral.release.file import Release
    from choral.tables.recipe import Recipe

EXAMPLE = "example:"
BOUNDS = examples(
    "choral bounds table.csv --reveal outcome --protect age,sex --bins age=4",
    "choral bounds example:clinic --reveal diagnosis",
)
PLAN = examples("choral plan table.csv --reveal outcome --protect age,sex --bins age=4")
FIT = examples(
    "choral fit table.csv --reveal outcome --protect age,sex+race --bins age=40,55,70 -o r.choral --card card.json",
    "choral fit clinic.duckdb::visits --reveal outcome --rel-tol 1e-3 --time-limit 60 -o r.choral",
    "choral fit table.csv --reveal outcome --protect age,sex --leakage age=0.01 -o r.choral",
    "choral fit table.csv --reveal outcome --protect age,sex --ratio age=21/20 -o r.choral",
    "choral fit table.csv --reveal outcome --protect 'sex,sex|region' -o r.choral",
    "choral fit table.csv --reveal income --protect age,sex --after r.choral -o second.choral",
)
DECODE = examples("choral decode card.json codes.parquet -o posterior.parquet")


@dataclass(frozen=True)
class Question:
    """A law, and what is revealed, protected and used: the arguments of `choral.bounds`, `plan` and `disclose`."""

    law: Joint
    reveal: Sequence[str] | None
    protect: Sequence[Group] | None
    use: Sequence[str] | None
    order: int = 1
    bins: Mapping[str, int] = field(default_factory=dict)

    @property
    def asked(self) -> tuple[Any, ...]:
        """All but the law."""
        return self.reveal, self.protect, self.use, self.order


def bounds(
    table: Table,
    reveal: Reveal = None,
    protect: Protect = None,
    use: Use = None,
    order: Order = 1,
    bins: Bins = None,
    missing: Missing = "value",
    empty: Empty = "missing",
    min_count: MinCount = 5,
    law: LawOption = "frequencies",
    as_json: AsJson = False,
) -> None:
    """Say what can be disclosed before solving: feasibility, rank, upper bound, price, number of codes."""
    from dataclasses import asdict

    from choral.design.outlook import bounds as bounds_of_law
    from choral.problem.question import problem_of
    from choral.tables.binned import protections

    question = _question(table, reveal, protect, use, order, bins, (missing, empty), min_count, law)
    found = bounds_of_law(question.law, *question.asked)
    problem = problem_of(question.law, *question.asked)
    target, private = problem.target.name, protections(problem, question.bins)
    if as_json:
        names = [group.name for group in problem.groups]
        print_json({"reveal": target, "use": list(problem.columns), "protect": names, **asdict(found)})
    else:
        if found.feasible:
            typer.echo(
                f"At most {found.upper_bound:.6f} bits about {target} can be told, of {found.entropy:.6f} in all."
            )
        else:
            typer.echo(f"Nothing about {target} can be told: what is protected determines all that could be said.")
        typer.echo(f"W = {target}; X = {', '.join(problem.columns)}; private: {', '.join(private)}")
        typer.echo(str(found))


def plan(
    table: Table,
    reveal: Reveal = None,
    protect: Protect = None,
    use: Use = None,
    order: Order = 1,
    bins: Bins = None,
    missing: Missing = "value",
    empty: Empty = "missing",
    min_count: MinCount = 5,
    law: LawOption = "frequencies",
    as_json: AsJson = False,
) -> None:
    """Say how a problem would be solved, and why, without solving it."""
    from choral.design.outlook import plan as outlook

    question = _question(table, reveal, protect, use, order, bins, (missing, empty), min_count, law)
    found = outlook(question.law, *question.asked)
    if as_json:
        form = found.form
        print_json(
            {
                "solver": found.plan.solver,
                "why": found.plan.why,
                "states": found.states,
                "reduced_states": form.states,
                "rank": form.rank,
                "nullity": form.nullity,
                "target_values": form.target_values,
            }
        )
    else:
        typer.echo(str(found))


def fit(
    table: Table,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The release file to write. It holds the law and the key: keep it.")
    ],
    reveal: Reveal = None,
    protect: Protect = None,
    use: Use = None,
    order: Order = 1,
    bins: Bins = None,
    missing: Missing = "value",
    empty: Empty = "missing",
    min_count: MinCount = 5,
    law: LawOption = "frequencies",
    unseen: Annotated[
        str,
        typer.Option(help="Records with values not seen now: refuse them, or give them a code of their own (code)."),
    ] = "refuse",
    leakage: Annotated[
        list[str] | None, typer.Option(help="A budget in bits in place of independence: A=0.01, or A+B=0.01.")
    ] = None,
    ratio: Annotated[
        list[str] | None, typer.Option(help="… or a factor by which values may become more or less likely: A=21/20.")
    ] = None,
    also: Annotated[
        list[str] | None, typer.Option(help="Another table, under whose frequencies the code is private too.")
    ] = None,
    after: Annotated[
        Path | None, typer.Option(help="An earlier release of this table: both codes together stay private.")
    ] = None,
    after_key: Annotated[Path | None, typer.Option(help="The key of the earlier release, if it lives apart.")] = None,
    card: Annotated[Path | None, typer.Option(help="Also write the public card, for whoever gets the codes.")] = None,
    precision: Annotated[
        int | None, typer.Option(help="Decimals of the probabilities in the card. Default: 3, fewer for a small table.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="Write the key to a file of its own, not into the release.")] = None,
    ledger: Ledger = None,
    id: Annotated[
        str | None,
        typer.Option(
            "--id", help="The column that identifies records: no column to use; the ledger knows cards by it."
        ),
    ] = None,
    other_people: Annotated[
        bool,
        typer.Option("--other-people", help="Declare that nobody in this table is in a card of the ledger so far."),
    ] = False,
    tol: Annotated[float, typer.Option(help="Stop when the certified gap is at most this, in bits.")] = 1e-6,
    rel_tol: Annotated[float | None, typer.Option(help="… or at most this share of the information.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds; then the best so far is taken.")] = None,
    codes: Annotated[int | None, typer.Option(help="At most this many codes.")] = None,
    solver: Annotated[str | None, typer.Option(help="Overrule the planner: enumeration, transport, sandwich.")] = None,
    engine: Engine = "duckdb",
    master: Master = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Find the most telling private channel for a table, verify it and save it, with how records become its states.

    Ctrl-C ends the search early: what is saved is private and its bound holds, however early it ends.
    """
    from choral.ledger.book import beside
    from choral.show.progress import interval_bar

    read = {"the table": table, "a further table": also, "the earlier release": after, "the earlier key": after_key}
    _check_outputs(output, card, key, {**read, "the file of the law": law if Path(law).suffix else None}, ledger, force)
    if other_people and card is None:
        raise ProblemError("--other-people without --card.", "It is about the ledger's cards: leave it out.")
    if precision is not None:
        from choral.release.card import check_precision

        check_precision(precision)
    if after_key is not None and after is None:
        raise ProblemError("--after-key without --after.", "Name the earlier release too: --after FILE.")
    search: dict[str, Any] = {
        "tol": tol,
        "rel_tol": rel_tol,
        "time_limit": time_limit,
        "codes": codes,
        "solver": solver,
    }
    asked: dict[str, Any] = {
        "reveal": split(reveal, "+"),
        "protect": groups(protect),
        "use": split(use, ","),
        "order": order,
    }
    spark = on_spark(engine, master)
    start = time.monotonic()
    if table.startswith(EXAMPLE):
        given = (spark or None, bins, leakage, ratio, also, after, card, key, id, other_people or None)
        if any(value is not None for value in given) or law != "frequencies":
            raise ProblemError(
                f"{table} is a law without a table.", "Leave out all options about tables, cards and keys."
            )
        _fit_example(table, asked, search, output, force, as_json)
        return
    from choral.release.card import card_of
    from choral.tables.bins import read_bins

    rules: dict[str, Any] = {"bins": read_bins(bins or []), "min_count": min_count, "id": id}
    remarks: list[str] = []
    with interval_bar(quiet=as_json) as bar:
        if after is not None:
            release = _fit_after(
                (spark, master),
                after,
                after_key,
                table,
                asked,
                {**rules, **search, "progress": bar},
                (law, missing, empty, unseen),
                (leakage, ratio, also),
            )
        else:
            release, remarks = _fit_table(
                (spark, master),
                table,
                **asked,
                **rules,
                missing=missing,
                empty=empty,
                law=law,
                unseen=unseen,
                leakage=read_budgets(leakage, "leakage"),
                ratio=read_budgets(ratio, "ratio"),
                also=also or (),
                **search,
                progress=bar,
            )
    book = ledger or beside(output)
    public = None if card is None else card_of(release, precision)
    recorded = _save(release, output, key, card, public, book, force, {"table": table, "other_people": other_people})
    seconds = time.monotonic() - start
    dropped = _left_out(table, release)
    if as_json:
        files: dict[str, Any] = {"release": str(output), "card": card and str(card), "key": key and str(key)}
        about = {**_about_table(release), "left_out": dropped, "remarks": remarks}
        if recorded is not None:
            files |= {"ledger": str(book), "new_ledger": recorded.new, "remarks": [*remarks, *recorded.remarks]}
        print_json({**summary(release.disclosure), **about, "seconds": round(seconds, 3), **files})
        return
    for line in [*summary_lines(release.disclosure, release.recipe), *_table_lines(release, rules["bins"], dropped)]:
        typer.echo(line)
    for remark in remarks:
        typer.echo(f"remark       {remark}")
    typer.echo(f"took         {seconds:.1f} s, counting, solving and verifying")
    what = "the law" if key is not None else "the law and the key"
    typer.echo(f"saved        {output} (it holds {what}: keep it to yourself; check it with: choral verify {output})")
    if key is not None:
        typer.echo(f"key          {key} (whoever has it can undo the guarantee: keep it apart from the release)")
    for line in () if public is None else _card_lines(public, f"{card} (public; recorded in {book}"):
        typer.echo(line)
    for remark in () if recorded is None else recorded.remarks:
        typer.echo(f"ledger       {remark}")


def _card_lines(public: Card, place: str) -> list[str]:
    """What a curator should know about a card."""
    document, rows = public.document, public.p_w_given_y
    if document["p_y"] is None:
        return [f"card         {place}; without numbers: {document['withheld']})"]
    how = f"from counts in steps of {document['step']}, with {counted(document['precision'], 'decimal')}"
    lines = [f"card         {place}; probabilities {how})"]
    rare = sum(row is None for row in rows)
    if rare:
        few = f"{rare} of {public.codes} codes are so rare that the card gives no posterior for them"
        lines.append(f"remark       {few}: take fewer codes (--codes)")
    if document["other"]:
        lines.append("remark       rare values of the target are pooled on the card")
    return lines


def decode(
    card: Annotated[Path, typer.Argument(help="The public card of a release.")],
    codes: Annotated[str, typer.Argument(help="The disclosed codes: a table with a column `code`.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write: a .parquet or .csv file.")],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Put beside every disclosed code what it says: the probability of each value of the target, from the card."""
    from choral.files import keep_apart
    from choral.release.card import decode as decode_codes
    from choral.release.card import load_card

    keep_apart({"the posteriors": output}, {"the card": card})
    found = load_card(card)
    rows = decode_codes(found, codes, output, force=force)
    if as_json:
        facts = {"rows": rows, "reveal": found.document["reveal"], "values": found.document["values"]}
        print_json({**facts, "precision": found.document["precision"], "output": str(output)})
        return
    typer.echo(
        f"decoded      {counted(rows, 'row')}: p({'+'.join(found.document['reveal'])} | code), {len(found.columns)} values"
    )
    typer.echo(f"precision    {found.document['precision']} decimals, as the card has them")
    typer.echo(f"saved        {output}")


def _check_outputs(
    output: Path, card: Path | None, key: Path | None, read: dict[str, Any], ledger: Path | None, force: bool
) -> None:
    """Raise, before any work, unless release, card and key may be written where they are to be."""
    from choral.files import check_output, keep_apart
    from choral.ledger.book import beside
    from choral.release.file import OWN, check_replaceable

    books = [beside(output)] if ledger is None else [ledger, beside(output)]
    keep_apart({"the release": output, "the card": card, "the key": key}, {**read, "the ledger": books})
    for path in (output, card, key):
        if path is not None:
            check_output(path, force, () if path is card else OWN)
            for book in books:
                check_replaceable(path, book)


def _save(
    release: Release,
    output: Path,
    key: Path | None,
    card: Path | None,
    public: Card | None,
    ledger: Path,
    force: bool,
    people: Mapping[str, Any],
) -> OpenLedger | None:
    """Write release, key, card and ledger, or none of them; the ledger that was used, if there is a card.

    The card takes its place last, once the ledger has it: a card that nobody remembers could be published twice.
    """
    from choral.files import whole_file
    from choral.ledger.book import open_ledger

    new = [path for path in (output, key) if path is not None and not path.exists()]
    try:
        if card is None or public is None:
            release.save(output, key, force=force)
            return None
        with whole_file(card, force) as hidden:
            hidden.write_text(public.text, encoding="utf-8")
            with open_ledger(ledger) as book:
                book.record_card(release, lambda: release.save(output, key, force=force), **people)
        return book
    except FileInTheWayError:
        raise
    except BaseException:
        for path in new:
            path.unlink(missing_ok=True)
        raise


def read_budgets(texts: Sequence[str] | None, option: str) -> dict[str, str] | None:
    """Budgets as written on the command line, one per group.

    >>> read_budgets(["age=0.01,sex+race=1/50"], "leakage")
    {'age': '0.01', 'sex+race': '1/50'}
    """
    found: dict[str, str] = {}
    for part in (part.strip() for text in texts or [] for part in text.split(",")):
        name, mark, amount = (piece.strip() for piece in part.rpartition("="))
        if not (name and mark and amount) or name in found:
            raise ProblemError(
                f"--{option} '{part}' is no budget, or the second for its group.", f"Write --{option} A=…"
            )
        found[name] = amount
    return found or None


def summary(found: Disclosure) -> dict[str, Any]:
    """What a disclosure says of itself, for programs."""
    return {
        "reveal": list(found.problem.target.columns),
        "use": list(found.problem.columns),
        "protect": [list(group.columns) for group in found.problem.groups],
        "given": [promise.name for promise in found.problem.conditions],
        "leakage": found.leakage,
        "information": found.information,
        "upper_bound": found.upper_bound,
        "gap": found.gap,
        "efficiency": found.efficiency,
        "entropy": found.problem.entropy_of_target,
        "codes": found.codes,
        "states": len(found.states),
        "how": found.how,
        "digest": found.digest,
    }


def summary_lines(found: Disclosure, recipe: Recipe | None = None) -> list[str]:
    """What a disclosure says of itself, for people."""
    entropy, everything = found.problem.entropy_of_target, found.problem.information_of_states
    merged = " (rare combinations merged)" if recipe is not None and recipe.merged else ""
    return [
        f"reveals      {found.problem.target.name}",
        *_protection(found, recipe),
        f"disclosed    {found.information:.9f} bits, of {everything:.9f} that the used columns tell{merged} and "
        f"{entropy:.9f} in all",
        f"certified    no private channel exceeds {found.upper_bound:.9f} bits",
        f"codes        {found.codes}, for {counted(len(found.states), 'state')}",
        f"how          {found.how}",
    ]


def _protection(found: Disclosure, recipe: Recipe | None) -> list[str]:
    """What stays private, and how far where there is a budget or a column is binned."""
    from choral.tables.binned import binned_and_protected, bins_of, inside_bins, protections

    private = protections(found.problem, {} if recipe is None else bins_of(recipe))
    limit = "" if recipe is None else inside_bins(binned_and_protected(recipe))
    how = "; nothing else is" if found.problem.budgets else ", exactly; nothing else is"
    also = f"; under {counted(len(found.problem.further), 'more law')} too" if found.problem.further else ""
    lines = [f"private      {', '.join(private)}{how}{also}"]
    return [*lines, f"in bins      {limit}"] if limit else lines


def _about_table(release: Release) -> dict[str, Any]:
    recipe = release.recipe
    return {
        "use": list(recipe.use),
        "digest": release.digest,
        "rows": recipe.table_rows,
        "min_count": recipe.min_count,
        "merged": sum(recipe.merged),
        "merged_into": len(recipe.merged),
        "bins": {column.name: list(column.edges) for column in recipe.columns if column.edges is not None},
        "law": dict(recipe.law),
        "missing": recipe.missing,
        "empty": recipe.empty,
        "unseen": recipe.unseen,
    }


def _left_out(table: str, release: Release) -> int:
    """How many rows of the table `missing drop` left out."""
    from choral.tables.source import opened

    if release.recipe.missing != "drop":
        return 0
    with opened(table) as source:
        return source.rows() - release.recipe.table_rows


def _table_lines(release: Release, bins: Mapping[str, Any], dropped: int) -> list[str]:
    from choral.tables.bins import understood

    recipe = release.recipe
    into = "one state" if len(recipe.merged) == 1 else f"{len(recipe.merged)} states"
    what = (
        f"{counted(sum(recipe.merged), 'combination')} into {into}, those that occur"
        if recipe.merged
        else "none occurs"
    )
    lines = [
        *_remarks(release),
        f"law          {recipe.law['about']}",
        f"looks at     {', '.join(recipe.use)}",
        f"merged       {what} less than {counted(recipe.min_count, 'time')} (--min-count)",
    ]
    for column in recipe.columns:
        if column.edges is not None:
            how = f" ({understood(column.name, bins[column.name])})" if column.name in bins else ""
            lines.append(f"bins         {column.name}: {', '.join(map(str, column.values))}{how}")
    if recipe.law["outside"]:
        lines.append(
            f"outside      {counted(recipe.law['outside'], 'record')} of the table cannot occur under the law: no code"
        )
    if recipe.missing == "drop":
        lines.append(
            f"WARNING      {dropped} rows with a missing value were left out, and get no code. That they have none is seen, "
            "and the guarantee does not cover it: choral audit --table says how much it tells; --missing value avoids it"
        )
    rule = "are refused" if recipe.unseen == "refuse" else f"get code {release.disclosure.codes}"
    lines.append(f"unseen       records with values or combinations not seen here {rule}")
    if recipe.after is not None:
        from choral.release.second import told_by_first

        first, both, target = told_by_first(release), release.disclosure.information, " and ".join(recipe.reveal)
        lines.append("after        codes are pairs with those of the earlier release; the pair is private")
        lines.append(
            f"of these     {first:.9f} bits about {target} come from the earlier code alone, the new one adds "
            f"{both - first:.9f}"
        )
    return lines


def _remarks(release: Release) -> list[str]:
    """What a curator might overlook in the numbers."""
    found, recipe = release.disclosure, release.recipe
    lines = []
    if found.information == 0:
        lines.append(
            "remark       nothing is told: every record's code says the same. Use more columns that are not protected, "
            "or protect fewer; choral bounds says what is possible"
        )
    rare = sum(found.problem.weights[recipe.kept :]) if found.problem.size == recipe.size else 0
    if 2 * rare > found.problem.total:
        lines.append(
            f"remark       {100 * rare / found.problem.total:.0f} % of records have combinations that are merged as rare; "
            "the code cannot tell them apart: use fewer columns (--use), or cut numbers into bins (--bins)"
        )
    return lines


def _question(
    table: str,
    reveal: str | None,
    protect: str | None,
    use: str | None,
    order: int,
    bins: list[str] | None,
    gaps: tuple[str, str],
    min_count: int,
    law: str,
) -> Question:
    asked = split(reveal, "+"), groups(protect), split(use, ","), order
    if table.startswith(EXAMPLE):
        return Question(example(table.removeprefix(EXAMPLE)), *asked)
    from choral.release.fit import pose_table
    from choral.tables.binned import bins_of
    from choral.tables.bins import read_bins
    from choral.tables.source import AsRead, opened

    missing, empty = gaps
    with opened(table, AsRead(empty=empty)) as source:
        rules = read_bins(bins or [])
        posed = pose_table(source, *asked, bins=rules, missing=missing, min_count=min_count, law=law)
    recipe = posed.recipe
    return Question(posed.law, recipe.reveal, recipe.promises, posed.use, bins=bins_of(recipe))


def _fit_example(
    table: str, asked: dict[str, Any], search: dict[str, Any], output: Path, force: bool, as_json: bool
) -> None:
    """Solve for a law without a table; what is saved is a disclosure."""
    from choral.design.disclose import disclose
    from choral.show.progress import interval_bar

    with interval_bar(quiet=as_json) as bar:
        found = disclose(example(table.removeprefix(EXAMPLE)), **asked, **search, progress=bar)
    found.save(output, force=force)
    if as_json:
        print_json({**summary(found), "release": str(output)})
        return
    for line in summary_lines(found):
        typer.echo(line)
    typer.echo(f"saved        {output} (it holds the law: keep it to yourself; check it with: choral verify {output})")


def _fit_table(engine: tuple[bool, str | None], table: str, **options: Any) -> tuple[Release, list[str]]:
    """The release, and what is to be remarked about the columns that it is about."""
    spark, master = engine
    if spark:
        from choral.draw.spark import fit as fit_on_spark

        return fit_on_spark(table, master=master, **options), []
    from choral.release.fit import fit as fit_table
    from choral.tables.source import AsRead, opened

    with opened(table, AsRead(empty=options["empty"])) as source:
        release = fit_table(source, **options)
        return release, [source.remarks[c.name] for c in release.recipe.columns if c.name in source.remarks]


def _fit_after(
    engine: tuple[bool, str | None],
    after: Path,
    after_key: Path | None,
    table: str,
    asked: dict[str, Any],
    rules: dict[str, Any],
    inherited: tuple[str, ...],
    budgets: tuple[list[str] | None, ...],
) -> Release:
    from choral.release.file import load_release
    from choral.release.second import fit_after

    if inherited != ("frequencies", "value", "missing", "refuse") or any(budgets):
        raise ProblemError(
            "--after with a law, a rule for missing, empty or unseen values, budgets or further tables.",
            "A second release keeps the rules of the first, and is private exactly: leave these options out.",
        )
    earlier = load_release(after, after_key)
    spark, master = engine
    if spark:
        from choral.draw.spark import fit as fit_on_spark

        return fit_on_spark(table, earlier=earlier, master=master, **asked, **rules)
    return fit_after(earlier, table, **asked, **rules)


def example(name: str) -> Joint:
    """An embedded law by its name."""
    from fractions import Fraction

    from choral.describe import examples as laws

    kind, _, argument = name.partition(":")
    known: dict[str, Callable[[], Any]] = {
        "bsc_and_bec": laws.bsc_and_bec,
        "xor": laws.xor,
        "clinic": laws.clinic,
        "four_fair_bits": laws.four_fair_bits,
        "noisy_copies": lambda: laws.noisy_copies(int(argument or 3)),
        "modular": lambda: laws.modular(int(argument or 3)),
        "two_binary": lambda: laws.two_binary(Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)),
    }
    if kind not in known:
        from choral.errors import did_you_mean

        raise ColumnError(f"There is no example '{kind}'.", did_you_mean(kind, known))
    if argument and not (argument.isdecimal() and 0 < int(argument) <= 12):
        raise LawError(f"'{argument}' is not a whole number from 1 to 12.", f"Write example:{kind}:4.")
    joint: Joint = known[kind]()
    return joint
