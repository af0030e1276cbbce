"""Counts in the three semantics from homomorphisms alone.

Lovász, "Operations with structures" (Acta Math. Hung. 18, 1967): a homomorphism of a pattern is an injective one of the
quotient by the vertices that it makes equal, so injective ones follow by Möbius inversion over the partitions of the
vertices. Matches whose relationships differ are the injective ones of the quotients that keep all edges apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import factorial, prod

from tests.bench.atlas.patterns import Edge, Pattern, Semantics

Partition = tuple[int, ...]
"""The block of each vertex; blocks are numbered in the order of their first vertices."""


def counts(pattern: Pattern, homomorphisms: Callable[[Pattern], int]) -> dict[Semantics, int]:
    """Return the matches of a pattern in a simple graph in each of the semantics.

    Parameters
    ----------
    homomorphisms
        Counts those of a quotient, whose edges are each given once.
    """
    found = dict.fromkeys(Semantics, 0)
    apart = tuple(range(pattern.size))
    for partition in partitions(pattern.size):
        made = quotient(pattern, partition)
        if made is None:
            continue
        count = homomorphisms(made)
        found[Semantics.NODES] += count * moebius(apart, partition)
        found[Semantics.REPEATABLE] += count if partition == apart else 0
        found[Semantics.RELATIONSHIPS] += count * sum(
            moebius(finer, partition)
            for finer in _finer(partition)
            if len(_images(pattern, finer)) == len(pattern.edges)
        )
    return found


def quotient(pattern: Pattern, partition: Partition) -> Pattern | None:
    """Return the pattern with each block made one vertex; None where an edge or different labels are inside a block."""
    if any(partition[a] == partition[b] for a, b in pattern.edges):
        return None
    labels = sorted(set(zip(partition, pattern.labels, strict=False)))
    size = 1 + max(partition)
    if len(labels) > size:
        return None
    images = sorted(_images(pattern, partition))
    return replace(
        pattern,
        size=size,
        edges=tuple(edge for edge, _ in images),
        labels=tuple(label for _, label in labels),
        types=tuple(kind for _, kind in images) if pattern.types else (),
    )


@cache
def partitions(size: int) -> tuple[Partition, ...]:
    """Return all partitions of so many vertices."""
    if size == 0:
        return ((),)
    return tuple((*smaller, block) for smaller in partitions(size - 1) for block in range(2 + max(smaller, default=-1)))


def moebius(finer: Partition, coarser: Partition) -> int:
    """Return the Möbius function of the lattice of partitions, for two of which the first is finer or the same."""
    parts = Counter(block for _, block in set(zip(finer, coarser, strict=True)))
    return prod((-1) ** (n - 1) * factorial(n - 1) for n in parts.values())


@cache
def _finer(partition: Partition) -> tuple[Partition, ...]:
    """Return the partitions that are finer, and the partition itself."""
    return tuple(
        each for each in partitions(len(partition)) if len(set(zip(each, partition, strict=True))) == len(set(each))
    )


def _images(pattern: Pattern, partition: Partition) -> set[tuple[Edge, int]]:
    """Return the edges between blocks, each with its type."""
    ends = [(partition[a], partition[b]) for a, b in pattern.edges]
    kinds = pattern.types or (0,) * len(ends)
    return {
        (end if pattern.directed or end[0] < end[1] else end[::-1], kind) for end, kind in zip(ends, kinds, strict=True)
    }
