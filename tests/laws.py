"""Random laws for property tests, unkind on purpose."""

from __future__ import annotations

from itertools import product

from hypothesis import strategies as st

from choral import Joint

WEIGHTS = st.one_of(
    st.integers(1, 4),  # ties
    st.integers(1, 1000),
    st.integers(1, 10**12),  # huge denominators
)


@st.composite
def joints(draw, most_states=12, max_target=4, samples=(2, 4)):
    """A joint law of W and two to four samples of two to four values.

    Some states have probability zero; a column may be constant or repeat another; weights go up to 10¹².
    """
    n = draw(st.integers(*samples))
    sizes = [draw(st.integers(2, 4)) for _ in range(n)]
    kind = draw(st.sampled_from(["plain", "plain", "plain", "constant", "repeated"]))
    cells = list(product(*(range(size) for size in sizes)))
    chosen = draw(st.lists(st.sampled_from(cells), min_size=1, max_size=most_states, unique=True))
    if kind == "constant":
        chosen = sorted({(0, *x[1:]) for x in chosen})
    if kind == "repeated":
        chosen = sorted({(x[0], min(x[0], sizes[1] - 1), *x[2:]) for x in chosen})
    targets = draw(st.integers(1, max_target))
    weight = draw(st.sampled_from([st.integers(1, 3), WEIGHTS]))
    counts = {}
    for x in chosen:
        for w in range(targets):
            if w == 0 or draw(st.booleans()):
                counts[(w, *x)] = draw(weight)
    alphabets = [range(targets), *(range(size) for size in sizes)]
    return Joint.from_counts(counts, ["W", *(f"X{i}" for i in range(1, n + 1))], alphabets)


@st.composite
def full_joints(draw, shapes=((2, 2), (2, 3), (2, 2, 2), (3, 3), (2, 4))):
    """A joint law on the whole product of two or three small alphabets: much to disclose."""
    shape = draw(st.sampled_from(list(shapes)))
    targets = draw(st.integers(2, 3))
    weight = draw(st.sampled_from([st.integers(1, 3), st.integers(0, 9), WEIGHTS]))
    counts = {x: draw(weight) for x in product(range(targets), *(range(size) for size in shape))}
    counts[(0,) * (len(shape) + 1)] = 1
    names = ["W", *(f"X{i}" for i in range(1, len(shape) + 1))]
    return Joint.from_counts(counts, names, [range(targets), *(range(size) for size in shape)])


def protected_columns(joint):
    """The columns that are protected by default."""
    return [name for name in joint.names if name != "W"]


def exactly_private(disclosure):
    """Whether every protected group is independent of the code: recomputed here from the joint law alone."""
    law, problem = disclosure.law, disclosure.problem
    used = [law.position(name) for name in problem.columns]
    rows = dict(zip(problem.states, zip(*disclosure.exact, strict=True), strict=True))
    for group in problem.groups:
        where = [law.position(name) for name in group.columns]
        joint, left, right = {}, {}, {}
        for values, p in law.items():
            z = tuple(values[i] for i in where)
            left[z] = left.get(z, 0) + p
            for y, share in enumerate(rows[tuple(values[i] for i in used)]):
                joint[z, y] = joint.get((z, y), 0) + p * share
                right[y] = right.get(y, 0) + p * share
        if any(joint[z, y] != left[z] * right[y] for z in left for y in right):
            return False
    return True
