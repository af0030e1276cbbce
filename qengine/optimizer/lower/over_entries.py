"""Replaces the rows of one vertex or relationship, which are only grouped, by folding stored lists as they are read."""

from __future__ import annotations

from collections.abc import Sequence

from qengine.catalog.view import CatalogView
from qengine.optimizer.labels import vertex_count
from qengine.plan.folding import ENTRY, ends_of, entry_levels, folded_variables, ignores_repeats, of_entries
from qengine.plan.logical import Aggregate, Unit
from qengine.plan.pattern import Direction
from qengine.plan.physical import AggregateEntries, Carried, CarriedByValue, EdgeLevel, Eliminate, Search, VertexLevel

SETUP = 5e5
"""Nanoseconds of preparing a fold, or to group rows, however few these are: counting alone takes none of it."""
_AN_ENTRY = 2.0
"""Nanoseconds of reading an entry of a list, and of each key or aggregate that it goes to."""
_COMPARED = 6.0
"""Nanoseconds of comparing what an entry's ends and itself have, all entries with each condition."""
_AN_ELEMENT = 2.0
"""Nanoseconds of evaluating an expression for a vertex or relationship."""
_AN_ENTRY_MADE = 25.0
"""The same, of an expression of a relationship and its ends, whose values are gathered first."""


def over_entries(
    lowered: Aggregate, catalog: CatalogView, carried: Sequence[Carried | CarriedByValue] = ()
) -> tuple[AggregateEntries, float] | None:
    """Return what folds the entries that an aggregate's rows are, and its cost; None where they are not entries.

    ``carried``: nodes that it may read besides.
    """
    below = lowered.input
    search = below.search if isinstance(below, Eliminate) else below
    if not isinstance(search, Search) or not isinstance(search.input, Unit) or search.seeds:
        return None
    if isinstance(below, Eliminate) and not isinstance(below.input, Unit):
        return None
    core, made = of_entries(lowered)
    if carried:
        core, made = lowered, {}
    levels, variables = entry_levels(search), folded_variables(core)
    if levels is None or variables is None:
        return None
    bearers = ends_of(carried)
    variables = frozenset(bearers.get(name, name) for name in variables)
    variables |= {each.bearer for each in carried if isinstance(each, CarriedByValue)}
    first, second, edge = levels
    if not variables <= {level.name for level in search.levels} | ({ENTRY} if made else set()):
        return None
    if not variables and not _is_selected(search):
        return None
    calls = [call for _, call in lowered.aggregates]
    if search.exists and not ignores_repeats(calls):
        return None
    if second is None:
        entries = float(vertex_count(catalog, first.labels))
    else:
        if not _each_once(second, edge, catalog) and not ignores_repeats(calls):
            return None
        entries = _relationships(second, catalog)
        if made and not _is_one_way(second, catalog):
            return None
    read = [each for each in levels if each is not None and each.name in variables]
    elements = sum(vertex_count(catalog, each.labels) if isinstance(each, VertexLevel) else entries for each in read)
    rows = entries if search.rows is None else min(entries, search.rows)
    compared = entries * sum(len(each.conditions) for each in levels if each is not None)
    cost = SETUP + _AN_ENTRY * (entries + rows * (len(lowered.keys) + len(calls))) + _AN_ELEMENT * elements
    cost += _COMPARED * compared + _AN_ENTRY_MADE * entries * len(made)
    return AggregateEntries(lowered, core if made else None, made=tuple(made.items())), cost


def _is_selected(search: Search) -> bool:
    """Tell whether conditions on the relationship, or on its ends together, keep entries: others are but counted."""
    return any(level.conditions or (isinstance(level, EdgeLevel) and level.predicates) for level in search.levels)


def _each_once(second: VertexLevel, edge: EdgeLevel | None, catalog: CatalogView) -> bool:
    """Tell whether a search makes a row of each entry: without a level of relationships it does of each neighbour."""
    if edge is not None:
        return True
    source = second.sources[0]
    types = source.types or catalog.relationship_types
    known = [catalog.relationship_type(name) for name in types]
    if len(types) != 1 or known[0] is None or known[0].parallel:
        return False
    return known[0].undirected or source.direction is not Direction.BOTH


def _is_one_way(second: VertexLevel, catalog: CatalogView) -> bool:
    """Tell whether each relationship has one entry, in which its ends are told: none is read both ways."""
    source = second.sources[0]
    known = [catalog.relationship_type(name) for name in source.types or catalog.relationship_types]
    one = len(known) == 1 and known[0] is not None and not known[0].undirected
    return one and source.direction is not Direction.BOTH


def _relationships(second: VertexLevel, catalog: CatalogView) -> float:
    source = second.sources[0]
    names: Sequence[str] = source.types or catalog.relationship_types
    known = (catalog.relationship_type(name) for name in dict.fromkeys(names))
    times = {True: 2.0, False: 2.0 if source.direction is Direction.BOTH else 1.0}
    return sum(times[each.undirected] * each.count for each in known if each is not None)
