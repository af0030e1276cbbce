"""Lowers variable-length relationships to ``Walk``, quantified paths to ``Repeat``, shortest paths to ``Shortest``.

Those over several elements become ``SelectPaths``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from qengine._frozen import frozen, replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.pattern_edges import given_name, pattern_edge
from qengine.plan.expr import Call, Expr, Variable
from qengine.plan.logical import Operator, Project
from qengine.plan.pattern import (
    Chain,
    Direction,
    MatchMode,
    PathMode,
    PathSelector,
    PatternNode,
    PatternRelationship,
    QueryGraph,
    Repetition,
)
from qengine.plan.physical import PathPart, Reach, Repeat, SelectPaths, Shortest, VertexLevel, Walk

Repeated = tuple[Operator, str, tuple[str, ...], tuple[str, ...]]
"""Of a ``Repeat``: ``repeated``, ``begin``, ``relationships_of`` and ``nodes_of``."""


@frozen
class WalkPart:
    """A pattern relationship of variable length, or one of a selected path."""

    name: str
    start: str
    end: str
    types: tuple[str, ...]
    direction: Direction
    minimum: int
    maximum: int | None
    predicates: tuple[Expr, ...]
    hop: str
    selector: PathSelector | None
    inner: tuple[Expr, ...]
    repetition: Repetition | None = None
    chain: Chain | None = None

    @property
    def begins(self) -> set[str]:
        """The ends that it may be walked from."""
        return {self.start} if self.chain is not None else {self.start, self.end}

    @property
    def selected(self) -> bool:
        """Whether only shortest paths count."""
        return self.selector is not None


def walk_parts(graph: QueryGraph, catalog: CatalogView) -> tuple[list[PatternRelationship], list[WalkPart]]:
    """Split the relationships into plain ones and those to be walked."""
    selectors: dict[str, PathSelector] = {}
    for path in graph.paths:
        if path.selector is not None:
            selectors[path.elements[1]] = path.selector
    fixed: list[PatternRelationship] = []
    walks: list[WalkPart] = []
    for edge in graph.relationships:
        selector = selectors.get(given_name(edge.name))
        if edge.hops is None and selector is None:
            fixed.append(edge)
            continue
        minimum, maximum = edge.hops or (1, 1)
        if graph.mode is MatchMode.DIFFERENT_NODES and edge.start != edge.end:
            minimum = max(1, minimum)
        info = pattern_edge(catalog, edge)
        hop = given_name(edge.name)
        types = info.type_names()
        walks.append(
            WalkPart(
                edge.name,
                edge.start,
                edge.end,
                types,
                edge.direction,
                minimum,
                maximum,
                edge.predicates,
                hop,
                selector,
                edge.inner,
                None if edge.repetition is None else repeated_part(edge.repetition, edge.start == edge.end),
                edge.chain,
            )
        )
    return fixed, walks


@frozen
class WalkDemand:
    """What is wanted of a walk: its relationships (``named``), those of the columns ``different`` not among them.

    ``mode``: what it must not repeat. ``distinct_ends``: nobody minds how many walks lead to an end, so each is wanted
    once (reachability).
    """

    named: bool
    different: tuple[str, ...]
    mode: PathMode
    distinct_ends: bool

    @property
    def only_ends(self) -> bool:
        """Whether each end is wanted once, and nothing of the walks to it."""
        return self.distinct_ends and not self.named and not self.different


def lower_walk(
    root: Operator,
    walk: WalkPart,
    level: Callable[[str], VertexLevel],
    bound: Collection[str],
    columns: Collection[str],
    demand: WalkDemand,
    repeat: Callable[[Repetition, bool], Repeated],
    parts: Callable[[WalkPart], tuple[PathPart, ...]],
) -> tuple[Operator, list[str]]:
    """Return the operator that walks from the bound end, and the columns that it adds.

    A walk against the pattern's direction gives its relationships in the pattern's order all the same. ``level``: a
    node of the pattern, with what finds it. ``repeat``: lowers what is repeated, backwards or not. ``parts``: lowers a
    selected path, which is never walked backwards.
    """
    start, end, direction = walk.start, walk.end, walk.direction
    backwards = start not in bound
    if backwards:
        start, end, direction = end, start, direction.reversed()
    end_bound = end in bound
    target = VertexLevel(end) if end_bound else level(end)
    relationships = walk.name if demand.named else None
    minimum, maximum = walk.minimum, walk.maximum
    types = walk.types or ("",)  # no such type: only the empty walk is left
    if walk.chain is not None:
        assert walk.selector is not None
        root = SelectPaths(
            root, start, target, end_bound, parts(walk), minimum, relationships,
            walk.chain.bounds if demand.named else None, walk.selector, demand.different, demand.mode,
            walk.chain.condition,
        )  # fmt: skip
    elif walk.repetition is not None:
        root = Repeat(
            root, start, target, end_bound, *repeat(walk.repetition, backwards), minimum, maximum, relationships,
            demand.different, demand.mode, demand.only_ends,
        )  # fmt: skip
    elif walk.selector is not None:
        root = Shortest(
            root, start, target, end_bound, types, direction, minimum, maximum, relationships, walk.hop,
            walk.predicates, walk.selector, walk.inner, demand.mode,
        )  # fmt: skip
    elif demand.only_ends and not end_bound and minimum <= 1:
        root = Reach(
            root, start, target, types, direction, minimum, maximum, walk.hop, tuple(columns), walk.predicates,
            demand.mode, walk.inner,
        )  # fmt: skip
    else:
        root = Walk(
            root, start, target, end_bound, types, direction, minimum, maximum, relationships, walk.hop,
            walk.predicates, demand.different, demand.mode, demand.only_ends, walk.inner,
        )  # fmt: skip
    added = [] if end_bound else [end]
    if demand.named:
        added.append(walk.name)
        added += [walk.chain.bounds] if walk.chain is not None else []
        if backwards:
            kept = [(name, Variable(name)) for name in (*columns, *added) if name != walk.name]
            root = Project(root, (*kept, (walk.name, Call("reverse", (Variable(walk.name),)))))
    return root, added


def chain_edges(chain: Chain) -> list[PatternRelationship]:
    """Return the relationships of a selected path in its order."""
    edges = {edge.name: edge for edge in chain.graph.relationships}
    return [edges[name] for name in chain.elements[1::2]]


def repeated_part(repetition: Repetition, closed: bool) -> Repetition:
    """Return what is repeated: of a walk that ends where it starts, so may a repetition of it.

    What nodes may not come twice is told along the whole walk (``Walk.mode``).
    """
    if not closed or repetition.graph.mode is not MatchMode.DIFFERENT_NODES:
        return repetition
    return replace(repetition, graph=replace(repetition.graph, mode=MatchMode.DIFFERENT_RELATIONSHIPS))


def single_hop(edge: PatternRelationship, near: str, graph: QueryGraph) -> Repetition:
    """Return a relationship of a path, of any length, as what is repeated: from ``near``, where the path comes from."""
    begin, behind = f"{edge.name}<", f"{edge.name}>"
    forward = (edge.start == near) if edge.hops is None else edge.direction is not Direction.IN
    start, end = (begin, behind) if forward else (behind, begin)
    direction = Direction.BOTH if edge.direction is Direction.BOTH else Direction.OUT
    hop = replace(edge, start=start, end=end, direction=direction, hops=None, inner=())
    inside = QueryGraph((PatternNode(begin), PatternNode(behind)), (hop,), mode=graph.mode)
    return Repetition(inside, (begin, behind), (edge.name,))
