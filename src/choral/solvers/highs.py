"""Linear programs in HiGHS, where they stay between solves, so that each goes on from the basis of the last."""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]
USUAL, FINEST = 1e-7, 1e-10
"""What floats may miss: as HiGHS has it, and the least that it accepts."""


def quiet() -> highspy.Highs:
    """A model that prints nothing and takes one thread."""
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    return model


def kept(matrix: Array | sparse.sparray, cost: Array, right: Array, tolerance: float = USUAL) -> highspy.Highs:
    """minimise cost · x subject to matrix x = right, x >= 0, both to the tolerance."""
    listed = sparse.csc_array(matrix)
    rows, columns = listed.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, rows
    lp.col_cost_, lp.col_lower_ = cost, np.zeros(columns)
    lp.col_upper_ = np.full(columns, highspy.kHighsInf)
    lp.row_lower_ = lp.row_upper_ = right
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = listed.indptr, listed.indices, listed.data
    model = quiet()
    for space in ("primal", "dual"):
        model.setOptionValue(f"{space}_feasibility_tolerance", tolerance)
    model.passModel(lp)
    return model


def optimal(model: highspy.Highs) -> bool:
    """Solve it; whether floats find an optimum. Where they find none the next solve begins anew."""
    model.run()
    found = model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    if not found:
        model.clearSolver()
    return bool(found)


def basic(model: highspy.Highs) -> Array:
    """The values of a basic solution; all zero where floats find none."""
    found: Array = np.array(model.getSolution().col_value) if optimal(model) else np.zeros(model.getNumCol())
    return found
