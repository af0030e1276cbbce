"""Candidate sets C(u): which vertices of a graph can match a vertex of a pattern at all, by signature.

A vertex passes if its signature has all bits of the pattern's vertex. No vertex that has an embedding is refused.
Source: GSI §III-A.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction, LabelAnd, LabelExpr, LabelIs
from qengine.plan.physical import EdgeLevel, Search, VertexLevel
from qengine.storage.signatures import ANY_LABEL, SIGNATURE_WORDS, PatternSignature, Signatures

_wanted: PerOperatorCache[npt.NDArray[np.uint32]] = PerOperatorCache()
"""What searches want of signatures: cached plans are estimated again."""


class LevelSignatures(NamedTuple):
    """The signatures of a graph, and what those of each level's vertices must have.

    ``of``: all signatures. ``wanted``: uint32[levels, 16].
    """

    of: Signatures
    wanted: npt.NDArray[np.uint32]


class _Neighbour(NamedTuple):
    """The vertex of ``level`` is in the list of one type in one stored direction."""

    type_index: int
    direction: Direction
    level: int


def level_signatures(store: ExecView, search: Search) -> LevelSignatures:
    """Return what signatures say of all levels of a search; an edge level wants nothing."""

    def find() -> tuple[npt.NDArray[np.uint32], bool]:
        wanted = np.zeros((len(search.levels), SIGNATURE_WORDS), np.uint32)
        for index, level in enumerate(search.levels):
            if isinstance(level, VertexLevel):
                wanted[index] = _signature(store, search, index).words
        return wanted, True

    return LevelSignatures(store.signatures, _wanted.get(store, search, find))


def _signature(store: ExecView, search: Search, level: int) -> PatternSignature:
    numbers = {label: number for number, label in enumerate(store.labels)}
    found = PatternSignature()
    for label in _necessary(search.levels[level]):
        if label in numbers:
            found.add_label(numbers[label])
    for (type_index, direction), levels in _by_list(store, search, level).items():
        by_label: dict[int, list[int]] = {ANY_LABEL: levels}
        for other in levels:
            for label in _necessary(search.levels[other]):
                if label in numbers:
                    by_label.setdefault(numbers[label], []).append(other)
        for number, having in by_label.items():
            found.add_neighbours(type_index, direction, number, _different(search, having) > 1)
    return found


def _by_list(store: ExecView, search: Search, level: int) -> dict[tuple[int, Direction], list[int]]:
    """Return for each list of the level's vertex the levels whose vertices are in it."""
    found: dict[tuple[int, Direction], list[int]] = {}
    for each in _neighbours(store, search, level):
        levels = found.setdefault((each.type_index, each.direction), [])
        if each.level not in levels:
            levels.append(each.level)
    return found


def _neighbours(store: ExecView, search: Search, level: int) -> Iterator[_Neighbour]:
    """Yield the neighbours that a level's vertex has for sure; a union of lists says nothing of one of them."""
    for other, each in enumerate(search.levels):
        if isinstance(each, EdgeLevel):
            continue
        for source in each.sources:
            if other == level:
                end, direction = source.level, source.direction.reversed()
            elif source.level == level:
                end, direction = other, source.direction
            else:
                continue
            types = source.types or store.relationship_types
            index = store.type_index(types[0]) if len(types) == 1 else None
            if index is None:
                continue
            if store.types[index].undirected:
                yield _Neighbour(index, Direction.BOTH, end)
            elif direction is not Direction.BOTH:
                yield _Neighbour(index, direction, end)


def _different(search: Search, levels: list[int]) -> int:
    """Return how many different vertices the levels' vertices are at least."""
    chosen: list[int] = []
    for level in levels:
        if all(_apart(search, level, other) for other in chosen):
            chosen.append(level)
    return len(chosen)


def _apart(search: Search, one: int, other: int) -> bool:
    late, early = search.levels[max(one, other)], min(one, other)
    assert isinstance(late, VertexLevel)
    return early in late.different or early in late.less or early in late.greater


def _necessary(level: VertexLevel | EdgeLevel) -> list[str]:
    """Return labels that a level's vertex must have."""
    return [] if isinstance(level, EdgeLevel) else list(dict.fromkeys(_labels(level.labels)))


def _labels(expr: LabelExpr | None) -> Iterator[str]:
    if isinstance(expr, LabelIs):
        yield expr.name
    elif isinstance(expr, LabelAnd):
        for each in expr.args:
            yield from _labels(each)
