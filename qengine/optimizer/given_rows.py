"""Cardinalities that the user gives: for any part of a pattern, found in it whatever its variables are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from qengine._frozen import frozen, replace
from qengine.optimizer.rules import rewritten
from qengine.optimizer.symmetry import shape_of
from qengine.plan.expr import Comparison, Expr, Variable
from qengine.plan.logical import LogicalPlan, Match, Operator
from qengine.plan.pattern import CardinalitySource, Direction, PatternNode, PatternRelationship, QueryGraph
from qengine.plan.traverse import TURNED, free_variables, operators, rewrite, rewrite_plan

_MOST = 4096  # places of one part in a pattern


@frozen
class GivenPart:
    """A pattern and how many rows it has, as its user wrote it."""

    text: str
    graph: QueryGraph
    rows: float


@frozen
class GivenRows:
    """Finds given parts in patterns: a ``CardinalitySource``."""

    parts: tuple[GivenPart, ...]

    @property
    def reason(self) -> str:
        """How EXPLAIN names the source."""
        return "given"

    def known(
        self,
        nodes: Mapping[str, PatternNode],
        relationships: Sequence[PatternRelationship],
        conditions: Sequence[Expr] = (),
    ) -> Mapping[frozenset[str], float]:
        """Return the rows of the parts of a pattern that are given, by the names of their nodes.

        ``conditions`` on two nodes are none that rows are given for.
        """
        pattern = Shapes(nodes, relationships)
        found: dict[frozenset[str], float] = {}
        for part in self.parts:
            own = {node.name: node for node in part.graph.nodes}
            for names in places(Shapes(own, part.graph.relationships), pattern):
                found[names] = part.rows
        return found

    def contradictions(self) -> Iterator[tuple[GivenPart, GivenPart]]:
        """Yield pairs of parts that are the same pattern and have different rows."""
        for one, other in combinations(self.parts, 2):
            nodes = {node.name: node for node in other.graph.nodes}
            same = len(one.graph.nodes) == len(nodes) and GivenRows((one,)).known(nodes, other.graph.relationships)
            if same and one.rows != other.rows:
                yield one, other

    def unused(self, plan: LogicalPlan) -> Iterator[GivenPart]:
        """Yield the parts that no pattern of a plan has."""
        graphs = [each.graph for each in operators(rewritten(plan.root)) if isinstance(each, Match)]
        for part in self.parts:
            alone = GivenRows((part,))
            if not any(alone.known({node.name: node for node in graph.nodes}, graph.relationships) for graph in graphs):
                yield part


def matched_part(plan: LogicalPlan) -> QueryGraph | None:
    """Return the pattern of ``MATCH … RETURN count(*)``, None where it isn't one that rows can be given for.

    That is one connected pattern of relationships of fixed length, with conditions on single variables alone.
    """
    matches = [each for each in operators(rewritten(plan.root)) if isinstance(each, Match)]
    if len(matches) != 1 or matches[0].graph.predicates or matches[0].graph.paths:
        return None
    graph = matches[0].graph
    if any(each.hops is not None for each in graph.relationships):
        return None
    reached = {graph.nodes[0].name}
    for _ in graph.nodes:
        for each in graph.relationships:
            if {each.start, each.end} & reached:
                reached |= {each.start, each.end}
    return graph if len(reached) == len(graph.nodes) else None


def with_cardinalities(plan: LogicalPlan, source: CardinalitySource) -> LogicalPlan:
    """Return a plan whose matches know of a source of cardinalities."""

    def informed(operator: Operator) -> Operator:
        if not isinstance(operator, Match):
            return operator
        hints = replace(operator.graph.hints, known=source)
        return replace(operator, graph=replace(operator.graph, hints=hints))

    return replace(plan, root=rewrite_plan(plan.root, informed))


class Shapes:
    """What of a pattern must be the same in another: the nodes' conditions, and what joins each pair of them.

    ``conditions``: comparisons of a property of one node with one of another. ``kinds``: what nodes there are.
    """

    def __init__(
        self,
        nodes: Mapping[str, PatternNode],
        relationships: Sequence[PatternRelationship],
        conditions: Sequence[Expr] = (),
    ) -> None:
        self.nodes = {name: shape_of(node) for name, node in nodes.items()}
        self.kinds = frozenset(self.nodes.values())
        self.near: dict[str, set[str]] = {name: set() for name in nodes}
        self._joined: dict[tuple[str, str], Counter[object]] = {}
        for each in relationships:
            self.near[each.start].add(each.end)
            self.near[each.end].add(each.start)
            own = tuple(rewrite(predicate, _anonymous(each.name)) for predicate in each.predicates)
            both = each.direction is Direction.BOTH
            self._joined.setdefault((each.start, each.end), Counter())[both or "out", each.types, own] += 1
            if each.start != each.end:
                self._joined.setdefault((each.end, each.start), Counter())[both or "in", each.types, own] += 1

        for condition in conditions:
            names = sorted(free_variables(condition))
            for pair in {(names[0], names[-1]), (names[-1], names[0])}:
                same = rewrite(condition, _numbered(pair))
                self._joined.setdefault(pair, Counter())[_compared(same)] += 1

    def joined(self, one: str, other: str) -> Counter[object] | None:
        """Return the kinds of the relationships between two nodes, None where there is none."""
        return self._joined.get((one, other))


def _anonymous(name: str) -> Callable[[Expr], Expr]:
    """Return a change that takes a variable's name away."""

    def change(expr: Expr) -> Expr:
        return Variable("", type=expr.type) if isinstance(expr, Variable) and expr.name == name else expr

    return change


def _numbered(names: Sequence[str]) -> Callable[[Expr], Expr]:
    """Return a change that calls variables by their places among some names."""

    def change(expr: Expr) -> Expr:
        return Variable(str(names.index(expr.name)), type=expr.type) if isinstance(expr, Variable) else expr

    return change


def _compared(condition: Expr) -> Expr:
    """Return a comparison of two sides with the lesser first, so that the same one is equal however it is written."""
    match condition:
        case Comparison(ops=(op,), args=(left, right)) if op in TURNED and repr(right) < repr(left):
            return Comparison((TURNED[op],), (right, left))
    return condition


def places(part: Shapes, pattern: Shapes) -> Iterator[frozenset[str]]:
    """Yield the sets of a pattern's nodes between which it is the same as a part."""
    order: list[str] = []
    while left := [name for name in part.nodes if name not in order]:
        order.append(next((name for name in left if part.near[name].intersection(order)), left[0]))
    found: set[frozenset[str]] = set()

    def extended(image: dict[str, str]) -> None:
        if len(image) == len(order):
            found.add(frozenset(image.values()))
            return
        name = order[len(image)]
        anchor = next((image[each] for each in order[: len(image)] if each in part.near[name]), None)
        for other in sorted(pattern.nodes if anchor is None else pattern.near[anchor]):
            if (
                len(found) < _MOST
                and other not in image.values()
                and part.nodes[name] == pattern.nodes[other]
                and part.joined(name, name) == pattern.joined(other, other)
                and all(part.joined(name, done) == pattern.joined(other, image[done]) for done in image)
            ):
                extended({**image, name: other})

    extended({})
    return iter(found)
