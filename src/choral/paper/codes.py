"""How many codes: |Y| ≤ nul(P)+1, cor1, cor2 and P4, on laws that test them."""

from __future__ import annotations

from fractions import Fraction

from choral.describe import examples
from choral.design.disclose import disclose, self_disclose
from choral.design.outlook import bounds
from choral.paper.record import Effort, Found, Picture, Section, exactly, holds
from choral.show.plots import channel_plot

F = Fraction


def run(effort: Effort) -> Found:
    """The bounds on |Y|, the residual H(X|Y), and when the channel does not depend on W."""
    effort.tell("two blocks")
    law = examples.two_squares()
    parity = law.with_column("W", lambda a, b: (a + b) % 2)
    sizes = sum(len(alphabet) for alphabet in law.alphabets) - len(law.names) + 2
    nullity = bounds(parity).nullity
    first = disclose(law.with_column("W", lambda a, b: (a + b) % 2 if a < 2 else 0))
    second = disclose(law.with_column("W", lambda a, b: (a + b) % 2 if a > 1 else 0))
    effort.tell("four fair bits")
    bits = disclose(examples.four_fair_bits())
    ex1 = disclose(examples.bsc_and_bec())
    itself = self_disclose(examples.bernoulli(F(3, 10), 3))
    residual = itself.problem.entropy_of_target - itself.information
    claims = (
        exactly("|X̂| of two 2×2 blocks equals Σ|X_i| - n + 2", "P4", sizes, len(law)),
        exactly(
            "so the nullity of P is",
            "P4",
            1,
            nullity,
            "the sizes do not give the nullity: the blocks make the rank smaller. Test the nullity itself",
        ),
        holds(
            "so the optimal channel is the same for every W",
            "P4",
            first.exact == second.exact,
            "two targets, each about one block: their optimal channels were compared in fractions",
            "each target needs the other block left alone; the statement holds for nullity 1",
        ),
        holds(
            "nul(P) + 1 codes suffice",
            "proposition before theo1",
            all(d.codes <= d.bounds.codes_at_most for d in (ex1, bits, first, second)),
            ", ".join(f"{d.codes} of {d.bounds.codes_at_most}" for d in (ex1, bits, first, second)),
        ),
        holds(
            "at least ⌈|X̂|/rank(P)⌉ codes are necessary",
            "cor2",
            bits.codes >= bits.bounds.codes_at_least,
            f"four fair bits, W = X₁ ⊕ X₂: {bits.codes} codes attain the optimum of {bits.information:g} bit; "
            f"the corollary asks for {bits.bounds.codes_at_least}",
            "the bound is about codes that are extreme points; a code may mix several",
        ),
        holds(
            "min H(X|Y) ≤ log rank(P)",
            "cor1",
            residual <= itself.bounds.residual_at_most,
            f"three Bernoulli(.3): {residual:.4f} ≤ {itself.bounds.residual_at_most:.4f} bits",
        ),
    )
    return Found(
        ("The statements about sizes. Two of them need a correction; each has a small law that shows it.",),
        claims,
        (),
        (
            Picture("p4-first", channel_plot(first), "The optimal channel for a target about the first block."),
            Picture(
                "p4-second", channel_plot(second), "The same law with a target about the second block: another channel."
            ),
        ),
    )


SECTION = Section("codes", "How many codes", ("P4", "cor1", "cor2", "|Y| ≤ nul(P)+1"), run)
