"""The demonstration: a table in, a verified release out, looked at from both sides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from choral.describe import examples
from choral.design.disclose import disclose
from choral.design.result import Disclosure
from choral.exact import certificate

LIMITS = (
    "It is about one protected column at a time (say order=2 for pairs), under this law; it says nothing to someone "
    "who already knows other columns or the target, and it holds for one draw per record."
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
    table = Table(title="Before and after seeing the code", title_justify="left")
    table.add_column("probability of")
    table.add_column("before", justify="right")
    for y in range(result.codes):
        table.add_column(f"given {y}", justify="right")
    target = result.problem.target
    for v, value in enumerate(target.values):
        before = target.marginal[v] / result.problem.total
        after = [float(row[v]) for row in result.p_w_given_y]
        table.add_row(f"diagnosis = {value}", f"{before:.3f}", *(f"{p:.3f}" for p in after), style="bold")
    for group in result.problem.groups:
        for v, value in enumerate(group.values):
            before = group.marginal[v] / result.problem.total
            after = [_given(result, group, v, y) for y in range(result.codes)]
            table.add_row(f"{group.name} = {value}", f"{before:.3f}", *(f"{p:.3f}" for p in after))
    console.print(table)


def _given(result: Disclosure, group: Any, value: int, y: int) -> float:
    labels = group.value.tolist()
    return float(sum(p for s, p in enumerate(result.p_x_given_y[y]) if labels[s] == value))


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
