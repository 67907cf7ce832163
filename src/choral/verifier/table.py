"""A law that is given cell by cell: integer weights, and the marginals of them."""

from __future__ import annotations

import hashlib
from operator import itemgetter, lt

from choral.verifier.claims import ClaimFailed, brief, need, several
from choral.verifier.names import look_alikes, shown_name, why_unreadable
from choral.verifier.numbers import whole
from choral.verifier.reading import BLOCK, between, is_list
from choral.verifier.slices import in_slices
from choral.verifier.steps import spend
from choral.verifier.values import spoken, symbol


def are_integers(values):
    """Whether all of these are integers, and none of them true or false."""
    return set(map(type, values)) <= {int}


def picked(where):
    """What takes the values at these places out of a tuple, as a tuple."""
    where = list(where)
    if len(where) > 1:
        return itemgetter(*where)
    return lambda values: tuple([values[i] for i in where])


def columns_of(document, key, known, claim):
    """A list of distinct known column names."""
    names = document.get(key) if isinstance(document, dict) else document
    need(isinstance(names, list) and names, claim, "it names no column")
    known = set(known)
    for name in names:
        need(isinstance(name, str) and name in known, claim, f"{brief(name)} is no column of the law")
    need(len(set(names)) == len(names), claim, f"it names a column twice: {brief(names)}")
    return names


class Table:
    """A law given cell by cell: integer weights over index tuples of named columns."""

    def __init__(self, law, protect=(), listed=0):
        self.columns = law.get("columns")
        need(
            isinstance(self.columns, list) and all(isinstance(c, str) for c in self.columns) and self.columns,
            "law",
            "it has no columns",
        )
        need(len(set(self.columns)) == len(self.columns), "law", "it has two columns of one name")
        self.alphabets = law.get("alphabets")
        need(
            isinstance(self.alphabets, list)
            and len(self.alphabets) == len(self.columns)
            and all(isinstance(a, list) and a for a in self.alphabets),
            "law",
            "it does not list one alphabet per column",
        )
        for name, alphabet in zip(self.columns, self.alphabets):
            reason = why_unreadable(name)
            need(not reason, "law", f"{brief(name)} cannot be a column, it could be misread: {reason}")
            different = {symbol(value) for value in alphabet}
            need(len(different) == len(alphabet), "law", f"the alphabet of {shown_name(name)} lists a value twice")
        alike = look_alikes(self.columns)
        need(not alike, "law", f"the columns {' and '.join(map(ascii, alike))} look alike")
        self.cells = {}
        listed = law.get("cells")
        need(is_list(listed) and len(listed), "law", "it has no cells")
        sizes = list(map(len, self.alphabets))

        def read(start, stop):
            for entry in between(listed, start, stop):
                if not isinstance(entry, list) or len(entry) != len(self.columns) + 1:
                    raise ClaimFailed("law", f"bad cell {brief(entry)}")
                *index, text = entry
                if not (are_integers(index) and min(index) >= 0 and all(map(lt, index, sizes))):
                    raise ClaimFailed("law", f"the cell {brief(index)} is outside the alphabets")
                weight, cell = whole(text, "law"), tuple(index)
                if weight == 0 or cell in self.cells:
                    reason = "is listed twice" if weight else "has no weight"
                    raise ClaimFailed("law", f"the cell {brief(index)} {reason}")
                self.cells[cell] = weight

        def add(cells):
            twice = not self.cells.keys().isdisjoint(cells)
            if not twice:
                self.cells.update(cells)
            return not twice

        in_slices(len(listed), read, lambda: self.cells, add)
        self.total = sum(self.cells.values())
        self.known, self.seen = {}, (None, None)  # marginals, and what was last seen from the states

    def weights(self, names):
        """Integer weights of the marginal of these columns."""
        if tuple(names) in self.known:
            return self.known[tuple(names)]
        spend(len(self.cells) * (3 + len(names)) + len(self.columns) * len(names), "the marginals of the law")
        cells, columns = self.cells, self.columns
        for wider, sums in self.known.items():
            if set(names) <= set(wider) and len(sums) < len(cells):
                cells, columns = sums, wider
        values_of, sums = itemgetter(*map(columns.index, names)), {}
        for cell, weight in cells.items():
            key = values_of(cell)
            sums[key] = sums.get(key, 0) + weight
        if len(names) == 1:
            sums = {(value,): weight for value, weight in sums.items()}
        if len(names) == 1 or not self.known:  # the first marginal that is asked for is that of the states
            self.known[tuple(names)] = sums
        return sums

    def seen_from(self, used, names, prior):
        """For each value of the used columns, the joint weights with each value of these columns.

        `prior`, the weights of the used columns, is all that is needed where these are among them.
        """
        if self.screens(used, names):
            return Contained(prior, [used.index(name) for name in names])
        columns, what = [*used, *names], "the marginals of the law"
        spend(len(self.cells) * (3 + len(columns)) + len(self.columns) * len(columns), what)
        if self.seen[0] == (used, names):
            spend(2 * sum(map(len, self.seen[1].values())), what)
            return self.seen[1]
        state_of, value_of = (picked(map(self.columns.index, some)) for some in (used, names))
        split, known = {}, {}
        for cell, weight in self.cells.items():
            value = value_of(cell)
            value = known.setdefault(value, value)
            row = split.setdefault(state_of(cell), {})
            row[value] = row.get(value, 0) + weight
        spend(2 * sum(map(len, split.values())), what)
        self.seen = (list(used), list(names)), split
        return split

    def screens(self, used, group):
        """Whether the used columns determine the group."""
        return set(group) <= set(used)

    def describe(self):
        """Lines that say what the law is."""
        lines = [
            f"{several(len(self.cells), 'cell')} over {several(len(self.columns), 'column')}, weights summing to "
            f"{short(self.total)}"
        ]
        for name, alphabet in zip(self.columns, self.alphabets):
            values = ", ".join(spoken(value) for value in alphabet[:8])
            more = ", …" if len(alphabet) > 8 else ""
            lines.append(f"{shown_name(name)}: {several(len(alphabet), 'value')} ({values}{more})")
        found, cells = hashlib.sha256(b"["), sorted(self.cells)
        for start in range(0, len(cells), BLOCK):
            block = [(cell, f"{self.cells[cell]:x}") for cell in cells[start : start + BLOCK]]
            found.update(f"{', ' if start else ''}{repr(block)[1:-1]}".encode())
        found.update(b"]")
        lines.append(f"fingerprint of the weights {found.hexdigest()[:16]}")
        return lines


class Contained:
    """For each state {value: weight} of columns that the state contains: one value, with all of its weight."""

    def __init__(self, prior, where):
        self.prior, self.where, self.value_of = prior, where, picked(where)

    def __getitem__(self, state):
        return {self.value_of(state): self.prior[state]}

    def __contains__(self, state):
        return state in self.prior

    def items(self):
        """Every state with its value and weight."""
        return ((state, self[state]) for state in self.prior)

    def values(self):
        """The value and weight of every state."""
        return (self[state] for state in self.prior)


def short(number):
    """An integer for people to read."""
    text = str(number) if number.bit_length() < 200 else f"an integer of {number.bit_length()} bits"
    return text
