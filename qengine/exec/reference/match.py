"""One ``MATCH``: all embeddings of a query graph, by backtracking over its elements one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any, NamedTuple

from qengine.exec.reference.graph import Edge, Finder, WalkedGraph
from qengine.exec.reference.repetitions import chain_paths, repetitions, selected_paths
from qengine.exec.reference.walks import Hop, Walk, follow, shortest, walks
from qengine.exec.scalar.environment import Environment, Row
from qengine.exec.scalar.evaluate import compile_predicate
from qengine.exec.scalar.paths import compile_path
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle, wrong_argument
from qengine.plan.expr import Expr
from qengine.plan.fallible import condition_can_fail
from qengine.plan.pattern import Chain, MatchMode, PathMode, PathSelector, PatternNode, PatternRelationship, QueryGraph
from qengine.plan.traverse import conjunction


class _State(NamedTuple):
    """A partial embedding: the row so far, and which edges and vertices its elements take."""

    row: dict[str, Any]
    edges: frozenset[int] = frozenset()
    vertices: frozenset[int] = frozenset()


def _twice(items: Sequence[Any]) -> bool:
    return len(set(items)) < len(items)


_REPEATS: dict[PathMode, Callable[[Any], bool]] = {
    PathMode.TRAIL: lambda path: _twice(path.relationships),
    PathMode.ACYCLIC: lambda path: _twice(path.nodes),
    PathMode.SIMPLE: lambda path: _twice(path.nodes[1:]) or _twice(path.nodes[:-1]),
}
"""Whether a path repeats what its mode forbids."""

_Step = Callable[[_State], Iterator[_State]]


class Matcher:
    """Finds the embeddings of one query graph for one input row after another.

    Nodes and relationships are bound in the order written, but a relationship waits until one of its ends is bound.
    Predicates over several variables are checked when all is bound.
    """

    def __init__(self, pattern: QueryGraph, graph: WalkedGraph, env: Environment, check: Callable[[], None]) -> None:
        self._graph = graph
        self._env = env
        self._check = check
        self._mode = pattern.mode
        self._parts = pattern.parts
        self._nodes = {node.name: node for node in pattern.nodes}
        self._admits = {node.name: self._node_test(node) for node in pattern.nodes}
        self._selectors = {path.elements[1]: path.selector for path in pattern.paths if len(path.elements) > 1}
        self._trails = {name for path in pattern.paths if path.mode is not None for name in path.elements[1::2]}
        self._path_modes = {name: path.mode for path in pattern.paths if path.mode for name in path.elements[1::2]}
        self._unbound = frozenset(pattern.variables())
        self._joint = pattern.predicates
        self._steps = self._plan(pattern)
        self._predicates = [compile_predicate(each, env) for each in pattern.predicates if not condition_can_fail(each)]
        late = tuple(filter(condition_can_fail, pattern.predicates))
        if late:  # asked where all others are true
            self._predicates.append(compile_predicate(conjunction(late), env))
        self._modes = [
            (compile_path(path.elements, env), _REPEATS[path.mode]) for path in pattern.paths if path.mode is not None
        ]
        self._paths = [(path.name, compile_path(path.elements, env)) for path in pattern.paths if path.name]

    def embeddings(self, row: Row) -> Iterator[dict[str, Any]]:
        """Give ``row`` with the pattern's variables added, once for each embedding."""
        self._check()
        for state in self._states(_State(dict(row))):
            self._check()
            found = state.row
            for name, path in self._paths:
                found[name] = path(found)
            if self._modes and any(repeats(path(found)) for path, repeats in self._modes):
                continue
            if not self._predicates or all(predicate(found) for predicate in self._predicates):
                yield found

    def _states(self, begin: _State) -> Iterable[_State]:
        """Give the states in which every element is bound."""
        if len(self._steps) > 1:
            return self._extend(0, begin)
        return self._steps[0](begin) if self._steps else (begin,)

    def _extend(self, depth: int, state: _State) -> Iterator[_State]:
        below = depth + 2 < len(self._steps)
        following = self._steps[depth + 1]
        for extended in self._steps[depth](state):
            self._check()
            yield from self._extend(depth + 1, extended) if below else following(extended)

    # -- order -------------------------------------------------------------------------------------------------

    def _plan(self, pattern: QueryGraph) -> list[_Step]:
        """Return the steps: bound nodes first, then relationships that touch what is bound, else a new node."""
        steps: list[_Step] = []
        known: set[str] = set()

        def bind(name: str) -> None:
            if name not in known:
                steps.append(self._node_step(self._nodes[name], self._unbound - known))
                known.add(name)

        for node in pattern.nodes:
            if node.bound:
                bind(node.name)
        waiting = list(pattern.relationships)
        while waiting:
            touching = [edge for edge in waiting if edge.start in known or edge.end in known]
            if not touching:
                unknown = self._unbound - known
                ends = dict.fromkeys(end for edge in waiting for end in (edge.start, edge.end))
                bind(min(ends, key=lambda name: self._finder(self._nodes[name], unknown).share))
                continue
            edge = touching[0]
            waiting.remove(edge)
            selector = self._selectors.get(edge.name)
            if selector is None:
                steps.append(self._relationship_step(edge, forward=edge.start in known))
                known |= {edge.start, edge.end}
            else:
                bind(edge.start)
                bind(edge.end)
                steps.append(self._shortest_step(edge, selector))
        for node in pattern.nodes:
            bind(node.name)
        return steps

    def _rivals(self, taken: frozenset[int], name: str, row: Row) -> frozenset[int]:
        """Return the ``taken`` edges or vertices that the element must differ from: with parts, those in its own."""
        if not self._parts:
            return taken
        others = frozenset().union(*(part for part in self._parts if name in part))
        kind = NodeHandle if name in self._nodes else RelationshipHandle
        return frozenset(row[other].id for other in others if other in row and type(row[other]) is kind)

    # -- nodes -------------------------------------------------------------------------------------------------

    def _node_test(self, node: PatternNode, settled: Expr | None = None) -> Callable[[int], bool]:
        """Return what tells whether a vertex satisfies a node; ``settled``: the predicate that is known to hold."""
        name, labels, labels_of = node.name, node.labels, self._env.labels
        predicates = [compile_predicate(each, self._env) for each in node.predicates if each is not settled]

        def admits(vertex: int) -> bool:
            if labels is not None and not labels.admits(labels_of(vertex)):
                return False
            row = {name: NodeHandle(vertex)}
            for predicate in predicates:  # noqa: SIM110 - asked of every candidate: all() takes as long again
                if not predicate(row):
                    return False
            return True

        return admits

    def _finder(self, node: PatternNode, unknown: Set[str]) -> Finder:
        return self._graph.finder(node, self._joint, unknown, self._env)

    def _node_step(self, node: PatternNode, unknown: Set[str]) -> _Step:
        name, admits = node.name, self._admits[node.name]

        def given(state: _State) -> Iterator[_State]:
            value = state.row[name]
            if type(value) is NodeHandle:
                is_there = self._graph.has_vertex(value.id)  # one that was deleted isn't in the graph any more
                taken = self._with_node(state, name, value.id, admits) if is_there else None
                if taken is not None:
                    yield taken
            elif value is not None:
                raise wrong_argument(f"The pattern's node {name}", "a node", value)

        if node.bound:
            return given
        finder = self._finder(node, unknown)
        find, unsettled = finder.find, self._node_test(node, finder.settles)

        def scan(state: _State) -> Iterator[_State]:
            for vertex in find(state.row):
                taken = self._with_node(state, name, vertex, unsettled)
                if taken is not None:
                    yield taken

        return scan

    def _with_node(self, state: _State, name: str, vertex: int, admits: Callable[[int], bool]) -> _State | None:
        """Return the state with a node bound to a vertex, None where it doesn't satisfy the node or is taken."""
        if self._mode is MatchMode.DIFFERENT_NODES and vertex in self._rivals(state.vertices, name, state.row):
            return None
        if not admits(vertex):
            return None
        return _State({**state.row, name: NodeHandle(vertex)}, state.edges, state.vertices | {vertex})

    # -- relationships -----------------------------------------------------------------------------------------

    def _hop(self, edge: PatternRelationship) -> Hop:
        predicates = [compile_predicate(predicate, self._env) for predicate in edge.predicates]

        def admits(candidate: Edge) -> bool:
            row = {edge.name: RelationshipHandle(candidate.id)}
            return all(predicate(row) for predicate in predicates)

        inner = [compile_predicate(predicate, self._env) for predicate in edge.inner]

        def passes(vertex: int) -> bool:
            return all(predicate({edge.name: NodeHandle(vertex)}) for predicate in inner)

        minimum, maximum = (1, 1) if edge.hops is None else edge.hops
        trail = self._is_trail(edge)
        return Hop(edge.direction, self._graph.types(edge.types), admits, passes, minimum, maximum, trail)

    def _relationship_step(self, edge: PatternRelationship, *, forward: bool) -> _Step:
        """Walk from the end that is bound to the other: forward from ``edge.start``, else from ``edge.end``."""
        if edge.repetition is not None:
            return self._repetition_step(edge, forward=forward)
        hop = self._hop(edge) if forward else self._hop(edge).reversed()
        near, far = (edge.start, edge.end) if forward else (edge.end, edge.start)
        single = edge.hops is None

        def step(state: _State) -> Iterator[_State]:
            vertex = state.row[near].id
            if edge.bound:
                found = self._given_walk(edge, state.row[edge.name], vertex, hop, forward=forward)
            else:
                other = state.row.get(far)
                end = other.id if single and type(other) is NodeHandle else None
                found = walks(self._graph, vertex, hop, self._check, end)
            for walk in found:
                yield from self._take_walk(state, edge, walk, near=near, far=far)

        return step

    def _repetition_step(self, edge: PatternRelationship, *, forward: bool) -> _Step:
        """Walk along a quantified path from the end that is bound to the other."""
        near, far = (edge.start, edge.end) if forward else (edge.end, edge.start)
        found = repetitions(edge, self._graph, self._embeddings, forward=forward, trail=self._is_trail(edge))

        def step(state: _State) -> Iterator[_State]:
            for walk in found(state.row[near].id):
                yield from self._take_walk(state, edge, walk, near=near, far=far)

        return step

    def _chain_step(self, edge: PatternRelationship, chain: Chain, selector: PathSelector) -> _Step:
        """Take the shortest of all the paths along a chain between the two ends, which are both bound."""
        find = chain_paths(edge, chain, self._path_modes.get(edge.name), self._embeddings, self._predicate)
        nonempty = self._mode is MatchMode.DIFFERENT_NODES and edge.start != edge.end

        def step(state: _State) -> Iterator[_State]:
            start, end = state.row[edge.start].id, state.row[edge.end].id
            every = find(start, end)
            for path in selected_paths([each for each in every if each.edges or not nonempty], selector):
                walk = Walk((), ())
                for handle in path.edges:
                    here, taken = walk.end(start), self._graph.edge(handle.id)
                    walk = walk.then(taken, taken.end if taken.start == here else taken.start)
                for found in self._take_walk(state, edge, walk, near=edge.start, far=edge.end):
                    yield found._replace(row={**found.row, chain.bounds: list(path.bounds)})

        return step

    def _is_trail(self, edge: PatternRelationship) -> bool:
        return self._mode is not MatchMode.REPEATABLE_ELEMENTS or edge.name in self._trails

    def _predicate(self, condition: Expr) -> Callable[[dict[str, Any]], bool]:
        return compile_predicate(condition, self._env)

    def _embeddings(self, graph: QueryGraph) -> Callable[[dict[str, Any]], Iterator[dict[str, Any]]]:
        """Return what matches a query graph inside this one."""
        return Matcher(graph, self._graph, self._env, self._check).embeddings

    def _shortest_step(self, edge: PatternRelationship, selector: PathSelector) -> _Step:
        """Walk the shortest ways between the two ends, which are both bound."""
        if edge.chain is not None:
            return self._chain_step(edge, edge.chain, selector)
        hop = self._hop(edge)

        def step(state: _State) -> Iterator[_State]:
            start, end = state.row[edge.start].id, state.row[edge.end].id
            for walk in shortest(self._graph, start, end, hop, selector, self._check):
                yield from self._take_walk(state, edge, walk, near=edge.start, far=edge.end)

        return step

    def _given_walk(
        self, edge: PatternRelationship, value: Any, vertex: int, hop: Hop, *, forward: bool
    ) -> Iterator[Walk]:
        """Give the walk along a bound relationship, or bound list of them, if it is one from ``vertex``."""
        if value is None:
            return
        handles = [value] if edge.hops is None else value
        if type(handles) is not list or not all(type(handle) is RelationshipHandle for handle in handles):
            what = "a relationship" if edge.hops is None else "a list of relationships"
            raise wrong_argument(f"The pattern's relationship {edge.name}", what, value)
        edges = [self._graph.edge(handle.id) for handle in handles]
        walk = follow(self._graph, vertex, hop, edges if forward else edges[::-1])
        if walk is not None:
            yield walk

    def _take_walk(
        self, state: _State, edge: PatternRelationship, walk: Walk, *, near: str, far: str
    ) -> Iterator[_State]:
        """Give the state with a walk's edges bound, and its last vertex to the node ``far`` where that is new."""
        start = state.row[near].id
        end = walk.end(start)
        ids = [step.id for step in walk.edges]
        taken_edges = self._rivals(state.edges, edge.name, state.row)
        if self._mode is not MatchMode.REPEATABLE_ELEMENTS and not taken_edges.isdisjoint(ids):
            return
        inner = walk.vertices[:-1]
        if self._mode is MatchMode.DIFFERENT_NODES:
            others = {*inner} - state.vertices - {end}
            if len(others) < len(inner):
                return
        handles = [RelationshipHandle(id) for id in (ids if near == edge.start else ids[::-1])]
        row = {**state.row, edge.name: handles[0] if edge.hops is None else handles}
        taken = _State(row, state.edges.union(ids), state.vertices.union(inner))
        if far not in state.row:
            reached = self._with_node(taken, far, end, self._admits[far])
            if reached is not None:
                yield reached
        elif state.row[far] == NodeHandle(end):
            yield taken
