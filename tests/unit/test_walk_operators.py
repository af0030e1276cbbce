"""``Walk`` and ``Shortest`` over batches: names, predicates, bound ends, other relationships, and their columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import (
    ConstantColumn,
    ListColumn,
    NodeColumn,
    ObjectColumn,
    RelationshipColumn,
    integer_column,
    null_column,
)
from qengine.exec.common.masks import Masks
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.host.shortest import run_shortest
from qengine.exec.host.walk import run_walk
from qengine.exec.scalar.values import RelationshipHandle
from qengine.plan.expr import Comparison, Literal, Property, Variable
from qengine.plan.logical import Unit
from qengine.plan.pattern import ALL_SHORTEST, ANY_SHORTEST, Direction, LabelIs, LabelOr, PathMode, PathSelector
from qengine.plan.physical import Shortest, VertexLevel, Walk
from qengine.storage.records import from_records

# a -> b -> c -> d, a -> c by K; d -> a by L. Labels: a, b: A; c: B; d: C. Every relationship and node has a weight.
NAMES = "abcd"
STORE = from_records(
    [{"id": n, "labels": label, "properties": {"name": n, "w": w}}
     for n, label, w in (("a", "A", 1), ("b", "A", 2), ("c", "B", 3), ("d", "C", 4))],
    [{"type": t, "start": s, "end": e, "properties": {"w": w}}
     for w, (t, s, e) in enumerate(("Kab", "Kbc", "Kcd", "Kac", "Lda"), start=1)],
)  # fmt: skip
NODES = {node.properties["name"]: node.id for node in STORE.nodes(np.arange(4)) if node is not None}
EDGES = {edge.properties["w"]: edge.id for edge in STORE.relationships(np.arange(5)) if edge is not None}

WALK = Walk(Unit(), "x", VertexLevel("y"), False, ("K",), Direction.OUT, 1, None, "r", "h")
SHORTEST = Shortest(Unit(), "x", VertexLevel("y"), False, (), Direction.OUT, 1, None, "r", "h")


def ids(names: str) -> NodeColumn:
    return NodeColumn(np.array([NODES.get(name, -1) for name in names], np.int64))


def rows(op: Walk | Shortest, **columns: Any) -> list[tuple[Any, ...]]:
    """Run an operator: (number of the input row, name of y, weights of r or None), sorted."""
    context = ExecutionContext()
    batch = Batch(len(columns["x"]), {**columns, "n": integer_column(np.arange(len(columns["x"])))})
    run: Any = run_walk if isinstance(op, Walk) else run_shortest
    name_of = {id: name for name, id in NODES.items()}
    weight_of = {id: weight for weight, id in EDGES.items()}
    found = []
    for part in run(STORE, op, batch, context, Masks(Runtime(STORE, context))):
        assert list(part.columns) == list(dict.fromkeys([*batch.columns, "y", *(["r"] if op.relationships else [])]))
        assert all(len(column) == part.length for column in part.columns.values())
        lists = part.columns["r"].values() if op.relationships else [None] * part.length
        for n, y, r in zip(part.columns["n"].values(), part.columns["y"].values(), lists, strict=True):
            found.append((n, name_of[y.id], None if r is None else tuple(weight_of[edge.id] for edge in r)))
    return sorted(found)


def at_least(variable: str, weight: int) -> Comparison:
    return Comparison((">=",), (Property(Variable(variable), "w"), Literal(weight)))


def test_walks_with_their_relationships() -> None:
    assert rows(WALK, x=ids("c?b")) == [(0, "d", (3,)), (2, "c", (2,)), (2, "d", (2, 3))]
    assert rows(replace(WALK, relationships=None), x=ids("b")) == [(0, "c", None), (0, "d", None)]


def test_types() -> None:
    assert rows(replace(WALK, types=("L", "L")), x=ids("d")) == [(0, "a", (5,))]
    assert rows(replace(WALK, types=("", "none")), x=ids("d")) == []
    assert rows(replace(WALK, types=("",), minimum=0), x=ids("d")) == [(0, "d", ())]
    every = rows(replace(WALK, types=(), maximum=2), x=ids("d"))
    assert every == [(0, "a", (5,)), (0, "b", (5, 1)), (0, "c", (5, 4))]


def test_predicates_of_hops() -> None:
    heavy = replace(WALK, types=(), predicates=(at_least("h", 3),), maximum=3)
    assert rows(heavy, x=ids("a")) == [(0, "a", (4, 3, 5)), (0, "c", (4,)), (0, "d", (4, 3))]
    assert rows(replace(heavy, predicates=(at_least("h", 9),)), x=ids("a")) == []


def test_ends() -> None:
    def ends(**options: Any) -> list[tuple[Any, ...]]:
        return rows(replace(WALK, relationships=None, end=VertexLevel("y", **options)), x=ids("a"))

    assert ends(labels=LabelIs("B")) == [(0, "c", None)] * 2
    assert ends(labels=LabelOr((LabelIs("A"), LabelIs("C")))) == [(0, "b", None), *[(0, "d", None)] * 2]
    assert ends(labels=LabelIs("None")) == []
    assert ends(predicates=(at_least("y", 4),)) == [(0, "d", None)] * 2
    assert ends(labels=LabelIs("B"), predicates=(at_least("y", 4),)) == []
    once = replace(WALK, relationships=None, distinct_ends=True, minimum=2)
    assert rows(once, x=ids("a")) == [(0, "c", None), (0, "d", None)]


def test_one_end_is_found_from_both_sides() -> None:
    one = VertexLevel("y", None, (at_least("y", 4),))
    found = rows(replace(WALK, end=one), x=ids("a?d"))
    assert found == [(0, "d", (1, 2, 3)), (0, "d", (4, 3))]
    assert rows(replace(SHORTEST, end=one, minimum=0), x=ids("a?d")) == [(0, "d", (4, 3)), (2, "d", ())]
    none = replace(one, predicates=(at_least("y", 5),))
    assert rows(replace(SHORTEST, end=none), x=ids("a")) == []


def test_bound_ends() -> None:
    bound = replace(WALK, end_bound=True)
    found = rows(bound, x=ids("aaa?"), y=ids("cb?b"))
    assert found == [(0, "c", (1, 2)), (0, "c", (4,)), (1, "b", (1,))]
    assert rows(bound, x=ids("a"), y=null_column(1)) == []


@pytest.mark.parametrize("form", ["ids", "lists", "objects"])
def test_other_relationships_are_left_out(form: str) -> None:
    one, two = EDGES[1], EDGES[4]
    columns = {
        "ids": RelationshipColumn(np.array([one, two, -1])),
        "lists": ListColumn(np.array([0, 1, 2, 2]), RelationshipColumn(np.array([one, two]))),
        "objects": ObjectColumn([RelationshipHandle(one), [RelationshipHandle(two)], None]),
    }
    op = replace(WALK, different=("o", "p"), maximum=1)
    nothing = ConstantColumn(None, 3)
    found = rows(op, x=ids("aaa"), o=columns[form], p=nothing)
    assert found == [(0, "c", (4,)), (1, "b", (1,)), (2, "b", (1,)), (2, "c", (4,))]
    assert rows(op, x=ids("aaa"), o=columns[form], p=RelationshipColumn(np.full(3, two))) == [
        (1, "b", (1,)), (2, "b", (1,))
    ]  # fmt: skip


def test_walks_that_may_repeat() -> None:
    op = replace(WALK, direction=Direction.BOTH, types=("L",), minimum=2, maximum=3, mode=PathMode.WALK)
    assert rows(op, x=ids("d")) == [(0, "a", (5, 5, 5)), (0, "d", (5, 5))]


def test_shortest_to_every_end() -> None:
    assert rows(SHORTEST, x=ids("a")) == [(0, "a", (4, 3, 5)), (0, "b", (1,)), (0, "c", (4,)), (0, "d", (4, 3))]
    assert rows(replace(SHORTEST, minimum=0, maximum=1), x=ids("a")) == [(0, "a", ()), (0, "b", (1,)), (0, "c", (4,))]
    labelled = replace(SHORTEST, end=VertexLevel("y", LabelIs("C")))
    assert rows(labelled, x=ids("b?a")) == [(0, "d", (2, 3)), (2, "d", (4, 3))]


def test_shortest_between_two() -> None:
    both = replace(SHORTEST, direction=Direction.BOTH, end_bound=True)
    found = rows(both, x=ids("ab?"), y=ids("dda"))
    assert found in ([(0, "d", (5,)), (1, "d", (1, 5))], [(0, "d", (5,)), (1, "d", (2, 3))])
    every = replace(both, selector=ALL_SHORTEST)
    assert rows(every, x=ids("b"), y=ids("d")) == [(0, "d", (1, 5)), (0, "d", (2, 3))]
    assert rows(replace(every, predicates=(at_least("h", 2),)), x=ids("b"), y=ids("d")) == [(0, "d", (2, 3))]
    assert rows(replace(every, maximum=1), x=ids("b"), y=ids("d")) == []


def test_shortest_from_a_vertex_to_itself() -> None:
    itself = replace(SHORTEST, end_bound=True)
    assert rows(itself, x=ids("c"), y=ids("c")) == [(0, "c", (3, 5, 4))]
    assert rows(replace(itself, minimum=0), x=ids("c"), y=ids("c")) == [(0, "c", ())]
    assert rows(replace(itself, types=("K",)), x=ids("c"), y=ids("c")) == []


@pytest.mark.parametrize("end_bound", [False, True])
def test_more_than_one_shortest_path(end_bound: bool) -> None:
    columns = {"x": ids("a?ba"), **({"y": ids("dadb")} if end_bound else {})}
    two = replace(SHORTEST, direction=Direction.BOTH, end_bound=end_bound, selector=PathSelector(2))
    found = rows(two, **columns)
    assert [taken for row, end, taken in found if (row, end) == (0, "d")] == [(4, 3), (5,)]
    assert {row for row, *_ in found} == {0, 2, 3}
    every = rows(replace(two, selector=PathSelector(2, groups=True)), **columns)
    assert [taken for row, end, taken in every if (row, end) == (2, "d")] == [(1, 4, 3), (1, 5), (2, 3), (2, 4, 5)]
    longer = rows(replace(two, selector=ANY_SHORTEST, minimum=3), **columns)
    assert [taken for row, end, taken in longer if (row, end) == (0, "d")] == [(1, 2, 3)]
    few = rows(replace(two, selector=PathSelector(9), direction=Direction.OUT), **columns)
    assert [taken for row, end, taken in few if (row, end) == (0, "d")] == [(1, 2, 3), (4, 3)]
