"""One command on ordinary tables: what the default tells, beside a boosted model and beside columns chosen by hand.

For every table one line: the default command (`choral.fit` with a target and what is protected, nothing else), verified;
what its codes tell about records that its points did not see, in bits; the share of that in what boosted trees without any
restriction tell out of fold, without privacy; the share in what the same trees tell, cut into 14 bins, under the same
protection; codes; seconds of processor time. On a small table the trees' bins and channel fit the records that they are
measured on: so of fewer than 5000 records, and two values of the target, `apart` has both on a third of the records that
neither saw, as the ratio of means over four splits (of a file, eight) with its standard error. Below it, what the default
says of records to come beside what the thirds show, less what chance shows of so few records. Beside it the bits of columns
as a person would choose them: the four most telling, numbers in quarters. The boosted model is scikit-learn's as it comes, on
five folds.

With a file: bench/tables.py FILE TARGET PROTECTED,… [VALIDATION]   (without one, a third of the records is kept apart)
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import OrdinalEncoder
from threadpoolctl import threadpool_limits

import choral as ch
from choral.auditing.tabulate import tabulate
from choral.errors import TableWarning
from choral.scores.cut import MOST_BINS, cells_of
from choral.scores.learn import bins_of
from choral.tables.opening import opened
from choral.tables.sql import identifier

FOLDS, POINTS, QUARTERS, BY_HAND, SMALL = 5, 50, "q4", 4, 5000
FEW_SPLITS = 2
APART = {"rare": "merge", "unseen": "rare"}
PROMISED, MOST_CODES, MOST_SECONDS, MOST_ABOVE = 0.95, 16, 60, 1.05


def breast_cancer():
    data = load_breast_cancer(as_frame=True)
    frame = data.data.assign(diagnosis=data.target.map({0: "malignant", 1: "benign"}))
    return frame.assign(texture=pd.qcut(frame.pop("mean texture"), 3, labels=["fine", "medium", "coarse"]).astype(str))


def diabetes():
    data = load_diabetes(as_frame=True, scaled=False)
    return data.data.assign(worse=np.where(data.target > data.target.median(), "yes", "no"))


def wine():
    data = load_wine(as_frame=True)
    strong = np.where(data.data["alcohol"] > 13, "strong", "light")
    return data.data.drop(columns="alcohol").assign(strong=strong, grower=data.target)


def affairs():
    from statsmodels.datasets import fair

    frame = fair.load_pandas().data
    return frame.assign(affair=np.where(frame.pop("affairs") > 0, "yes", "no"))


def votes():
    from statsmodels.datasets import anes96

    frame = anes96.load_pandas().data
    return frame.drop(columns="logpopul")


def simulated(name, rows=20_000):
    from pgmpy.utils import get_example_model

    return get_example_model(name).simulate(rows, seed=1, show_progress=False)


def generated(rows, share):
    found, target = make_classification(
        rows, 20, n_informative=8, n_redundant=4, weights=[1 - share], class_sep=1.2, random_state=1
    )
    frame = pd.DataFrame(found.round(3), columns=[f"x{i}" for i in range(20)])
    return frame.assign(group=np.where(frame.pop("x19") + frame["x0"] > 0, "a", "b"), target=target)


TABLES = {
    "breast cancer": (breast_cancer, "diagnosis", ["texture"]),
    "diabetes": (diabetes, "worse", ["sex"]),
    "wine": (wine, "grower", ["strong"]),
    "affairs": (affairs, "affair", ["religious", "educ"]),
    "votes": (votes, "vote", ["income"]),
    "child": (lambda: simulated("child"), "Disease", ["Age", "Sick"]),
    "alarm": (lambda: simulated("alarm"), "BP", ["HYPOVOLEMIA", "LVFAILURE"]),
    "generated, 30 %": (lambda: generated(20_000, 0.3), "target", ["group"]),
    "generated, 2 %": (lambda: generated(50_000, 0.02), "target", ["group"]),
}


def encoded(frame, reveal):
    """All columns as numbers, which of them are categories, and the classes of the target."""
    usable = [name for name in frame if name != reveal]
    numbers = [name for name in usable if pd.api.types.is_numeric_dtype(frame[name])]
    texts = [name for name in usable if name not in numbers and frame[name].nunique() <= 255]
    coded = OrdinalEncoder(encoded_missing_value=np.nan).fit_transform(frame[texts].astype(object)) if texts else None
    found = np.column_stack([frame[numbers].to_numpy(float), *([] if coded is None else [coded])])
    which = np.r_[np.zeros(len(numbers), bool), np.ones(len(texts), bool)]
    return found, which, pd.factorize(frame[reveal], sort=True)[0]


def boosted(frame, reveal):
    """The bins of a boosted score that each record has by a model which did not see it, and the classes of the target."""
    found, which, classes = encoded(frame, reveal)
    model = HistGradientBoostingClassifier(categorical_features=which, random_state=0)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    with threadpool_limits(1, user_api="openmp"):  # threads that wait for each other cost more than they win
        values = cross_val_predict(model, found, classes, cv=folds, method="decision_function")
    sums = np.round(POINTS * values.reshape(len(frame), -1)).astype(np.int64)
    return bins_of(cells_of(sums, classes, MOST_BINS), sums), classes


def private(frame, reveal, protect, bins, cut):
    """What a score in these bins tells under the same protection, and what bins and protected columns tell without one."""
    narrow = frame[[*dict.fromkeys([*protect, reveal])]].assign(bin_=bins)
    found = ch.fit(narrow, reveal, protect, [*protect, "bin_"], bins=cut, rel_tol=1e-3, rare="merge")
    return found.information, found.disclosure.problem.information_of_states


def apart(frame, reveal, protect, splits, beside):
    """Of each split: the default's figure for records to come, what a third that it did not see shows, and, where asked for,
    what the same third shows of boosted trees cut into bins, which did not see it either."""
    found, which, classes = encoded(frame, reveal)
    told = []
    for seed in range(splits):
        kept = np.random.default_rng(seed).random(len(frame)) < 2 / 3
        release = ch.fit(frame[kept], reveal, protect, **APART)
        told.append(
            [release.meaning.to_come.bits if release.meaning.to_come else np.nan, shown(release, frame[~kept], reveal)]
        )
        if not beside:
            continue
        model = HistGradientBoostingClassifier(categorical_features=which, random_state=0)
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        narrow = frame[[*protect, reveal]].assign(boosted=0.0)
        with threadpool_limits(1, user_api="openmp"):
            own = cross_val_predict(model, found[kept], classes[kept], cv=folds, method="decision_function")
            narrow.loc[kept, "boosted"] = own
            narrow.loc[~kept, "boosted"] = model.fit(found[kept], classes[kept]).decision_function(found[~kept])
        theirs = ch.fit(narrow[kept], reveal, protect, score="boosted", **APART)
        told[-1].append(shown(theirs, narrow[~kept], reveal))
    return np.array(told)


def shown(release, frame, reveal):
    """What codes of these records tell, in bits, less what chance alone would show of so few."""
    found = tabulate(release, frame, further=False).published
    chance = (release.codes - 1) * (frame[reveal].nunique() - 1) / (2 * len(frame) * np.log(2))
    return found.leakage([reveal]).bits - chance


def ratio(above, below):
    """The ratio of two means over splits, and its standard error by leaving out one split at a time.

    Splits share records, so that the error is of these records cut otherwise, and not of other records.
    """
    n = len(above)
    if n < 2:
        return above.sum() / below.sum(), np.nan
    without = np.array([np.delete(above, i).sum() / np.delete(below, i).sum() for i in range(n)])
    return above.sum() / below.sum(), np.sqrt((n - 1) * without.var())


def by_hand(frame, reveal, protect, before):
    """The columns that tell most alone, numbers in quarters, with what is protected: counted as they stand."""
    told, cut = {}, {}
    for name in (name for name in frame if name not in (reveal, *protect)):
        many = pd.api.types.is_numeric_dtype(frame[name]) and frame[name].nunique() > BY_HAND
        if not many and frame[name].nunique() > 30:
            continue
        cut[name] = many
        values = pd.qcut(frame[name], 4, duplicates="drop").astype(str) if many else frame[name].astype(str)
        told[name] = ch.Joint.from_table({"W": frame[reveal].astype(str), "x": values}).mutual_information("W", "x")
    chosen = sorted(told, key=told.__getitem__, reverse=True)[:BY_HAND]
    bins = {name: QUARTERS for name in chosen if cut[name]} | dict(before)
    return ch.fit(frame, reveal, protect, [*protect, *chosen], bins=bins, rel_tol=1e-3, time_limit=20).information


def line(name, source, frame, reveal, protect, split):
    """One table: what is printed, and whether what is promised of it holds; `split` says how often a third is kept apart."""
    start = time.process_time()
    release = ch.fit(source, reveal, protect)
    release.verify()
    seconds = time.process_time() - start
    told = release.meaning.estimated.bits if release.meaning.estimated is not None else release.information
    bins, _ = boosted(frame, reveal)
    cut = {column.name: column.edges for column in release.recipe.columns if column.edges is not None}
    theirs, everything = private(frame, reveal, protect, bins, cut)
    free = ch.Joint.from_table({"W": frame[reveal].astype(str), "bin": bins}).mutual_information("W", "bin")
    hand = by_hand(frame, reveal, protect, cut)
    small = len(frame) < SMALL and frame[reveal].nunique() == 2
    cuts = apart(frame, reveal, protect, split if small else FEW_SPLITS, small) if split else np.empty((0, 3))
    share, error = ratio(cuts[:, 1], cuts[:, 2]) if split and small else (np.nan, np.nan)
    fair = f"{share:.0%} ± {error:.0%}" if split and small else "-"
    print(
        f"{name:<22}{len(frame):>8}{told:>10.4f}{release.information:>10.4f}{told / max(free, everything):>9.0%}"
        f"{told / theirs if theirs else 1:>11.1%}{fair:>12}{release.codes:>7}{seconds:>8.1f}{hand:>10.4f}",
        flush=True,
    )
    reached = share + error if split and small else told / theirs if theirs else 1.0
    held = reached >= PROMISED and release.codes <= MOST_CODES and seconds <= MOST_SECONDS
    if split:
        above, error = ratio(cuts[:, 0], cuts[:, 1])
        print(
            f"{'':<22}to come, on two thirds: {cuts[:, 0].mean():.4f} bits; shown by the others {cuts[:, 1].mean():.4f}; "
            f"{above:.2f} ± {error:.2f} times, {len(cuts)} splits",
            flush=True,
        )
        held = held and above <= MOST_ABOVE + (0 if np.isnan(error) else error)
    return held


def validated(source, frame, reveal, protect, fresh):
    """The figure for records to come of a table, and what another table shows."""
    release = ch.fit(source, reveal, protect, rare="merge")
    others = tabulate(release, fresh, further=False).published.leakage([reveal])
    meaning = release.meaning
    print(
        f"{'':<22}to come {meaning.to_come.bits:.4f} bits, {float(meaning.to_come.guess_after):.1%} right; shown by "
        f"{fresh} {others.bits:.4f} bits, {float(others.guess_after):.1%} right"
    )
    return meaning.to_come.bits <= MOST_ABOVE * others.bits


def main() -> int:
    """Print a line for every table; 0 if what is promised holds of each that is a file, and of all that are shipped."""
    warnings.simplefilter("ignore", TableWarning)
    warnings.simplefilter("ignore", FutureWarning)  # of the libraries that ship the tables
    print(
        f"{'table':<22}{'records':>8}{'to come':>10}{'in it':>10}{'of free':>9}{'of 14 bins':>11}{'apart':>12}"
        f"{'codes':>7}{'seconds':>8}{'by hand':>10}"
    )
    if len(sys.argv) > 3:
        path, reveal, protect, *rest = sys.argv[1:]
        named = protect.split(",")
        with opened(path) as table:
            frame = table.connection.execute(f"SELECT * FROM {table.sql} WHERE {identifier(reveal)} IS NOT NULL").df()
        held = line(Path(path).name[:20], path, frame, reveal, named, 0 if rest else 8)
        return 0 if held and (not rest or validated(path, frame, reveal, named, *rest)) else 1
    for name, (made, reveal, protect) in TABLES.items():
        frame = made()
        line(name, frame, frame, reveal, protect, 4 if len(frame) < SMALL else 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
