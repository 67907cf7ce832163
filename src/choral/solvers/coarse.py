"""A target of few values in place of one of many: what tells about the coarse one tells about the fine one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from choral.problem.kernel import Problem, Variable


def with_coarse_target(problem: Problem, values: int) -> Problem:
    """The same problem with the target's values joined into this many groups.

    Any private channel for it is one for the original, which it tells at least as much about. Values are put in order of
    the direction in which their posteriors vary most, and cut where the groups have about equal mass.
    """
    posterior = problem.posterior()
    centred = (posterior - (posterior @ problem.prior)[:, None]) * np.sqrt(problem.prior)
    left, _, _ = np.linalg.svd(centred, full_matrices=False)
    order = np.argsort(left[:, 0], kind="stable")
    mass = np.array(problem.target.marginal, dtype=object)[order]
    before = np.array([int(sum(mass[:i])) / problem.total for i in range(len(order))])
    group = np.minimum((before * values).astype(np.int64), values - 1)
    if len(np.unique(group)) == 1:  # one value has nearly all the mass: it against the others
        group = (mass == mass.max()).astype(np.int64)
    _, group = np.unique(group, return_inverse=True)
    label = np.empty(len(order), dtype=np.int64)
    label[order] = group
    target = problem.target
    sums: dict[tuple[int, int], int] = {}
    for s, v, w in zip(target.state.tolist(), target.value.tolist(), target.weight, strict=True):
        key = s, int(label[v])
        sums[key] = sums.get(key, 0) + w
    keys = sorted(sums)
    coarse = Variable(
        target.name,
        target.columns,
        tuple(range(int(label.max()) + 1)),
        np.array([s for s, _ in keys], dtype=np.int64),
        np.array([g for _, g in keys], dtype=np.int64),
        tuple(sums[key] for key in keys),
    )
    return replace(problem, target=coarse)
