"""The demonstration: a table in, a verified release out, looked at from both sides."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from choral.describe import examples
from choral.describe.display import at_most, in_bits, percent
from choral.design.disclose import disclose
from choral.design.result import Disclosure
from choral.exact import certificate
from choral.problem.kernel import Variable
from choral.show.plots.posteriors import laws_of
from choral.show.plots.signature import finding
from choral.show.wrapping import wrapped

BAR, SHORT = 16, 4
"""Characters from 0 to 1 at the left, and for a column at the right: three of them fit 80."""
STORY = (
    "A clinic holds 400 invented patients: blood pressure, glucose, whether they smoke, and a diagnosis. It wants to publish "
    "a code for each patient that says as much as possible about the diagnosis, and exactly nothing about the pressure, the "
    "glucose or the smoking of anybody."
)
LIMITS = (
    "It is about one protected column at a time (order=2 is for pairs), under this law, and for one draw per record. It "
    "promises nothing against someone who already knows other columns or the target (say protect=['Z', 'Z | V'] for that)."
)


def run(output: Path | None, force: bool, as_json: bool, verbose: bool = False) -> None:
    """Fit, disclose and verify on `examples.clinic`, and show the result."""
    law = examples.clinic()
    result = disclose(law, reveal="diagnosis")
    saved = result.save(output, force=force) if output is not None else None
    lines: list[str] = []
    found = certificate.check(result.document, lines.append)
    if as_json:
        summary = {**found, "saved": str(saved) if saved else None}
        summary |= {"information": result.information, "upper_bound": result.upper_bound, "gap": result.gap}
        Console().print_json(json.dumps(summary))
        return
    console = Console(highlight=False, soft_wrap=False)
    console.rule("choral: hear the choir, never a voice")
    console.print(f"{STORY}\n")
    if verbose:
        _channel(console, result)
    _draws(console, result)
    _sides(console, result)
    if verbose:
        _summary(console, result)
        console.rule("the verifier, a single file without dependencies, says")
        for line in "\n".join(lines).splitlines():
            console.print(wrapped(line, console.width), markup=False)
        console.print()
    console.print(f"[bold]In guesses.[/bold] {finding(result)}.")
    console.print(
        f"[bold]In bits.[/bold] {in_bits(result.information)} are told about {result.problem.target.name}, and no private "
        f"code can tell more than {at_most(result.upper_bound)}."
    )
    console.print(
        "[bold]VERIFIED[/bold], every claim: by a single file of Python, which anybody can run without choral."
    )
    console.print(f"[bold]What this is not.[/bold] {LIMITS}")
    if saved is not None:
        console.print(f"Saved to {saved}. Check it again:  choral verify {saved}", markup=False)
    if not verbose:
        console.print("All that the verifier says, and more:  choral demo --verbose", style="dim")


def _channel(console: Console, result: Disclosure) -> None:
    table = Table(
        title="How a patient's readings become a code (probabilities; exact fractions in the release)",
        title_justify="left",
    )
    for name in result.problem.columns:
        table.add_column(name)
    for y in range(result.codes):
        table.add_column(f"code {y}", justify="right")
    for s, state in enumerate(result.states):
        table.add_row(*map(str, state), *(f"{float(row[s]):.4f}" if row[s] else "·" for row in result.exact))
    console.print(table)


def _draws(console: Console, result: Disclosure) -> None:
    """One draw for one patient of each kind: this is what would be published."""
    table = Table(title="Published: one code per patient, drawn just now", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("patient", justify="right")
    for name in result.problem.columns:
        table.add_column(f"secret:\n{name}")
    table.add_column("public:\ncode", justify="right", style="bold")
    for number, state in enumerate(result.states, start=1):
        table.add_row(str(number), *map(str, state), str(result.sample(state)))
    console.print(table)


def _sides(console: Console, result: Disclosure) -> None:
    """The idea in one picture: the target's dots move with the code, every protected column is a straight line."""
    problem = result.problem
    prior, given = laws_of(result, problem.target)
    shown = min(range(len(prior)), key=prior.__getitem__)
    groups = [(group, *laws_of(result, group)) for group in problem.groups]
    target = f"told: {problem.target.name} = {problem.target.values[shown]}"
    names, values = ([f"{word:<{SHORT + 9}}" for word in words] for words in _named(group for group, *_ in groups))
    lines = [
        f"[bold]{'code    seen':<14}{target:<{BAR + 10}}hidden, exactly[/bold]",
        f"{'':14}{'0 %':<{BAR - 3}}100 %{'':8}{''.join(names)}",
        f"{'':14}{'┊ before':<{BAR + 10}}{''.join(values)}",
    ]
    for y in sorted(range(result.codes), key=lambda y: given[y][shown]):
        levels = "  ".join(_line(after[y][0], before[0]) for _, before, after in groups)
        lines.append(f"{y:>4}  {percent(result.p_y[y]):>6}  {_dot(given[y][shown], prior[shown])}  {levels}")
    console.print("\n".join(lines), end="\n\n", no_wrap=True)


def _named(groups: Iterable[Variable]) -> tuple[list[str], list[str]]:
    """Names of protected columns and of their first values, as long as there is room for."""
    every = list(groups)
    return [group.name[: SHORT + 8] for group in every], [f"= {group.values[0]}"[: SHORT + 8] for group in every]


def _dot(share: Fraction, before: Fraction) -> str:
    """A probability as a dot, with a mark where it was before.

    >>> _dot(Fraction(1, 4), Fraction(1, 2))
    '····●···┊········   25 %'
    """
    cells = ["·"] * (BAR + 1)
    cells[round(before * BAR)] = "┊"
    cells[round(share * BAR)] = "●"
    return f"{''.join(cells)} {percent(share):>6}"


def _line(share: Fraction, before: Fraction) -> str:
    """A protected value: a piece of a straight line, as long as it is exactly what it was before; else a dot.

    >>> _line(Fraction(1, 2), Fraction(1, 2)), _line(Fraction(1, 2), Fraction(1, 3))
    ('  │     50 %', '  ●     50 %')
    """
    cells = [" "] * (SHORT + 1)
    cells[round(share * SHORT)] = "│" if share == before else "●"
    return f"{''.join(cells)} {percent(share):>6}"


def _summary(console: Console, result: Disclosure) -> None:
    bounds = result.bounds
    table = Table(title="What is disclosed about the diagnosis", title_justify="left")
    table.add_column("bits", justify="right")
    table.add_column("")
    table.add_row(f"{bounds.entropy:.3g}", "H(W): all there is to know")
    table.add_row(f"{bounds.information:.3g}", "I(W;X): what the readings say, with no privacy")
    table.add_row(at_most(bounds.upper_bound), "a bound that needs no solving")
    table.add_row(at_most(result.upper_bound), "certified: no private channel can do better")
    table.add_row(f"{result.information:.3g}", "disclosed by this channel", style="bold")
    console.print(table)
    console.print(f"How it was solved: {result.how}.\n", markup=False)
