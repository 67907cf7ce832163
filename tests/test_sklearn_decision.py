"""Somebody's own model with private decisions: scikit-learn's contract, exact parity and odds under the law, sticky draws."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from laws import exactly_private
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from choral.errors import ChoralError
from choral.sklearn import PrivateDecision

INTEGERS = {
    "check_regressors_int": "draws belong to the release, and a target in whole numbers makes another than one in floats"
}


@pytest.mark.parametrize(
    ("model", "utility", "explained"),
    [(LogisticRegression(), "accuracy", {}), (LinearRegression(), "squares", INTEGERS)],
)
def test_the_contract_of_scikit_learn_but_where_explained(model, utility, explained):
    """Tables of scikit-learn's checks have only rare states, so none is merged here."""
    found = check_estimator(
        PrivateDecision(model, protect=[0], utility=utility, min_count=1, cv=2, random_state=0),
        expected_failed_checks=explained,
        on_skip=None,
        on_fail=None,
    )
    assert len(found) > 40
    assert {result["check_name"]: result["exception"] for result in found if result["status"] == "failed"} == {}


@pytest.fixture(scope="module")
def people():
    """A score that depends on sex, and a target that depends on both."""
    rng = np.random.default_rng(3)
    n = 2000
    sex, race = rng.integers(0, 2, n), rng.integers(0, 3, n)
    skill = rng.normal(0, 1, n) + 0.8 * sex + 0.3 * race
    hired = skill + rng.normal(0, 0.7, n) > 0.7
    frame = pd.DataFrame({"id": np.arange(n), "sex": sex, "race": race, "skill": skill})
    return frame, np.where(hired, "yes", "no")


def rates(disclosure, action, column, given=None):
    """P(action | value of a column, and of the target) under the law, from channel and cells."""
    law = disclosure.law
    rows = dict(zip(disclosure.problem.states, zip(*disclosure.exact, strict=True), strict=True))
    used = [law.position(name) for name in disclosure.problem.columns]
    sums = {}
    for values, p in law.items():
        key = values[law.position(column)], None if given is None else values[law.position(given)]
        share = sum(
            q for q, y in zip(rows[tuple(values[i] for i in used)], disclosure.actions, strict=True) if y == action
        )
        mass, hit = sums.get(key, (F(0), F(0)))
        sums[key] = mass + p, hit + p * share
    return {key: hit / mass for key, (mass, hit) in sums.items()}


def test_parity_is_exact_under_the_law(people):
    frame, y = people
    found = PrivateDecision(LogisticRegression(), protect=["sex", "race"], random_state=1).fit(
        frame.drop(columns="id"), y
    )
    d = found.disclosure_
    assert exactly_private(d)
    assert len(set(rates(d, "yes", "sex").values())) == 1
    assert len(set(rates(d, "yes", "race").values())) == 1
    assert d.claims.value == d.claims.value_bound
    assert found.score(frame.drop(columns="id"), y) > d.value_without
    found.release_.verify()


def test_equalised_odds_are_exact_under_the_law(people):
    frame, y = people
    X = frame[["sex", "skill"]]
    odds = PrivateDecision(LogisticRegression(), protect=["sex | W"], random_state=1).fit(X, y)
    shares = rates(odds.disclosure_, "yes", "sex", "W")
    assert shares[0, "yes"] == shares[1, "yes"]
    assert shares[0, "no"] == shares[1, "no"]
    assert shares[0, "yes"] > shares[0, "no"]


def test_decisions_stick_to_records(people):
    """With an identifier the same record is decided alike in every table; the model does not see the identifier."""
    frame, y = people
    found = PrivateDecision(LogisticRegression(), protect=["sex"], id="id", random_state=1).fit(frame, y)
    assert found.estimator_.n_features_in_ == 3
    some = frame.iloc[100:160]
    assert (found.predict(some) == found.predict(frame)[100:160]).all()
    assert (clone(found).fit(frame, y).predict(some) == found.predict(some)).all()


def test_a_loss_and_a_model_that_is_fitted_already(people):
    """Actions are those of the loss; the model is taken as it is, and scores other records."""
    frame, y = people
    X, loss = frame[["sex", "skill"]], {("invite", "no"): 3, ("pass", "yes"): 1}
    model = LogisticRegression().fit(X[:1000], y[:1000])
    found = PrivateDecision(model, protect=["sex"], utility=loss, cv="prefit", random_state=1).fit(X[1000:], y[1000:])
    assert found.estimator_ is model
    assert set(found.predict(X)) <= {"invite", "pass"}
    assert found.score(X[1000:], y[1000:]) == pytest.approx(found.disclosure_.value, abs=0.1)


def test_squares_give_means(people):
    frame, _ = people
    X, amount = frame[["sex", "skill"]], np.round(1000 * frame["skill"]).to_numpy()
    found = PrivateDecision(LinearRegression(), protect=["sex"], utility="squares", random_state=1).fit(X, amount)
    assert exactly_private(found.disclosure_)
    assert found.score(X, amount) > 0.5
    assert abs(found.predict(X).mean() - amount.mean()) < 60


@pytest.mark.parametrize("bad", [{}, {"protect": ["sex"], "bins": 0}, {"protect": ["height"]}, {"protect": [7]}])
def test_what_makes_no_sense_is_refused(people, bad):
    frame, y = people
    with pytest.raises(ChoralError) as refused:
        PrivateDecision(LogisticRegression(), **bad).fit(frame[["sex", "skill"]], y)
    assert refused.value.remedy


def test_a_value_not_seen_gets_the_decision_without_a_code(people):
    frame, y = people
    X = frame[["race", "skill"]]
    found = PrivateDecision(LogisticRegression(), protect=["race"], columns=None, random_state=1).fit(X, y)
    strange = pd.DataFrame({"race": [9, 9], "skill": [5.0, -5.0]})
    assert set(found.predict(strange)) == {max("yes", "no", key=list(y).count)}
