"""Operators and steps that change the graph. A clause's steps are carried out one after the other, each for all rows.

An ``Update`` is of clauses that follow each other. What stands above it sees all that it has done; what stands below it
has read all its rows before the first step begins. So a plan with updates is cut at them: what is between two is a plan
that only reads.
"""

from __future__ import annotations

from typing import TypeAlias

from qengine.catalog.rules import Rule
from qengine.errors import Span
from qengine.plan.expr import Expr
from qengine.plan.logical import Argument, Operator, Step
from qengine.plan.node import node
from qengine.plan.pattern import QueryGraph
from qengine.plan.traverse import free_variables, nodes_of, operators

__all__ = [
    "AddRule",
    "CallSubquery",
    "Create",
    "Delete",
    "DropRule",
    "ForEach",
    "Merge",
    "NewElement",
    "NewNode",
    "NewRelationship",
    "RemoveProperty",
    "SetLabels",
    "SetProperties",
    "SetProperty",
    "Step",
    "Update",
    "names_read",
    "writes",
]


@node("properties", "dynamic")
class NewNode:
    """A node to make, as column ``name``; ``properties``: a map, a node or relationship to copy them of, or None.

    ``dynamic``: what gives the names of more labels.
    """

    name: str
    labels: tuple[str, ...]
    properties: Expr | None
    span: Span | None = None
    dynamic: tuple[Expr, ...] = ()


@node("properties", "dynamic")
class NewRelationship:
    """A relationship to make, as column ``name``, between the nodes of two columns, from ``start`` to ``end``.

    ``dynamic``: what gives its type, where ``type`` is empty.
    """

    name: str
    type: str
    start: str
    end: str
    properties: Expr | None
    span: Span | None = None
    dynamic: Expr | None = None


NewElement: TypeAlias = NewNode | NewRelationship


@node("elements")
class Create(Step):
    """Makes elements and adds their columns; in their order, so that ends come before what they are ends of."""

    elements: tuple[NewElement, ...]


@node("graph", "elements", "on_create", "on_match")
class Merge(Step):
    """Finds the embeddings of ``graph``, or makes ``elements`` where there is none; row by row: a row finds what those
    before it have made.

    Emits a row for each embedding, with ``graph.variables()`` added. A relationship that ``graph`` admits both ways is
    made as ``elements`` says. ``on_create``, ``on_match``: steps for the rows that were made, and for those found.
    """

    graph: QueryGraph
    elements: tuple[NewElement, ...]
    on_create: tuple[Step, ...] = ()
    on_match: tuple[Step, ...] = ()
    span: Span | None = None


@node("subject", "value")
class SetProperty(Step):
    """``SET subject.key = value``; null takes the property away. Nothing happens to a subject that is null."""

    subject: Expr
    key: str
    value: Expr
    span: Span | None = None


@node("subject", "value")
class SetProperties(Step):
    """``SET subject = value``, or ``+=``, which leaves what ``value`` doesn't name.

    ``value`` is a map, or an element whose properties are copied.
    """

    subject: Expr
    value: Expr
    replace: bool
    span: Span | None = None


@node("subject")
class RemoveProperty(Step):
    """``REMOVE subject.key``."""

    subject: Expr
    key: str
    span: Span | None = None


@node("subject", "dynamic")
class SetLabels(Step):
    """``SET subject:A:B``, or ``REMOVE`` of these labels; ``dynamic``: what gives the names of more."""

    subject: Expr
    labels: tuple[str, ...]
    remove: bool = False
    span: Span | None = None
    dynamic: tuple[Expr, ...] = ()


@node("subjects")
class Delete(Step):
    """``[DETACH] DELETE`` of nodes, relationships and paths; ``detach``: nodes with their relationships.

    A node must have no relationships left when the statement ends.
    """

    subjects: tuple[Expr, ...]
    detach: bool
    span: Span | None = None


@node("items", "steps")
class ForEach(Step):
    """``FOREACH (name IN items | …)``: carries out the steps for each item; no columns stay of it."""

    name: str
    items: Expr
    steps: tuple[Step, ...]


@node("plan", "batch")
class CallSubquery(Step):
    """``CALL { … }`` with updates inside: runs a plan for each row, whose leaf is an ``Argument`` of ``outer``.

    Emits each row with each row of the plan; ``columns``: what is added. ``unit``: the plan returns nothing, and each
    row stays once. ``optional``: a row without rows of the plan is emitted once, with nulls. ``batch`` (None: all is
    one transaction): how many rows are a transaction of their own; ``on_error``: "fail", "break" or "continue";
    ``report``: one more column, which says how the transaction of a row ended, or None.
    """

    plan: Operator
    outer: tuple[str, ...]
    columns: tuple[str, ...]
    unit: bool
    optional: bool = False
    batch: Expr | None = None
    on_error: str = "fail"
    report: str | None = None
    span: Span | None = None


@node("given")
class AddRule(Step):
    """Declares an index or a constraint, which the graph must satisfy; ``lenient``: or leaves one that is there.

    ``given``: what gives its name, where the text doesn't.
    """

    rule: Rule
    lenient: bool
    given: Expr | None = None
    span: Span | None = None


@node("given")
class DropRule(Step):
    """Takes an index or a ``constraint`` away, by its ``name``, or by what it says; ``lenient``: if it is there.

    ``given``: what gives the name, where the text doesn't.
    """

    name: str
    rule: Rule | None
    constraint: bool
    lenient: bool
    given: Expr | None = None
    span: Span | None = None


@node("input", "steps")
class Update(Operator):
    """Emits what the last of its steps emits, begun with all input rows, after the last step has ended."""

    input: Operator
    steps: tuple[Step, ...]


def writes(plan: Operator) -> bool:
    """Tell whether a plan has an ``Update`` anywhere; subqueries in expressions have none."""
    return any(isinstance(each, Update) for each in operators(plan))


def names_read(steps: tuple[Step, ...]) -> frozenset[str]:
    """Return the names of the columns that steps read, perhaps with others."""
    found: set[str] = set()
    for each in nodes_of(steps):
        match each:
            case Expr():
                found |= free_variables(each)
            case NewRelationship(start=start, end=end):
                found |= {start, end}
            case QueryGraph(nodes=nodes, relationships=relationships):
                found.update((*(each.name for each in nodes), *(each.name for each in relationships)))
            case CallSubquery(outer=names) | Argument(columns=names):
                found.update(names)
    return frozenset(found)
