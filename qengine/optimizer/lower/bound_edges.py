"""Relationships that are known before a match is searched: given by earlier clauses, or found by what they are.

One that ``id(r) = v`` names is looked up, where ``v`` is a constant or of the rows, or a list, and its ends are bound
then: ``LookUp``. So is one whose property equals a value of the rows, where that leaves few. Few that an index finds by
constants are scanned: ``RelationshipScan``. So are the ends of one that the rows give. Where that can't be, a search
finds others in its place, which must then be the same.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from typing import NamedTuple

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.access import LEAST_ROWS, accessed_relationships, looked_up_relationships
from qengine.optimizer.labels import vertex_count
from qengine.optimizer.pattern_edges import SAME, PatternEdge, pattern_edge
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.target import is_for_gpu
from qengine.plan.access import Probe, constant, equality, identified
from qengine.plan.expr import Call, Case, Comparison, Expr, HasLabels, ListOf, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Filter, Operator, Project, Unwind
from qengine.plan.pattern import NO_HINTS, MatchMode, PatternRelationship, QueryGraph
from qengine.plan.physical import LookUp, RelationshipScan
from qengine.plan.traverse import free_variables, is_repeatable, substitute
from qengine.types import BOOLEAN, NODE, RELATIONSHIP


class Located(NamedTuple):
    """A match with relationships whose ends are bound before: what is left of it, and what binds them.

    ``sure``: nodes that are bound, and never null.
    """

    graph: QueryGraph
    root: Operator
    columns: tuple[str, ...]
    sure: frozenset[str] = frozenset()


def located(graph: QueryGraph, root: Operator, columns: Collection[str], catalog: CatalogView) -> Located:
    """Bind relationships that are known, and both their ends, if these are not; the others are left as they are."""
    found = Located(graph, root, tuple(columns))
    if graph.hints is not NO_HINTS or graph.mode is MatchMode.DIFFERENT_NODES:
        return found
    named = {name for each in graph.predicates for name in _may_identify(each)}
    for relationship in graph.relationships:
        keyed = any(equality(each, relationship.name) is not None for each in graph.predicates)
        if not (relationship.bound or relationship.name in named or relationship.predicates or keyed):
            continue
        edge = _locatable(relationship, found, catalog)
        if edge is None:
            continue
        if relationship.bound:
            found = _without(edge, found, ())
        elif (known := _identity(relationship, found)) is not None:
            predicate, probe = known
            many = probe.op == "IN"
            looked_up = LookUp(
                found.root, edge.name, None, probe.key, probe.value, float(_FEW if many else 1), unique=not many,
                identity=True, many=many, relationship=True,
            )  # fmt: skip
            found = _without(edge, found._replace(root=looked_up, columns=(*found.columns, edge.name)), (predicate,))
            found = found._replace(sure=found.sure.union(edge.ends))
        elif (look_up := _look_up(edge, found, catalog)) is not None:
            of_row, predicate = look_up
            answered = () if condition_can_fail(predicate) else (predicate,)
            found = _without(edge, found._replace(root=of_row, columns=(*found.columns, edge.name)), answered)
            found = found._replace(sure=found.sure.union(edge.ends))
        elif (scan := _scan(edge, found, catalog)) is not None:
            found = _without(edge, found._replace(root=scan, columns=(*found.columns, edge.name)), scan.predicates)
            found = found._replace(sure=found.sure.union(edge.ends))
    return found


def _scan(edge: PatternEdge, found: Located, catalog: CatalogView) -> RelationshipScan | None:
    """Return the scan of a relationship that an index finds by its properties, if the search may best begin there.

    None where a condition may fail, unless there is no other: it would be asked of more or fewer elements. On a GPU,
    which reads a column at once, an index must be declared: none is made there after some scans.
    """
    relationship, graph = edge.relationship, found.graph
    accesses = accessed_relationships(edge, catalog) if relationship.predicates else ()
    conditions = _conditions(graph)
    if not accesses or not _may_begin(graph, accesses[0].rows, catalog):
        return None
    access = accesses[0]
    if not is_for_gpu() and _sooner_searched(edge, access.rows, graph, catalog):
        return None
    declared = catalog.rules.index_relationship_key
    if is_for_gpu() and not all(declared(name, key) for name in edge.type_names() for key in access.keys):
        return None
    alone = len(conditions) == len(access.answers) and not any(node.labels for node in graph.nodes)
    if any(map(condition_can_fail, conditions)) and not (alone and len(graph.relationships) == 1):
        return None
    predicates = tuple(relationship.predicates[place] for place in access.answers)
    access = replace(access, answers=tuple(range(len(predicates))))
    return RelationshipScan(found.root, edge.name, edge.type_names(), predicates, access)


def _look_up(edge: PatternEdge, found: Located, catalog: CatalogView) -> tuple[LookUp, Expr] | None:
    """Return what finds a relationship by a property whose value the rows give, and its condition.

    None as for ``_scan``; where that condition fails, the look-up finds all, for which it is asked again.
    """
    graph = found.graph
    for predicate in graph.predicates:
        known = equality(predicate, edge.name)
        if known is None or known.identity or not free_variables(known.value):
            continue
        of_rows = free_variables(known.value) <= set(found.columns) and is_repeatable(known.value)
        rows = looked_up_relationships(edge, known.key, catalog) if of_rows else None
        others = (each for each in _conditions(graph) if each is not predicate)
        if rows is None or not _may_begin(graph, rows, catalog) or any(map(condition_can_fail, others)):
            continue
        given = (found.root, edge.name, None, known.key, known.value, rows)
        return LookUp(*given, relationship=True, types=edge.type_names()), predicate
    return None


def _conditions(graph: QueryGraph) -> list[Expr]:
    of_elements = [*(each.predicates for each in graph.nodes), *(each.predicates for each in graph.relationships)]
    return [*graph.predicates, *chain.from_iterable(of_elements)]


def _may_begin(graph: QueryGraph, rows: float, catalog: CatalogView) -> bool:
    """Tell whether a search may best begin at so many relationships: no node is given, and none is rarer."""
    return not any(node.bound for node in graph.nodes) and all(
        vertex_count(catalog, node.labels)
        * (selectivity(node.predicates, catalog, "node", node.labels) if node.predicates else 1.0)
        >= rows
        for node in graph.nodes
    )


def _sooner_searched(edge: PatternEdge, rows: float, graph: QueryGraph, catalog: CatalogView) -> bool:
    """Tell whether a search that begins at a node is done sooner than one from so many scanned relationships.

    From a node that its conditions leave a share of, that share of the relationships is read; from one that is none of
    their ends, as many times more as an end has relationships.
    """
    count = float(sum(each.count for each in edge.types))
    sizes = {node.name: max(vertex_count(catalog, node.labels), 1) for node in graph.nodes}
    fan = count / min(sizes[end] for end in edge.ends)
    read = count
    for node in graph.nodes:
        if node.predicates:
            share = selectivity(node.predicates, catalog, "node", node.labels)
            read = min(read, count * share * (1.0 if node.name in edge.ends else max(fan, 1.0)))
    others = len(graph.relationships) - 1
    a_row = _SCANNED + _EITHER_WAY * edge.swappable + _FOLLOWED * bool(others)
    return _SEARCH + _READ * read < _SCAN + _ANOTHER * others + a_row * rows


_FEW = 10  # relationships that a list is expected to name
_SEARCH, _READ = 1.5e5, 15.0
"""Nanoseconds of a search, and of each relationship whose own conditions it looks at."""
_SCAN, _ANOTHER = 3e5, 1e5
"""Nanoseconds of scanning relationships, and of each other one that is searched from them, however few there are."""
_SCANNED, _EITHER_WAY, _FOLLOWED = 350.0, 550.0, 100.0
"""Nanoseconds of a scanned relationship; besides, of one that is taken either way; of one from which others follow."""


def _may_identify(predicate: Expr) -> list[str]:
    """Return the variables whose identity a predicate compares."""
    if not (isinstance(predicate, Comparison) or (isinstance(predicate, Call) and predicate.name == "IN")):
        return []
    return [
        arg.args[0].name
        for arg in predicate.args
        if isinstance(arg, Call) and arg.name in ("id", "elementid") and isinstance(arg.args[0], Variable)
    ]


def _locatable(edge: PatternRelationship, found: Located, catalog: CatalogView) -> PatternEdge | None:
    """Return a plain relationship both of whose ends are free, of many; None for another one."""
    graph = found.graph
    nodes = {node.name: node for node in graph.nodes}
    if edge.hops is not None or edge.start == edge.end or nodes[edge.start].bound or nodes[edge.end].bound:
        return None
    if any(path.selector is not None and edge.name in path.elements for path in graph.paths):
        return None
    compared = graph.mode is not MatchMode.REPEATABLE_ELEMENTS
    if compared and any(other.hops is not None for other in graph.relationships):
        return None
    info = pattern_edge(catalog, edge)
    return info if sum(each.count for each in info.types) >= LEAST_ROWS else None


def _identity(edge: PatternRelationship, found: Located) -> tuple[Expr, Probe] | None:
    """Return a condition that says a relationship's identity, and how."""
    for predicate in (*edge.predicates, *found.graph.predicates):
        probe = identified(predicate, edge.name)
        if probe is None:
            continue
        of_rows = free_variables(probe.value) <= set(found.columns) and is_repeatable(probe.value)
        if constant(probe.value) or (of_rows and probe.op == "="):
            return predicate, probe
    return None


def _without(edge: PatternEdge, found: Located, answered: tuple[Expr, ...]) -> Located:
    """Bind the ends of a relationship that the rows have, and leave it out of the pattern."""
    graph, relationship, (start, end) = found.graph, edge.relationship, edge.ends
    known = Variable(edge.name, type=RELATIONSHIP)
    root, columns = found.root, found.columns
    is_typed = isinstance(root, RelationshipScan) or (isinstance(root, LookUp) and root.types)
    if relationship.types is not None and not is_typed:
        root = Filter(root, HasLabels(known, relationship.types))
    begin, stop = (Call(name, (known,), type=NODE) for name in ("startnode", "endnode"))
    kept = tuple((name, Variable(name)) for name in columns)
    if edge.swappable:
        loop = Comparison(("=",), (begin, stop), type=BOOLEAN)
        root = Unwind(root, Case(((loop, ListOf((begin,))),), ListOf((begin, stop))), start)
        here = Comparison(("=",), (Variable(start, type=NODE), begin), type=BOOLEAN)
        root = Project(root, (*kept, (start, Variable(start)), (end, Case(((here, stop),), begin, type=NODE))))
    else:
        root = Project(root, (*kept, (start, begin), (end, stop)))
    others = [each for each in graph.relationships if each is not relationship]
    differ = [
        Comparison(("<>",), (known, Variable(other.name, type=RELATIONSHIP)), type=BOOLEAN)
        for other in others
        if graph.mode is not MatchMode.REPEATABLE_ELEMENTS and graph.together(edge.name, other.name)
    ]
    conditions = (*graph.predicates, *relationship.predicates)
    rest = replace(
        graph,
        nodes=tuple(replace(node, bound=node.bound or node.name in edge.ends) for node in graph.nodes),
        relationships=tuple(others),
        predicates=(*(each for each in conditions if each not in answered), *differ),
    )
    return Located(rest, root, (*columns, start, end), found.sure)


def renamed(graph: QueryGraph) -> QueryGraph:
    """Search relationships that the input gives under a name of their own, to compare them afterwards."""
    if not any(edge.bound for edge in graph.relationships):
        return graph
    edges = tuple(_renamed_edge(edge) if edge.bound else edge for edge in graph.relationships)
    return replace(graph, relationships=edges)


def _renamed_edge(edge: PatternRelationship) -> PatternRelationship:
    name = SAME + edge.name
    here = Variable(name, type=RELATIONSHIP)
    predicates = tuple(
        substitute(each, lambda expr: here if isinstance(expr, Variable) and expr.name == edge.name else None)
        for each in edge.predicates
    )
    return replace(edge, name=name, predicates=predicates)
