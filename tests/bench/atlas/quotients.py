"""Counts in the three semantics from homomorphisms alone.

Lovász, "Operations with structures" (Acta Math. Hung. 18, 1967): a homomorphism of a pattern is an injective one of the
quotient by the vertices that it makes equal, so injective ones follow by Möbius inversion over the partitions of the
vertices. Matches whose relationships differ are the injective ones of the quotients that keep all edges apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from math import factorial, prod

from tests.bench.atlas.patterns import Edge, Pattern, Semantics

Partition = tuple[int, ...]
"""The block of each vertex; blocks are numbered in the order of their first vertices."""


Shape = tuple[int, int]


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


class Derived:
    """What follows from some homomorphisms, and some matches with different nodes, of undirected plain patterns.

    Parameters
    ----------
    homomorphisms, injective
        Known numbers by ``Pattern.canonical``.
    """

    def __init__(self, homomorphisms: Mapping[Shape, int], injective: Mapping[Shape, int]) -> None:
        self._homomorphisms = homomorphisms
        self._injective = injective

    def counts(self, pattern: Pattern) -> dict[Semantics, int | None]:
        """Return the counts of a pattern in the three semantics, None for what does not follow."""
        made = {each: quotient(pattern, each) for each in partitions(pattern.size)}
        apart = [made[each] for each in made if len(_images(pattern, each)) == len(pattern.edges)]
        return {
            Semantics.NODES: self._with_different_nodes(pattern),
            Semantics.RELATIONSHIPS: _sum(self._with_different_nodes(each) for each in apart if each is not None),
            Semantics.REPEATABLE: self._any(pattern),
        }

    def _any(self, pattern: Pattern) -> int | None:
        known = self._homomorphisms.get(pattern.canonical)
        if known is not None or pattern.canonical not in self._injective:
            return known
        made = (quotient(pattern, each) for each in partitions(pattern.size))
        return _sum(self._with_different_nodes(each) for each in made if each is not None)

    def _with_different_nodes(self, pattern: Pattern) -> int | None:
        known = self._injective.get(pattern.canonical)
        if known is not None or pattern.canonical not in self._homomorphisms:
            return known
        parts = []
        for partition in partitions(pattern.size):
            made = quotient(pattern, partition)
            count = 0 if made is None else self._any(made)
            parts.append(None if count is None else count * moebius(tuple(range(pattern.size)), partition))
        return _sum(parts)


def _sum(numbers: Iterable[int | None]) -> int | None:
    """Return the sum, None where one of the numbers is not known."""
    known = list(numbers)
    return None if None in known else sum(number for number in known if number is not None)


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
