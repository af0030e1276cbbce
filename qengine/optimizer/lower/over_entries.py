"""Replaces the rows of one vertex or relationship, which are only grouped, by folding stored lists as they are read."""

from __future__ import annotations

from collections.abc import Sequence

from qengine.catalog.view import CatalogView
from qengine.optimizer.labels import vertex_count
from qengine.plan.folding import entry_levels, folded_variables, ignores_repeats
from qengine.plan.logical import Aggregate, Unit
from qengine.plan.pattern import Direction
from qengine.plan.physical import AggregateEntries, Carried, EdgeLevel, Eliminate, Search, VertexLevel

SETUP = 5e5
"""Nanoseconds of preparing a fold, or to group rows, however few these are: counting alone takes none of it."""
_AN_ENTRY = 2.0
"""Nanoseconds of reading an entry of a list, and of each key or aggregate that it goes to."""
_COMPARED = 6.0
"""Nanoseconds of comparing what an entry's ends and itself have, all entries with each condition."""
_AN_ELEMENT = 2.0
"""Nanoseconds of evaluating an expression for a vertex or relationship."""


def over_entries(
    lowered: Aggregate, catalog: CatalogView, carried: Sequence[Carried] = ()
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
    levels, variables = entry_levels(search), folded_variables(lowered)
    if levels is None or variables is None:
        return None
    bearers = {each.name: each.bearer for each in carried}
    variables = frozenset(bearers.get(name, name) for name in variables)
    if not variables <= {level.name for level in search.levels}:
        return None
    first, second, edge = levels
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
    read = [each for each in levels if each is not None and each.name in variables]
    elements = sum(catalog.vertex_count if isinstance(each, VertexLevel) else entries for each in read)
    rows = entries if search.rows is None else min(entries, search.rows)
    compared = entries * sum(len(each.conditions) for each in levels if each is not None)
    cost = SETUP + _AN_ENTRY * (entries + rows * (len(lowered.keys) + len(calls))) + _AN_ELEMENT * elements
    return AggregateEntries(lowered), cost + _COMPARED * compared


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


def _relationships(second: VertexLevel, catalog: CatalogView) -> float:
    source = second.sources[0]
    names: Sequence[str] = source.types or catalog.relationship_types
    known = (catalog.relationship_type(name) for name in dict.fromkeys(names))
    times = {True: 2.0, False: 2.0 if source.direction is Direction.BOTH else 1.0}
    return sum(times[each.undirected] * each.count for each in known if each is not None)
