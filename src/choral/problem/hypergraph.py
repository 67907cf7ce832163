"""The n-partite hypergraph of a support: one vertex per value of a sample, one hyperedge per state.

Its incidence matrix is P (the remark after (matp)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from choral.errors import ChoralError
from choral.problem.kernel import Problem


@dataclass(frozen=True)
class Hypergraph:
    """Vertices (group, value) and hyperedges, each the set of values that one state takes."""

    vertices: tuple[tuple[str, Any], ...]
    edges: tuple[tuple[int, ...], ...]
    states: tuple[tuple[Any, ...], ...]

    @property
    def incidence(self) -> tuple[tuple[int, ...], ...]:
        """The incidence matrix: one row per vertex, one column per hyperedge."""
        return tuple(tuple(int(v in edge) for edge in self.edges) for v in range(len(self.vertices)))

    def to_networkx(self) -> Any:
        """The bipartite graph of vertices and hyperedges, with the attributes `part`, `label` and `bipartite`."""
        try:
            import networkx
        except ImportError as error:
            raise ChoralError("networkx is not installed.", "Install it: pip install 'choral[graph]'.") from error
        graph = networkx.Graph()
        for v, (part, value) in enumerate(self.vertices):
            graph.add_node(("value", v), bipartite=0, part=part, label=f"{part}={value}")
        for e, (edge, state) in enumerate(zip(self.edges, self.states, strict=True)):
            graph.add_node(("state", e), bipartite=1, part="state", label=str(state))
            graph.add_edges_from((("value", v), ("state", e)) for v in edge)
        return graph


def hypergraph_of(problem: Problem) -> Hypergraph:
    """The hypergraph of a problem whose protected groups are functions of the state.

    >>> from choral.describe import examples
    >>> from choral.problem.pose import pose
    >>> hypergraph_of(pose(examples.bsc_and_bec())).incidence[0]
    (1, 1, 1, 0, 0, 0)
    """
    vertices: list[tuple[str, Any]] = []
    edges: list[list[int]] = [[] for _ in problem.states]
    for group in problem.groups:
        if not group.is_function:
            raise ChoralError(
                f"'{group.name}' is not a function of the used columns.", "Add its columns to `use` for a hypergraph."
            )
        for s, v in zip(group.state.tolist(), group.value.tolist(), strict=True):
            edges[s].append(len(vertices) + v)
        vertices += [(group.name, value) for value in group.values]
    return Hypergraph(tuple(vertices), tuple(map(tuple, edges)), problem.states)
