"""Cuts a plan in two: what parts of a search's roots give, each anywhere, and what is done once with all their rows.

A plan is a chain of operators from its leaf upward. The first search that doesn't begin at given rows is done in
parts: each embedding has one vertex in its first level, so shares of all vertices find each embedding once. What
treats each row by itself follows there. The first operator that looks at several rows ends it: an aggregate is done in
two steps (``cluster.partials``), different and first rows are chosen among those of a part, then among all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from qengine._frozen import frozen, replace
from qengine.catalog.functions import lookup
from qengine.cluster.partials import in_two_steps
from qengine.plan.expr import Call, Expr, Literal
from qengine.plan.logical import (
    Aggregate,
    Argument,
    Distinct,
    Filter,
    Limit,
    LoadCsv,
    Operator,
    ProcedureCall,
    Project,
    Skip,
    Sort,
    Unit,
    Unwind,
)
from qengine.plan.physical import (
    AggregateByClasses,
    AggregateByNode,
    AggregateEntries,
    Attach,
    Bounded,
    Completed,
    Eliminate,
    HashJoin,
    LookUp,
    Members,
    Optional,
    PhysicalPlan,
    RelationshipScan,
    Search,
    SearchPart,
    Shortest,
    ThetaJoin,
    VertexLevel,
    Walk,
)
from qengine.plan.shares import Share
from qengine.types import INTEGER

_BY_ROW = (Attach, Eliminate, Filter, HashJoin, LookUp, Members, Optional, Project, RelationshipScan, Search,
           Shortest, ThetaJoin, Unwind, Walk)  # fmt: skip
"""Operators of which each row of the result comes of one row of the input."""

_NOTHING = Literal(0, type=INTEGER)


@frozen
class Cut:
    """A plan in two.

    Attributes
    ----------
    search
        What is done in parts.
    below, above
        The operators of a part under the search, from the leaf upward, and over it.
    tail
        What is done with the rows of all parts, from the first upward.
    cost
        What the parts are expected to take together, in nanoseconds of one core; None where that isn't known.
    repeats
        Whether each part does some work anew, as building a join's table.
    """

    search: Search
    below: tuple[Operator, ...]
    above: tuple[Operator, ...]
    tail: tuple[Operator, ...]
    cost: float | None
    repeats: bool

    def part(self, share: Share) -> Operator:
        """Return the operators that give the rows of a share of the roots."""
        search = self.search
        kept = {each.name: getattr(search, each.name) for each in fields(search)}
        root = stacked(self.below, Unit())
        return stacked(self.above, SearchPart(**{**kept, "input": root}, share=share))

    def merged(self, columns: tuple[str, ...] | None) -> Operator:
        """Return the operators over the rows of all parts, which have these columns; None: there are no rows."""
        return merged(self.tail, columns)


def cut(plan: PhysicalPlan, faster: float) -> Cut | str:
    """Return a plan in two, or in a few words why it is run whole.

    Where conditions may fail it is the careful plan that is cut. ``faster``: how many times the cores of this process
    all workers have.
    """
    root = plan.root if plan.careful is None else plan.careful
    if (reason := refused(root)) is not None:
        return reason
    chain = chain_of(root)
    if chain is None:
        return "it joins several queries, or groups what only one process can"
    place = next((place for place, each in enumerate(chain) if isinstance(each, Search | Eliminate)), None)
    if place is None:
        return "it has no pattern that is searched from all its vertices"
    first, below = chain[place], chain[:place]
    if not all(isinstance(each, _BY_ROW) for each in below):
        return "what comes before its first pattern looks at several rows"
    if isinstance(first, Eliminate) and first.alone:
        return "a condition of its first pattern is told by counting alone"
    search = first.search if isinstance(first, Eliminate) else first
    assert isinstance(search, Search)
    if search.seeds or not search.levels or not isinstance(search.levels[0], VertexLevel):
        return "its first pattern begins at given nodes"
    if search.exists and not search.emit:
        return "it only asks whether there is a match"
    if (instead := _without_rows(root, first)) and (search.cost is None or search.cost / faster > instead):
        return "it is counted without matching, which takes less in one process"
    above, tail = split(chain[place + 1 :])
    costs = [each.cost for each in (search, *above) if isinstance(each, Search)]
    known = [each for each in costs if each is not None]
    repeats = any(
        isinstance(each, HashJoin | ThetaJoin) or (isinstance(each, Search) and not each.seeds) for each in above
    )
    return Cut(search, below, above, tail, sum(known) if known else None, repeats)


def merged(tail: tuple[Operator, ...], columns: tuple[str, ...] | None) -> Operator:
    """Return operators, from the first upward, over rows with these columns; None: there are no rows."""
    return stacked(tail, Limit(Unit(), _NOTHING) if columns is None else Argument(columns))


def _without_rows(root: Operator, first: Operator) -> float:
    """Return what the plan's elimination takes in place of its first search, in nanoseconds; 0 where there is none."""
    programs = [first] if isinstance(first, Eliminate) else []
    while not programs and hasattr(root, "input"):
        if isinstance(root, AggregateByNode):
            sums, pairs = (each.program for each in root.sums), (each.program for each in root.pairs)
            programs = [root.counts, *sums, *pairs]
        root = root.input
    return sum(0.0 if (found := each.schedule("cpu")) is None else found.cost for each in programs)


def stacked(operators: tuple[Operator, ...], leaf: Operator) -> Operator:
    """Return operators, from the first upward, over a leaf."""
    for each in operators:
        leaf = replace(each, input=leaf)
    return leaf


def chain_of(root: Operator) -> tuple[Operator, ...] | None:
    """Return a plan's operators from the leaf upward, without the leaf; None where they are no chain over ``Unit``."""
    found: list[Operator] = []
    while not isinstance(root, Unit):
        if isinstance(root, AggregateByClasses | AggregateByNode | AggregateEntries | Bounded | Completed):
            root = root.input
        if not hasattr(root, "input"):
            return None
        found.append(root)
        root = root.input
    return tuple(reversed(found))


def split(chain: tuple[Operator, ...]) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
    """Return which operators over a pattern a part has, and which are over the rows of all parts."""
    n = next((place for place, each in enumerate(chain) if not isinstance(each, _BY_ROW)), len(chain))
    parts, tail = chain[:n], chain[n:]
    match tail:
        case (Aggregate() as aggregate, *rest):
            steps = in_two_steps(aggregate)
            if steps is not None:
                return (*parts, steps[0]), (*steps[1], *rest)
        case (Distinct() | Limit() as chosen, *_):
            return (*parts, chosen), tail
        case (Sort() as sort, *_) if sort.limit is not None:
            return (*parts, sort), tail
        case (Skip(count=left_out), Limit(count=count), *_):
            return (*parts, Limit(tail[0], Call("+", (left_out, count), type=INTEGER))), tail
    return parts, tail


def refused(root: Operator) -> str | None:
    """Tell what of a plan, its subqueries included, must be done in one process; None where nothing."""
    for each in _nodes(root):
        if isinstance(each, ProcedureCall | LoadCsv):
            return "it calls a procedure" if isinstance(each, ProcedureCall) else "it reads a file"
        if isinstance(each, Call) and (function := lookup(each.name)) is not None and not function.deterministic:
            return f"{each.name}() must be the same for all rows, or is by chance"
    return None


def _nodes(root: Any) -> Iterator[Operator | Expr]:
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, tuple):
            todo.extend(node)
        elif names := getattr(node, "child_fields", ()):
            yield node
            todo.extend(part for name in names if (part := getattr(node, name)))
