"""Questions about a joint law that need no solving: bounds, extreme points, the hypergraph."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from choral.describe.joint import Joint
from choral.problem.hypergraph import Hypergraph, hypergraph_of
from choral.problem.pose import Group, pose, pose_self
from choral.solvers import enumeration
from choral.theory.bounds import Bounds, bounds_of


def bounds(
    joint: Joint,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: Sequence[str] | None = None,
    order: int = 1,
) -> Bounds:
    """What can be said before solving: feasibility, rank, nullity, the upper bound, |Y|, the price.

    >>> import choral as ch
    >>> b = ch.bounds(ch.examples.bsc_and_bec(), reveal="W")
    >>> b.feasible, b.rank, b.nullity, b.codes_at_most
    (True, 4, 2, 3)
    """
    return bounds_of(pose(joint, reveal, protect, use, order))


def extreme_points(
    joint: Joint,
    protect: str | Sequence[Group] | None = None,
    order: int = 1,
    most: int | None = enumeration.MOST_POINTS,
) -> list[tuple[Fraction, ...]]:
    """The extreme points of S over the states of the law without W, each a tuple of Fractions.

    >>> import choral as ch
    >>> [str(x) for x in ch.extreme_points(ch.examples.bsc_and_bec())[1]]
    ['1/4', '0', '1/4', '0', '1/2', '0']
    """
    columns = [name for name in joint.names if name != "W"]
    problem = pose_self(joint.marginal(columns), protect, None, order)
    return [point.dense(problem.size) for point in enumeration.extreme_points(problem, most)]


def hypergraph(joint: Joint, protect: str | Sequence[Group] | None = None) -> Hypergraph:
    """The n-partite hypergraph of the support of the law without W; its incidence matrix is P."""
    columns = [name for name in joint.names if name != "W"]
    return hypergraph_of(pose_self(joint.marginal(columns), protect))
