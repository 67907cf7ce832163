"""docs/attacks.md: what was tried, how often, and what held."""

from __future__ import annotations

from collections import Counter

from attack.tally import Tally

CHAPTERS = {
    "exactness": "Hard laws, every solver, and every way of stopping one",
    "forged files": "Files of every kind, changed and sealed again",
    "ledger": "The ledger under any sequence of events",
    "faults": "Machines that fail: kills, a full disk, no writing, little memory, two writers",
    "linkage": "Linkage: two draws, two cards, order, composition, side knowledge",
    "odd tables": "Text tables as they come",
    "parsers": "Everything that reads what somebody wrote",
    "fuzzing": "A fuzzer that follows the coverage",
    "studio": "The studio",
}
"""In the order of the page."""


def page(tallies: dict[str, Tally], minutes: float) -> str:
    """The page as Markdown, from a tally for each chapter."""
    broken = [(chapter, sentence) for chapter, tally in tallies.items() for sentence in tally.broken]
    tried = sum((tally.counts for tally in tallies.values()), Counter())
    lines = [
        "# Under attack",
        "",
        "Written by `make attack`, which tries for some minutes (`make attack MINUTES=20`) to break what choral promises,",
        "with other random numbers each time, and stops by itself. `make test` tries a little of each, the same each time.",
        "What the attacks are, and by what other code each answer is checked, stands in `tests/attack`; `SECURITY.md` says",
        "against whom promises hold.",
        "",
        f"This time: {minutes:.0f} minutes, {tried.total():,} things tried, **{len(broken)} that did not hold**.",
    ]
    for chapter, title in CHAPTERS.items():
        tally = tallies.get(chapter)
        if tally is None:
            continue
        lines += ["", f"## {title}", "", "| what held | times |", "|---|---:|"]
        lines += [f"| {what} | {count:,} |" for what, count in sorted(tally.counts.items())]
    if broken:
        lines += ["", "## What did not hold", ""]
        lines += [f"- {chapter}: {' '.join(sentence.split())[:160]}" for chapter, sentence in broken[:50]]
    return "\n".join(lines) + "\n"
