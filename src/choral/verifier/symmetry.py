"""Columns that may be swapped without changing the law or the groups, and the orbits of states under that."""

from __future__ import annotations

from choral.verifier.claims import ClaimFailed, need
from choral.verifier.names import shown_name
from choral.verifier.steps import spend
from choral.verifier.table import Table
from choral.verifier.values import symbol


def exchangeable(law, used, target, groups, names, to_target):
    """Fail unless swapping the first of these columns with any other leaves the law and the groups unchanged."""
    claim = "upper bound"
    need(all(set(group) <= set(used) for group in groups), claim, "a group is not used, so columns cannot be exchanged")
    need(not set(target) & set(used), claim, "the target is used, so columns cannot be exchanged")
    need(isinstance(law, Table), claim, "only the columns of a table can be exchanged")
    family = {frozenset(group) for group in groups}
    read = values_of(law, used)
    content = {read(state): row for state, row in to_target.items()}
    first = used.index(names[0])
    spend(len(content) * len(names) * (5 + len(used)), "columns that are exchangeable")
    for name in names[1:]:
        swap = {names[0]: name, name: names[0]}
        kept = {frozenset(swap.get(c, c) for c in group) for group in family} == family
        need(kept, claim, f"{shown_name(names[0])} and {shown_name(name)} are not protected alike")
        second = used.index(name)
        for state, row in content.items():
            other = list(state)
            other[first], other[second] = state[second], state[first]
            if content.get(tuple(other)) != row:
                raise ClaimFailed(claim, f"{shown_name(names[0])} and {shown_name(name)} are not exchangeable")


def values_of(law, used):
    """A function from a state to its values, equal exactly when the values are (see `symbol`)."""
    alphabets = [[(repr(type(v)), v) for v in map(symbol, law.alphabets[law.columns.index(name)])] for name in used]

    def read(state):
        return tuple(alphabet[i] for alphabet, i in zip(alphabets, state))

    return read


def orbits(law, used, swaps):
    """A function from a state to what permuting the columns of each exchangeable class does not change."""
    if not swaps:
        return lambda state: state
    read = values_of(law, used)
    classes = [[used.index(name) for name in names] for names in swaps]
    flat = [i for members in classes for i in members]
    need(len(set(flat)) == len(flat), "upper bound", "a column is exchangeable in two classes")

    def orbit(state):
        values = list(read(state))
        for members in classes:
            for i, value in zip(members, sorted((values[i] for i in members), key=repr)):
                values[i] = value
        return tuple(values)

    return orbit
