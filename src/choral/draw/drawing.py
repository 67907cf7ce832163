"""Drawing codes for the records of a release: what every engine does with blocks and states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from choral.draw.arrange import Places, places
from choral.draw.ranks import QuotaDrawing
from choral.draw.sampler import PairSampler, Sampler, States, codes_of
from choral.ledger import identity
from choral.release.file import Release
from choral.tables.recipe import Recipe


@dataclass(frozen=True)
class Drawing:
    """What an engine needs to draw for a release: the sampler, its keys, and what a record is to the ledger.

    The keys belong to the release and to the one that it was fitted after, which share their secret, so a code of the
    earlier release can be drawn again. Without identifiers they belong to the table as well. `order` is the key of the
    arrangement, and draws nothing.
    """

    sampler: Sampler | PairSampler
    keys: tuple[bytes, ...]
    words: tuple[identity.Words, ...]
    order: bytes

    @classmethod
    def of(cls, release: Release, table: str | None) -> Drawing:
        """The drawing of a release; `table` is the digest of a table without identifiers."""
        channel, after = release.disclosure.exact_channel, release.recipe.after
        secret, context = release.needed_key(), b"" if table is None else bytes.fromhex(table)
        key = identity.subkey(secret, "draw", bytes.fromhex(release.digest) + context)
        order = identity.subkey(secret, "order", bytes.fromhex(release.digest) + context)
        if after is None:
            alone = Sampler.of(channel)
            return cls(alone, (key,), (alone.row_words(),), order)
        pair = PairSampler.of(channel, after.first)
        earlier = identity.subkey(secret, "draw", bytes.fromhex(after.digest) + context)
        return cls(pair, (key, earlier), (Sampler.of(channel).row_words(), pair.earlier.row_words()), order)

    @property
    def unseen(self) -> int:
        """The code of records that were not seen when the release was fitted."""
        return self.sampler.codes

    def select(self, recipe: Recipe, sql: str, columns: Mapping[str, str], carried: Sequence[str], name: str) -> str:
        """SQL that gives, row by row in order, the carried columns and the state."""
        return recipe.select(sql, columns, carried, name)

    def states(self, found: States) -> States:
        """What `select` found, as what `codes` and `words` take."""
        return found

    def codes(self, states: States, blocks: identity.Blocks) -> npt.NDArray[np.int32]:
        """The codes of a batch."""
        return codes_of(states, blocks, self.sampler, *self.keys)

    def places(self, blocks: identity.Blocks) -> Places:
        """Where the records of a batch stand in the keyed arrangement."""
        return places(self.order, blocks)


AnyDrawing: TypeAlias = Drawing | QuotaDrawing
"""By lots, or by quota."""
