"""The whole job from the shell, on real tables and on a network of known law: fit, verify, disclose, audit.

Every protected column is tested exactly on the release, here and not by choral, and statistically on the output.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import in_process
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from tables import leaks

from choral.release.file import load_release

ALARM = 1e-6
"""A test of an honest output raises a false alarm with at most this probability (twelve are made in this file)."""


def choral(folder, *words, status=0):
    done = in_process.choral(*words, cwd=folder)
    assert done.returncode in (status if isinstance(status, tuple) else (status,)), done.stdout + done.stderr
    return json.loads(done.stdout) if "--json" in words else done.stdout


def breast_cancer():
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).frame
    kept = frame[["mean radius", "mean texture", "mean smoothness"]].rename(columns=lambda name: name.split()[1])
    return kept.assign(diagnosis=frame["target"].map({0: "malignant", 1: "benign"}))


def fair():
    import statsmodels.api as sm

    frame = sm.datasets.fair.load_pandas().data
    kept = frame[["rate_marriage", "age", "religious", "educ"]]
    return kept.assign(affair=np.where(frame["affairs"] > 0, "some", "none"))


def network():
    """Five thousand draws from the network 'cancer', by hand: the law is in its file."""
    draw = np.random.default_rng(8)
    n = 5000
    low, smoker = draw.random(n) < 0.9, draw.random(n) < 0.3
    cancer = draw.random(n) < np.select([low & smoker, ~low & smoker, low & ~smoker], [0.03, 0.05, 0.001], 0.02)
    xray, breath = draw.random(n) < np.where(cancer, 0.9, 0.2), draw.random(n) < np.where(cancer, 0.65, 0.3)
    said = {True: "True", False: "False"}
    return pd.DataFrame(
        {
            "Pollution": np.where(low, "low", "high"),
            "Smoker": pd.Series(smoker).map(said),
            "Cancer": pd.Series(cancer).map(said),
            "Xray": np.where(xray, "positive", "negative"),
            "Dyspnoea": pd.Series(breath).map(said),
        }
    )


def network_file():
    import pgmpy

    return next(Path(pgmpy.__file__).parent.rglob("cancer.bif.gz"))


TABLES = {
    "breast cancer": (breast_cancer, "diagnosis", ["radius", "texture"], ["--bins", "radius=3;texture=3;smoothness=3"]),
    "fair": (fair, "affair", ["age", "educ"], ["--bins", "age=3;educ=2", "--rel-tol", "1e-3"]),
    "network": (network, "Cancer", ["Pollution", "Smoker"], ["--unseen", "code", "--law"]),
}


def independent(values, codes):
    """Whether a G-test finds values and codes independent; rare codes are joined so that its law is right."""
    counts = Counter(codes)
    often = [code if counts[code] >= 100 else -1 for code in codes]
    table = pd.crosstab(pd.Series(values), pd.Series(often)).to_numpy(dtype=float)
    expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    g = 2 * (table[table > 0] * np.log(table[table > 0] / expected[table > 0])).sum()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return freedom == 0 or chi2.sf(g, freedom) > ALARM


@pytest.mark.parametrize("name", TABLES)
def test_from_a_table_to_an_audited_release(name, tmp_path):
    make, target, protect, options = TABLES[name]
    if options[-1] == "--law":
        options = [*options, network_file()]
    frame = make()
    frame.insert(0, "who", [f"p{i:05d}" for i in range(len(frame))])
    frame.to_csv(tmp_path / "table.csv", index=False)
    use = [column for column in frame.columns if column not in ("who", target)]
    asked = ["--reveal", target, "--protect", ",".join(protect), "--use", ",".join(use)]
    found = choral(tmp_path, "fit", "table.csv", *asked, *options, "-o", "r.choral", "--card", "card.json", "--json")
    assert 0 < found["information"] <= found["upper_bound"]
    assert "VERIFIED" in choral(tmp_path, "verify", "r.choral")
    choral(tmp_path, "disclose", "r.choral", "table.csv", "-o", "codes.csv", "--id", "who")
    choral(tmp_path, "decode", "card.json", "codes.csv", "-o", "posterior.csv")

    release = load_release(tmp_path / "r.choral")
    codes = pd.read_csv(tmp_path / "codes.csv").sort_values("who")
    assert codes["who"].tolist() == frame["who"].tolist()
    records = pd.read_csv(tmp_path / "table.csv", dtype={"Smoker": str, "Dyspnoea": str, "Cancer": str})
    binned = {c.name: c for c in release.recipe.columns if c.edges is not None}
    for column in protect:
        values = records[column]
        if column in binned:
            values = pd.Series(np.searchsorted(binned[column].edges, values, side="right"))
        assert independent(values.tolist(), codes["code"].tolist())
        if name != "network":  # there the law is the network's, not the table's
            states = [release.recipe.state_of(record) for record in records[use].to_dict("records")]
            rows = [{column: value} for value in values.tolist()]
            assert not leaks(rows, states, release.disclosure.exact_channel.rows, [column])

    audit = choral(
        tmp_path, "audit", "r.choral", "--table", "table.csv", "--disclosed", "codes.csv", "--json", status=(0, 1)
    )
    own = next(law for law in audit["laws"] if law["name"] == "its own law")
    assert all(group["zero"] for group in own["groups"])
    told = pd.read_csv(tmp_path / "posterior.csv")
    assert len(told) == len(frame)
