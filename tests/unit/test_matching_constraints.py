"""Match modes and symmetry as constraints: what must differ, and which orders count an orbit once."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine.catalog.view import RelationshipTypeInfo
from qengine.optimizer.difference import Differences, differences
from qengine.optimizer.pattern_edges import PatternEdge, edge_of_types
from qengine.optimizer.symmetry import break_symmetry
from qengine.plan.pattern import (
    Direction,
    LabelIs,
    MatchMode,
    PathMode,
    PatternNode,
    PatternPath,
    PatternRelationship,
    QueryGraph,
)
from qengine.testing.catalog import WrittenCatalog

SIMPLE = RelationshipTypeInfo("R", 10)
UNDIRECTED = RelationshipTypeInfo("R", 10, undirected=True)
LOOPED = RelationshipTypeInfo("R", 10, loops=True)
PARALLEL = RelationshipTypeInfo("R", 10, parallel=True)
CATALOG = WrittenCatalog(labels=("A", "B"))


def edges(text: str, info: RelationshipTypeInfo, direction: Direction = Direction.OUT) -> list[PatternEdge]:
    return [
        edge_of_types(PatternRelationship(f"r{i}", pair[0], pair[1], direction=direction), (info,))
        for i, pair in enumerate(text.split())
    ]


def graph(found: list[PatternEdge], mode: MatchMode = MatchMode.DIFFERENT_RELATIONSHIPS, **options) -> QueryGraph:
    names = sorted({name for each in found for name in each.ends})
    return QueryGraph(
        tuple(PatternNode(name) for name in names), tuple(e.relationship for e in found), mode=mode, **options
    )


def different(text: str, info: RelationshipTypeInfo, mode: MatchMode = MatchMode.DIFFERENT_RELATIONSHIPS):
    found = edges(text, info)
    return differences(graph(found, mode), found, CATALOG)


def test_path_over_undirected_type_needs_different_ends() -> None:
    found = different("ab bc", UNDIRECTED)
    assert found.vertices == {frozenset("ac")} and not found.pairs and not found.edges


def test_directed_path_without_loops_needs_nothing() -> None:
    found = different("ab bc", SIMPLE)
    assert not found.vertices and not found.pairs and not found.edges


def test_directed_path_with_loops_excludes_the_loop_taken_twice() -> None:
    assert different("ab bc", LOOPED).pairs == [(("a", "b"), ("b", "c"))]


def test_fan_needs_different_ends() -> None:
    assert different("ab ac", SIMPLE).vertices == {frozenset("bc")}


def test_parallel_types_compare_relationships() -> None:
    assert different("ab ac", PARALLEL).edges == {frozenset(("r0", "r1"))}


def test_the_same_relationship_twice_is_a_contradiction() -> None:
    assert different("ab ab", SIMPLE).contradiction
    assert not different("ab ab", SIMPLE, MatchMode.REPEATABLE_ELEMENTS).contradiction


def test_repeatable_elements_demands_nothing() -> None:
    found = different("ab bc ca", UNDIRECTED, MatchMode.REPEATABLE_ELEMENTS)
    assert not found.vertices and not found.pairs and not found.edges


def test_different_nodes_covers_all_pairs() -> None:
    found = different("ab bc", SIMPLE, MatchMode.DIFFERENT_NODES)
    assert found.vertices == {frozenset("ab"), frozenset("bc"), frozenset("ac")}


def test_parts_of_a_merged_match_demand_nothing_of_each_other() -> None:
    found = edges("ab bc cd", UNDIRECTED)
    parts = (frozenset(("a", "b", "c", "r0", "r1")), frozenset(("c", "d", "r2")))
    assert differences(graph(found, parts=parts), found, CATALOG).vertices == {frozenset("ac")}
    apart = differences(graph(found, MatchMode.DIFFERENT_NODES, parts=parts), found, CATALOG).vertices
    assert apart == {frozenset("ab"), frozenset("ac"), frozenset("bc"), frozenset("cd")}


def labelled(text: str, labels: dict[str, str], info: RelationshipTypeInfo, **options) -> Differences:
    found = edges(text, info)
    plain = graph(found, **options)
    return differences(
        replace(plain, nodes=tuple(nodes("".join(n.name for n in plain.nodes), labels).values())), found, CATALOG
    )


def test_nodes_that_no_label_set_allows_to_be_one_need_no_difference() -> None:
    assert labelled("ab bc", {"a": "A", "c": "A"}, UNDIRECTED).vertices == {frozenset("ac")}
    assert labelled("ab bc", {"a": "A"}, UNDIRECTED).vertices == {frozenset("ac")}
    assert not labelled("ab bc", {"a": "A", "c": "B"}, UNDIRECTED).vertices
    found = labelled("ab bc", {"a": "A", "b": "B", "c": "B"}, SIMPLE, mode=MatchMode.DIFFERENT_NODES)
    assert found.vertices == {frozenset("bc")}
    path = (PatternPath(None, ("a", "r0", "b", "r1", "c"), mode=PathMode.ACYCLIC),)
    assert labelled("ab bc", {"a": "A", "b": "B"}, SIMPLE, paths=path).vertices == {frozenset("ac"), frozenset("bc")}
    assert labelled("ab bc", {}, LOOPED).pairs
    assert not labelled("ab bc", {"a": "A", "b": "B"}, LOOPED).pairs
    assert labelled("ab ac", {"b": "A", "c": "A"}, PARALLEL).edges
    assert not labelled("ab ac", {"b": "A", "c": "B"}, PARALLEL).edges


def partitions(names: str) -> list[dict[str, int]]:
    """Return all ways in which some vertices can be equal."""
    found: list[dict[str, int]] = [{}]
    for name in names:
        found = [{**same, name: k} for same in found for k in range(max(same.values(), default=-1) + 2)]
    return found


def coincide(one: PatternEdge, other: PatternEdge, same: dict[str, int]) -> bool:
    (a, b), (c, d) = ([same[name] for name in each.ends] for each in (one, other))
    return (a, b) == (c, d) or ((one.swappable or other.swappable) and (a, b) == (d, c))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(product("abcd", repeat=2))),
            st.sampled_from([SIMPLE, UNDIRECTED, LOOPED, PARALLEL]),
            st.sampled_from("RS"),
            st.sampled_from([Direction.OUT, Direction.BOTH]),
        ),
        max_size=6,
    ),
    st.sampled_from([MatchMode.DIFFERENT_RELATIONSHIPS, MatchMode.DIFFERENT_NODES]),
    st.frozensets(st.sampled_from("RS")),
)
def test_what_must_differ_is_what_pair_by_pair_must(drawn: list, mode: MatchMode, antiparallel: frozenset) -> None:
    kinds: dict[str, RelationshipTypeInfo] = {}
    found = [
        edge_of_types(
            PatternRelationship(f"r{i}", *ends, direction=direction),
            (kinds.setdefault(name, replace(info, name=name)),),
            name in antiparallel,
        )
        for i, (ends, info, name, direction) in enumerate(drawn)
    ]
    names = "".join(sorted({name for each in found for name in each.ends}))
    told = differences(graph(found, mode), found, CATALOG)
    for same in partitions(names):
        if any(len({same[end] for end in each.ends}) == 1 for each in found if not each.loops):
            continue
        if mode is MatchMode.DIFFERENT_NODES and len(set(same.values())) < len(names):
            assert any(len({same[name] for name in pair}) == 1 for pair in told.vertices)
            continue
        clashing = [
            (one, other)
            for one, other in combinations(found, 2)
            if set(one.type_names()) & set(other.type_names()) and coincide(one, other, same)
        ]
        compared = [frozenset(each.name for each in pair) for pair in clashing if any(each.multiple for each in pair)]
        assert set(compared) <= told.edges
        excluded = told.contradiction or any(len({same[name] for name in pair}) == 1 for pair in told.vertices)
        excluded = excluded or any(all(same[a] == same[b] for a, b in pair) for pair in told.pairs)
        assert excluded == (len(compared) < len(clashing))


def nodes(names: str, labels: dict[str, str] | None = None) -> dict[str, PatternNode]:
    labels = labels or {}
    return {name: PatternNode(name, LabelIs(labels[name]) if name in labels else None) for name in names}


@pytest.mark.parametrize(
    ("pattern", "group"),
    [("ab bc ca", 6), ("ab bc cd da", 8), ("ab ac ad bc bd cd", 24), ("ab bc cd da ac", 4), ("ab ac ad", 6)],
)
def test_symmetry_keeps_one_embedding_of_each_orbit(pattern: str, group: int) -> None:
    """Over all injective maps into a complete graph, the constraints keep exactly one in ``group``."""
    found = edges(pattern, UNDIRECTED)
    names = sorted({name for each in found for name in each.ends})
    difference = differences(graph(found, MatchMode.DIFFERENT_NODES), found, CATALOG)
    symmetry = break_symmetry(names, nodes("".join(names)), found, difference)
    assert symmetry.orbits == group
    maps = [dict(zip(names, image, strict=True)) for image in permutations(range(6), len(names))]
    kept = [each for each in maps if all(each[big] > each[small] for big, small in symmetry.greater)]
    assert len(kept) * group == len(maps)


def test_labels_break_symmetry() -> None:
    found = edges("ab bc ca", UNDIRECTED)
    labelled = nodes("abc", {"a": "X"})
    symmetry = break_symmetry("abc", labelled, found, Differences())
    assert symmetry.orbits == 2


def test_a_directed_type_beside_an_undirected_one_breaks_symmetry() -> None:
    both = edge_of_types(PatternRelationship("r", "a", "b"), (RelationshipTypeInfo("S", 5), UNDIRECTED))
    found = break_symmetry(("a", "b"), {name: PatternNode(name) for name in "ab"}, [both], Differences())
    assert found.orbits == 1
    alone = edge_of_types(both.relationship, (UNDIRECTED,))
    found = break_symmetry(("a", "b"), {name: PatternNode(name) for name in "ab"}, [alone], Differences())
    assert found.orbits == 2


def test_symmetry_is_left_alone_where_images_may_coincide() -> None:
    found = edges("ab bc", UNDIRECTED)
    symmetry = break_symmetry("abc", nodes("abc"), found, Differences())
    assert symmetry.orbits == 1 and not symmetry.greater


def test_vertices_that_must_differ_break_the_symmetry_of_those_that_need_not() -> None:
    """(a)-(b), (c)-(d) and a <> c: swapping a and b gives an embedding where b <> c is not known."""
    first = edge_of_types(PatternRelationship("r", "a", "b", direction=Direction.BOTH), (UNDIRECTED,))
    other = RelationshipTypeInfo("S", 5, undirected=True)
    second = edge_of_types(PatternRelationship("s", "c", "d", direction=Direction.BOTH), (other,))
    found = [first, second]
    assert break_symmetry("abcd", nodes("abcd"), found, Differences()).orbits == 4
    apart = Differences(vertices={frozenset("ac")})
    assert break_symmetry("abcd", nodes("abcd"), found, apart).orbits == 1
    coincidence = Differences(pairs=[(("a", "c"), ("b", "d"))])
    assert break_symmetry("abcd", nodes("abcd"), found, coincidence).orbits == 2
    both_ways = Differences(pairs=[(("a", "c"), ("b", "d")), (("a", "d"), ("b", "c"))])
    assert break_symmetry("abcd", nodes("abcd"), found, both_ways).orbits == 4


@pytest.mark.parametrize("info", [SIMPLE, UNDIRECTED, LOOPED])
@pytest.mark.parametrize("pattern", ["ab bc", "ab ac", "ab bc ca", "ab bc cd", "ab cb cd ad"])
def test_constraints_say_the_same_as_comparing_relationships(pattern: str, info: RelationshipTypeInfo) -> None:
    """On every small graph image: the vertex constraints hold exactly when the matched relationships differ."""
    found = edges(pattern, info)
    names = sorted({name for each in found for name in each.ends})
    difference = differences(graph(found), found, CATALOG)
    for image in product(range(3), repeat=len(names)):
        at = dict(zip(names, image, strict=True))
        ends = [(at[each.ends[0]], at[each.ends[1]]) for each in found]
        if not info.loops and any(a == b for a, b in ends):
            continue
        matched = [tuple(sorted(pair)) if info.undirected else pair for pair in ends]
        expected = len(set(matched)) == len(matched)
        holds = all(len({at[name] for name in pair}) == 2 for pair in difference.vertices) and not any(
            all(at[one] == at[other] for one, other in same) for same in difference.pairs
        )
        assert holds == expected, (at, difference)
