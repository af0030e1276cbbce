"""Groups of which some keys are columns of the one row that a match begins with: the others are grouped, then joined.

``MATCH (m) WITH count(*) AS total MATCH (n) RETURN n.kind, total, count(*)``: the rows of the second match are
grouped as if ``total`` weren't there, so that they needn't be made, and each group gets it.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.plan.columns import columns_of
from qengine.plan.expr import Expr, Literal, Variable
from qengine.plan.logical import Aggregate, Distinct, Filter, Limit, Match, Operator, Project, Sort, Unit
from qengine.plan.pattern import PatternNode, PatternRelationship
from qengine.plan.physical import SharedKeys, ThetaJoin
from qengine.plan.traverse import free_variables
from qengine.types import BOOLEAN, INTEGER


def of_one_row(operator: Aggregate) -> tuple[Operator, Aggregate] | None:
    """Return what gives the keys that are the same for all rows, in a row at most, and the aggregate by the others.

    None where there are none of either, or where something else reads the row that they are of.
    """
    matches: list[Match | Filter] = []
    below = operator.input
    while isinstance(below, Match | Filter) and not _has_one_row(below):
        matches.append(below)
        below = below.input
    if not matches or isinstance(below, Unit) or not _has_one_row(below):
        return None
    given = frozenset(columns_of(below))
    same = [key for key in operator.keys if isinstance(key[1], Variable) and key[1].name in given]
    others = tuple(key for key in operator.keys if key not in same)
    if not same or not others or operator.weight is not None:
        return None
    exprs: list[Expr] = [expr for _, expr in others]
    exprs += [call for _, call in operator.aggregates]
    read = frozenset[str]().union(*map(free_variables, exprs), *map(_names, matches))
    if read & given:
        return None
    alone: Operator = Unit()
    for each in reversed(matches):
        alone = replace(each, input=alone)
    return Project(below, tuple(same)), replace(operator, input=alone, keys=others)


def joined_to_one_row(row: Operator, groups: Operator, columns: tuple[str, ...]) -> Operator:
    """Return a plan of each group with the columns of a row, if there is one; ``columns``: of the groups."""
    one = Literal(1, type=INTEGER)
    way = SharedKeys((one,), (one,))
    return ThetaJoin(row, groups, (way,), Literal(True, type=BOOLEAN), columns, told=True)


def _has_one_row(operator: Operator) -> bool:
    """Tell whether an operator has one row at most, for it is an aggregate of all, or of nothing else."""
    while isinstance(operator, Project | Filter | Sort | Limit | Distinct):
        operator = operator.input
    return isinstance(operator, Unit) or (isinstance(operator, Aggregate) and not operator.keys)


def _names(operator: Match | Filter) -> frozenset[str]:
    """Return the names that a match or filter has, or reads."""
    if isinstance(operator, Filter):
        return free_variables(operator.predicate)
    graph = operator.graph
    conditions = list(graph.predicates)
    elements: list[PatternNode | PatternRelationship] = [*graph.nodes, *graph.relationships]
    for element in elements:
        conditions += element.predicates
    paths = (name for path in graph.paths for name in path.elements)
    return frozenset(graph.variables()).union(paths, *map(free_variables, conditions))
