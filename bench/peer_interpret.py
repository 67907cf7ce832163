"""Explainable boosting machines, out of fold. Run by bench/teacher.py in an environment of interpret's own.

Reads {"columns": [[value, …], …], "categories": [whether a column is one, …], "target": [class of each record, …], "fold":
[of each record, …]} and writes {"sums": [[one number, or one for each of several classes, by a model that did not see the
record], …], "seconds": of processor time}. The machines are as they come, in one process.
"""

import json
import sys
import time

import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier

asked = json.load(sys.stdin)
target, fold = np.array(asked["target"]), np.array(asked["fold"])
found = np.empty((len(target), len(asked["columns"])), dtype=object)
for i, (column, category) in enumerate(zip(asked["columns"], asked["categories"], strict=True)):
    found[:, i] = [str(value) if category else np.nan if value is None else float(value) for value in column]
types = ["nominal" if category else "continuous" for category in asked["categories"]]
start = time.process_time()
sums = None
for k in np.unique(fold):
    model = ExplainableBoostingClassifier(feature_types=types, n_jobs=1, random_state=0)
    model.fit(found[fold != k], target[fold != k])
    values = np.asarray(model.decision_function(found[fold == k])).reshape((fold == k).sum(), -1)
    sums = np.zeros((len(target), values.shape[1])) if sums is None else sums
    sums[fold == k] = values
json.dump({"sums": sums.tolist(), "seconds": time.process_time() - start}, sys.stdout)
