"""What a code tells among the records of a table whose law is that of the people that they stand for.

Under weights the code is private for somebody of whom it is known that they are one of these people. Of whom it is known that
they are in the table, the frequencies of its records are known, and these are others.
"""

from __future__ import annotations

from choral.describe.display import in_bits, percent
from choral.describe.joint import Joint
from choral.release.file import Release
from choral.release.leakage import Published
from choral.tables.states import with_states


def said_of_records(release: Release, records: Joint) -> tuple[str, ...]:
    """What the code tells about each protected group among the records, in a sentence, with what closes it."""
    recipe = release.recipe
    places = [records.position(name) for name in recipe.use]
    known = recipe.state_of_combination
    cells = {records.values_of(cell): n for cell, n in records.cells.items() if tuple(cell[i] for i in places) in known}
    law = with_states(Joint.from_counts(cells, records.names, records.alphabets), recipe)
    published = Published.of(release.disclosure, law)
    leaks = [leak for leak in map(published.leakage, recipe.protect) if not leak.zero]
    if not leaks:
        return ()
    said = ", ".join(
        f"{'+'.join(leak.about)} {in_bits(leak.bits)} (guessed right {percent(leak.guess_after)} instead of "
        f"{percent(leak.guess_before)})"
        for leak in leaks
    )
    return (
        f"the promise is about the people that records stand for. Who knows that somebody is in the table itself learns "
        f"about {said} from the code: name the table a second time, --also TABLE, and it is private among its records too",
    )
