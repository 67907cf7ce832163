"""What is promised, group by group, and what is not, each limit with what the audit found and what can be done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from choral.auditing.out_of_sample import VALIDATION
from choral.describe.display import Cell, Listing, Shown, at_most
from choral.release.given import InWords, in_words, left_open
from choral.release.leakage import Leakage, Published
from choral.release.meaning import Meaning
from choral.show.report.markup import Html, Part, bits, count, element, fold, joined, listing, paragraph, share
from choral.show.report.subject import Subject
from choral.tables.binned import binned_and_protected, bins_of

MOST_GROUPS = 15
"""Groups that are listed at once; the others are folded."""


def promise(subject: Subject) -> Html:
    """The guarantee in words, then group by group."""
    return element(
        "section",
        element("h2", "What is promised"),
        paragraph(
            "Think of somebody who wants to know a private value of one record. They know how often every combination "
            "of values occurs, they know exactly how codes are made, and they see all codes that were published. But "
            "they do not know the record."
        ),
        *_sentences(subject),
        _groups(subject),
        id="promise",
    )


def _sentences(subject: Subject) -> list[Html]:
    said = []
    if subject.promised:
        group = subject.promised[0]
        before, _ = subject.guess_of(group)
        said.append(
            paragraph(
                f"Their best guess at {subject.named(group)} is right in ",
                share(before),
                " of cases without the code. With it: in exactly as many. The same is true of every value's probability, "
                + ("of every private group." if len(subject.promised) > 1 else "common or rare."),
            )
        )
    for group in subject.budgeted:
        before, after = subject.guess_of(group)
        name = subject.named(group)
        said.append(
            paragraph(
                f"About {name} the code may tell something: {_budget(subject, group.name)}. It tells ",
                bits(subject.disclosure.leakage[group.name]),
                "; their best guess is right in ",
                share(after),
                " of cases instead of ",
                share(before),
                ".",
            )
        )
    said += _given(subject)
    if subject.disclosure.problem.further:
        said.append(
            paragraph(
                "The same holds under each of ",
                count(len(subject.disclosure.problem.further), "further law"),
                " that the curator declared, and under every mixture of them with the first.",
            )
        )
    return said


def _given(subject: Subject) -> list[Html]:
    """Promises to somebody who knows other columns, and what each leaves open."""
    problem = subject.disclosure.problem
    bins = {} if subject.recipe is None else bins_of(subject.recipe)
    said = [
        paragraph(f"{words.said[0].upper()}{words.said[1:]}, exactly. But {words.not_covered}.")
        for words in in_words(problem, bins)
    ]
    for promise, leak in left_open(subject.disclosure):
        words = InWords(promise, bins)
        lead = (
            f"{words.left_open[0].upper()}{words.left_open[1:]} is not hidden by that, and everybody may be told it: "
        )
        said.append(paragraph(lead, bits(leak.bits), f" about {words.hidden}", *_guesses(leak)))
    return said


def _budget(subject: Subject, name: str) -> str:
    problem = subject.disclosure.problem
    g = [group.name for group in problem.groups].index(name)
    return str(problem.budget(g) or "nothing")


def _groups(subject: Subject) -> Html:
    problem = subject.disclosure.problem
    rows: list[list[Cell]] = []
    for group in problem.groups:
        before, after = subject.guess_of(group)
        promised = group in subject.promised
        rows.append(
            [
                subject.named(group),
                "nothing, exactly" if promised else _budget(subject, group.name),
                share(before),
                share(after),
                bits(subject.disclosure.leakage[group.name]),
            ]
        )
    bins = {} if subject.recipe is None else bins_of(subject.recipe)
    for words in in_words(problem, bins):
        leak = Published.of(subject.disclosure).promised(words.promise)
        who = f"{words.hidden}, to somebody who knows {words.known}"
        rows.append([who, "nothing more, exactly", share(leak.guess_before), share(leak.guess_after), bits(leak.bits)])
    columns = ["private", "the code may tell", "right before", "right after", "it tells"]
    shown = listing(Listing("Private groups", columns, rows[:MOST_GROUPS]))
    if len(rows) <= MOST_GROUPS:
        return shown
    more = listing(Listing("More private groups", columns, rows[MOST_GROUPS:]))
    return joined([shown, fold(f"{len(rows) - MOST_GROUPS} more private groups", more)])


@dataclass(frozen=True)
class Limit:
    """Something that is not promised: in words, what was found of it, and what can be done."""

    name: str
    words: str
    found: Sequence[Part]
    remedy: str

    def html(self) -> Html:
        """The limit as a part of the page."""
        return element(
            "div",
            element("h3", self.name),
            paragraph(self.words),
            paragraph(element("strong", "Here: "), *self.found) if self.found else "",
            paragraph(element("strong", "What can be done: "), self.remedy),
            class_="limit",
        )


def limits(subject: Subject) -> Html:
    """All limits, in the order of how often they matter."""
    every = [
        *_inside(subject),
        _several(subject),
        _other_columns(subject),
        _knowing(subject),
        *_scored(subject),
        _composition(subject),
        _new_records(subject),
        _one_draw(subject),
        *_rules(subject),
        _aggregates(subject),
    ]
    return element(
        "section",
        element("h2", "What is not promised"),
        paragraph(
            "Everything above is about each private group by itself, under the law, for somebody who does not know the "
            "record. Beyond that:"
        ),
        *(limit.html() for limit in every),
        id="limits",
    )


def _inside(subject: Subject) -> list[Limit]:
    binned = [] if subject.recipe is None else binned_and_protected(subject.recipe)
    if not binned:
        return []
    found: list[Part] = ["not audited with the table."]
    if subject.audit is not None and subject.audit.inside:
        worst = max(subject.audit.inside, key=lambda leak: leak.bits)
        if worst.zero:
            found = [f"under {subject.audit.view} nothing is told inside the bins either, exactly."]
        else:
            lead = f"under {subject.audit.view}, about the exact {' and '.join(worst.about)}: "
            found = [lead, bits(worst.bits), *_guesses(worst)]
    return [
        Limit(
            "Values inside a bin",
            f"{' and '.join(binned)} {'is' if len(binned) == 1 else 'are'} cut into bins. What is private is the bin, not "
            "the exact value: values inside a bin may be told through other columns.",
            found,
            "Protect finer bins (--bins), or do not bin.",
        )
    ]


def _several(subject: Subject) -> Limit:
    found: list[Part] = ["not audited."]
    if subject.audit is not None:
        worst = max((leak.leakage for leak in subject.audit.together), key=lambda leak: leak.bits, default=None)
        found = ["the audit found nothing of the kind."] if worst is None else _tells("of those looked at, most", worst)
    return Limit(
        "Several private columns together",
        "A code can say nothing about either of two columns and still say something about both at once, such as "
        "whether they are equal. Only groups that are listed together are private together.",
        found,
        "Ask for several at once (order=2)."
        if subject.compact
        else "List such columns as one group (--protect A+B), or protect all pairs (--order 2).",
    )


def _other_columns(subject: Subject) -> Limit:
    found: list[Part] = ["not audited."]
    if subject.audit is not None:
        besides = (*subject.audit.target, subject.audit.score)
        leaks = [leak for leak in subject.audit.columns if leak.about[0] not in besides]
        worst = max((leak for leak in leaks if not leak.zero), key=lambda leak: leak.bits, default=None)
        if worst is not None:
            found = _tells("most", worst)
        elif leaks or subject.audit.score is None:
            found = ["no column that was looked at is told about."]
        else:
            found = ["not looked at: the law of a score holds no other column. The table does (choral report --table)."]
    return Limit(
        "Columns that are not private",
        "A column that is not listed may be told about, also one that the code was not made from, if it goes together "
        "with what is told.",
        found,
        "Add it to the private columns (--protect).",
    )


def _scored(subject: Subject) -> list[Limit]:
    known = [] if subject.release is None else Meaning(subject.release).known_score
    if subject.audit is not None and subject.audit.score is not None:  # of the table itself, where that was audited
        known = [leak for leak in subject.audit.knowing if leak.given == (subject.audit.score,)] or known
    leaks = [leak for leak in known if not leak.zero]
    if not leaks:
        return []
    worst = max(leaks, key=lambda leak: leak.bits)
    return [
        Limit(
            "Somebody who has the points",
            "The code is made from a score: points of other columns, added. Whoever knows these columns of a record and the "
            "points knows the score, and may learn more from the code.",
            _tells("to them, most", worst),
            "Keep the points and the release file to yourself.",
        )
    ]


def _knowing(subject: Subject) -> Limit:
    found: list[Part] = ["not audited."]
    if subject.audit is not None:
        known = [leak for leak in subject.audit.knowing if leak.given != (subject.audit.score,)]
        worst = max(known, key=lambda leak: leak.bits, default=None)
        found = ["the audit found no such column."]
        if worst is not None:
            who = f"who knows {' and '.join(worst.given)} learns"
            found = [f"{who} ", bits(worst.bits), f" about {' and '.join(worst.about)}", *_guesses(worst)]
    return Limit(
        "Somebody who knows something about the record",
        f"Whoever already knows {subject.target}, or another column of a record, may learn more from its code: the "
        "code ties the columns together.",
        found,
        "Protect the column also given the one that is known (--protect 'A,A | B', or --against B), and do not publish "
        "codes beside columns that they are made from.",
    )


def _composition(subject: Subject) -> Limit:
    found: list[Part] = ["not computed."]
    if subject.audit is not None and subject.audit.composition:
        worst = max(subject.audit.composition, key=lambda leak: leak.bits)
        found = [
            "all codes together tell them ",
            bits(worst.bits),
            f" about a record's {' and '.join(worst.about)} ({worst.method})",
        ]
        if worst.bound < subject.audit.held.get(worst.about, math.inf):  # else it is no less than there is to know
            found += [", and certainly no more than ", bits(worst.bound)]
        if worst.certain is not None:
            found += ["; the value comes out for sure with probability ", share(Fraction(worst.certain))]
        found.append(".")
    return Limit(
        "Somebody who knows the exact composition of the table",
        "The promise is for records that are independent draws from the law. Whoever knows exactly how many records of "
        "each kind the table holds can count off the codes of the others. What that tells falls with the size of the "
        "table, and is most about rare combinations.",
        found,
        "Merge more rare combinations (--min-count), or release a larger table.",
    )


def _new_records(subject: Subject) -> Limit:
    found: list[Part] = ["not bounded."]
    if subject.audit is not None and subject.audit.out_of_sample:
        best = min(subject.audit.out_of_sample, key=lambda bound: bound.advantage)
        most = subject.audit.told_at_most(best)
        bounded: list[Part] = []
        if most is not None:  # else it is no less than what there is to know
            unit = "bit" if at_most(most) == "1" else "bits"
            bounded = [
                "the code tells at most ",
                Shown(most, f"{at_most(most)} {unit}"),
                " about any private value; and ",
            ]
        found = [
            "with confidence ",
            share(Fraction(str(best.confidence))),
            ", ",
            *bounded,
            "between two private values the probability of any event of the code differs by at most ",
            Shown(best.advantage, f"{at_most(100 * best.advantage)} percentage points"),
            f" (from {best.source} of ",
            count(best.rows, "row"),
            ").",
        ]
        if best.advantage >= 1 and best.source != VALIDATION:
            found = [f"nothing is known from {best.source}: too few of its records have the rarest private value."]
    return Limit(
        "Records to come",
        "For records that are not in the table the promise holds as far as the law is right for them.",
        found,
        "Use a larger table, check with one that the fit never saw (choral audit --validation), or ask for privacy "
        "under several laws (--also).",
    )


def _one_draw(subject: Subject) -> Limit:
    attack = "Two independent codes for the same record can give a private value away for certain. "
    if subject.recipe is None:
        return Limit(
            "One draw per record",
            f"{attack}Codes of this disclosure are drawn in Python, and nothing remembers for which records.",
            (),
            "Draw once per record, and keep what was drawn; or make a release of the table with choral fit.",
        )
    return Limit(
        "One draw per record, with a secret key",
        f"{attack}Codes are therefore drawn once, from a secret key, and a ledger refuses what would draw again. The lots "
        "come from a keyed cipher: that nobody can predict them is as sure as the cipher, and no surer. With a leaked key "
        "nothing is promised.",
        (),
        "Keep the key and the ledger. Release about the same people again only with choral fit --after.",
    )


def _aggregates(subject: Subject) -> Limit:
    carded = subject.recipe is not None
    return Limit(
        "The card and this page" if carded else "This page",
        "Exact aggregates of two tables that differ by one record can reveal that record. "
        + ("The card is rounded for that reason; this page is not." if carded else "This page shows such aggregates."),
        (),
        "Give analysts the codes and the card. Keep the release file, the key and this page."
        if carded
        else "Give analysts the codes and what each means, rounded. Keep the release file and this page.",
    )


def _rules(subject: Subject) -> list[Limit]:
    recipe = subject.recipe
    if recipe is None:
        return []
    rules = []
    if recipe.missing == "drop":
        rules.append("a record without a code has a missing value")
    if recipe.unseen == "code":
        rules.append(f"code {subject.disclosure.codes} says that a record has values that were not seen before")
    else:
        rules.append("a record that is refused has values that were not seen before")
    return [
        Limit(
            "Missing values, and values not seen before",
            "What happens to such records is itself a message about them, and no proof covers it.",
            [f"{'; '.join(rules)}."],
            "Fit on a table that holds all values that occur, with --missing value.",
        )
    ]


def _tells(lead: str, leak: Leakage) -> list[Part]:
    about = " and ".join(leak.about) + (" together" if len(leak.about) > 1 else "")
    return [f"{lead} about {about}: ", bits(leak.bits), *_guesses(leak)]


def _guesses(leak: Leakage) -> list[Part]:
    return [
        "; the best guess is right in ",
        share(leak.guess_after),
        " of cases instead of ",
        share(leak.guess_before),
        ".",
    ]
