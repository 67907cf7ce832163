"""That the recipe of a release belongs to its certificate.

The certificate proves that a channel on the states of a law is private. That is worth nothing for a table if another recipe
leads records to these states, and a digest does not show it: whoever alters a file can seal it again. So the recipe is
compared with the law, exactly, as far as the law says: alphabets, groups, states, and which values each state holds.
What the law does not say stays the curator's word (docs/release-format.md): where bins are cut, and in merged states the
values of columns that are neither protected nor revealed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from choral.describe.joint import Joint
from choral.describe.written import encode
from choral.design.result import Disclosure
from choral.errors import VerificationError
from choral.exact.certificate import promises_of
from choral.laws.choice import about_frequencies
from choral.problem.promises import promise_about, with_values
from choral.tables.columns import Column
from choral.tables.kinds import kind_of_type, kind_of_value
from choral.tables.recipe import Recipe
from choral.tables.states import symbols


def check_recipe(disclosure: Disclosure, recipe: Recipe) -> None:
    """Raise `VerificationError`, with the reason, unless this recipe leads to the states of this certificate."""
    law, document = disclosure.law.table, disclosure.document
    _need(law is not None, "the law is no table")
    assert law is not None
    for column in recipe.columns:
        _check_column(column)
    merged = recipe.state_column is not None
    _need(merged == bool(recipe.merged), "states are merged without a column for them, or the reverse")
    _need(_same(document["reveal"], recipe.reveal), "the target is another")
    _need(_same(document["protect"], recipe.protect), "the protected groups are others")
    given = (
        [with_values(law, promise_about(law.names, text)) for text in recipe.given]
        if set(recipe.shown) <= set(law.names)
        else None
    )
    _need(promises_of(document) == given, "the conditions are others")
    _need(set(recipe.beside) <= {*recipe.use} & {*recipe.shown}, "columns beside the state are not used, or not shown")
    _need(_same(document["use"], recipe.seen), "the used columns are others")
    columns = [column for column in recipe.columns if not merged or column.name in recipe.shown]
    listed = [(column.name, column.values) for column in columns]
    if recipe.state_column is not None:
        listed.append((recipe.state_column, tuple(symbols(recipe))))
    _need(_same(law.names, [name for name, _ in listed]), "the columns are others")
    for (name, values), alphabet in zip(listed, law.alphabets, strict=True):
        _need(_same(values, alphabet), f"the values of '{name}' are others, or in another order")
    own = recipe.state_values(symbols(recipe))
    _need(_same(own, disclosure.states), "the states are others, or in another order")
    _check_values_of_states(law, recipe)
    if recipe.law["kind"] == "frequencies":
        _check_counts(law, recipe)
    if recipe.after is not None:
        _need(len(recipe.after.first) == disclosure.codes, "`after` lists another number of codes than there are")


def _check_column(column: Column) -> None:
    name = f"the column '{column.name}'"
    _need(kind_of_type(column.type) is not None, f"{name} has the type {column.type!r}, which no column of a table has")
    given = tuple(value for value in column.values if value is not None)
    _need(len(set(column.values)) == len(column.values) > 0, f"{name} lists a value twice, or none")
    if column.cut is not None:
        wrong = column.misfit()
        _need(wrong is None, f"{name} {wrong}")
        return
    for value in given:
        kind = kind_of_value(value)
        fits = kind == column.kind or (kind == "int" and column.kind in ("float", "decimal"))
        _need(fits, f"{name} of type {column.type} lists {value!r}")


def _check_values_of_states(law: Joint, recipe: Recipe) -> None:
    """Each state holds, of the used columns that the law has, exactly the values that the law gives it.

    Every combination of a recipe has positive weight under the law and the law has no other, so the two sets of
    (state, values) are equal; where nothing is merged they say that the combinations are the cells of the law.
    """
    both = [name for name in recipe.use if name in law.names]
    there, here = [law.position(name) for name in both], [recipe.use.index(name) for name in both]
    states = recipe.state_of_combination
    if recipe.state_column is None:
        cells = {tuple(cell[i] for i in there) for cell in law.cells}
        _need(cells == set(states), "the combinations of values are not those of the law")
        return
    last = law.position(recipe.state_column)
    by_law = {(cell[last], tuple(cell[i] for i in there)) for cell in law.cells}
    by_recipe = {(state, tuple(codes[i] for i in here)) for codes, state in states.items()}
    _need(by_law == by_recipe, "the values that are merged are not those of the law")


def _check_counts(law: Joint, recipe: Recipe) -> None:
    """Frequencies are counts of rows, divided by what divides all of them; and no state is rarer than the recipe says.

    A state that is all there is of its promised values may be rare: they were kept.
    """
    _need(recipe.table_rows % law.total == 0, f"the law is not that of {recipe.table_rows} rows")
    _need(recipe.law["about"] == about_frequencies(recipe.table_rows), "it says something else about the law")
    if recipe.after is None and recipe.size > 1:
        use = recipe.seen
        kept = [use.index(name) for name in use if name in recipe.shown and name not in recipe.reveal]
        weights = law.weights(use)
        alone = Counter(tuple(cell[i] for i in kept) for cell in weights)
        rest = set(range(len(use))) - {*kept}
        unlike = [weight for cell, weight in weights.items() if not rest or alone[tuple(cell[i] for i in kept)] > 1]
        least = min(unlike, default=law.total) * (recipe.table_rows // law.total)
        _need(least >= recipe.min_count, f"a state has {least} rows, less than min_count, {recipe.min_count}")


def _same(one: Iterable[Any], other: Iterable[Any]) -> bool:
    """Whether symbols are the same in value and kind (1, 1.0 and True are not)."""
    return _text(one) == _text(other)


def _text(values: Iterable[Any]) -> str:
    return json.dumps([encode(tuple(v) if isinstance(v, Sequence) and not isinstance(v, str) else v) for v in values])


def _need(holds: bool, reason: str) -> None:
    if not holds:
        raise VerificationError("recipe", f"it does not fit the certificate: {reason}")
