"""The backbone and the decomposition over antichains, against known atoms and random laws."""

from __future__ import annotations

import random
from itertools import combinations, permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import full_joints, joints

import choral as ch
from choral.errors import ColumnError, ProblemError, TooLargeError
from choral.theory.synergy import antichains, implied

SLACK = 1e-11


def bits(n, function):
    names = [f"X{i}" for i in range(1, n + 1)]
    return ch.Joint.from_counts(dict.fromkeys(product((0, 1), repeat=n), 1), names).with_column("W", function)


def sources(law):
    return [name for name in law.names if name != "W"]


def clear(decomposition):
    """The atoms that are not zero, to four digits."""
    return {key: round(atom.value, 4) for key, atom in decomposition.atoms.items() if abs(atom.value) > 1e-9}


def test_xor_is_one_bit_at_the_two_singles():
    assert clear(ch.decompose(ch.examples.xor())) == {(("X1",), ("X2",)): 1.0}


def test_and():
    assert clear(ch.decompose(bits(2, lambda a, b: a & b))) == {(): 0.5, (("X1",), ("X2",)): 0.3113}


def test_a_copy_is_one_bit_where_only_the_other_is_private():
    assert clear(ch.decompose(bits(2, lambda a, b: a))) == {(("X2",),): 1.0}
    assert clear(ch.decompose(bits(3, lambda a, b, c: c))) == {(("X1", "X2"),): 1.0}


def test_parity_of_three():
    pairs = (("X1", "X2"), ("X1", "X3"), ("X2", "X3"))
    law = bits(3, lambda a, b, c: a ^ b ^ c)
    found = ch.decompose(law)
    assert clear(found) == {pairs: 1.0}
    assert found.at(["X3", "X1"], ["X2", "X1"], ["X2", "X3"]).value == 1.0
    assert str(found) == "{X1 X2}{X1 X3}{X2 X3}  1.000000"
    assert [round(a.value, 9) for a in ch.backbone(law).atoms] == [0, 0, 1]


def test_parity_of_four_and_of_two_in_four():
    triples = tuple(combinations(["X1", "X2", "X3", "X4"], 3))
    assert clear(ch.decompose(bits(4, lambda a, b, c, d: a ^ b ^ c ^ d))) == {triples: 1.0}
    # X1 ⊕ X2 may be told whenever X1 and X2 are not protected together.
    largest = (("X1", "X3", "X4"), ("X2", "X3", "X4"))
    assert clear(ch.decompose(ch.examples.four_fair_bits())) == {largest: 1.0}


def test_two_bits_to_tell():
    """W = (X1 ⊕ X2, X3): with X3 private one bit is left (pr:upper_bound); the parity of all three is one, for pairs too."""
    law = bits(3, lambda a, b, c: 2 * (a ^ b) + c)
    found = ch.decompose(law)
    assert found.total == pytest.approx(2, abs=SLACK)
    assert found.synergy[("X1",), ("X2",)].value == pytest.approx(2, abs=SLACK)
    assert found.synergy[(("X1", "X2"),)].value == pytest.approx(1, abs=SLACK)
    assert [round(s.value, 9) for s in ch.backbone(law).synergy] == [2, 1, 1, 0]


def test_the_backbone_by_hand():
    b = ch.backbone(bits(2, lambda a, b: a & b))
    assert [round(s.value, 4) for s in b.synergy] == [0.8113, 0.3113, 0]
    assert [round(a.value, 4) for a in b.atoms] == [0.5, 0.3113]
    assert "every one" in str(b)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_antichains_against_all_families(n):
    subsets = [frozenset(g) for size in range(1, n + 1) for g in combinations(range(n), size)]
    families = [
        frozenset(f)
        for size in range(len(subsets) + 1)
        for f in combinations(subsets, size)
        if not any(a < b for a in f for b in f)
    ]
    found = [frozenset(map(frozenset, chain)) for chain in antichains(n)]
    assert len(found) == len(set(found)) == len(families)
    assert set(found) == set(families)


def test_the_order_is_a_partial_order_with_two_ends():
    chains = antichains(3)
    for a in chains:
        assert implied((), a)
        assert implied(a, ((0, 1, 2),))
        assert [b for b in chains if implied(a, b) and implied(b, a)] == [a]


def check(law, found):
    names = sources(law)
    information = law.mutual_information("W", names)
    assert found.total == pytest.approx(information, abs=1e-9)
    assert found.synergy[()].value == pytest.approx(information, abs=1e-12)
    assert found.synergy[(tuple(names),)].value == 0
    position = {name: i for i, name in enumerate(names)}
    chains = {key: tuple(tuple(position[x] for x in group) for group in key) for key in found.atoms}
    for a in chains:
        above = [found.atoms[b].value for b in chains if implied(chains[a], chains[b])]
        assert found.synergy[a].value == pytest.approx(sum(above), abs=1e-9)
        assert found.atoms[a].at_least - SLACK <= found.atoms[a].value <= found.atoms[a].at_most + SLACK
        for b in chains:
            if implied(chains[a], chains[b]):
                assert found.synergy[b].value <= found.synergy[a].value + SLACK


@settings(deadline=None, max_examples=15)
@given(st.one_of(joints(samples=(2, 3), most_states=8, max_target=3), full_joints(shapes=((2, 2), (2, 3), (2, 2, 2)))))
def test_the_atoms_of_random_laws_sum_to_the_information(law):
    found = ch.decompose(law)
    check(law, found)
    spine = ch.backbone(law)
    for m in range(1, len(spine.sources)):
        family = tuple(combinations(spine.sources, m))
        assert spine.synergy[m].value == pytest.approx(found.synergy[family].value, abs=1e-6)
    assert sum(a.value for a in spine.atoms) == pytest.approx(found.total, abs=1e-9)


def test_every_antichain_against_its_own_disclosure():
    """What is skipped, because neighbours agree or by symmetry, is what would have been found."""
    laws = [
        ch.examples.noisy_copies(3),
        bits(3, lambda a, b, c: int(a + b + c > 1)),
        bits(3, lambda a, b, c: (a ^ b) & c),
    ]
    for law in laws:
        found = ch.decompose(law)
        check(law, found)
        for key, s in found.synergy.items():
            if key:
                d = ch.disclose(law, protect=list(key), use=sources(law))
                assert s.value == pytest.approx(d.information, abs=1e-9)


def test_the_names_of_the_sources_do_not_matter():
    rng = random.Random(5)
    law = ch.Joint.from_counts({x: rng.randint(0, 9) for x in product((0, 1), repeat=4)}, ["W", "X1", "X2", "X3"])
    found = ch.decompose(law)
    for order in list(permutations(["X1", "X2", "X3"]))[1:4]:
        other = ch.decompose(law.reordered([*order, "W"]))
        for key, atom in found.atoms.items():
            assert other.at(*key).value == pytest.approx(atom.value, abs=1e-9)


def test_four_sources():
    rng = random.Random(1)
    cells = rng.sample(list(product((0, 1), repeat=4)), 10)
    names = ["W", "X1", "X2", "X3", "X4"]
    law = ch.Joint.from_counts({(w, *x): rng.randint(1, 20) for x in cells for w in (0, 1)}, names)
    found = ch.decompose(law)
    assert len(found.atoms) == 167
    check(law, found)


def test_one_source_and_a_constant_target():
    one = ch.Joint.from_array([[3, 1], [1, 3]], names=["W", "X1"])
    assert set(clear(ch.decompose(one))) == {()}
    assert len(ch.backbone(one).atoms) == 1
    nothing = bits(2, lambda a, b: 0)
    assert clear(ch.decompose(nothing)) == {}
    assert str(ch.decompose(nothing)) == "nothing"


def test_what_is_refused():
    with pytest.raises(TooLargeError, match="5 sources"):
        ch.decompose(bits(5, lambda *x: x[0]))
    with pytest.raises(ColumnError, match="V"):
        ch.decompose(ch.examples.xor(), of="V")
    with pytest.raises(ProblemError, match="source"):
        ch.backbone(ch.examples.xor(), of=["W", "X1", "X2"])
    with pytest.raises(ColumnError, match="antichain"):
        ch.decompose(ch.examples.xor()).at("X1", ["X1", "X2"])


def test_a_time_limit_leaves_honest_intervals():
    law = ch.Joint.from_counts({x: 1 + sum(x) ** 2 + 3 * x[0] * x[2] for x in product((0, 1), repeat=4)}, "W,X1,X2,X3")
    whole, rough = ch.decompose(law), ch.decompose(law, time_limit=0)
    for key, s in rough.synergy.items():
        assert s.at_least <= whole.synergy[key].value + SLACK
        assert s.at_most >= whole.synergy[key].value - SLACK
    for key, atom in rough.atoms.items():
        assert atom.at_least - SLACK <= whole.atoms[key].value <= atom.at_most + SLACK
