"""A scikit-learn transformer: columns in, one private code out; in pipelines and in grid search.

It is `choral.release.fit` and the sampler of releases behind the interface of scikit-learn, so bins, rare states, laws and
sticky draws are the same as for tables.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from choral.design.limits import Limits
from choral.draw.drawing import Drawing
from choral.draw.sampler import UNSEEN
from choral.errors import ChoralError, ColumnError, ProblemError, did_you_mean
from choral.ledger import identity
from choral.ledger.identity import KEY_BYTES
from choral.problem.question import Question
from choral.release.file import Release
from choral.release.fit import SALT_BYTES, fitted
from choral.tables.bins import rules_of
from choral.tables.kinds import NUMERIC, kind_of_type
from choral.tables.opening import open_table
from choral.tables.rules import MIN_COUNT, TableRules
from choral.tables.source import Source, reading
from choral.tables.sql import identifier

try:
    import pyarrow as pa
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise ChoralError(f"choral.sklearn needs {error.name}.", "pip install 'choral[sklearn,tables]'.") from error

Place: TypeAlias = "str | int"
"""A column, by name or by position."""
TARGET = "W"
"""What y is called in promises such as "sex | W"."""


class PrivateCodes(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """One code per record that tells as much as possible about the target, and nothing about any protected group.

    Parameters
    ----------
    protect : columns, by name or position, or tuples of columns that stay private together; default: each used column
    order : protect every `order` of these columns together
    use : the columns that the code may depend on; default: all, of which a score is learned where `protect` is given
        (docs/score.md)
    drop : columns that the code does not look at; a protected one among them stays protected, and frames to transform need
        not have them
    bins : numeric columns (of a score, those that are protected) with more values than this number are cut into as many
        equally frequent bins; or a mapping from columns to a number, a list of edges, "q4" or "w10", for dates "decade",
        "year", "quarter", "month", "week" or "weekday", for texts groups {"primary": ["1st-4th", "5th-6th"], "other": "*"},
        and other columns are taken as they are; None bins nothing.
        A column with as many values as rows is refused, not taken for categories. What is private of a binned column is
        the bin, not the exact value; values inside a bin may be told through other columns.
    min_count : combinations of used values that occur less often are merged with the most alike
    codes : at most this many codes
    utility : what the code shall be good for: "bits", "accuracy", a loss {(action, class): number}, or "squares", for which y
        has measurements
    law : what the guarantee is about: "frequencies" of the records seen in `fit`; for records to come "dirichlet",
        "network" or a file (`choral.laws.choice`)
    unseen : what a record without a state gets in `transform`: "rare", the state for what is left of its protected values (an
        error where these are new); "refuse", an error; "code", one more code
    id : the column that identifies records; it is looked at for nothing else
    tol, rel_tol, time_limit : when to stop the search, as in `choral.disclose`
    random_state : None draws a secret key. A number makes draws repeatable, and the key one that anybody can guess:
        for experiments, not for publication.

    Attributes
    ----------
    disclosure_ : the channel with its certificate, a `choral.Disclosure`
    release_ : the release, with recipe and key; `release_.save(path)` writes what `choral disclose` and `audit` read
    classes_ : the values of the target, in y or under the law
    n_features_in_, feature_names_in_ : as always

    Draws are sticky. With `id`, a record gets the same code in every call. Without, a draw belongs to the row number and
    the content of the whole table: the same table gets the same codes, and a record that stands in two different tables
    is drawn for twice, which can reveal it if both codes are published. There is no ledger: nothing is recorded, and no
    record is refused that has a code already. To give codes out: `release_.disclose(table, output, id=…)`. Missing values
    are a value of their own.

    >>> X, w = [["f", 0], ["f", 1], ["m", 0], ["m", 1]] * 10, ["no", "yes", "yes", "no"] * 10
    >>> found = PrivateCodes().fit(X, w)
    >>> found.disclosure_.information, found.transform(X).shape
    (1.0, (40, 1))
    """

    def __init__(
        self,
        protect: Sequence[Place | tuple[Place, ...]] | None = None,
        order: int = 1,
        use: Sequence[Place] | None = None,
        *,
        bins: int | str | Mapping[Place, Any] | None = 2,
        min_count: int = MIN_COUNT,
        codes: int | None = None,
        utility: Any = "bits",
        law: str = "frequencies",
        unseen: str = "rare",
        id: Place | None = None,
        drop: Sequence[Place] = (),
        tol: float = 1e-4,
        rel_tol: float | None = 0.01,
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.protect = protect
        self.order = order
        self.use = use
        self.bins = bins
        self.min_count = min_count
        self.codes = codes
        self.utility = utility
        self.law = law
        self.unseen = unseen
        self.id = id
        self.drop = drop
        self.tol = tol
        self.rel_tol = rel_tol
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> PrivateCodes:
        """Find the channel that tells most about y, and prove it private. y has classes; measurements for squares alone."""
        columns = self._columns(X, reset=True)
        if y is None:
            raise ProblemError("This estimator requires y to be passed, but the target y is None.", "Give the classes.")
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        if self.utility != "squares":
            check_classification_targets(labels)
        classes = np.unique(labels)
        if len(classes) < 2:
            raise ProblemError(
                f"y has one class, {classes.tolist()[0]!r}: there is nothing to tell.", "Give at least two."
            )
        target = TARGET
        while target.casefold() in map(str.casefold, columns):
            target += "_"
        id = None if self.id is None else self._name(self.id)
        if id is not None and id not in columns:
            raise ColumnError(f"X has no column '{id}' to identify records by.", did_you_mean(id, columns))
        table = {name: column for name, column in columns.items() if name != id}
        source = open_table({**table, target: _array(labels)})
        with closing(source.connection), _called(target, y):
            protect = None if self.protect is None else [self._group(group) for group in self.protect]
            use = None if self.use is None else [self._name(place) for place in self.use]
            question = Question(target, protect, use, self.order, utility=self.utility)
            drop = tuple(map(self._name, self.drop))
            rules = TableRules(min_count=self.min_count, law=self.law, unseen=self.unseen, drop=drop)
            roles = rules.roles(source, question)
            scored = use is None and protect is not None  # then only what is protected is in the state as it stands
            needed = {name for group in roles.protect for name in group} if scored else set(roles.needed)
            rules = replace(
                rules, bins=self._bins(source, [name for name in roles.needed if name in needed - {target}])
            )
            release = fitted(source, question, rules, Limits(self.tol, self.rel_tol, self.time_limit, self.codes))
        further = [value for value in release.disclosure.problem.target.values if value not in classes.tolist()]
        self.classes_ = np.unique([*classes.tolist(), *further]) if further else classes
        self.release_ = self._keyed(release)
        self.disclosure_ = release.disclosure
        return self

    def transform(self, X: Any) -> npt.NDArray[np.int64]:
        """The codes, one column, in the order of X. The same records in the same table get the same codes.

        If X is sorted, stretches of codes in this order tell protected values: to publish codes, use `choral disclose`.
        """
        check_is_fitted(self)
        columns = self._columns(X, reset=False)
        recipe = self.release_.recipe
        source = open_table(columns, recipe.as_read)
        with closing(source.connection):
            recipe.check(source, "X")
            with reading(source):
                found = source.connection.sql(recipe.select(source.sql, source.columns)).to_arrow_table().column(0)
            digest = None if self.id is not None else source.digest()
        states = found.to_numpy()
        unseen = np.flatnonzero(states == UNSEEN)
        if len(unseen) and recipe.unseen != "code":
            raise ColumnError(
                f"{len(unseen)} of {len(states)} records have values, or a combination of values, that `fit` did not see; "
                f"the first is row {unseen[0]}.",
                "Say unseen='code', which gives them a code of their own, or law='dirichlet', under which every combination "
                "of known values can occur.",
            )
        blocks = identity.positions(0, len(states)) if self.id is None else self._identities(columns)
        codes = Drawing.of(self.release_, digest).codes(states, blocks)
        return codes.astype(np.int64).reshape(-1, 1)

    def posterior(self, codes: Any) -> npt.NDArray[np.float64]:
        """p(class | code) for each code, in the order of `classes_`: all that a code says about the target."""
        check_is_fitted(self)
        flat = np.asarray(codes).reshape(-1)
        law = np.zeros((self.disclosure_.codes, len(self.classes_)))
        place = {value: i for i, value in enumerate(self.classes_.tolist())}
        law[:, [place[value] for value in self.disclosure_.problem.target.values]] = [
            [float(p) for p in row] for row in self.disclosure_.p_w_given_y
        ]
        known = np.isin(flat, np.arange(len(law)))
        if not known.all():
            raise ColumnError(
                f"{flat[~known][0]} is not a code of the channel, which has {len(law)}.",
                "Give what transform returned; the code of unseen records has no posterior.",
            )
        return law[flat.astype(np.int64)]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The name of the one column: "code"."""
        check_is_fitted(self)
        return np.array(["code"], dtype=object)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: classes are needed; text and missing values are welcome."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _columns(self, X: Any, reset: bool) -> dict[str, Any]:
        """The columns of X as Arrow arrays, by name; x0, x1, … where X has no names."""
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            dropped = [] if reset else [*map(self._name, self.drop)]
            if not reset and frame.columns == [name for name in self._names() if name not in dropped]:
                return {name: frame[name].to_arrow() for name in frame.columns}
            validate_data(self, X, reset=reset, skip_check_array=True)
            columns = [frame[name].to_arrow() for name in frame.columns]
        else:
            array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
            columns = [_array(column) for column in array.T]
        return dict(zip(self._names(), columns, strict=True))

    def _names(self) -> list[str]:
        return list(getattr(self, "feature_names_in_", (f"x{i}" for i in range(self.n_features_in_))))

    def _name(self, place: Place) -> str:
        names = self._names()
        if isinstance(place, str):
            return place
        if isinstance(place, bool) or not isinstance(place, int | np.integer) or not 0 <= place < len(names):
            raise ColumnError(
                f"There is no column {place!r}.", f"Give a name, or a position from 0 to {len(names) - 1}."
            )
        return names[place]

    def _group(self, group: Place | tuple[Place, ...]) -> str | tuple[str, ...]:
        return tuple(map(self._name, group)) if isinstance(group, tuple) else self._name(group)

    def _bins(self, source: Source, needed: Sequence[str]) -> dict[str, Any]:
        """The rule for bins of each column that has one."""
        if self.bins is None:
            return {}
        if isinstance(self.bins, str) and "=" in self.bins:
            return rules_of(self.bins)
        if isinstance(self.bins, Mapping):
            return rules_of({self._name(place): rule for place, rule in self.bins.items()})
        if isinstance(self.bins, bool) or not isinstance(self.bins, int | np.integer) or self.bins < 1:
            raise ProblemError(f"bins={self.bins!r}.", 'Give a number of bins, or a mapping such as {"age": [40, 55]}.')
        numeric = [name for name in needed if kind_of_type(source.columns[name]) in NUMERIC]
        if not numeric:
            return {}
        counts = ", ".join(f"count(DISTINCT {identifier(name)})" for name in numeric)
        with reading(source):
            [values] = source.connection.execute(f"SELECT {counts} FROM {source.sql}").fetchall()
        return {name: int(self.bins) for name, many in zip(numeric, values, strict=True) if many > self.bins}

    def _keyed(self, release: Release) -> Release:
        if self.random_state is None:
            return replace(release, key=secrets.token_bytes(KEY_BYTES))
        source = check_random_state(self.random_state)
        return replace(release, key=source.bytes(KEY_BYTES), salt=source.bytes(SALT_BYTES))

    def _identities(self, columns: Mapping[str, Any]) -> identity.Blocks:
        name = self._name(self.id) if self.id is not None else ""
        if name not in columns:
            raise ColumnError(f"X has no column '{name}' to identify records by.", f"It has {', '.join(columns)}.")
        blocks = identity.blocks(columns[name], name)
        if len(np.unique(blocks, axis=0)) < len(blocks):
            raise ColumnError(
                f"An identifier occurs twice in '{name}'.", "One record, one draw: give every record once."
            )
        return blocks


class Disclosure(PrivateCodes):
    """The earlier name of `PrivateCodes`, under which pipelines call it "disclosure"; `choral.Disclosure` is a channel."""


@contextmanager
def _called(target: str, y: Any) -> Iterator[None]:
    """Errors about the target name it as whoever fits does: by the name of y, or as y."""
    try:
        yield
    except ChoralError as error:
        name = str(getattr(y, "name", None) or "y")
        error.what, error.remedy = (text.replace(f"'{target}'", f"'{name}'") for text in (error.what, error.remedy))
        error.args = (error.what, error.remedy)
        raise


def _array(values: npt.NDArray[Any]) -> Any:
    """A column of numpy as an Arrow array; NaN is a missing value."""
    plain = values if values.dtype.kind in "iufbM" else values.tolist()
    try:
        return pa.array(plain, from_pandas=True)
    except pa.ArrowException as error:
        raise ProblemError(f"A column mixes types: {error}.", "Give every column values of one type.") from None
