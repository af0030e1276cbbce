"""Versions made by commits are the graphs that plain dictionaries say, for queries, too, and when saved and opened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qengine.errors import ExecutionError
from qengine.graph import Graph
from qengine.plan.pattern import Direction
from qengine.storage import GraphStore, node_layout, open_saved, save, spliced_type
from qengine.storage.numbers import Identity, NumberList, Numbers
from qengine.storage.states import Commit, NodeBlock, NodeState, Patch, RelationshipBlock, RelationshipState
from qengine.storage.successor import Successors, successor
from qengine.storage.variant import from_python
from qengine.temporal import Date, Duration, LocalDateTime
from qengine.testing.compare import difference
from qengine.testing.expand import expand
from qengine.testing.random_graph import RandomGraph
from qengine.testing.random_graph import random_graph as any_graph
from qengine.testing.random_query import random_query
from qengine.types import Kind
from qengine.write import merged_commits
from qengine.write.merged_commits import merged
from qengine.write.pending import History
from tests.examples import examples

LABELS = ("A", "B", "C", "D")
VALUES = (
    0, 1, 2**53 + 1, -1, 0.5, 1.0, -0.0, 0.0, "a", "", "ä", True, False, [], [1], [0, 2], ["x"], [True], [1.5],
    Date.from_days(20_000), Duration(1, 0, 0), Duration(0, 0, 1_500), LocalDateTime(2000, 1, 2, 3, 4, 5),
    LocalDateTime(2000, 1, 2, 3, 4, 5, 7),
)  # fmt: skip
QUERIES = (
    "MATCH (n) RETURN n, id(n) AS i, elementId(n) AS e, labels(n) AS l, properties(n) AS p",
    "MATCH ()-[r]->() RETURN r, id(r) AS i, elementId(r) AS e, startNode(r) AS s, endNode(r) AS t, type(r) AS y",
    "MATCH (n) WHERE id(n) % 2 = 1 RETURN collect(n) AS l",
    "MATCH (a)-[r]-(b) WHERE id(r) > 2 RETURN id(a) AS a, r, {b: b} AS m",
    "MATCH (a:A)-[r]->(b) RETURN a.k AS a, type(r) AS t, count(*) AS n, max(elementId(b)) AS m",
    "MATCH (a:A)-[r]-(b:B|C) RETURN count(*) AS n",
    "MATCH p = (a)-[*1..2]->(b) RETURN p",
    "MATCH (a)-[r]->(b)-[s]->(a) RETURN count(*) AS n, count(DISTINCT id(r)) AS d",
    "MATCH (n) WHERE n.x = 1 OR n.x = 'a' RETURN n.x AS x, n.k AS k",
    "MATCH ()-[r:R|S]->() WHERE r.x IS NOT NULL RETURN r.x AS x, r.k AS k",
    "MATCH (n) RETURN n.x AS x, count(*) AS c",
    "MATCH (n:A&!B) OPTIONAL MATCH (n)-[r:T]->(m) RETURN n, m, r",
)


@dataclass
class Model:
    """A graph as dictionaries by number."""

    nodes: dict[int, NodeState]
    relationships: dict[int, RelationshipState]
    undirected: tuple[str, ...]
    next_node: int
    next_relationship: int

    @classmethod
    def of(cls, store, undirected):
        nodes = {
            node.id: NodeState(node.labels, dict(node.properties)) for node in store.nodes(range(store.vertex_count))
        }
        edges = {
            each.id: RelationshipState(each.type, each.start, each.end, dict(each.properties))
            for each in store.relationships(range(store.relationship_count))
        }
        return cls(nodes, edges, undirected, len(nodes), len(edges))

    def commit(self, chance) -> Commit:
        """Change something at random, and return it."""
        nodes, relationships = {}, {}
        kinds = chance.sample(["add", "join", "cut", "set", "label", "delete"], chance.randint(1, 3))
        for kind in ("add", "join", "set", "label", "cut", "delete"):
            for _ in range(chance.randint(1, 3) if kind in kinds else 0):
                getattr(self, f"_{kind}")(chance, nodes, relationships)
        return Commit(nodes, relationships, self.next_node, self.next_relationship)

    def _add(self, chance, nodes, relationships):
        number = self.next_node = self.next_node + chance.choice([0, 0, 0, 3])
        self.next_node += 1
        labels = tuple(chance.sample(LABELS, chance.choice([0, 1, 1, 2])))
        self._put(nodes, number, NodeState(labels, {"k": 1000 + number, **self._some(chance)}))

    def _some(self, chance):
        return {key: chance.choice(VALUES) for key in "xm" if chance.random() < 0.5}

    def _put(self, nodes, number, state):
        nodes[number] = self.nodes[number] = state

    def _join(self, chance, nodes, relationships):
        if not self.nodes:
            return
        start, end = chance.choice(list(self.nodes)), chance.choice(list(self.nodes))
        if self.relationships and chance.random() < 0.3:
            like = chance.choice(list(self.relationships.values()))
            start, end = like.start, like.end
        number = self.next_relationship
        self.next_relationship += 1
        properties = {"k": 1000 + number, **self._some(chance)}
        state = RelationshipState(chance.choice("RSUT"), start, end, properties)
        relationships[number] = self.relationships[number] = state

    def _set(self, chance, nodes, relationships):
        states, touched = chance.choice([(self.nodes, nodes), (self.relationships, relationships)])
        if not states:
            return
        number = chance.choice(list(states))
        properties = dict(states[number].properties)
        for key in chance.sample(("x", "y", "m"), chance.randint(1, 2)):
            properties.pop(key, None)
            if chance.random() < 0.7:
                properties[key] = chance.choice(VALUES)
        old = states[number]
        new = (
            NodeState(old.labels, properties)
            if isinstance(old, NodeState)
            else RelationshipState(old.type, old.start, old.end, properties)
        )
        touched[number] = states[number] = new

    def _label(self, chance, nodes, relationships):
        if self.nodes:
            number = chance.choice(list(self.nodes))
            labels = tuple(chance.sample(LABELS, chance.randint(0, 2)))
            self._put(nodes, number, NodeState(labels, self.nodes[number].properties))

    def _cut(self, chance, nodes, relationships):
        if self.relationships:
            number = chance.choice(list(self.relationships))
            del self.relationships[number]
            relationships[number] = None

    def _delete(self, chance, nodes, relationships):
        if not self.nodes:
            return
        number = chance.choice(list(self.nodes))
        for other, each in list(self.relationships.items()):
            if number in (each.start, each.end):
                del self.relationships[other]
                relationships[other] = None
        del self.nodes[number]
        nodes[number] = None

    def graph(self) -> RandomGraph:
        """Return the graph as loaders take it."""
        nodes = [
            {"id": number, "labels": each.labels, "properties": each.properties} for number, each in self.nodes.items()
        ]
        edges = [
            {"type": each.type, "start": each.start, "end": each.end, "properties": each.properties}
            for each in self.relationships.values()
        ]
        return RandomGraph(tuple(nodes), tuple(edges), self.undirected)

    def loaded(self, labels) -> GraphStore:
        """Return the graph loaded anew, with the same numbers, labels in a given order."""
        store = self.graph().store()
        assert set(store.labels) == set(labels)
        store.labels = labels
        nodes = _numbers(self.nodes, store.nodes(range(store.vertex_count)))
        edges = _numbers(self.relationships, store.relationships(range(store.relationship_count)))
        runs = (Numbers([NumberList(lambda: nodes, len(nodes))]), Numbers([NumberList(lambda: edges, len(edges))]))
        store.identity = Identity(*runs, self.next_node, self.next_relationship)
        return store


def _numbers(states, elements):
    """Return the numbers of loaded elements; each has a ``k`` of its own."""
    by_key = {state.properties["k"]: number for number, state in states.items()}
    return np.array([by_key[element["k"]] for element in elements], np.int64)


def in_blocks(commit, before, chance):
    """The same commit, with some of its new elements in blocks, some of which it says more of."""
    nodes, relationships = dict(commit.nodes), dict(commit.relationships)
    blocks = {NodeState: [], RelationshipState: []}
    for states, first in ((nodes, before.next_node), (relationships, before.next_relationship)):
        for number, state in sorted(states.items()):
            if state is None or number < first or chance.random() < 0.2:
                continue
            blocks[type(state)].append((number, state))
            if chance.random() < 0.7:
                del states[number]
    return replace(
        commit,
        nodes=nodes,
        relationships=relationships,
        node_blocks=tuple(_node_block(run) for run in _runs(blocks[NodeState], lambda state: state.labels)),
        relationship_blocks=tuple(
            _relationship_block(run) for run in _runs(blocks[RelationshipState], lambda state: state.type)
        ),
    )


def _runs(elements, kind):
    """Consecutive elements of the same kind."""
    runs = []
    for number, state in elements:
        last = runs[-1][-1] if runs else None
        if last is not None and last[0] == number - 1 and kind(last[1]) == kind(state):
            runs[-1].append((number, state))
        else:
            runs.append([(number, state)])
    return runs


def _values(states):
    keys = dict.fromkeys(key for state in states for key in state.properties)
    return {key: [state.properties.get(key) for state in states] for key in keys}


def _node_block(run):
    states = [state for _, state in run]
    return NodeBlock(run[0][0], len(run), states[0].labels, _values(states))


def _relationship_block(run):
    states = [state for _, state in run]
    ends = (np.array([getattr(state, end) for state in states], np.int64) for end in ("start", "end"))
    return RelationshipBlock(run[0][0], len(run), states[0].type, *ends, _values(states))


def in_patches(commit, before, chance):
    """The same commit, with some of what it does to elements that there were in patches."""
    nodes, relationships = dict(commit.nodes), dict(commit.relationships)
    return replace(
        commit,
        nodes=nodes,
        relationships=relationships,
        node_patches=_patches(nodes, before.nodes, chance),
        relationship_patches=_patches(relationships, before.relationships, chance),
    )


def _patches(states, before, chance):
    deleted, labels, columns, wrong = [], {}, {}, []
    for number, state in sorted(states.items()):
        old = before.get(number)
        if old is None or chance.random() < 0.2:
            continue
        if chance.random() < 0.3:
            wrong.append(number)  # what is said of the element itself is what holds
            continue
        del states[number]
        if state is None:
            deleted.append(number)
            continue
        if isinstance(state, NodeState):
            changes = (
                tuple(set(one) - set(other)) for one, other in ((state.labels, old.labels), (old.labels, state.labels))
            )
            labels.setdefault(tuple(changes), []).append(number)
        elif (state.type, state.start, state.end) != (old.type, old.start, old.end):
            states[number] = state
            continue
        for key in {**old.properties, **state.properties}:
            value = state.properties.get(key)
            if repr(value) != repr(old.properties.get(key)):
                columns.setdefault(key, {})[number] = value
    of_nodes = any(isinstance(each, NodeState) for each in before.values())
    found = [Patch(_sorted_numbers(numbers), {}, *changes) for changes, numbers in labels.items()]
    for key, values in columns.items():
        numbers = _sorted_numbers(values)
        found.append(Patch(numbers, {key: from_python(["overwritten"] * len(values), "")}))
        found.append(Patch(numbers, {key: from_python(list(values.values()), "")}))
    if wrong:
        found.append(Patch(_sorted_numbers(wrong), {"wrong": from_python([1] * len(wrong), "")}, ("B",) * of_nodes))
        found.append(Patch(_sorted_numbers(wrong), deleted=True))
    if deleted:
        more = tuple(number for number in deleted if chance.random() < 0.5)
        found.insert(0, Patch(_sorted_numbers(more), {"x": from_python([1] * len(more), "")}, ("C",) * of_nodes))
        found.append(Patch(_sorted_numbers(deleted), deleted=True))
    return tuple(found)


def _sorted_numbers(numbers):
    return np.array(sorted(numbers), np.int64)


def exact(state):
    """Tell 1, 1.0 and True apart; labels have no order."""
    labels = frozenset(state.labels) if isinstance(state, NodeState) else (state.type, state.start, state.end)
    return labels, frozenset((key, repr(value)) for key, value in state.properties.items())


def check(store, model):
    """Compare a version with the model, element by element, and its lists with each other."""
    found = Model.of(store, model.undirected)
    assert {number: exact(each) for number, each in found.nodes.items()} == {
        number: exact(each) for number, each in model.nodes.items()
    }
    assert {number: exact(each) for number, each in found.relationships.items()} == {
        number: exact(each) for number, each in model.relationships.items()
    }
    assert (store.next_node, store.next_relationship) == (model.next_node, model.next_relationship)
    for numbers, count in (
        (store.node_numbers, store.vertex_count),
        (store.relationship_numbers, store.relationship_count),
    ):
        assert numbers.places(numbers.of(np.arange(count))).tolist() == list(range(count))
        assert numbers.places([-1, 2**40]).tolist() == [-1, -1]
    for edge_type in store.types:
        assert edge_type.undirected == (edge_type.name in model.undirected)
        edges = [
            (each.id, each.start, each.end)
            for each in store.relationships(range(edge_type.base, edge_type.base + edge_type.count))
        ]
        pairs = [frozenset(each[1:]) if edge_type.undirected else each[1:] for each in edges]
        assert edge_type.parallel == (len(set(pairs)) < len(pairs))
        assert edge_type.loops == any(start == end for _, start, end in edges)
        for vertex in range(store.vertex_count):
            number = store.node_numbers.number(vertex)
            for way in (Direction.OUT, Direction.IN):
                near, far = (1, 2) if way is Direction.OUT else (2, 1)
                expected = sorted((each[far], each[0]) for each in edges if each[near] == number)
                if edge_type.undirected:
                    expected = sorted({*expected, *((each[near], each[0]) for each in edges if each[far] == number)})
                neighbours, ids = expand(store, vertex, edge_type.index, way)
                got = zip(store.node_numbers.of(neighbours), store.relationship_numbers.of(ids), strict=True)
                assert sorted((int(a), int(b)) for a, b in got) == expected


def counted(store):
    """Return what planners ask for of a graph's statistics; how many neighbours have lesser ids is left aside.

    Changes don't tell.
    """
    statistics, labels = store.statistics, (None, "A", "B")
    found = {}
    for kind in store.relationship_types:
        found[kind] = statistics.acyclic(kind), statistics.antiparallel(kind), statistics.mutual_pairs(kind)
        edges = {(kind, a, b): statistics.edges(a, kind, b) for a in labels for b in labels}
        found |= {ends: replace(each, lesser_squares=0.0, greater_squares=0.0) for ends, each in edges.items()}
        found[kind, "closed"] = statistics.closed_wedges(kind), statistics.closing_odds(kind, ("A", "B", "C"))
        between = statistics.pairs(store.type_index(kind))
        found[kind, "groups"] = {
            ends: (each.edges, each.sources, each.targets, each.max_out, each.max_in) for ends, each in between.items()
        }
    for entity, key, owner in statistics.properties():
        found[entity, key, owner] = repr(statistics.values(entity, key, owner))
    return found


def rows_of(store, text, device, parameters=MappingProxyType({})):
    try:
        result = Graph(store).query(text, dict(parameters), device=device)
        return [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in result]
    except ExecutionError as error:
        return [(error.code,)]


def random_graph(seed):
    """Return a graph whose types without direction have relationships: of others nothing is known."""
    graph = any_graph(seed)
    return replace(graph, undirected=tuple(name for name in graph.undirected if name in graph.types))


def same_answers(store, model, seed):
    """Compare what queries give with the graph loaded anew."""
    anew = model.loaded(store.labels)
    for entity in ("node", "relationship"):
        assert set(store.property_keys(entity)) == set(anew.property_keys(entity))
        for key in anew.property_keys(entity):
            kind = anew.property_type(entity, key)
            assert kind == store.property_type(entity, key) or kind.kind in (Kind.ANY, Kind.LIST)
    for text in QUERIES:
        expected = rows_of(anew, text, "reference")
        for device in ("cpu", "reference"):
            assert difference(expected, rows_of(store, text, device), lists_ordered=False) is None, text
    query = random_query(seed, model.graph())
    if query.sure:
        expected = rows_of(anew, query.text, "reference", query.parameters)
        for device in ("cpu", "reference"):
            found = rows_of(store, query.text, device, query.parameters)
            assert difference(expected, found, lists_ordered=False) is None, query.text


@pytest.fixture(params=[(32, 16), (0, 16), (0, 1), (1, 0)], ids=["built", "spliced", "merged", "both"])
def ways(request, monkeypatch):
    """How few relationships are spliced, and how many label groups are left alone."""
    few, most = request.param
    monkeypatch.setattr(spliced_type, "_FEW", few)
    monkeypatch.setattr(node_layout, "_MOST_REPEATS", most)


@settings(max_examples=examples(45), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), chance=st.randoms(use_true_random=False))
def test_versions_are_what_the_model_says(ways, seed, chance):
    graph = random_graph(seed)
    store = graph.store()
    model = Model.of(store, graph.undirected)
    for _ in range(chance.randint(1, 4)):
        before, old = store, repr(Model.of(store, graph.undirected))
        counted(before)
        commit = model.commit(chance)
        store = successor(before, commit)
        check(store, model)
        check(successor(before, in_blocks(commit, before, chance)), model)
        patched = in_patches(in_blocks(commit, before, chance), Model.of(before, graph.undirected), chance)
        check(successor(before, patched), model)
        known = counted(store)
        del store.statistics
        assert known == counted(store)
        assert repr(Model.of(before, graph.undirected)) == old
    same_answers(store, model, seed)


@settings(max_examples=examples(75), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), chance=st.randoms(use_true_random=False))
@pytest.mark.parametrize("folded", [0, 1, 1000])
def test_merged_commits_do_what_they_do_one_after_the_other(folded, seed, chance, monkeypatch):
    monkeypatch.setattr(merged_commits, "_FOLDED", folded)
    graph = random_graph(seed)
    store = above = graph.store()
    model = Model.of(store, graph.undirected)
    commits, successors = [], Successors(store)
    for _ in range(chance.randint(2, 6)):
        commit = model.commit(chance)
        commits.append(in_patches(in_blocks(commit, above, chance), Model.of(above, graph.undirected), chance))
        above = successor(above, commit)
        if len(whole := list(merged(commits))) == 1:
            check(successors.version(*whole), model)
    history = History(store, commits)
    for count in range(1, len(commits) + 1):
        version = history.version(count)
    assert {number: state and exact(state) for number, state in _walked(version, "node", model)} == {
        number: exact(state) for number, state in model.nodes.items()
    }
    assert {number: state and exact(state) for number, state in _walked(version, "relationship", model)} == {
        number: exact(state) for number, state in model.relationships.items()
    }
    for each in merged(commits):
        store = successor(store, each)
    check(store, model)


def _walked(version, what, model):
    """All elements of a version that is walked."""
    found = ((number, getattr(version, what)(number)) for number in range(getattr(model, f"next_{what}")))
    return [(number, state) for number, state in found if state is not None]


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), chance=st.randoms(use_true_random=False))
def test_a_version_is_saved_and_opened_with_its_numbers(seed, chance, tmp_path):
    graph = random_graph(seed)
    store = graph.store()
    model = Model.of(store, graph.undirected)
    for _ in range(2):
        store = successor(store, model.commit(chance))
    save(store, tmp_path / "graph")
    store = open_saved(tmp_path / "graph", verify=chance.choice(["full", "lazy"]))
    check(store, model)
    store = successor(store, model.commit(chance))
    check(store, model)
    same_answers(store, model, seed)
