"""What a command loads is what it needs: packages that take seconds to import stay out of ordinary work."""

from __future__ import annotations

import subprocess
import sys

TRANSPORT = """
import sys
import choral as ch

cells = {(w, z, v): 1 + (3 * w + 5 * z + v) % 7 for w in (0, 1) for z in (0, 1) for v in range(4)}
law = ch.Joint.from_counts(cells, ["W", "Z", "V"])
found = ch.disclose(law, "W", ["Z"], ["Z", "V"], solver="transport")
print(sorted({"ot", "pandas", "sklearn", "scipy.stats"} & set(sys.modules)), found.verify()["verified"])

import ot

print(ot.__version__ > "0", ot.emd is not None, ot.lp.emd is ot.emd)
"""


def test_transport_loads_the_network_simplex_method_alone_and_leaves_the_package_for_others():
    done = subprocess.run([sys.executable, "-c", TRANSPORT], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[] True", "True True True"]


def test_the_method_is_that_of_the_package():
    import numpy as np

    from choral.solvers.network_simplex import network_simplex

    network_simplex.cache_clear()
    method = network_simplex()
    import ot

    draw = np.random.default_rng(1)
    for size in (2, 5, 40):
        a, b, cost = draw.dirichlet(np.ones(size)), draw.dirichlet(np.ones(size + 1)), draw.random((size, size + 1))
        a[0] = 0.0
        a /= a.sum()
        mine, theirs = method(a, b, cost, log=True), ot.emd(a, b, cost, log=True)
        assert np.array_equal(mine[0], theirs[0])
        assert np.array_equal(mine[1]["u"], theirs[1]["u"])


VERIFY = """
import sys
from choral.show.cli import main

sys.argv = ["choral", "verify", sys.argv[1]]
try:
    main()
finally:
    heavy = {"scipy", "highspy", "ot", "duckdb", "altair"}
    print(sorted(name for name in sys.modules if name in heavy or ".solvers." in name))
"""


def test_who_only_verifies_loads_no_solver(tmp_path):
    import choral as ch

    file = tmp_path / "clinic.choral"
    ch.disclose(ch.examples.clinic(), "diagnosis").save(file)
    done = subprocess.run([sys.executable, "-c", VERIFY, file], capture_output=True, text=True, check=True)
    assert "VERIFIED" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
