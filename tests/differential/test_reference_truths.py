"""The reference executor against brute force and truths worked out by hand.

The brute force knows nothing of steps or walks: it tries every choice of vertices and of relationships (of lists of
them for variable length) and keeps those that the definitions allow.
"""

import itertools
import random
from collections import Counter
from dataclasses import dataclass

import pytest

from qengine.errors import ExecutionError, QueryTimeout, Unsupported
from qengine.exec.context import ExecutionContext
from qengine.exec.reference import run
from qengine.plan import expr as x
from qengine.plan import logical as op
from qengine.plan.pattern import (
    ALL_SHORTEST,
    ANY_SHORTEST,
    Direction,
    LabelIs,
    LabelOr,
    MatchMode,
    PathSelector,
    PatternNode,
    PatternPath,
    PatternRelationship,
    QueryGraph,
)
from qengine.storage import from_records
from qengine.types import Node, Path, Relationship

OUT, IN, BOTH = Direction.OUT, Direction.IN, Direction.BOTH
DIFFERENT = MatchMode.DIFFERENT_RELATIONSHIPS
MODES = list(MatchMode)


# ---------------------------------------------------------------- brute force


@dataclass(frozen=True)
class Edge:
    """One relationship of a tiny graph."""

    key: int
    type: str
    start: int
    end: int
    undirected: bool


def tiny_graph(chance, vertices, edges):
    """Some labels, two directed types and one undirected, with parallel edges and loops."""
    labels = [chance.choice([(), ("A",), ("B",), ("A", "B")]) for _ in range(vertices)]
    found = []
    for key in range(edges):
        kind = chance.choice("RSU")
        start, end = chance.randrange(vertices), chance.randrange(vertices)
        if found and chance.random() < 0.3:
            start, end = found[-1].start, found[-1].end
        found.append(Edge(key, kind, start, end, kind == "U"))
    return labels, found


def store_of(labels, edges):
    return from_records(
        [{"id": i, "labels": names, "properties": {"k": i}} for i, names in enumerate(labels)],
        [{"type": e.type, "start": e.start, "end": e.end, "properties": {"k": e.key}} for e in edges],
        undirected=["U"] if any(e.type == "U" for e in edges) else [],
    )


def tiny_pattern(chance, mode):
    names = [f"n{i}" for i in range(chance.randint(1, 3))]
    nodes = tuple(PatternNode(name, chance.choice([None, None, LabelIs("A"), LabelIs("B")])) for name in names)
    relationships = []
    for place in range(chance.randint(0 if len(names) == 1 else 1, 3)):
        hops = chance.choice([None, None, None, (1, 2), (0, 1), (2, 2), (0, 2)])
        if hops and any(edge.hops for edge in relationships):
            hops = None
        relationships.append(
            PatternRelationship(
                f"r{place}",
                chance.choice(names),
                chance.choice(names),
                chance.choice([None, LabelIs("R"), LabelIs("U"), LabelOr((LabelIs("R"), LabelIs("S")))]),
                chance.choice([OUT, IN, BOTH]),
                hops,
            )
        )
    return QueryGraph(nodes, tuple(relationships), mode=mode)


def leads(edge, vertex, direction):
    """Where an edge leads from a vertex: nowhere, or to one vertex."""
    ends = set()
    if direction in (OUT, BOTH) or edge.undirected:
        ends |= {edge.end} if edge.start == vertex else set()
    if direction in (IN, BOTH) or edge.undirected:
        ends |= {edge.start} if edge.end == vertex else set()
    return ends


def inner_vertices(start, end, walked, direction):
    """The vertices between, if ``walked`` leads from start to end; None if it doesn't."""
    places = [start]
    for edge in walked:
        after = leads(edge, places[-1], direction)
        if not after:
            return None
        places += after
    return places[1:-1] if places[-1] == end else None


def allowed_types(expr):
    return {None: "RSU", LabelIs("R"): "R", LabelIs("U"): "U"}.get(expr, "RS")


def brute_force(labels, edges, graph):
    """All embeddings as (vertex of each node…, edge keys of each relationship…)."""
    choices = []
    for edge in graph.relationships:
        usable = [e for e in edges if e.type in allowed_types(edge.types)]
        low, high = edge.hops or (1, 1)
        choices.append([c for n in range(low, high + 1) for c in itertools.product(usable, repeat=n)])
    names = [node.name for node in graph.nodes]
    for vertices in itertools.product(range(len(labels)), repeat=len(names)):
        if any(
            node.labels and node.labels.name not in labels[v] for node, v in zip(graph.nodes, vertices, strict=True)
        ):
            continue
        at = dict(zip(names, vertices, strict=True))
        for walks in itertools.product(*choices):
            between = [
                inner_vertices(at[edge.start], at[edge.end], walk, edge.direction)
                for edge, walk in zip(graph.relationships, walks, strict=True)
            ]
            if None in between:
                continue
            used_edges = [e.key for walk in walks for e in walk]
            used_vertices = [*vertices, *itertools.chain(*between)]
            if graph.mode is not MatchMode.REPEATABLE_ELEMENTS and len(set(used_edges)) < len(used_edges):
                continue
            if graph.mode is MatchMode.DIFFERENT_NODES and len(set(used_vertices)) < len(used_vertices):
                continue
            yield (*vertices, *(tuple(e.key for e in walk) for walk in walks))


def keys_of(graph, value):
    if isinstance(value, list):
        return tuple(item["k"] for item in value)
    return value["k"] if isinstance(value, Node) else (value["k"],)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("block", range(10))
def test_matches_are_those_of_brute_force(mode, block):
    for seed in range(block * 30, block * 30 + 30):
        chance = random.Random(f"{mode} {seed}")
        labels, edges = tiny_graph(chance, chance.randint(1, 4), chance.randint(0, 6))
        graph = tiny_pattern(chance, mode)
        expected = Counter(brute_force(labels, edges, graph))
        found = Counter(tuple(keys_of(graph, v) for v in row) for row in match(store_of(labels, edges), graph))
        assert found == expected, f"seed {seed}"


# ---------------------------------------------------------------- truths by hand


def rows_of(root, store, columns, parameters=None):
    return list(run(op.LogicalPlan(root, tuple(columns)), store, ExecutionContext(parameters)))


def match(store, graph, *, optional=False, source=None):
    root = op.Match(source or op.Unit(), graph, optional)
    return rows_of(root, store, graph.variables())


def nodes(*names, **more):
    return tuple(PatternNode(name, **more) for name in names)


def edge(name, start, end, **more):
    return PatternRelationship(name, start, end, **more)


def k(variable):
    return x.Property(x.Variable(variable), "k")


def lit(value):
    if isinstance(value, list):
        return x.ListOf(tuple(map(lit, value)))
    return x.Literal(value)


def call(name, *args):
    return x.Call(name, args)


def graph_of(text, undirected=()):
    """A store from "0-R->1 1-R->2 3": edges get the keys 0, 1, … in order; lone numbers are nodes."""
    edges, vertices = [], set()
    for part in text.split():
        start, _, rest = part.partition("-")
        vertices.add(int(start))
        if rest:
            kind, end = rest.split("->")
            vertices.add(int(end))
            edges.append(Edge(len(edges), kind, int(start), int(end), kind in undirected))
    return from_records(
        [{"id": i, "labels": ["N"], "properties": {"k": i}} for i in sorted(vertices)],
        [{"type": e.type, "start": e.start, "end": e.end, "properties": {"k": e.key}} for e in edges],
        undirected=undirected,
    )


def count(store, *relationships, mode=DIFFERENT):
    names = dict.fromkeys(name for r in relationships for name in (r.start, r.end))
    return len(match(store, QueryGraph(nodes(*names), relationships, mode=mode)))


def test_a_self_loop_matches_once_in_any_direction():
    store = graph_of("0-R->0")
    for direction in (OUT, IN, BOTH):
        assert count(store, edge("r", "a", "b", direction=direction)) == 1
        assert count(store, edge("r", "a", "a", direction=direction)) == 1


def test_an_undirected_pattern_matches_both_ways():
    store = graph_of("0-R->1")
    assert count(store, edge("r", "a", "b", direction=BOTH)) == 2
    assert count(store, edge("r", "a", "b")) == 1


def test_an_undirected_type_matches_both_ways_in_any_direction():
    store = graph_of("0-U->1 1-U->1", undirected=["U"])
    for direction in (OUT, IN, BOTH):
        assert count(store, edge("r", "a", "b", direction=direction)) == 3


def test_relationships_differ_across_a_whole_match_but_not_across_two():
    store = graph_of("0-R->1")
    first, second = edge("r", "a", "b"), edge("s", "c", "d")
    assert count(store, first, second) == 0
    assert count(store, first, second, mode=MatchMode.REPEATABLE_ELEMENTS) == 1
    one = op.Match(op.Unit(), QueryGraph(nodes("a", "b"), (first,)))
    assert len(match(store, QueryGraph(nodes("c", "d"), (second,)), source=one)) == 1


def test_triangle_counts_of_the_three_modes():
    store = graph_of("0-R->1 1-R->2 2-R->0 0-R->0")
    triangle = (edge("r", "a", "b"), edge("s", "b", "c"), edge("t", "c", "a"))
    assert count(store, *triangle, mode=MatchMode.DIFFERENT_NODES) == 3
    assert count(store, *triangle) == 3
    assert count(store, *triangle, mode=MatchMode.REPEATABLE_ELEMENTS) == 4


def test_variable_length_walks_repeat_no_relationship():
    store = graph_of("0-R->1 1-R->0")
    assert count(store, edge("r", "a", "b", hops=(1, None))) == 4
    assert count(store, edge("r", "a", "b", hops=(0, None))) == 6
    assert count(store, edge("r", "a", "b", hops=(3, 3)), mode=MatchMode.REPEATABLE_ELEMENTS) == 2
    assert count(store, edge("r", "a", "b", hops=(3, 3))) == 0


def test_variable_length_shares_no_relationship_with_the_rest_of_the_match():
    store = graph_of("0-R->1 1-R->2")
    assert count(store, edge("r", "a", "b", hops=(1, 2)), edge("s", "b", "c")) == 1
    assert count(store, edge("r", "a", "b", hops=(1, 2)), edge("s", "c", "b")) == 0


def test_predicates_hold_for_each_hop():
    store = graph_of("0-R->1 1-R->2 2-R->3")
    predicate = call(">", k("r"), lit(0))
    assert count(store, edge("r", "a", "b", hops=(1, None), predicates=(predicate,))) == 3


def test_unbounded_walks_are_refused_where_relationships_repeat():
    with pytest.raises(Unsupported, match="infinitely many"):
        count(graph_of("0-R->0"), edge("r", "a", "b", hops=(1, None)), mode=MatchMode.REPEATABLE_ELEMENTS)


def test_zero_hops_satisfy_both_ends():
    store = from_records([{"labels": ["A"]}, {"labels": ["A", "B"]}])
    pattern = (PatternNode("a", LabelIs("A")), PatternNode("b", LabelIs("B")))
    found = match(store, QueryGraph(pattern, (edge("r", "a", "b", hops=(0, 0)),)))
    assert [(a.labels, r) for a, _, r in found] == [(("A", "B"), [])]


def test_predicates_over_several_variables():
    store = graph_of("0-R->1 1-R->0")
    graph = QueryGraph(nodes("a", "b"), (edge("r", "a", "b"),), predicates=(call("<", k("a"), k("b")),))
    assert [(a["k"], b["k"]) for a, b, _ in match(store, graph)] == [(0, 1)]


def bound_to(value):
    return op.Project(op.Unit(), (("a", value),))


def test_bound_nodes():
    store = graph_of("0-R->1 0-R->2")
    first = op.Match(op.Unit(), QueryGraph((PatternNode("a", predicates=(call("=", k("a"), lit(0)),)),), ()))
    graph = QueryGraph((PatternNode("a", bound=True), PatternNode("b")), (edge("r", "b", "a", direction=IN),))
    assert sorted(b["k"] for b, _ in match(store, graph, source=first)) == [1, 2]
    assert match(store, graph, source=bound_to(lit(None))) == []
    assert match(store, graph, source=bound_to(lit(None)), optional=True) == [(None, None)]
    with pytest.raises(ExecutionError, match="needs a node"):
        match(store, graph, source=bound_to(lit(1)))


def test_a_bound_relationship_counts_among_those_that_differ():
    store = graph_of("0-R->1 1-R->2")
    first = op.Match(op.Unit(), QueryGraph(nodes("a", "b"), (edge("r", "a", "b"),)))
    again = QueryGraph(nodes("c", "d", "e"), (edge("r", "c", "d", bound=True), edge("s", "d", "e")))
    assert [[v["k"] for v in row] for row in match(store, again, source=first)] == [[0, 1, 2, 1]]
    turned = QueryGraph(nodes("c", "d"), (edge("r", "c", "d", direction=BOTH, bound=True),))
    assert len(match(store, turned, source=first)) == 4


def test_a_bound_list_of_relationships_is_walked_in_order():
    store = graph_of("0-R->1 1-R->2")
    first = op.Match(op.Unit(), QueryGraph(nodes("a", "b", "c"), (edge("r", "a", "b"), edge("s", "b", "c"))))

    def walked(items, mode=DIFFERENT, **more):
        listed = op.Project(first, (("rs", x.ListOf(tuple(map(x.Variable, items)))),))
        graph = QueryGraph(
            nodes("u", "v"), (edge("rs", "u", "v", bound=True, **{"hops": (1, None), **more}),), mode=mode
        )
        return [[n["k"] for n in row] for row in match(store, graph, source=listed)]

    assert walked(["r", "s"]) == [[0, 2]]
    assert walked(["s", "r"]) == []
    assert walked(["s", "r"], direction=IN) == [[2, 0]]
    assert sorted(walked(["r"], direction=BOTH)) == [[0, 1], [1, 0]]
    assert walked(["r", "s"], hops=(3, None)) == []
    assert walked(["r", "r"], direction=BOTH) == []
    assert sorted(walked(["r", "r"], MatchMode.REPEATABLE_ELEMENTS, direction=BOTH)) == [[0, 0], [1, 1]]
    assert walked(["r", "s"], predicates=(call("=", k("rs"), lit(0)),)) == []


def test_path_values():
    store = graph_of("0-R->1 2-R->1")
    graph = QueryGraph(
        nodes("a", "b"),
        (edge("r", "a", "b", direction=BOTH, hops=(2, 2)),),
        (PatternPath("p", ("a", "r", "b")),),
        (call("=", k("a"), lit(0)),),
    )
    ((_, _, relationships, path),) = match(store, graph)
    assert [node["k"] for node in path.nodes] == [0, 1, 2]
    assert path.relationships == tuple(relationships)
    assert isinstance(path, Path) and all(isinstance(r, Relationship) for r in relationships)
    lonely = QueryGraph(nodes("a"), (), (PatternPath("p", ("a",)),))
    assert [len(path) for _, path in match(graph_of("0"), lonely)] == [0]
    missing = op.Match(op.Unit(), QueryGraph((PatternNode("a", LabelIs("None")),), ()), optional=True)
    path = op.Project(missing, (("p", x.PathOf(("a",))),))
    assert rows_of(path, store, ["p"]) == [(None,)]


# ---------------------------------------------------------------- shortest paths


def shortest_walks(store, selector, mode=DIFFERENT, **more):
    hops = more.pop("hops", (1, None))
    graph = QueryGraph(
        nodes("a", "b"),
        (edge("r", "a", "b", hops=hops, **more),),
        (PatternPath(None, ("a", "r", "b"), selector),),
        mode=mode,
    )
    found = {}
    for a, b, r in match(store, graph):
        found.setdefault((a["k"], b["k"]), []).append([e["k"] for e in r])
    return found


def test_shortest_paths():
    store = graph_of("0-R->1 1-R->3 0-R->2 2-R->3 0-R->4 4-R->5 5-R->3")
    every = shortest_walks(store, ALL_SHORTEST)
    assert sorted(every[0, 3]) == [[0, 1], [2, 3]]
    assert (3, 0) not in every and (0, 0) not in every
    one = shortest_walks(store, ANY_SHORTEST)
    assert one.keys() == every.keys()
    assert all(len(walks) == 1 and len(walks[0]) == len(every[ends][0]) for ends, walks in one.items())
    longer = shortest_walks(store, ALL_SHORTEST, hops=(3, None))
    assert longer == {(0, 3): [[4, 5, 6]]}
    assert (0, 3) not in shortest_walks(store, ALL_SHORTEST, hops=(1, 1))
    zero = shortest_walks(store, ALL_SHORTEST, hops=(0, None))
    assert zero[0, 0] == [[]] and zero[0, 1] == [[0]]


def test_shortest_paths_obey_the_predicates_of_hops():
    store = graph_of("0-R->1 0-R->2 2-R->1")
    predicate = call("<>", k("r"), lit(0))
    assert shortest_walks(store, ALL_SHORTEST, predicates=(predicate,))[0, 1] == [[1, 2]]


def test_the_shortest_way_back_repeats_no_relationship():
    store = graph_of("0-R->1 1-R->2 2-R->0 3-R->0")
    assert shortest_walks(store, ALL_SHORTEST)[0, 0] == [[0, 1, 2]]
    undirected = shortest_walks(store, ALL_SHORTEST, direction=BOTH)
    assert sorted(undirected[0, 0]) == [[0, 1, 2], [2, 1, 0]]
    assert (3, 3) not in undirected
    walks = shortest_walks(store, ALL_SHORTEST, MatchMode.REPEATABLE_ELEMENTS, direction=BOTH)
    assert walks[3, 3] == [[3, 3]]


def test_more_shortest_paths():
    store = graph_of("0-R->1 1-R->3 0-R->2 2-R->3 0-R->4 4-R->5 5-R->3")
    assert sorted(shortest_walks(store, PathSelector(2))[0, 3]) == [[0, 1], [2, 3]]
    assert sorted(map(len, shortest_walks(store, PathSelector(3))[0, 3])) == [2, 2, 3]
    assert len(shortest_walks(store, PathSelector(9))[0, 3]) == 3
    assert len(shortest_walks(store, PathSelector(2, groups=True))[0, 3]) == 3
    repeated = shortest_walks(graph_of("0-R->1 1-R->0"), PathSelector(2), MatchMode.REPEATABLE_ELEMENTS)
    assert repeated[0, 1] == [[0], [0, 1, 0]]


def test_shortest_paths_are_the_shortest_of_all_walks():
    for seed in range(60):
        chance = random.Random(seed)
        labels, edges = tiny_graph(chance, chance.randint(1, 4), chance.randint(0, 7))
        store = store_of(labels, edges)
        more = {"hops": (chance.randint(0, 2), chance.choice([None, 3])), "direction": chance.choice([OUT, BOTH])}
        every = {}
        for a, b, r in match(store, QueryGraph(nodes("a", "b"), (edge("r", "a", "b", **more),))):
            every.setdefault((a["k"], b["k"]), []).append([e["k"] for e in r])
        for count in (1, 2):
            expected = {}
            for ends, walks in every.items():
                least = sorted(set(map(len, walks)))[:count]
                expected[ends] = sorted(walk for walk in walks if len(walk) in least)
            found = shortest_walks(store, PathSelector(count, groups=True), **more)
            assert {ends: sorted(walks) for ends, walks in found.items()} == expected, f"seed {seed}"


# ---------------------------------------------------------------- rows


def numbers(*values):
    return op.Unwind(op.Unit(), lit(list(values)), "x")


X = x.Variable("x")
EMPTY = from_records([])


def test_unwind():
    assert rows_of(numbers(1, None, "a"), EMPTY, ["x"]) == [(1,), (None,), ("a",)]
    assert rows_of(op.Unwind(op.Unit(), lit(None), "x"), EMPTY, ["x"]) == []
    assert rows_of(op.Unwind(op.Unit(), lit(1), "x"), EMPTY, ["x"]) == [(1,)]


def test_sort_is_stable_and_nulls_are_greatest():
    pairs = op.Unwind(numbers(2, None, 1, 2.0), lit(["b", "a"]), "y")
    by_x = op.Sort(pairs, (op.SortKey(X, False), op.SortKey(lit(1))))
    assert rows_of(by_x, EMPTY, ["x", "y"]) == [
        (None, "b"), (None, "a"), (2, "b"), (2, "a"), (2.0, "b"), (2.0, "a"), (1, "b"), (1, "a"),
    ]  # fmt: skip
    two = op.Sort(pairs, (op.SortKey(X), op.SortKey(x.Variable("y"))), x.Parameter("n"))
    assert rows_of(two, EMPTY, ["x", "y"], {"n": 3}) == [(1, "a"), (1, "b"), (2, "a")]


def test_skip_and_limit():
    source = numbers(1, 2, 3, 4)
    assert rows_of(op.Limit(op.Skip(source, lit(1)), lit(2)), EMPTY, ["x"]) == [(2,), (3,)]
    assert rows_of(op.Limit(source, lit(0)), EMPTY, ["x"]) == []
    for bad, code in [(-1, "NegativeIntegerArgument"), (1.5, "InvalidArgumentType"), (None, "InvalidArgumentType")]:
        for clause in (op.Limit, op.Skip):
            with pytest.raises(ExecutionError) as caught:
                rows_of(clause(source, lit(bad)), EMPTY, ["x"])
            assert caught.value.code == code


def test_limit_stops_its_input():
    failing = op.Project(numbers(1, 0), (("x", call("/", lit(1), X)),))
    assert rows_of(op.Limit(failing, lit(1)), EMPTY, ["x"]) == [(1,)]
    with pytest.raises(ExecutionError, match="zero"):
        rows_of(op.Limit(failing, lit(2)), EMPTY, ["x"])


def test_distinct_and_union():
    source = numbers(1, 1.0, None, None, True)
    assert rows_of(op.Distinct(source), EMPTY, ["x"]) == [(1,), (None,), (True,)]
    assert rows_of(op.Union((source, numbers(1, 2)), all=False), EMPTY, ["x"]) == [(1,), (None,), (True,), (2,)]
    assert len(rows_of(op.Union((source, numbers(1, 2)), all=True), EMPTY, ["x"])) == 7


def test_aggregation():
    total = (("n", x.AggregateCall("count", ())), ("s", x.AggregateCall("sum", (X,))))
    assert rows_of(op.Aggregate(numbers(), (), total), EMPTY, ["n", "s"]) == [(0, 0)]
    assert rows_of(op.Aggregate(numbers(), (("x", X),), total), EMPTY, ["x", "n"]) == []
    grouped = op.Aggregate(numbers(1, 2, 1.0, None, None), (("x", X),), total)
    assert rows_of(grouped, EMPTY, ["x", "n", "s"]) == [(1, 2, 2.0), (2, 1, 2), (None, 2, 0)]
    weighted = op.Aggregate(numbers(2, 3), (), total, weight="x")
    assert rows_of(weighted, EMPTY, ["n", "s"]) == [(5, 13)]


def test_filter_takes_only_true():
    kept = op.Filter(numbers(1, None, 3), call(">", X, lit(2)))
    assert rows_of(kept, EMPTY, ["x"]) == [(3,)]


def test_optional_match():
    store = graph_of("0-R->1")
    every = op.Match(op.Unit(), QueryGraph(nodes("a"), ()))
    graph = QueryGraph((PatternNode("a", bound=True), PatternNode("b")), (edge("r", "a", "b"),))
    root = op.Match(every, graph, optional=True)
    found = rows_of(root, store, ["a", "b", "r"])
    assert [(a["k"], b and b["k"], r and r["k"]) for a, b, r in found] == [(0, 1, 0), (1, None, None)]


def test_subqueries_run_once_a_row():
    store = graph_of("0-R->1 0-R->2 1-R->2")
    graph = QueryGraph((PatternNode("a", bound=True), PatternNode("b")), (edge("r", "a", "b"),))
    inner = op.Match(op.Argument(("a",)), graph)
    listed = op.Project(inner, (("v", k("b")),))
    items = (
        ("k", k("a")),
        ("exists", x.Subquery("exists", inner, ("a",))),
        ("count", x.Subquery("count", inner, ("a",))),
        ("list", x.Subquery("collect", op.Sort(listed, (op.SortKey(x.Variable("v")),)), ("a",))),
    )
    root = op.Project(op.Match(op.Unit(), QueryGraph(nodes("a"), ())), items)
    assert sorted(rows_of(root, store, ["k", "exists", "count", "list"])) == [
        (0, True, 2, [1, 2]), (1, True, 1, [2]), (2, False, 0, []),
    ]  # fmt: skip


def test_a_timeout_stops_the_search():
    store = graph_of(" ".join(f"{i}-R->{j}" for i in range(9) for j in range(9) if i != j))
    graph = QueryGraph(nodes("a", "b"), (edge("r", "a", "b", hops=(1, None)),))
    plan = op.LogicalPlan(op.Aggregate(op.Match(op.Unit(), graph), (), (("n", x.AggregateCall("count", ())),)), ("n",))
    with pytest.raises(QueryTimeout):
        list(run(plan, store, ExecutionContext(timeout=0.05)))
