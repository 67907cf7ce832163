"""The findings of an audit in words: what each tells to whom in right guesses and bits, and what to do; the gravest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from choral.auditing.out_of_sample import VALIDATION
from choral.auditing.output_tests import FILE
from choral.describe.display import at_most, counted, in_bits, percent
from choral.draw.arrange import ROW
from choral.draw.quota_cost import in_words as told_in_words
from choral.release.leakage import Leakage
from choral.tables.binned import inside_bins, spoken

if TYPE_CHECKING:
    from choral.auditing.result import Audit

LARGE = 0.01
"""Bits from which on a leak is named."""
LARGE_ADVANTAGE = 0.1
"""An advantage in guessing from which on it is named: one guess in ten."""
SAME = 1e-9
"""Bits by which what floats say of one leak under one law may differ."""
RARE_EVENT = 1e-3
"""Probability from which on it is named that a code gives a value away for sure."""
UNLIKELY = 0.01
"""An adjusted p-value below which a test is said to fail."""
SMALL_GAIN = 0.005
"""Right guesses, of all: half a percentage point. What is learned of something protected below it stands behind."""
MOST_SAID = 5
"""Findings that a summary ends in: five are read, a list is in the audit."""
MOST_ALIKE = 3
"""Further columns that a finding names, by which the same is learned."""


BROKEN, OPEN, ASIDE, TO_COME = range(4)
"""How grave a finding is: a promise does not hold; somebody learns of what is protected; of what is not; of new records."""


@dataclass(frozen=True)
class Finding:
    """Something that a curator decides about: what was found, and what can be done.

    `gain` is how many more guesses are right with the code than without, of all; where that is not known, the probability
    that a value is given away. `leak` is what was measured, and `promise` what would close it, as `protect` has it.
    """

    kind: str
    grade: int
    gain: float
    bits: float
    sentence: str
    remedy: str
    leak: Leakage | None = None
    promise: str | None = None
    alike: str = ""
    """Who else learns the same, in words."""

    def __str__(self) -> str:
        return f"{self.sentence}{f'; {self.alike}' if self.alike else ''}: {self.remedy}."

    @property
    def rank(self) -> tuple[Any, ...]:
        """Where it stands: what breaks a promise first, then by right guesses, then by bits."""
        small = self.grade == OPEN and self.gain < SMALL_GAIN
        return ASIDE if small else self.grade, -round(self.gain, 6), -self.bits, self.sentence

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        said = ("kind", "gain", "bits", "sentence", "alike", "remedy", "promise")
        return {name: getattr(self, name) for name in said}


def summary_of(audit: Audit) -> str:
    """What holds, then at most five findings, the gravest first."""
    found = findings_of(audit)
    said = [guarantee(audit), *map(str, found[:MOST_SAID])]
    if audit.output is not None and not any(finding.kind == "codes" for finding in found):
        said.insert(1, "The codes that were given out pass every test of what is promised.")
    if not found:
        said.append(f"Nothing else that was looked at tells {LARGE} bits or more.")
    return " ".join(said)


def findings_of(audit: Audit) -> list[Finding]:
    """All findings, the gravest first."""
    tells = (_inside, _knowing, _columns, _together, _beyond, _composition, _laws, _new)
    makers = (_broken, _absence, _output, _quota, *tells)
    return sorted((finding for make in makers for finding in make(audit)), key=lambda finding: finding.rank)


def guarantee(audit: Audit) -> str:
    """What holds, exactly."""
    groups = list(zip(audit.laws[0].groups, audit.budgets, strict=True))
    if open_ := _not_kept(audit):
        who = f" for somebody who knows {' and '.join(open_.given)}" if open_.given else ""
        return (
            f"The code is NOT independent of {'+'.join(open_.about)}{who} under a law of the release, as it promises."
        )
    said = []
    if private := [spoken(leak.about, audit.bins) for leak, budget in groups if budget is None]:
        names = ", ".join(private[:6]) + (", …" if len(private) > 6 else "")
        said.append(f"The code is independent of each of {names}, exactly, under the release's own law.")
    for leak in audit.laws[0].given:
        known, about = spoken(leak.given, audit.bins, " and "), spoken(leak.about, audit.bins)
        said.append(f"Who knows {known} learns nothing more about {about} from it, exactly.")
    for leak, budget in groups:
        if budget is not None:
            said.append(
                f"It tells {in_bits(leak.bits)} about {spoken(leak.about, audit.bins)}, for which {budget} are allowed."
            )
    if limit := inside_bins(
        {name: cutting for name, cutting in audit.bins.items() if any(name in leak.about for leak, _ in groups)}
    ):
        said.append(limit)
    return " ".join(said)


def learns(leak: Leakage) -> str:
    """What whoever sees the code learns, as the end of a sentence: right guesses, then bits."""
    name, before, after = "+".join(leak.about), percent(leak.guess_before), percent(leak.guess_after)
    if before == after:
        return f"learns {in_bits(leak.bits)} about {name}, though the best guess stays right {before}"
    return f"guesses {name} right {after} instead of {before} ({in_bits(leak.bits)})"


def _who(leak: Leakage) -> str:
    return f"Somebody who knows {' and '.join(leak.given)}" if leak.given else "Whoever sees the code"


def _gain(leak: Leakage) -> float:
    return float(leak.guess_after - leak.guess_before)


def _not_kept(audit: Audit) -> Leakage | None:
    groups = zip(audit.laws[0].groups, audit.budgets, strict=True)
    open_ = [leak for leak, budget in groups if budget is None and not leak.zero]
    if not open_ and audit.proved:
        return None
    return max(open_ or [law.worst for law in audit.laws[: 1 + audit.further]], key=lambda leak: leak.bits)


def _broken(audit: Audit) -> Iterable[Finding]:
    if (leak := _not_kept(audit)) is not None:
        sentence = f"{_who(leak)} {learns(leak)}, which is promised not to be"
        yield Finding("promise", BROKEN, _gain(leak), leak.bits, sentence, "do not release this", leak)


def _absence(audit: Audit) -> Iterable[Finding]:
    leaks = [leak for leak in audit.absence if not leak.zero]
    if leaks:
        worst = max(leaks, key=lambda leak: leak.bits)
        sentence = (
            f"That some records of {audit.view} have no code, since a value is missing, is NOT independent of "
            f"{'+'.join(worst.about)}: whoever sees that {learns(worst)}"
        )
        yield Finding(
            "absence",
            BROKEN,
            _gain(worst),
            worst.bits,
            sentence,
            "fit with --missing value, which gives every record a code",
            worst,
        )


def _inside(audit: Audit) -> Iterable[Finding]:
    for leak in audit.inside:
        if not leak.zero:
            it = "it" if len(leak.about) == 1 else "them"
            exact = f"the exact {'+'.join(leak.about)}"
            sentence = (
                f"Under {audit.view} it tells {in_bits(leak.bits)} about {exact}, inside the bins{_guesses(leak)}"
            )
            yield Finding(
                "bins",
                OPEN,
                _gain(leak),
                leak.bits,
                sentence,
                f"cut {it} finer (--bins), or do not bin",
                leak,
            )


def _guesses(leak: Leakage) -> str:
    before, after = percent(leak.guess_before), percent(leak.guess_after)
    return "" if before == after else f" (guessed right {after} instead of {before})"


def _columns(audit: Audit) -> Iterable[Finding]:
    besides = (*audit.target, audit.score)
    for leak in audit.columns:
        if leak.about[0] not in besides and leak.bits >= LARGE:
            sentence = f"Whoever sees the code {learns(leak)}, which is not protected"
            remedy = f"add {leak.about[0]} to --protect if it matters"
            yield Finding("column", ASIDE, _gain(leak), leak.bits, sentence, remedy, leak, leak.about[0])


def _together(audit: Audit) -> Iterable[Finding]:
    alone = {leak.about[0] for leak in audit.laws[0].groups if len(leak.about) == 1}
    for size in (2, 3):
        large = [x.leakage for x in audit.together if len(x.leakage.about) == size and x.excess >= LARGE]
        promised = [leak for leak in large if set(leak.about) <= alone]
        for leak in dict.fromkeys([*promised[:1], *large[:1]]):
            group = "+".join(leak.about)
            order = f", or fit with order={size} (--order {size})" if leak in promised else ""
            sentence = f"Whoever sees the code {learns(leak)}, together more than any part of them"
            grade = OPEN if leak in promised else ASIDE
            yield Finding("together", grade, _gain(leak), leak.bits, sentence, f"protect {group}{order}", leak, group)


def _knowing(audit: Audit) -> Iterable[Finding]:
    large = sorted((leak for leak in audit.knowing if leak.bits >= LARGE), key=lambda leak: (-_gain(leak), -leak.bits))
    scored = [leak for leak in large if leak.given == (audit.score,)]
    if scored:
        worst, others = scored[0], [leak for leak in scored[1:] if _gain(leak) >= SMALL_GAIN]
        also = [f"{'+'.join(x.about)} {percent(x.guess_after)} instead of {percent(x.guess_before)}" for x in others]
        sentence = f"Who can compute the score of a record {', '.join([learns(worst), *also[:MOST_ALIKE]])}"
        yield Finding("score", OPEN, _gain(worst), worst.bits, sentence, "keep the points to yourself", worst)
    for about in dict.fromkeys(leak.about for leak in large):
        mine = [leak for leak in large if leak.about == about and leak not in scored]
        if mine:
            yield _side_knowledge(mine[0], mine[1:], audit)


def _added(promise: str, known: Sequence[str], audit: Audit) -> str:
    """What to do about side knowledge; of a known column that is cut, known is the bin."""
    cut = [name for name in known if name in audit.bins]
    kept = f", with the bins of {' and '.join(cut)} as they are (--bins)" if cut else ""
    return f"{add_promise(promise, any(audit.budgets))}{kept}"


def add_promise(promise: str, budgets: bool) -> str:
    """What to write for a promise given what others know; beside budgets there is none.

    >>> add_promise("sex | region", budgets=True)
    "leave out the budgets and add 'sex | region' to --protect"
    """
    return f"{'leave out the budgets and ' if budgets else ''}add '{promise}' to --protect"


def _side_knowledge(worst: Leakage, others: Sequence[Leakage], audit: Audit) -> Finding:
    promise = f"{'+'.join(worst.about)} | {'+'.join(worst.given)}"
    sentence = f"Somebody who knows {'+'.join(worst.given)} {learns(worst)}"
    more = [leak for leak in others if percent(leak.guess_before) != percent(leak.guess_after)][:MOST_ALIKE]
    named = [f"{'+'.join(x.given)} {percent(x.guess_after)} instead of {percent(x.guess_before)}" for x in more]
    alike = f"in the same way, who knows {', '.join(named)}" if named else ""
    remedy = _added(promise, worst.given, audit)
    return Finding("knowing", OPEN, _gain(worst), worst.bits, sentence, remedy, worst, promise, alike)


def _beyond(audit: Audit) -> Iterable[Finding]:
    for leak in [leak for leak in audit.beyond if leak.bits >= LARGE][:1]:
        about, known = "+".join(leak.about), "+".join(leak.given)
        if len(leak.given) == 1:
            sentence = f"Who knows only {leak.given[0]} {learns(leak)}"
            remedy = "a promise given a column is for whoever knows it exactly; protect both columns together if this matters"
            yield Finding("beyond", OPEN, _gain(leak), leak.bits, sentence, remedy, leak)
        else:
            sentence = f"Who knows {' and '.join(leak.given)} {learns(leak)}"
            promise = f"{about} | {known}"
            remedy = _added(promise, leak.given, audit)
            yield Finding("beyond", OPEN, _gain(leak), leak.bits, sentence, remedy, leak, promise)


def _composition(audit: Audit) -> Iterable[Finding]:
    if not audit.composition:
        return
    worst = max(audit.composition, key=lambda leak: leak.bits)
    certain = max((leak.certain or 0.0 for leak in audit.composition), default=0.0)
    if worst.bits < LARGE and certain < RARE_EVENT:
        return
    sure = f", and give a record's value away for sure with probability {certain:.2g}" if certain >= RARE_EVENT else ""
    sentence = (
        f"To someone who knows the exact composition of the table, all codes together tell {in_bits(worst.bits)} about a "
        f"record's {'+'.join(worst.about)} ({worst.method}){sure}, most about values that "
        f"{counted(worst.worst[0].count, 'record', 'has', 'share')}"
    )
    remedy = "merge more rare states (--min-count), or release a larger table"
    yield Finding("composition", OPEN, certain, worst.bits, sentence, remedy)


def _laws(audit: Audit) -> Iterable[Finding]:
    """Under other laws: what a group without a budget leaks, and one with a budget beyond what it does under the first."""
    declared = audit.laws[0].groups
    remedy = (
        "leave out the budgets and fit with --also"
        if any(audit.budgets)
        else "fit with --also to be private under both"
    )
    for law in audit.laws[1 + audit.further :]:
        groups = zip(law.groups, declared, audit.budgets, strict=True)
        kept = [leak for leak, first, budget in groups if budget is not None and leak.bits <= first.bits + SAME]
        open_ = [leak for leak in (*law.groups, *law.given) if not leak.zero and leak not in kept]
        if open_:
            worst = max(open_, key=lambda leak: leak.bits)
            under = f"Under the frequencies of {law.name} the same channel is not private"
            who = _who(worst)
            sentence = f"{under}: {who[0].lower()}{who[1:]} {learns(worst)}"
            yield Finding("law", OPEN, _gain(worst), worst.bits, sentence, remedy, worst)


def _new(audit: Audit) -> Iterable[Finding]:
    if not audit.out_of_sample:
        return
    best = min(audit.out_of_sample, key=lambda bound: bound.advantage)
    validated = any(bound.source == VALIDATION for bound in audit.out_of_sample)
    what = "a larger validation table" if validated else "a larger table, or one that the fit never saw (--validation),"
    source = f"with {percent(best.confidence)} confidence (from {best.source})"
    bits = audit.told_at_most(best)
    if best.advantage >= 1 and (bits is None or not validated):
        unbounded = [group for group in best.groups if group.bound >= 1]
        sentence = (
            f"For new records nothing is known, {source}, of what the code tells about "
            f"{', '.join(spoken(group.about, audit.bins) for group in unbounded)}: too few records have the rarest value "
            f"({min(group.count for group in unbounded)})"
        )
        yield Finding("new", TO_COME, 0.0, 0.0, sentence, f"{what} may say more")
        return
    parts = [] if bits is None else [f"the code tells at most {at_most(bits, 2)} bits about any protected group"]
    if best.advantage < 1:
        most = at_most(best.advantage, 2)
        parts.append(f"the probability of any event of the code differs by at most {most} between two values of one")
    sentence = f"For new records, {source}, {' and '.join(parts)}"
    enough = best.advantage < LARGE_ADVANTAGE
    yield Finding("new", TO_COME, 0.0, 0.0, sentence, "nothing needs to be done" if enough else f"{what} lowers this")


def _quota(audit: Audit) -> Iterable[Finding]:
    if audit.quota is None:
        return
    if not audit.quota.kept:
        yield Finding("quota", BROKEN, 1.0, 0.0, audit.quota.sentence.rstrip("."), "do not publish them")
        return
    for who, learned in (
        ("all other records", audit.quota.cost.others),
        ("all other bearers of a code", audit.quota.cost.bearers),
    ):
        sentence = f"Drawn by quota: somebody who knows {who} learns {learned.about}: {told_in_words(learned)}"
        gain = learned.guess_after - learned.guess_before
        yield Finding("quota", OPEN, gain, learned.bits, sentence, "draw by lots, if shares need not be counted")


def _output(audit: Audit) -> Iterable[Finding]:
    if audit.output is None:
        return
    failed = [test for test in audit.output.tests if test.protected and test.adjusted < UNLIKELY]
    if not failed:
        return
    ordered = [test.order for test in failed if test.order is not None]
    remedies = (
        [] if len(ordered) == len(failed) else ["they may be of another release or another table, or drawn twice"]
    )
    if FILE in ordered or ROW in ordered:
        remedies.append("their order may tell protected values: disclose without --arrange and --with-rows")
    if any(order not in (FILE, ROW) for order in ordered):
        remedies.append(
            "their identifiers were given in an order that may tell protected values: give others, at random"
        )
    what = [f"{'+'.join(test.about)} is {test.question}" if test.about else test.question for test in failed]
    sentence = (
        "The codes that were given out FAIL, as by chance one honest output in a hundred does: they contradict that "
        f"{'; that '.join(what[:3])}"
    )
    yield Finding("codes", BROKEN, 1.0, 0.0, sentence, f"do not publish them; {'; '.join(remedies)}")
