"""How cliques are counted around their last vertices: in which orders the roles of a pattern are given to vertices.

Each role that the root may have, but for symmetric ones, has a chain: the other roles one after the other. Roles that a
symmetry of the rest exchanges are given to vertices in one order, and counted as often as there are such orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations, permutations

import numpy as np

from qengine import _native
from qengine.exec.host.elimination_steps import Array
from qengine.plan.elimination import Clique, Matrix, Step, is_symmetric
from qengine.plan.kernels.cliques import numbered_matrices

MOST_ROLES = 8

CHAIN = np.dtype(
    [("roles", "<i4", MOST_ROLES), ("planes", "<i4", (MOST_ROLES, MOST_ROLES)), ("below", "<i4", MOST_ROLES),
     ("factor", "<u8"), ("by", "<i4"), ("unused", "<i4")], align=True,
)  # fmt: skip
"""As ``qe::eliminate::Chain``."""

TASK = _native.record("u8 matrices chains weights; i4 n_roles n_chains; u4 valued wide; u8 by_vertex; u8[2] sum")
"""As ``qe::eliminate::CliqueTask``; ``weights``: ``NUMBERS`` records."""

Planes = tuple[tuple[int, ...], ...]
"""Of each role and each other one along which plane they are linked, seen from the first; -1 with itself."""


def planes_of(steps: Sequence[Step], step: Clique) -> tuple[list[int], Planes]:
    """Return the different matrices that a clique is along, and along which of their planes two roles are linked.

    Matrix m of these has the planes 2 m and, from the other end, 2 m + 1; a symmetric one has only the first.
    """
    numbered = numbered_matrices(steps, step.pairs)
    places = list(dict.fromkeys(place for place, _ in numbered.values()))
    size = len(step.vectors)
    planes = np.full((size, size), -1)
    for (i, j), place in zip(combinations(range(size), 2), step.pairs, strict=True):
        matrix, turned = numbered[place]
        at, of = 2 * places.index(matrix), steps[matrix]
        assert isinstance(of, Matrix)
        planes[i, j], planes[j, i] = (at, at) if is_symmetric(of.relations) else (at + turned, at + 1 - turned)
    return places, tuple(map(tuple, planes.tolist()))


@cache
def chain_records(
    planes: Planes, kinds: tuple[int, ...], sizes: tuple[int, ...], valued: frozenset[int], by: int | None = None
) -> Array:
    """Return the ``CHAIN`` records of a clique.

    Parameters
    ----------
    kinds
        Equal for roles whose vertices have the same weights.
    sizes
        Of each plane about how many pairs it links.
    valued
        The roles whose vertices have weights other than 0 and 1.
    by
        The role by whose vertices cliques are summed: the root's, or the next one in each chain.
    """
    roles = range(len(kinds))
    group = [turn for turn in permutations(roles) if _is_symmetry(turn, planes, kinds)]
    if by is not None:
        group = [turn for turn in group if turn[by] == by]
    chains = []
    for root in roles:
        orbit = {turn[root] for turn in group}
        if root == min(orbit):
            chains.append(
                _chain(root, len(orbit), [turn for turn in group if turn[root] == root], planes, sizes, valued, by)
            )
    return np.array(chains, CHAIN)


def _is_symmetry(turn: Sequence[int], planes: Planes, kinds: tuple[int, ...]) -> bool:
    return all(kinds[turn[i]] == kinds[i] for i in range(len(kinds))) and all(
        planes[turn[i]][turn[j]] == planes[i][j] for i in range(len(kinds)) for j in range(len(kinds)) if i != j
    )


def _chain(
    root: int,
    factor: int,
    group: Sequence[Sequence[int]],
    planes: Planes,
    sizes: tuple[int, ...],
    valued: frozenset[int],
    by: int | None,
) -> tuple[object, ...]:
    """Return the chain of a root's role; ``group``: the symmetries that leave it."""
    order = [root]
    left = [role for role in range(len(planes)) if role != root]
    below: list[set[int]] = [set()]
    while left:
        orbits = {role: {turn[role] for turn in group} for role in left}
        last_pair = len(left) <= 2
        best = min(
            left,
            key=lambda role: (
                role != by,
                0 if last_pair else -len(orbits[role]),
                role not in valued if last_pair else False,
                sum(sizes[planes[other][role]] for other in order),
                role,
            ),
        )
        below.append(set() if last_pair else orbits[best] - {best})
        factor *= 1 if last_pair else len(orbits[best])
        order.append(best)
        left.remove(best)
        group = [turn for turn in group if turn[best] == best]
    by_level = np.zeros((MOST_ROLES, MOST_ROLES), np.int32)
    flags = np.zeros(MOST_ROLES, np.int32)
    for i, role in enumerate(order):
        for j in range(i + 1, len(order)):
            by_level[i, j] = planes[role][order[j]]
            flags[i] |= (order[j] in below[i]) << j
    padded = np.array(order + [0] * (MOST_ROLES - len(order)), np.int32)
    return padded, by_level, flags, factor, -1 if by is None else order.index(by), 0
