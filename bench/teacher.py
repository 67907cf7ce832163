"""The teacher of the score, both ways: scikit-learn's boosted trees of at most two columns, which choral uses, beside
interpret's explainable boosting machines, which are sums of functions of one and two columns too; and trees without limits.

For every table one line: what each tells out of fold, on the same folds, cut into 14 bins in the same way, under the same
protection, in bits; and seconds of processor time for five folds (of choral's teacher with the choice of pairs and points).

    INTERPRET_PYTHON=.venvs/interpret/bin/python python bench/teacher.py [TABLE …]      names as in bench/tables.py
    INTERPRET_PYTHON=… python bench/teacher.py FILE TARGET PROTECTED,…
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from tables import POINTS, TABLES, encoded, private
from threadpoolctl import threadpool_limits

from choral.errors import TableWarning
from choral.scores.crossfit import crossfitted, folds_of
from choral.scores.cut import MOST_BINS, cells_of
from choral.scores.learn import bins_of, codes_of
from choral.scores.pieces import pieces_of
from choral.scores.teacher import Lesson
from choral.tables.look import look
from choral.tables.opening import opened

SHIPPED = ("breast cancer", "diabetes", "votes", "affairs", "child")


def ours(frame, names, classes, fold):
    """The sums of points that each record has by models which did not see it."""
    with opened(frame) as table:
        columns = [pieces_of(table, name, "") for name in names]
        codes = codes_of(table, columns)
    sizes = tuple(len(column.values) + 1 for column in columns)
    natural = tuple(column.edges is not None for column in columns)
    return crossfitted(Lesson(codes, sizes, natural, classes, int(classes.max()) + 1), fold)[1]


def theirs(frame, names, classes, fold):
    """The same by interpret's machines, and their seconds."""
    category = [not pd.api.types.is_numeric_dtype(frame[name]) for name in names]
    columns = [[None if pd.isna(value) else value for value in frame[name].tolist()] for name in names]
    asked = {"columns": columns, "categories": category, "target": classes.tolist(), "fold": fold.tolist()}
    peer = [os.environ["INTERPRET_PYTHON"], str(Path(__file__).with_name("peer_interpret.py"))]
    done = subprocess.run(peer, input=json.dumps(asked), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return np.round(POINTS * np.array(found["sums"])).astype(np.int64), found["seconds"]


def free(frame, reveal, fold):
    """Trees without limits."""
    found, which, classes = encoded(frame, reveal)
    model = HistGradientBoostingClassifier(categorical_features=which, random_state=0)
    with threadpool_limits(1, user_api="openmp"):
        values = cross_val_predict(model, found, classes, cv=PredefinedSplit(fold), method="decision_function")
    return np.round(POINTS * values.reshape(len(frame), -1)).astype(np.int64)


def line(name, frame, reveal, protect):
    with opened(frame) as table:
        names = [n for n in look(table, reveal, protect).usable if n in frame]
    classes = pd.factorize(frame[reveal], sort=True)[0]
    fold = folds_of(classes)
    told, seconds = [], []
    for way in (lambda: ours(frame, names, classes, fold), lambda: free(frame, reveal, fold)):
        start = time.process_time()
        sums = way()
        seconds.append(time.process_time() - start)
        told.append(private(frame, reveal, protect, bins_of(cells_of(sums, classes, MOST_BINS), sums), {})[0])
    sums, took = theirs(frame, names, classes, fold)
    told.append(private(frame, reveal, protect, bins_of(cells_of(sums, classes, MOST_BINS), sums), {})[0])
    print(
        f"{name:<22}{len(frame):>8}{told[0]:>12.4f}{seconds[0]:>7.0f} s{told[2]:>12.4f}{took:>7.0f} s"
        f"{told[1]:>12.4f}{seconds[1]:>7.0f} s",
        flush=True,
    )


def main() -> int:
    """Print a line for every table."""
    warnings.simplefilter("ignore", TableWarning)
    warnings.simplefilter("ignore", FutureWarning)
    print(f"{'table':<22}{'records':>8}{'pairs':>12}{'':>9}{'interpret':>12}{'':>9}{'no limits':>12}")
    if len(sys.argv) > 3 and Path(sys.argv[1]).is_file():
        path, reveal, protect = sys.argv[1:]
        with opened(path) as table:
            frame = table.connection.execute(f"SELECT * FROM {table.sql}").df().dropna(subset=[reveal])
        line(Path(path).name[:20], frame, reveal, protect.split(","))
        return 0
    for name in sys.argv[1:] or SHIPPED:
        made, reveal, protect = TABLES[name]
        line(name, made(), reveal, protect)
    return 0


if __name__ == "__main__":
    sys.exit(main())
