"""What `choral fit` says of somebody who knows another column, once the release is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choral.show.interrupts import pressed

if TYPE_CHECKING:
    from choral.auditing.side_knowledge import Fear
    from choral.design.limits import Limits
    from choral.release.file import Release

PATIENCE = 5.0
"""Seconds to find out what a promise against side knowledge costs; the price is a remark, not the result."""
LEAST_PATIENCE = 0.5
"""Share of the seconds that were spent until then in which no price is found: a code with one more promise is not easier."""
NOT_LOOKED_AT = "what the code tells to who knows another column was not looked at"


def side_knowledge(table: str, release: Release, limits: Limits) -> tuple[list[Fear], str]:
    """What the code tells to whoever knows another column, the worst first, with what a promise against that costs.

    The release is saved by now: where it is time, or somebody interrupts, this is left out, and a sentence says so.
    """
    from choral.auditing.side_knowledge import fears, priced
    from choral.design.limits import ending_all
    from choral.phases import phase
    from choral.tables.opening import opened

    found: list[Fear] = []
    left, later = limits.remaining(), f"choral audit says it: choral audit {release.path} --table {table}"
    interrupted = f"{NOT_LOOKED_AT}, since this was interrupted; {later}"
    if left == 0.0:
        return found, f"{NOT_LOOKED_AT} in the time limit; {later}"
    if pressed():  # who interrupts wants the result
        return found, interrupted
    try:
        looking = phase("looking at what others may know")
        with ending_all(), looking, opened(table, release.recipe.as_read) as source:
            found = fears(release, source)
            left = limits.remaining()
            enough = left is None or left > LEAST_PATIENCE * ((limits.time_limit or 0.0) - left)
            if found and enough:
                patience = PATIENCE if left is None else min(PATIENCE, left)
                found = [priced(release, source, found[0], patience), *found[1:]]
            return found, ""
    except KeyboardInterrupt:
        return found, interrupted
