"""Fairlearn's post-processing and reductions. Run by bench/fairness.py in an environment of Fairlearn's own.

Reads {"columns": [name, …], "states": [[bin, value, …], …], "score": [of each state], "counts": [[y=0, y=1] of each state,
…], "asked": [[method, constraint, [position of a column, …]], …]} and writes for each that was asked the probability that it
decides 1 in each state, and how many seconds fitting took. A state is a bin of a score with protected values.
"""

import json
import sys
import time

import numpy as np
import pandas as pd
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient, TruePositiveRateParity
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

NAMES = {"parity": "demographic_parity", "odds": "equalized_odds", "opportunity": "true_positive_rate_parity"}
MOMENTS = {"parity": DemographicParity, "odds": EqualizedOdds, "opportunity": TruePositiveRateParity}


class Given(ClassifierMixin, BaseEstimator):
    """Somebody's score, which is the first column."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        score = np.asarray(X)[:, 0]
        return np.column_stack([1 - score, score])


def expanded(asked):
    """One row for every record: its state, and its outcome."""
    counts = np.array(asked["counts"])
    state = np.repeat(np.arange(len(counts)), counts.sum(axis=1))
    outcome = np.concatenate([np.repeat([0, 1], row) for row in counts])
    return state, outcome


def thresholds(asked, constraint, groups, state, outcome):
    """A threshold for every group, drawn between two: given the score and the group."""
    score = np.array(asked["score"])[:, None]
    joined = np.array([" ".join(str(row[1 + g]) for g in groups) for row in asked["states"]])
    model = ThresholdOptimizer(
        estimator=Given().fit(score, [0, 1] * (len(score) // 2) + [0] * (len(score) % 2)),
        constraints=NAMES[constraint],
        objective="accuracy_score",
        prefit=True,
        predict_method="predict_proba",
    )
    model.fit(score[state], outcome, sensitive_features=joined[state])
    return model._pmf_predict(score, sensitive_features=joined)[:, 1]


def reduction(asked, constraint, groups, state, outcome):
    """A mixture of trees that may be any function of the score's bin and of the protected values."""
    tables = pd.DataFrame(asked["states"], columns=["bin", *asked["columns"]])
    features = pd.get_dummies(tables.astype(dict.fromkeys(asked["columns"], "category"))).astype(float)
    sensitive = tables[[asked["columns"][g] for g in groups]]
    model = ExponentiatedGradient(DecisionTreeClassifier(random_state=0), MOMENTS[constraint]())
    model.fit(features.iloc[state], outcome, sensitive_features=sensitive.iloc[state])
    return model._pmf_predict(features)[:, 1]


def main():
    asked = json.load(sys.stdin)
    state, outcome = expanded(asked)
    found = []
    for method, constraint, groups in asked["asked"]:
        begun = time.perf_counter()
        decides = {"thresholds": thresholds, "reduction": reduction}[method](asked, constraint, groups, state, outcome)
        found.append({"decides": [float(p) for p in decides], "seconds": time.perf_counter() - begun})
    json.dump(found, sys.stdout)


main()
