"""Vertex signatures against a slow count of neighbours; candidate filters against all embeddings."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings

from qengine.exec.candidates import level_signatures
from qengine.plan.pattern import Direction
from qengine.plan.physical import EdgeLevel
from qengine.storage.kernels import signature_group
from qengine.storage.signatures import ANY_LABEL, SIGNATURE_WORDS
from qengine.testing.expand import expand
from tests.examples import examples
from tests.property.search_cases import Oracle, cases, graphs


def slow_signature(store: Any, vertex: int) -> list[int]:
    number = {label: k for k, label in enumerate(store.labels)}
    groups: Counter[int] = Counter()
    for info in store.types:
        directions = (Direction.BOTH,) if info.undirected else (Direction.OUT, Direction.IN)
        for direction in directions:
            which = 3 * info.index + (Direction.OUT, Direction.IN, Direction.BOTH).index(direction)
            for neighbour in set(expand(store, vertex, info.index, direction)[0].tolist()):
                groups[signature_group(which, ANY_LABEL)] += 1
                for label in store.labels_of(neighbour):
                    groups[signature_group(which, number[label])] += 1
    words = [0] * SIGNATURE_WORDS
    for label in store.labels_of(vertex):
        words[0] |= 1 << number[label] % 32
    for group, count in groups.items():
        words[1 + group // 16] |= (1 if count == 1 else 3) << 2 * (group % 16)
    return words


@given(graphs())
def test_signatures_say_what_neighbours_there_are(store: Any) -> None:
    table = store.signatures.table
    assert table.shape == (SIGNATURE_WORDS, store.vertex_count)
    assert table.T.tolist() == [slow_signature(store, vertex) for vertex in range(store.vertex_count)]


@settings(max_examples=examples(300))
@given(cases())
def test_no_vertex_of_an_embedding_is_refused(case: Any) -> None:
    store, search, seeds, rows = case
    signatures, wanted = level_signatures(store, search)
    for row in range(rows):
        for values in Oracle(store, search).embeddings([int(column[row]) for column in seeds]):
            for level, bits, value in zip(search.levels, wanted, values, strict=True):
                assert isinstance(level, EdgeLevel) or (signatures.table[:, value] & bits == bits).all()
