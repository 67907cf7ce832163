"""choral beside OpenDP's randomised response on a survey, at equal utility and at equal leakage.

Randomised response is computed by its formula, and drawn by OpenDP; the two must agree.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import statsmodels.api as sm

import choral as ch

COLUMNS = ["age", "devout", "happy", "married"]
DRAWS = 10_800


def survey() -> ch.Joint:
    """The survey of the documentation, binned as there."""
    asked = sm.datasets.fair.load_pandas().data
    return ch.Joint.from_table(
        {
            "affair": ["some" if a else "none" for a in asked.affairs],
            "age": ["< 27" if a < 27 else "27-34" if a < 35 else "35+" for a in asked.age],
            "devout": ["yes" if r >= 3 else "no" for r in asked.religious],
            "happy": ["very" if r == 5 else "well" if r == 4 else "less" for r in asked.rate_marriage],
            "married": ["< 5" if y < 5 else "5-11" if y < 12 else "12+" for y in asked.yrs_married],
        }
    )


class RandomisedResponse:
    """Randomised response of some columns of a law."""

    def __init__(self, law: ch.Joint, columns: list[str]):
        sizes = [len(law.alphabets[law.position(name)]) for name in columns]
        self.categories = math.prod(sizes)
        self.cells = list(law.cells)
        self.weights = np.array([float(w) / law.total for w in law.cells.values()])
        where = [law.position(name) for name in columns]
        self.category = np.array([np.ravel_multi_index([cell[i] for i in where], sizes) for cell in self.cells])
        self.law = law

    def information(self, about: str, channel: np.ndarray) -> float:
        """I(about; Y) in bits, for a channel from categories to answers."""
        place = self.law.position(about)
        joint = np.zeros((len(self.law.alphabets[place]), channel.shape[1]))
        np.add.at(joint, [cell[place] for cell in self.cells], self.weights[:, None] * channel[self.category])
        outer = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
        return float((joint[joint > 0] * np.log2(joint[joint > 0] / outer[joint > 0])).sum())

    def channel(self, truth: float) -> np.ndarray:
        """The formula: the truth, or one of the other categories."""
        lie = (1 - truth) / (self.categories - 1)
        return np.full((self.categories,) * 2, lie) + np.eye(self.categories) * (truth - lie)

    def truth_for(self, about: str, bits: float) -> float:
        """The probability of the truth at which I(about; Y) is this."""
        low, high = 1 / self.categories, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self.information(about, self.channel(middle)) < bits else (low, middle)
        return low

    def drawn(self, truth: float) -> tuple[float, np.ndarray]:
        """The ε that OpenDP reports, and the frequencies of its answers, each category asked equally often."""
        each = DRAWS // self.categories
        asked = {"categories": self.categories, "truth": truth, "values": list(range(self.categories)) * each}
        peer = [os.environ["OPENDP_PYTHON"], str(Path(__file__).with_name("peer_opendp.py"))]
        done = subprocess.run(peer, input=json.dumps(asked), capture_output=True, text=True, check=True)
        told = json.loads(done.stdout)
        counts = np.zeros((self.categories,) * 2)
        np.add.at(counts, (np.array(asked["values"]), np.array(told["answers"])), 1)
        return told["epsilon"], counts / each

    def row(self, title: str, truth: float) -> None:
        """Print what it tells, and check OpenDP against the formula."""
        formula = self.channel(truth)
        epsilon, frequencies = self.drawn(truth)
        assert math.isclose(epsilon, math.log(truth / formula[0, 1]), rel_tol=1e-6), (epsilon, truth)
        spread = np.sqrt(formula * (1 - formula) / (DRAWS // self.categories))
        assert np.abs(frequencies - formula).max() < 6 * spread.max() + 1e-9, "OpenDP does not follow the formula"
        bits = [self.information(name, formula) for name in ("affair", "age", "devout")]
        print(f"{title:46} {truth:7.4f} {epsilon:6.2f} " + " ".join(f"{b:8.4f}" for b in bits))


def main() -> int:
    """Print the table."""
    if not os.environ.get("OPENDP_PYTHON"):
        print("OPENDP_PYTHON is not set: run `make bench-tables`.")
        return 1
    law = survey()
    print(f"{'':46} {'truth':>7} {'ε':>6} {'affair':>8} {'age':>8} {'devout':>8}   (bits told about)")
    for holds in (False, True):
        use = [*(["affair"] if holds else []), *COLUMNS]
        for budget in (0, 0.01):
            budgets = {"age": budget, "devout": budget} if budget else None
            d = ch.disclose(law, "affair", protect=["age", "devout"], use=use, leakage=budgets, rel_tol=1e-3)
            assert d.verify()["verified"]
            title = f"choral, {'holding' if holds else 'without'} the outcome, budget {budget:g}"
            print(f"{title:46} {'':14} {d.information:8.4f} {d.leakage['age']:8.4f} {d.leakage['devout']:8.4f}")
            for columns in [["affair"]] if holds else [COLUMNS, ["happy", "married"]]:
                response, name = RandomisedResponse(law, columns), ", ".join(columns) if len(columns) < 4 else "record"
                if response.information("affair", response.channel(1.0)) > d.information:
                    truth = response.truth_for("affair", d.information)
                    response.row(f"  equal utility: response of {name}", truth)
                if budget:
                    response.row(f"  equal leakage: response of {name}", response.truth_for("age", budget))
    return 0


if __name__ == "__main__":
    sys.exit(main())
