"""The certificate and how to check it without trusting choral; the card and how to use it; the words of the page."""

from __future__ import annotations

import hashlib

from choral.describe.display import Cell
from choral.show.report.markup import Html, Part, count, element, facts, fold, paragraph
from choral.show.report.subject import Subject
from choral.verifier import JOINED
from choral.version import __version__


def check(subject: Subject) -> Html:
    """What identifies the certificate, what was verified, and how to do it again."""
    release = subject.release
    rows: list[tuple[str, Cell | Html]] = [
        *(
            [("This file", _code(subject.disclosure.digest))]
            if release is None
            else [
                *([] if release.key is None else [("The file with its key inside", _code(release.digest_with_key))]),
                ("The release, without its key", _code(release.digest)),
                ("Its certificate alone: law, channel, proof", _code(subject.disclosure.digest)),
            ]
        ),
        ("The verifier that ran", _code(hashlib.sha256(JOINED.read_bytes()).hexdigest())),
        ("Made with", f"choral {__version__}"),
    ]
    unchecked = (
        paragraph(
            element("strong", "What the verifier cannot check: "),
            "that the law is the table's, that records are read as the recipe says, and that codes were drawn with the "
            "key as the release says. The first can be checked by whoever has the table (choral audit --table), the "
            "last on the codes (--disclosed).",
        )
        if release is not None
        else paragraph(
            element("strong", "What the verifier cannot check: "),
            "that the law is that of the data, and that codes are drawn as the channel says.",
        )
    )
    return element(
        "section",
        element("h2", "Check it yourself"),
        paragraph(
            "The release file holds the law, the rule that makes codes, and a proof, all in whole numbers. The "
            "verifier is one file of plain Python, choral/verifier/alone/verifier.py, that needs nothing else: read it, "
            "copy it to another machine, and run"
        ),
        element("pre", "python verifier.py release.choral", tabindex="0"),
        paragraph(
            "It ends with VERIFIED only if every claim holds and the digest in the file is that of its content. With "
            "--json it names the digest. SHA-256:"
        ),
        facts(rows),
        unchecked,
        fold(
            "What the verifier printed when this page was made",
            element("pre", "\n".join([*subject.said, "VERIFIED     every claim above holds"]), tabindex="0"),
        ),
        id="check",
    )


def card(subject: Subject) -> Html:
    """What to hand to analysts, and what they do with it."""
    heading = element("h2", "Using the card")
    if subject.release is None:
        return element(
            "section",
            heading,
            paragraph(
                "This is a disclosure on a law, without a recipe for tables: it has no public card. Codes are drawn in "
                "Python, once per record. Releases of tables, made with choral fit, have one."
            ),
            id="card",
        )
    withheld = bool(
        set(subject.release.recipe.reveal) & {name for group in subject.release.recipe.protect for name in group}
    )
    parts: list[Part] = [
        paragraph(
            "Analysts get two files: the codes, and the public card (card.json). They never get the release file. The "
            "card says how often each code occurs, what is promised and what is not"
            + (
                f"; it does not say what a code tells about {subject.target}, because that is private too."
                if withheld
                else f", and what each code says about {subject.target}. To put that beside each code:"
            )
        ),
    ]
    if not withheld:
        parts += [
            element("pre", "choral decode card.json codes.parquet -o posterior.parquet", tabindex="0"),
            paragraph(
                "Each row then has a probability for each value. Add them up to count, weigh by them to estimate, or "
                "train on them as soft labels. Do not round them to the likeliest value first: what is told is lost by that."
            ),
        ]
    if subject.release.recipe.after is not None:
        parts.append(paragraph("Codes are pairs: the card says which earlier code each pair contains."))
    if subject.card is not None:
        document = subject.card.document
        parts.append(
            paragraph(
                "The card that was given belongs to this release: its salted digest ",
                _code(document["certificate"]["salted_sha256"]),
                " opens with the salt in the release file. It has ",
                count(int(document["codes"]), "code"),
                *(
                    (", and no numbers.",)
                    if document["precision"] is None
                    else (", and probabilities rounded to ", count(int(document["precision"]), "decimal"), ".")
                ),
            )
        )
    return element("section", heading, *parts, id="card")


WORDS = (
    ("code", "The number that is published for a record."),
    ("law", "How often each combination of values occurs: counted from the table, estimated, or declared."),
    ("state", "A combination of values of the columns that the code is made from; rare ones are merged."),
    ("private, exactly", "Every probability about the group is the same after seeing the code as before."),
    ("bit", "What the answer to one yes-or-no question tells, when both answers are equally likely."),
    ("best guess", "Always saying the likeliest value: how often that is right."),
    ("certificate", "The law, the rule that makes codes and a proof in one file that a small program checks."),
    ("card", "What analysts get beside the codes: what each code means, rounded."),
)


def words() -> Html:
    """What the words of the page mean."""
    return element("section", element("h2", "Words"), facts(WORDS), id="words")


def _code(text: str) -> Html:
    return element("code", text)
