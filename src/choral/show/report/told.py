"""What the code tells about the target: how much of what there is, what each code says, and how codes are made."""

from __future__ import annotations

from fractions import Fraction

from choral.describe.display import Cell, Listing, Shown, at_most, figure
from choral.design.result import Disclosure
from choral.release.meaning import in_its_unit
from choral.show.plots.channel import leading
from choral.show.plots.posteriors import others, value_names
from choral.show.report.markup import Html, bits, bits_at_most, count, element, fold, listing, paragraph, share
from choral.show.report.subject import Subject

MOST_CODES = 40
"""Codes in the table; the rest is joined in a last row."""
MOST_VALUES = 8
"""Values of the target that get a column."""


def how_much(subject: Subject, ladder: Html, posteriors: Html) -> Html:
    """The information ladder and the posteriors, with their numbers."""
    found = subject.disclosure
    return element(
        "section",
        element("h2", f"What is told about {subject.target}"),
        paragraph(
            "One bit is what the answer to one yes-or-no question tells, when both answers are equally likely. This "
            "code tells ",
            bits(found.information),
            f" about {subject.target}. It is proved that no code with the same privacy can tell more than ",
            bits_at_most(found.upper_bound),
            ".",
        ),
        *_purpose(found),
        ladder,
        posteriors,
        fold(f"What each code says about {subject.target}", listing(_codes(subject))),
        id="told",
    )


def _purpose(found: Disclosure) -> list[Html]:
    """What the code is made for, if that is not bits: how much better than without it, and how good a code can be."""
    if found.problem.utility is None:
        return []
    sentence = in_its_unit(found)
    best = f"It is worth {figure(found.value)} in this unit, and it is proved that no private code is worth more than"
    advice = (
        ""
        if found.actions is None
        else f" Its codes advise, in order: {', '.join(map(str, found.actions[:MOST_CODES]))}."
    )
    return [paragraph(f"The code is made for a purpose: {sentence}. {best} {at_most(found.value_bound)}.{advice}")]


def _codes(subject: Subject) -> Listing:
    found = subject.disclosure
    prior, given = subject.posterior
    values = leading(prior, MOST_VALUES)
    chosen = leading(found.p_y, MOST_CODES)
    first = None if subject.recipe is None or subject.recipe.after is None else subject.recipe.after.first
    rows: list[list[Cell]] = [
        [
            "before seeing a code",
            "",
            *([""] if first else []),
            *(share(sum((prior[v] for v in vs), Fraction(0))) for vs in values),
        ]
    ]
    for codes in chosen:
        mass = sum((found.p_y[y] for y in codes), Fraction(0))
        given_these = given[codes[0]] if len(codes) == 1 else others(found, prior, given, chosen)
        law = [sum((given_these[v] for v in vs), Fraction(0)) for vs in values]
        name = f"code {codes[0]}" if len(codes) == 1 else f"{len(codes)} other codes"
        earlier = [f"{first[codes[0]]}" if len(codes) == 1 else ""] if first else []
        rows.append([name, share(mass), *earlier, *map(share, law)])
    columns = ["", "how often", *(["earlier code"] if first else []), *value_names(found.problem.target, values)]
    cut = len(chosen) < found.codes or len(values) < len(prior)
    caption = "The commonest are listed one by one, the others together" if cut else ""
    return Listing(f"Probability of each value of {subject.target}", columns, rows, caption)


def how_made(subject: Subject, heat_map: Html) -> Html:
    """The channel as a heat map, and how it was found."""
    found, bounds = subject.disclosure, subject.disclosure.bounds
    rows: list[list[Cell]] = [
        ["states of positive probability", count(bounds.states)],
        ["rank of what is private", count(bounds.rank)],
        ["room for telling something (nullity)", count(bounds.nullity)],
        ["all there is to know, H(W)", bits(bounds.entropy)],
        ["what the used columns tell without privacy, I(W;X)", bits(bounds.information)],
        ["a bound that needs no solving", bits_at_most(bounds.upper_bound)],
        ["certified: no private channel tells more", bits_at_most(found.upper_bound)],
        ["disclosed", bits(found.information)],
        ["certified gap", bits(found.gap)],
        ["share of all there is to know", Shown(found.efficiency, f"{100 * found.efficiency:.3g} %")],
    ]
    return element(
        "section",
        element("h2", "How codes are made"),
        paragraph(
            "Each row is a state: a combination of values of the columns that the code is made from. Lots are drawn "
            "with the probabilities in the row. The lots are not noise added to data: their odds are set exactly so "
            "that the private columns cancel out."
        ),
        heat_map,
        fold("How it was solved, and the bounds", paragraph(f"{found.how}."), listing(Listing("", ["", ""], rows))),
        id="how",
    )
