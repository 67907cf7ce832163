"""The demonstration: a table in, a verified release out, looked at from both sides."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from rich.console import Console
from rich.table import Table

from choral.describe import examples
from choral.describe.display import percent
from choral.design.disclose import disclose
from choral.design.result import Disclosure
from choral.exact import certificate
from choral.show.plots.posteriors import laws_of
from choral.show.plots.signature import guess_of

BAR = 20
"""Characters of a bar in the terminal."""
LIMITS = (
    "It is about one protected column at a time (say order=2 for pairs), under this law, and for one draw per record. It "
    "promises nothing against someone who already knows other columns or the target (say protect=['Z', 'Z | V'] for that)."
)


def run(output: Path | None, force: bool, as_json: bool) -> None:
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
    console = Console(highlight=False)
    console.rule("choral: hear the choir, never a voice")
    console.print(
        "A clinic holds 400 invented patients: blood pressure, glucose, whether they smoke, and a diagnosis.\n"
        "It wants to publish a code for each patient that says as much as possible about the diagnosis,\n"
        "and exactly nothing about the pressure, the glucose or the smoking of anybody.\n"
    )
    _channel(console, result)
    _draws(console, result)
    _sides(console, result)
    _summary(console, result)
    console.rule("the verifier, a single file without dependencies, says")
    console.print("\n".join(lines), markup=False)
    console.print("VERIFIED     every claim above holds\n")
    console.print(f"[bold]What this is not.[/bold] {LIMITS}")
    if saved is not None:
        console.print(f"\nSaved to {saved}. Check it again:  choral verify {saved}", markup=False)


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
    table = Table(title="Disclosed: one draw per patient (eight patients, drawn just now)", title_justify="left")
    table.add_column("patient")
    for name in result.problem.columns:
        table.add_column(f"{name} (secret)")
    table.add_column("code (public)", justify="right", style="bold")
    for number, state in enumerate(result.states, start=1):
        table.add_row(str(number), *map(str, state), str(result.sample(state)))
    console.print(table)


def _sides(console: Console, result: Disclosure) -> None:
    """The idea in one table: the target's bar moves with the code, every protected column stays as it was."""
    problem = result.problem
    told, *hidden = (guess_of(result, variable) for variable in (problem.target, *problem.groups))
    as_before = ", ".join(guess.name for guess in hidden if guess.before == guess.after)
    table = Table(title=f"Told and hidden: {told}; {as_before} as before", title_justify="left")
    prior, given = laws_of(result, problem.target)
    shown = min(range(len(prior)), key=prior.__getitem__)
    groups = [(group, *laws_of(result, group)) for group in problem.groups]
    table.add_column("code")
    table.add_column("seen", justify="right")
    table.add_column(f"told: {problem.target.name} = {problem.target.values[shown]}", style="bold", no_wrap=True)
    for group, *_ in groups:
        table.add_column(f"hidden: {group.name} = {group.values[0]}", justify="right")
    for y in sorted(range(result.codes), key=lambda y: given[y][shown]):
        levels = [percent(after[y][0]) for _, _, after in groups]
        table.add_row(str(y), percent(result.p_y[y]), _bar(given[y][shown], prior[shown]), *levels)
    before = [percent(before[0]) for _, before, _ in groups]
    table.add_row("before", "", _bar(prior[shown], prior[shown]), *before, style="dim")
    console.print(table)


def _bar(share: Fraction, before: Fraction) -> str:
    """A bar of a probability, with a mark where it was before.

    >>> _bar(Fraction(1, 4), Fraction(1, 2))
    '█████     │          25 %'
    """
    filled, mark = round(share * BAR), round(before * BAR)
    cells = ["█" if k < filled else " " for k in range(BAR + 1)]
    cells[mark] = "│"
    return f"{''.join(cells)}{percent(share):>6}"


def _summary(console: Console, result: Disclosure) -> None:
    bounds = result.bounds
    table = Table(title="What is disclosed about the diagnosis", title_justify="left")
    table.add_column("bits", justify="right")
    table.add_column("")
    table.add_row(f"{bounds.entropy:.6f}", "H(W): all there is to know")
    table.add_row(f"{bounds.information:.6f}", "I(W;X): what the readings say, with no privacy")
    table.add_row(f"{bounds.upper_bound:.6f}", "a bound that needs no solving")
    table.add_row(f"{result.upper_bound:.6f}", "certified: no private channel can do better")
    table.add_row(f"{result.information:.6f}", "disclosed by this channel", style="bold")
    console.print(table)
    console.print(f"How it was solved: {result.how}.\n", markup=False)
