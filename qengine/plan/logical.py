"""Operators of the logical plan. Each emits rows of named columns; the docstrings say which.

A plan is a tree of immutable nodes. ``Match`` is the only operator that must be lowered (to those of
``plan.physical``); the others are executed as they stand.
"""

from __future__ import annotations

from typing import ClassVar

from qengine._frozen import frozen
from qengine.catalog.procedures import Procedure
from qengine.errors import Span
from qengine.plan.expr import AggregateCall, Expr
from qengine.plan.node import node
from qengine.plan.pattern import QueryGraph


@frozen
class Operator:
    """Base of all operators, logical and physical. ``child_fields``: those that hold operators or expressions."""

    child_fields: ClassVar[tuple[str, ...]] = ()


@frozen
class Step:
    """Base of what ``plan.updates.Update`` does for each row. ``child_fields`` as an operator's."""

    child_fields: ClassVar[tuple[str, ...]] = ()


@node()
class Unit(Operator):
    """Emits one row with no columns."""


@node()
class Argument(Operator):
    """Leaf of a subquery: emits the outer row(s), restricted to ``columns``."""

    columns: tuple[str, ...]


@node("input", "graph")
class Match(Operator):
    """Emits, for each input row and each embedding of ``graph`` that agrees with it, the row with
    ``graph.variables()`` added. With ``optional``, a row without embedding is emitted once with nulls.
    Order: none. Duplicates: as many as embeddings.
    """

    input: Operator
    graph: QueryGraph
    optional: bool = False


@node("input", "predicate")
class Filter(Operator):
    """Emits the input rows for which ``predicate`` is true (not false, not null), in order."""

    input: Operator
    predicate: Expr


@node("input", "items")
class Project(Operator):
    """Emits each input row as the named expressions, and nothing else, in order."""

    input: Operator
    items: tuple[tuple[str, Expr], ...]


@node("input", "keys", "aggregates")
class Aggregate(Operator):
    """Emits one row a group: the keys, then the aggregates. Without keys: exactly one row.

    Groups are equal by Cypher's grouping equality (null equals null, NaN equals NaN, 1 equals 1.0).
    ``weight``: an input column that says how many times each row counts (None: once).
    """

    input: Operator
    keys: tuple[tuple[str, Expr], ...]
    aggregates: tuple[tuple[str, AggregateCall], ...]
    weight: str | None = None


@node("input")
class Distinct(Operator):
    """Emits each different input row once, at its first place."""

    input: Operator


@node("expr")
class SortKey:
    """One key of ``Sort``. Nulls are the greatest values."""

    expr: Expr
    ascending: bool = True


@node("input", "keys", "limit")
class Sort(Operator):
    """Emits the input rows by Cypher's global order of values; stable. Holds all rows.

    ``limit`` (a constant or parameter): only so many first rows are needed.
    """

    input: Operator
    keys: tuple[SortKey, ...]
    limit: Expr | None = None


@node("input", "count")
class Skip(Operator):
    """Emits all but the first ``count`` rows."""

    input: Operator
    count: Expr


@node("input", "count")
class Limit(Operator):
    """Emits the first ``count`` rows and stops its input."""

    input: Operator
    count: Expr


@node("input", "expr")
class Unwind(Operator):
    """Emits each row once for each item of the list ``expr``, as column ``name``; none for null or []."""

    input: Operator
    expr: Expr
    name: str


@node("input", "args")
class ProcedureCall(Operator):
    """Emits each row once for each row that a procedure gives for it, in order; a VOID procedure's rows stay as they
    are.

    ``outputs``: those of the procedure's outputs that become columns, each with the column's name.
    """

    input: Operator
    procedure: Procedure
    args: tuple[Expr, ...]
    outputs: tuple[tuple[str, str], ...]
    span: Span | None = None


@node("input", "url")
class LoadCsv(Operator):
    """Emits each row once for each row of the CSV file at ``url``, in the file's order, as column ``name``.

    A file's row is a list of strings and nulls; with ``headers`` a map from the first row's fields to them. ``line``,
    ``file``: columns of the line's number and the file's path; empty where nobody asks for them. ``fields``: those of
    maps that are read, None for all.
    """

    input: Operator
    url: Expr
    name: str
    headers: bool = False
    separator: str = ","
    line: str = ""
    file: str = ""
    fields: tuple[str, ...] | None = None

    @property
    def added(self) -> tuple[str, ...]:
        """The columns that it adds."""
        return tuple(name for name in (self.name, self.line, self.file) if name)


@node("inputs")
class Union(Operator):
    """Emits the rows of all inputs one after the other; without ``all``, each different row once."""

    inputs: tuple[Operator, ...]
    all: bool


@node("root")
class LogicalPlan:
    """A bound statement: its operators, the result's columns in order, and what to do with it.

    The root's columns are ``columns``. Names are unique in a plan (one name means one thing throughout), except
    that the last ``Project`` (of each query of a UNION) may give columns names that were used before.
    ``explain``: None, "explain", "explain steps", "profile".
    """

    root: Operator
    columns: tuple[str, ...]
    explain: str | None = None
