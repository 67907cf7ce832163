"""Somebody's own model, whose decisions become private: its score is cut into bins, and a code of bin and group decides.

The law is that of the table (bin of the cross-fitted score, protected columns, target): what the model says of records that
it did not see. Under this law decisions are exactly independent of every protected group, or of a group given the target
(`"sex | W"`: equalised odds), and no decision rule of bin and groups is better; `release_` has the certificate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_predict
from sklearn.utils import ClassifierTags, RegressorTags, assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from choral.errors import ColumnError, ProblemError
from choral.problem.promises import is_conditional, read_promise
from choral.scores.cut import MOST_BINS, cuts_of
from choral.sklearn.codes import TARGET, Place, PrivateCodes
from choral.tables.rules import MIN_COUNT

FINE = 300
"""Pieces of a score that bins are made of."""
CLASSES_OF_NUMBER = 8
"""Bins of a numeric target for which a score is cut."""
SCORE = "score"


class PrivateDecision(BaseEstimator):  # type: ignore[misc]
    """Decisions by a model's score that are exactly independent of every protected group, at the least possible loss.

    Parameters
    ----------
    estimator : a classifier, or for squares a regressor; it is fitted to X and y, or with cv="prefit" taken as it is
    protect : columns, tuples of columns that stay private together, and promises such as "sex | W": given the target W,
        which is equalised odds
    utility : "accuracy"; a loss {(action, class): number}; or "squares", for a regressor
    bins : at most so many bins of the score, cut where least about y is lost
    cv : folds, or a splitter, by which the law's scores are of records that the model did not see; "prefit" for a model that
        is fitted already, on other records
    columns : how protected columns are cut into bins, as `bins` of `PrivateCodes`; what is private then is the bin
    min_count, codes, id, time_limit, random_state : as in `PrivateCodes`

    Attributes
    ----------
    estimator_ : the model that scores
    codes_ : the fitted `PrivateCodes`; release_ and disclosure_ are its own
    classes_ : of a classifier

    A decision is drawn, and sticky as the codes of `PrivateCodes` are: with `id` it belongs to the record, without to the row
    number and the content of the table. Records with protected values that `fit` did not see get the decision that is best
    without a code. The promise is about the law: records that are different from those seen, and records that the model was
    fitted to, may have scores of another law.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[a, b] for a in (0, 1) for b in range(4)] * 20
    >>> y = [int(b + a > 2) for a, b in X]
    >>> found = PrivateDecision(LogisticRegression(), protect=[0]).fit(X, y)
    >>> round(found.disclosure_.value, 3), found.predict(X[:2]).shape
    (0.875, (2,))
    """

    def __init__(
        self,
        estimator: Any = None,
        protect: Sequence[Place | tuple[Place, ...]] | None = None,
        *,
        utility: Any = "accuracy",
        bins: int = MOST_BINS,
        cv: Any = 5,
        columns: int | str | Mapping[Place, Any] | None = 2,
        min_count: int = MIN_COUNT,
        codes: int | None = None,
        id: Place | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.protect = protect
        self.utility = utility
        self.bins = bins
        self.cv = cv
        self.columns = columns
        self.min_count = min_count
        self.codes = codes
        self.id = id
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> PrivateDecision:
        """Score, cut, count and solve; raises unless something is protected."""
        if self.estimator is None or not self.protect:
            raise ProblemError("No model, or nothing to protect.", "Say PrivateDecision(model, protect=[…]).")
        if y is None:
            raise ProblemError("This estimator requires y to be passed, but the target y is None.", "Give the target.")
        seen = self._checked(X, reset=True)
        labels = column_or_1d(y, warn=True)
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
        if not self._measures:
            check_classification_targets(labels)
            self.classes_ = np.unique(labels)
        prefit = isinstance(self.cv, str) and self.cv == "prefit"
        self.estimator_ = self.estimator if prefit else clone(self.estimator).fit(seen, labels)
        scores = self._scores(self.estimator_, seen) if prefit else self._cross_fitted(seen, labels)
        self.edges_ = self._cut(scores, labels)
        self.codes_ = PrivateCodes(
            [self._group(group) for group in self.protect],
            use=[SCORE, *self._kept()],
            bins=self._column_bins(),
            min_count=self.min_count,
            codes=self.codes,
            utility=self.utility,
            unseen="code",
            id=None if self.id is None else self._name(self.id),
            time_limit=self.time_limit,
            random_state=self.random_state,
        ).fit(self._table(X, scores), labels)
        self.release_, self.disclosure_ = self.codes_.release_, self.codes_.disclosure_
        self.advice_ = self._advice()
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The decision for every record, in the order of X: an action, or for squares a number."""
        check_is_fitted(self)
        scores = self._scores(self.estimator_, self._checked(X, reset=False))
        codes = self.codes_.transform(self._table(X, scores)).ravel()
        return np.asarray(self.advice_[codes])

    def score(self, X: Any, y: Any) -> float:
        """The share of right decisions, minus the average loss, or the share of variance that is explained."""
        found = self.predict(X)
        if isinstance(self.utility, Mapping):
            return -float(
                np.mean([float(self.utility.get(key, 0)) for key in zip(found.tolist(), list(y), strict=True)])
            )
        return float(r2_score(y, found) if self._measures else accuracy_score(y, found))

    @property
    def _measures(self) -> bool:
        return isinstance(self.utility, str) and self.utility == "squares"

    def _advice(self) -> npt.NDArray[Any]:
        """What is decided for every code, and at last without one."""
        found = self.disclosure_
        values, marginal = found.problem.target.values, found.problem.target.marginal
        if self._measures:
            numbers = np.array([float(value) for value in values])
            rows = [[float(p) for p in law] for law in found.p_w_given_y]
            return np.array([*(np.array(rows) @ numbers), np.array(marginal) @ numbers / found.problem.total])
        utility = found.problem.utility
        costs = [sum(loss * n for loss, n in zip(row, marginal, strict=True)) for row in utility.loss]  # type: ignore[union-attr]
        blind = utility.actions[costs.index(min(costs))]  # type: ignore[union-attr]
        actions = [*(found.actions or ()), blind]
        return np.array(actions, dtype=None if self.utility != "accuracy" else self.classes_.dtype)

    # ---- scores -------------------------------------------------------------------------------------------------

    def _method(self, estimator: Any) -> str:
        if self._measures or not is_classifier(estimator):
            return "predict"
        known = ("predict_proba", "decision_function", "predict")
        return next(name for name in known if hasattr(estimator, name))

    def _scores(self, estimator: Any, X: Any) -> npt.NDArray[np.float64]:
        return self._one(getattr(estimator, self._method(estimator))(X))

    def _cross_fitted(self, X: Any, labels: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        found = cross_val_predict(clone(self.estimator), X, labels, cv=self.cv, method=self._method(self.estimator))
        return self._one(found)

    def _one(self, found: Any) -> npt.NDArray[np.float64]:
        """One number per record: that of the last class of two; of more classes the likeliest, and how likely it is."""
        scores = np.asarray(found)
        if scores.ndim == 1:
            if scores.dtype.kind in "OUS":
                scores = np.searchsorted(self.classes_, scores)
            return scores.astype(np.float64)
        if scores.shape[1] == 2:
            return scores[:, 1].astype(np.float64)
        likely = 1 / (1 + np.exp(-scores.max(axis=1))) if (scores < 0).any() else scores.max(axis=1)
        return np.asarray(scores.argmax(axis=1) + 0.999 * np.clip(likely, 0.0, 1.0), dtype=np.float64)

    def _cut(self, scores: npt.NDArray[np.float64], labels: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """The edges of bins that lose least about the target: of whole numbers, the ranks of the score."""
        if isinstance(self.bins, bool) or not isinstance(self.bins, int | np.integer) or self.bins < 1:
            raise ProblemError(f"bins={self.bins!r}.", "Give a number of bins for the score.")
        fine = np.unique(np.quantile(scores, np.linspace(0, 1, FINE + 1)[1:-1], method="lower"))
        target = labels
        if self._measures:
            numbers = labels.astype(np.float64)
            edges = np.unique(np.quantile(numbers, np.linspace(0, 1, CLASSES_OF_NUMBER + 1)[1:-1], method="lower"))
            target = np.searchsorted(edges, numbers, side="right")
        _, kinds = np.unique(target, return_inverse=True)
        starts = cuts_of(np.searchsorted(fine, scores, side="right"), kinds.reshape(-1), int(self.bins))
        return np.asarray(fine[[start - 1 for start in starts]], dtype=np.float64)

    # ---- columns ------------------------------------------------------------------------------------------------

    def _checked(self, X: Any, reset: bool) -> Any:
        """What the model sees: X without the identifier."""
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        framed = isinstance(frame, nw.DataFrame)
        validate_data(self, X, reset=reset, skip_check_array=framed, **({} if framed else LOOSE))
        if self.id is None:
            return X
        name = self._name(self.id)
        if framed:
            return frame.drop(frame.columns[self._names().index(name)]).to_native()
        return np.delete(np.asarray(X), self._names().index(name), axis=1)

    def _table(self, X: Any, scores: npt.NDArray[np.float64]) -> Any:
        """What the code may depend on: the bin, as a text, and the protected columns; with the identifier."""
        import pandas as pd

        frame = nw.from_native(X, eager_only=True, pass_through=True)
        wanted = [*self._kept(), *([] if self.id is None else [self._name(self.id)])]
        names = self._names()
        for name in wanted:
            if name not in names:
                raise ColumnError(f"X has no column '{name}'.", f"It has {', '.join(names)}.")
        columns: dict[str, Any] = {SCORE: [f"bin {i}" for i in np.searchsorted(self.edges_, scores, side="right")]}
        for name in wanted:
            i = names.index(name)
            columns[name] = frame[:, i].to_list() if isinstance(frame, nw.DataFrame) else np.asarray(X)[:, i]
        return pd.DataFrame(columns)

    def _kept(self) -> list[str]:
        """The columns that something is promised about, but the target."""
        found: list[str] = []
        for group in self.protect or ():
            if is_conditional(group):
                promise = read_promise(group)  # type: ignore[arg-type]
                found += [*promise.hidden, *promise.known]
            else:
                found += [self._name(place) for place in (group if isinstance(group, tuple) else (group,))]
        return [name for name in dict.fromkeys(found) if name != TARGET]

    def _group(self, group: Any) -> Any:
        return tuple(map(self._name, group)) if isinstance(group, tuple) else self._name(group)

    def _column_bins(self) -> Any:
        if not isinstance(self.columns, Mapping):
            return self.columns
        return {self._name(place): rule for place, rule in self.columns.items()}

    def _names(self) -> list[str]:
        return list(getattr(self, "feature_names_in_", (f"x{i}" for i in range(self.n_features_in_))))

    def _name(self, place: Place) -> str:
        return place if isinstance(place, str) else PrivateCodes._name(self, place)

    def __sklearn_tags__(self) -> Any:
        """A classifier, or for squares a regressor; what X may hold is up to the model."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self._measures else "classifier"
        tags.classifier_tags = None if self._measures else ClassifierTags(poor_score=True)
        tags.regressor_tags = RegressorTags(poor_score=True) if self._measures else None
        tags.target_tags.required = True
        tags.non_deterministic = True
        inner = getattr(self.estimator, "__sklearn_tags__", None)
        if inner is not None:
            tags.input_tags = replace(inner().input_tags, sparse=False)
        return tags


LOOSE: dict[str, Any] = {"dtype": None, "ensure_all_finite": "allow-nan"}
"""How an array is checked: the model says what else it needs."""
