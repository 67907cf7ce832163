"""The findings of an audit in words: which leaks are large, and what to do about each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choral.auditing.out_of_sample import VALIDATION
from choral.auditing.output_tests import FILE
from choral.describe.display import at_most
from choral.draw.arrange import ROW
from choral.tables.binned import inside_bins, spoken

if TYPE_CHECKING:
    from choral.auditing.result import Audit

LARGE = 0.01
"""Bits from which on a leak is named."""
LARGE_ADVANTAGE = 0.1
"""An advantage in guessing from which on it is named: one guess in ten."""
RARE_EVENT = 1e-3
"""Probability from which on it is named that a code gives a value away for sure."""
UNLIKELY = 0.01
"""An adjusted p-value below which a test is said to fail."""
MOST_NAMED = 2
"""Leaks of a kind that a summary names: a paragraph is read, a list is in the audit."""


def summary_of(audit: Audit) -> str:
    """One paragraph."""
    parts = [
        _guarantee(audit),
        *_absence(audit),
        *_inside(audit),
        *_columns(audit),
        *_together(audit),
        *_knowing(audit),
        *_beyond(audit),
        *_composition(audit),
        *_laws(audit),
        *_new_records(audit),
        *_output(audit),
    ]
    if len(parts) == 1:
        parts.append(f"Nothing else that was looked at tells {LARGE} bits or more.")
    return " ".join(parts)


def _guarantee(audit: Audit) -> str:
    groups = list(zip(audit.laws[0].groups, audit.budgets, strict=True))
    open_ = [leak for leak, budget in groups if budget is None and not leak.zero]
    if open_ or not audit.proved:
        broken = [law.worst for law in audit.laws[: 1 + audit.further]]
        worst = max(open_ or broken, key=lambda leak: leak.bits)
        who = f" for somebody who knows {' and '.join(worst.given)}" if worst.given else ""
        return (
            f"The code is NOT independent of {'+'.join(worst.about)}{who} under a law of the release, as it promises; it "
            f"tells {_bits(worst.bits)}: do not release this."
        )
    said = []
    if private := [spoken(leak.about, audit.bins) for leak, budget in groups if budget is None]:
        names = ", ".join(private[:6]) + (", …" if len(private) > 6 else "")
        said.append(f"The code is independent of each of {names}, exactly, under the release's own law.")
    for leak in audit.laws[0].given:
        known, about = " and ".join(leak.given), spoken(leak.about, audit.bins)
        said.append(f"Who knows {known} learns nothing more about {about} from it, exactly.")
    for leak, budget in groups:
        if budget is not None:
            said.append(
                f"It tells {_bits(leak.bits)} about {spoken(leak.about, audit.bins)}, for which {budget} are allowed."
            )
    if limit := inside_bins([name for name in audit.bins if any(name in leak.about for leak, _ in groups)]):
        said.append(limit)
    return " ".join(said)


def _absence(audit: Audit) -> list[str]:
    leaks = [leak for leak in audit.absence if not leak.zero]
    if not leaks:
        return []
    worst = max(leaks, key=lambda leak: leak.bits)
    return [
        f"But that some records of {audit.view} have no code, since a value is missing, is NOT independent of "
        f"{'+'.join(worst.about)}; it tells {_bits(worst.bits)}: fit with --missing value, which gives every record a code."
    ]


def _inside(audit: Audit) -> list[str]:
    leaks = sorted((leak for leak in audit.inside if not leak.zero), key=lambda leak: -leak.bits)
    return [
        f"Under {audit.view} it tells {_bits(leak.bits)} about the exact {'+'.join(leak.about)}, inside the bins: cut "
        f"{'it' if len(leak.about) == 1 else 'them'} finer (--bins), or do not bin."
        for leak in leaks[:MOST_NAMED]
    ]


def _columns(audit: Audit) -> list[str]:
    besides = (*audit.target, audit.score)
    leaks = [leak for leak in audit.columns if leak.about[0] not in besides and leak.bits >= LARGE]
    return [
        f"It tells {_bits(leak.bits)} about {leak.about[0]}, which is not protected: add it to protect if it matters."
        for leak in leaks[:MOST_NAMED]
    ]


def _together(audit: Audit) -> list[str]:
    alone = {leak.about[0] for leak in audit.laws[0].groups if len(leak.about) == 1}
    said = []
    for size in (2, 3):
        large = [x.leakage for x in audit.together if len(x.leakage.about) == size and x.excess >= LARGE]
        promised = [leak for leak in large if set(leak.about) <= alone]
        for leak in dict.fromkeys([*promised[:1], *large[:1]]):
            group = "+".join(leak.about)
            order = f", or fit with order={size} (--order {size})" if leak in promised else ""
            said.append(
                f"About {group} together it tells {_bits(leak.bits)}, more than about any part of them: "
                f"protect {group}{order}."
            )
    return said


def _knowing(audit: Audit) -> list[str]:
    large = [leak for leak in audit.knowing if leak.bits >= LARGE]
    said = [
        f"Who can compute the score of a record learns {_bits(leak.bits)} about {'+'.join(leak.about)}: keep the points to "
        "yourself."
        for leak in large
        if leak.given == (audit.score,)
    ][:1]
    for leak in [leak for leak in large if leak.given != (audit.score,)][:MOST_NAMED]:
        about, [known] = "+".join(leak.about), leak.given
        said.append(f"Who knows {known} learns {_bits(leak.bits)} about {about}: protect '{about} | {known}' as well.")
    return said


def _beyond(audit: Audit) -> list[str]:
    large = [leak for leak in audit.beyond if leak.bits >= LARGE][:1]
    return [
        f"Who knows only {leak.given[0]} learns {_bits(leak.bits)} about {'+'.join(leak.about)}: a promise given a column is "
        "for whoever knows it exactly; protect both columns together if this matters."
        if len(leak.given) == 1
        else f"Who knows {' and '.join(leak.given)} learns {_bits(leak.bits)} about {'+'.join(leak.about)}: protect "
        f"'{'+'.join(leak.about)} | {'+'.join(leak.given)}' as well."
        for leak in large
    ]


def _composition(audit: Audit) -> list[str]:
    if not audit.composition:
        return []
    worst = max(audit.composition, key=lambda leak: leak.bits)
    certain = max((leak.certain or 0.0 for leak in audit.composition), default=0.0)
    if worst.bits < LARGE and certain < RARE_EVENT:
        return []
    sure = f", and with probability {certain:.2g} gives a record's value away for sure" if certain >= RARE_EVENT else ""
    rarest = worst.worst[0]
    return [
        f"To someone who knows the exact composition of the table, all codes together tell {_bits(worst.bits)} about a "
        f"record's {'+'.join(worst.about)} ({worst.method}){sure}; most about values that {rarest.count} records share: "
        "merge more rare states (--min-count), or release a larger table."
    ]


def _laws(audit: Audit) -> list[str]:
    said = []
    for law in audit.laws[1 + audit.further :]:
        if not law.private:
            worst = law.worst
            who = f" to who knows {' and '.join(worst.given)}" if worst.given else ""
            said.append(
                f"Under the frequencies of {law.name} the same channel is not private; it tells {_bits(worst.bits)} about "
                f"{'+'.join(worst.about)}{who}: fit with --also to be private under both."
            )
    return said


def _new_records(audit: Audit) -> list[str]:
    if not audit.out_of_sample:
        return []
    best = min(audit.out_of_sample, key=lambda bound: bound.advantage)
    validated = any(bound.source == VALIDATION for bound in audit.out_of_sample)
    what = "a larger validation table" if validated else "a larger table, or one that the fit never saw (--validation),"
    if not validated and best.advantage >= 1:
        unbounded = [group for group in best.groups if group.bound >= 1]
        return [
            f"For new records nothing is known, with confidence {best.confidence:g} (from {best.source}), of what the code "
            f"tells about {', '.join(spoken(group.about, audit.bins) for group in unbounded)}: too few records have the "
            f"rarest value ({min(group.count for group in unbounded)}); {what} may say more."
        ]
    said = (
        f"For new records, with confidence {best.confidence:g} (from {best.source}), the code tells at most "
        f"{at_most(best.bits, 2)} bits about any protected group; and, with the same confidence, the probability of "
        f"any event of the code differs by at most {at_most(best.advantage, 2)} between two values of one"
    )
    if best.advantage < LARGE_ADVANTAGE:
        return [said + "."]
    return [f"{said}: {what} lowers this."]


def _output(audit: Audit) -> list[str]:
    if audit.output is None:
        return []
    failed = [test for test in audit.output.tests if test.protected and test.adjusted < UNLIKELY]
    if not failed:
        return ["The codes that were given out pass every test of what is promised."]
    ordered = [test.order for test in failed if test.order is not None]
    remedies = (
        [] if len(ordered) == len(failed) else ["They may be of another release or another table, or drawn twice."]
    )
    if FILE in ordered or ROW in ordered:
        remedies.append("Their order may tell protected values: disclose without --arrange and --with-rows.")
    if any(order not in (FILE, ROW) for order in ordered):
        remedies.append(
            "Their identifiers were given in an order that may tell protected values: give others, at random."
        )
    what = [f"{'+'.join(test.about)} is {test.question}" if test.about else test.question for test in failed]
    return [
        "The codes that were given out FAIL, as by chance one honest output in a hundred does: they contradict that "
        f"{'; that '.join(what[:3])}. {' '.join(remedies)} Do not publish them."
    ]


def _bits(bits: float) -> str:
    shown = f"{bits:.3g}"
    return f"{shown} bit{'' if shown == '1' else 's'}"
