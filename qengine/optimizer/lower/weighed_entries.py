"""Replaces the rows of a pattern by the entries of one of its relationships, each counted as often as the rest says.

Where keys and arguments read a relationship and its ends alone, and the relationship is all that joins the two parts of
the pattern at its ends, a row for each match of the pattern is the relationship times the matches of either part: these
are counted by the end's vertex by elimination, and the lists of the relationship are folded with what was counted.

What hangs at an end by one relationship of the same type, which must be another, is counted with the entry itself where
that has such ends; one is taken off for it.

Least and greatest values of something in such a part are found by the end's vertex first, by an aggregate of its own:
of these the least or the greatest is that of all rows. Sums of such values, and how many these are, are found so, too:
an entry adds that of its end as often as what hangs at its other end says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from qengine._frozen import frozen, replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.difference import Differences, differences
from qengine.optimizer.labels import matching_types, vertex_count
from qengine.optimizer.lower.over_entries import over_entries
from qengine.optimizer.pattern_edges import pattern_edge
from qengine.plan.expr import AggregateCall, Expr, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.folding import COUNTED, EXTREMES, LEAST, SUMMED, beyond, ends_of, folded_variables
from qengine.plan.logical import Aggregate, Match
from qengine.plan.pattern import NO_HINTS, Direction, MatchMode, PatternNode, PatternRelationship, QueryGraph
from qengine.plan.physical import AggregateEntries, Another, Carried, CarriedByValue, Eliminate, VertexLevel
from qengine.plan.traverse import free_variables, substitute
from qengine.types import INTEGER, NODE

_SETUP = 5e5
"""Nanoseconds of preparing what a fold is weighed by, however little that reads."""
_A_VALUE = 4.0
"""Nanoseconds of finding a node that a vertex carries, and of noting whether there is one."""
_A_WEIGHT = 2.0
"""Nanoseconds of reading what an end of an entry is counted by, and of noting it."""

_MOST_TRIED = 6
"""Relationships whose parts are planned: where none is read, each of a pattern's may be it."""

Counted = Callable[[Match, str, float], Eliminate | None]
"""Returns the elimination that counts a pattern by one of its nodes in less than some nanoseconds, None without one."""

Lower = Callable[[Aggregate, Sequence[AggregateCall]], Aggregate]
"""Lowers an aggregate of one pattern, and the calls that it is computed by, to an aggregate of rows."""


@frozen
class _Parts:
    """A relationship's own pattern, those that hang at its ends, by the end's name, and which of them it is part of."""

    core: QueryGraph
    hanging: tuple[tuple[str, QueryGraph], ...]
    others: tuple[Another, ...]


def weighed_entries(
    aggregate: Aggregate,
    lowered: Aggregate,
    lower: Lower,
    counted: Counted,
    budget: float,
    catalog: CatalogView,
    *,
    sums: bool = True,
    valued: Sequence[CarriedByValue] = (),
) -> tuple[AggregateEntries, float] | None:
    """Return what folds the entries of a relationship instead of an aggregate's rows, and its cost.

    None where there is nothing that costs less than ``budget``.

    Parameters
    ----------
    aggregate, lowered
        The aggregate of one pattern, with the calls that it is computed by, and as it is lowered to rows.
    lower
        Lowers another such aggregate.
    sums
        Whether sums of what hangs at the ends are looked into.
    valued
        Nodes that the pattern lacks, for ends of the relationship carry them by a value.
    """
    match = aggregate.input
    assert isinstance(match, Match)
    variables = folded_variables(aggregate)
    if variables is None or not is_plain(match.graph):
        return None
    different: list[frozenset[str]] | None = None
    tried = 0
    for edge in match.graph.relationships:
        if tried == _MOST_TRIED:
            break
        if not {each.bearer for each in valued} <= {edge.start, edge.end}:
            continue
        borne = _borne(edge, variables, match.graph, catalog)
        bearers = ends_of((*borne.values(), *valued))
        read = frozenset(bearers.get(name, name) for name in variables)
        alone = read <= {edge.name, edge.start, edge.end}
        may = _is_read(edge, read, match.graph) if alone else _may_be_read(aggregate, edge, bearers, sums)
        if not may:
            continue
        different = list(_different(match.graph, catalog)) if different is None else different
        parts = _parts(match.graph, edge, different, catalog)
        asked = None if parts is None else _asked(aggregate, edge, parts, bearers)
        if parts is None or asked is None:
            continue
        tried += 1
        apart = {*(each.keys[0][0] for each in asked.values), *(each.end for each in asked.others)}
        alone_there = {
            end: graph for end, graph in parts.hanging if end not in apart and _is_borne(graph, end, borne, different)
        }
        known = variables.union(*(graph.variables() for graph in alone_there.values()))
        by_one = _carried(borne, known)
        carried: tuple[Carried | CarriedByValue, ...] = (*by_one, *valued)
        found = over_entries(lower(asked.core, [call for _, call in asked.core.aggregates]), catalog, carried)
        if found is None:
            continue
        entries, cost = found
        labels = {node.name: node.labels for node in match.graph.nodes}
        cost += _SETUP + sum(_A_VALUE * vertex_count(catalog, labels[each.bearer]) for each in by_one)
        values = [_by_end(each, lower, counted, budget - cost, catalog) for each in asked.values]
        if None in values:
            continue
        cost += sum(each[1] + _A_WEIGHT * catalog.vertex_count for each in values if each is not None)
        programs: list[Eliminate] = []
        counting = [(end, graph) for end, graph in parts.hanging if end not in alone_there]
        for end, graph in counting:
            program = counted(replace(match, graph=graph), end, budget - cost)
            schedule = None if program is None else program.schedule("cpu")
            if program is None or schedule is None or program.searches:
                break
            programs.append(program)
            cost += schedule.cost + _A_WEIGHT * catalog.vertex_count
        if len(programs) == len(counting) and cost < budget:
            by_end = tuple(each[0] for each in values if each is not None)
            return AggregateEntries(lowered, entries.input, tuple(programs), by_end, carried, asked.others), cost
    return None


@frozen
class _Asked:
    """What is asked of a relationship: ``core``, and before it aggregates of parts beyond by its ends.

    ``others``: those of the parts, with what is to be taken off their sums.
    """

    core: Aggregate
    values: tuple[Aggregate, ...]
    others: tuple[Another, ...]


def _asked(aggregate: Aggregate, edge: PatternRelationship, parts: _Parts, bearers: Mapping[str, str]) -> _Asked | None:
    """Return what an aggregate asks of a relationship; None where more is asked of the parts beyond than these tell."""
    match = aggregate.input
    assert isinstance(match, Match)
    elements = {edge.name, edge.start, edge.end, *bearers}
    calls: list[tuple[str, AggregateCall]] = []
    values: dict[str, list[tuple[str, AggregateCall]]] = {}
    others = {each.end: each for each in parts.others}
    for name, call in aggregate.aggregates:
        read = frozenset[str]().union(*map(free_variables, call.args))
        if not read <= elements:
            end = next((end for end, graph in parts.hanging if read <= set(graph.variables())), None)
            found = None if end is None else _beyond(call, end, f"@beyond {len(calls)}", edge, others.get(end))
            if end is None or found is None:
                return None
            call, asked, taken = found
            values.setdefault(end, []).extend(asked)
            if taken is not None:
                others[end] = replace(others[end], taken=(*others[end].taken, taken))
        calls.append((name, call))
    core = replace(aggregate, input=replace(match, graph=parts.core), aggregates=tuple(calls))
    read = frozenset(bearers.get(name, name) for name in folded_variables(core) or ())
    if not _is_read(edge, read, match.graph):
        return None
    graphs = dict(parts.hanging)
    by_end = (
        Aggregate(replace(match, graph=graphs[end]), ((end, Variable(end, type=NODE)),), tuple(found))
        for end, found in values.items()
    )
    return _Asked(core, tuple(by_end), tuple(others.values()))


def _beyond(
    call: AggregateCall, end: str, column: str, edge: PatternRelationship, another: Another | None
) -> tuple[AggregateCall, list[tuple[str, AggregateCall]], tuple[str, Expr] | None] | None:
    """Return an aggregate beyond an end as one of that end, what is asked by the end for it, and what is taken off.

    None of aggregates that can't be told so.
    """
    outer = replace(call, args=(beyond(end, column, call.type),))
    if call.name in EXTREMES:
        return None if another else (outer, [(column, call)], None)
    if call.name not in SUMMED or call.distinct:
        return None
    (arg,) = call.args
    asked = [(column + COUNTED, replace(call, name="count", type=INTEGER))]
    if call.name != "count":
        asked.append((column, replace(call, name="sum", type=arg.type)))
    if another is None:
        return outer, asked, None
    far, other = another.vertices.name, Variable(edge.end if end == edge.start else edge.start, type=NODE)
    if free_variables(arg) != {far}:
        return None
    if call.name != "count":
        asked.append((column + LEAST, replace(call, name="min", type=arg.type)))
    own = substitute(arg, lambda part: other if isinstance(part, Variable) and part.name == far else None)
    return outer, asked, (column, own)


def _by_end(
    asked: Aggregate, lower: Lower, counted: Counted, budget: float, catalog: CatalogView
) -> tuple[AggregateEntries, float] | None:
    """Return how values of a part are found by an end, and the cost; None where that takes rows."""
    lowered = lower(asked, [call for _, call in asked.aggregates])
    return over_entries(lowered, catalog) or weighed_entries(asked, lowered, lower, counted, budget, catalog)


def _may_be_read(aggregate: Aggregate, edge: PatternRelationship, bearers: Mapping[str, str], sums: bool) -> bool:
    """Tell whether an aggregate reads a relationship and its ends alone, but for extremes, or sums, of more."""
    elements = {edge.name, edge.start, edge.end, *bearers}
    told = EXTREMES | SUMMED if sums else EXTREMES
    calls = (call for _, call in aggregate.aggregates if call.name not in told)
    exprs = [*(expr for _, expr in aggregate.keys), *(arg for call in calls for arg in call.args)]
    return all(free_variables(expr) <= elements for expr in exprs)


def _borne(
    edge: PatternRelationship, variables: frozenset[str], graph: QueryGraph, catalog: CatalogView
) -> dict[str, Carried]:
    """Return the nodes beyond a relationship's ends which these have one of each at most, those between before others.

    None where no node beyond the ends is read.
    """
    found: dict[str, Carried] = {}
    reached = [edge.start, edge.end]
    if variables <= {edge.name, *reached}:
        return found
    labels = {node.name: node.labels for node in graph.nodes}
    for bearer in reached:
        for each in graph.relationships:
            if each is edge or bearer not in (each.start, each.end):
                continue
            name, direction = (each.end, Direction.OUT) if each.start == bearer else (each.start, Direction.IN)
            if name not in reached and (type := _single(each, direction, catalog)) is not None:
                reached.append(name)
                found[name] = Carried(name, labels[name], bearer, type, direction)
    return found


def _carried(borne: Mapping[str, Carried], variables: frozenset[str]) -> tuple[Carried, ...]:
    """Return those nodes that are read, and those between them and their ends."""
    needed = list(variables & borne.keys())
    for name in needed:
        if (bearer := borne[name].bearer) in borne and bearer not in needed:
            needed.append(bearer)
    return tuple(each for name, each in borne.items() if name in needed)


def _is_borne(graph: QueryGraph, end: str, borne: Mapping[str, Carried], different: Iterable[frozenset[str]]) -> bool:
    """Tell whether what hangs at an end is nodes that it has one of each at most, of which nothing more is asked.

    ``different``: the names of elements that must differ.
    """
    if any(names <= set(graph.variables()) for names in different):
        return False
    elements: list[PatternNode | PatternRelationship] = [*graph.nodes, *graph.relationships]
    if graph.predicates or any(each.predicates for each in elements):
        return False
    return len(graph.relationships) < len(graph.nodes) and all(
        node.name in borne or node.name == end for node in graph.nodes
    )


def _single(edge: PatternRelationship, direction: Direction, catalog: CatalogView) -> str | None:
    """Return the only type of a relationship of which nodes have one at most that way, None where there is none."""
    types = matching_types(catalog, edge.types)
    if len(types) != 1 or edge.direction is not Direction.OUT or types[0].undirected:
        return None
    statistics = catalog.edge_statistics(None, types[0].name, None)
    most = statistics.max_out if direction is Direction.OUT else statistics.max_in
    return types[0].name if most == 1 else None


def _is_read(edge: PatternRelationship, variables: frozenset[str], graph: QueryGraph) -> bool:
    """Tell whether variables are a relationship's and its ends', more than one end that matches are counted by."""
    elements = {edge.name, edge.start, edge.end}
    if not variables <= elements:
        return False
    compared = any(len(names) >= 2 and names <= elements for names in map(_names, graph.predicates))
    return edge.name in variables or bool(edge.predicates) or compared or len(variables) > 1


def is_plain(graph: QueryGraph) -> bool:
    """Tell whether a pattern is one of several relationships of one hop each, with names and hints for none of them."""
    return (
        len(graph.relationships) > 1
        and not graph.paths
        and graph.hints == NO_HINTS
        and not any(each.hops or each.chain or each.bound for each in graph.relationships)
        and not any(each.bound for each in graph.nodes)
        and not any(map(condition_can_fail, graph.predicates))
    )


def _parts(
    graph: QueryGraph, edge: PatternRelationship, different: Iterable[frozenset[str]], catalog: CatalogView
) -> _Parts | None:
    """Return what a pattern falls into without a relationship; None where more joins the parts at its ends.

    ``different``: the names of elements that must differ.
    """
    ends = (edge.start, edge.end)
    sides = [_reached(graph, edge, end) for end in ends]
    if edge.start == edge.end or sides[0] & sides[1] or len(sides[0] | sides[1]) < len(graph.nodes):
        return None
    rest = [each for each in graph.relationships if each is not edge]
    inside = [frozenset((edge.name, *ends))]
    inside += [side | {each.name for each in rest if each.start in side} for side in sides]
    if not all(any(names <= side for side in inside) for names in map(_names, graph.predicates)):
        return None
    apart = [names for names in different if not any(names <= side for side in inside)]

    def cut(names: frozenset[str], plain: Sequence[str]) -> QueryGraph:
        """Return the part of some names; the core asks of its ends what they must be, and no other part does."""
        nodes = tuple(
            replace(each, labels=None, predicates=()) if each.name in plain else each
            for each in graph.nodes
            if each.name in names
        )
        relationships = tuple(each for each in graph.relationships if each.name in names)
        predicates = tuple(each for each in graph.predicates if free_variables(each) <= names)
        return replace(graph, nodes=nodes, relationships=relationships, predicates=predicates)

    hanging = [(end, cut(side, ends)) for end, side in zip(ends, inside[1:], strict=True) if len(side) > 1]
    others: dict[str, Another] = {}
    for names in apart:
        if (another := _another(edge, hanging, names, catalog)) is None:
            return None
        others[another.end] = another
    return _Parts(cut(inside[0], ()), tuple(hanging), tuple(others.values()))


def _another(
    edge: PatternRelationship,
    hanging: Sequence[tuple[str, QueryGraph]],
    names: frozenset[str],
    catalog: CatalogView,
) -> Another | None:
    """Return what is to be taken off where elements of some names must differ; None where that is no such case.

    That is one relationship alone which hangs at an end of ``edge`` as that does, and is of the same type: it is the
    same one where its far node is the edge's other end.
    """
    for end, graph in hanging:
        other = edge.end if end == edge.start else edge.start
        if len(graph.relationships) > 1 or graph.predicates or graph.mode is not MatchMode.DIFFERENT_RELATIONSHIPS:
            continue
        (beside,) = graph.relationships
        far = beside.end if beside.start == end else beside.start
        if names not in ({other, far}, {edge.name, beside.name}):
            continue
        types = matching_types(catalog, edge.types)
        alike = len(types) == 1 and matching_types(catalog, beside.types) == types and not types[0].undirected
        same_way = edge.direction is beside.direction is Direction.OUT and (edge.start == end) == (beside.start == end)
        if alike and same_way and not beside.predicates:
            node = next(each for each in graph.nodes if each.name == far)
            return Another(end, VertexLevel(far, node.labels, node.predicates))
    return None


def _reached(graph: QueryGraph, without: PatternRelationship, start: str) -> frozenset[str]:
    """Return the nodes that relationships but one join to a node."""
    found, waiting = {start}, [start]
    while waiting:
        name = waiting.pop()
        for each in graph.relationships:
            if each is not without and name in (each.start, each.end):
                new = {each.start, each.end} - found
                found |= new
                waiting += new
    return frozenset(found)


def _different(graph: QueryGraph, catalog: CatalogView) -> Iterator[frozenset[str]]:
    """Yield the names of elements that must differ."""
    edges = [pattern_edge(catalog, each) for each in graph.relationships]
    different: Differences = differences(graph, edges, catalog)
    yield from different.vertices
    yield from (frozenset(chain.from_iterable(pair)) for pair in different.pairs)
    yield from different.edges
    if different.contradiction:
        yield frozenset(graph.variables())


def _names(predicate: Expr) -> frozenset[str]:
    return frozenset(free_variables(predicate))
