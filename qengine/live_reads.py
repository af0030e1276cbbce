"""Statements that read few elements of a version that no store is made of yet: they walk it element by element.

A store of a version costs a copy of what its commits have touched, whole types and columns. A statement that begins at
nodes known by a property's value or by their identity, and goes on from there, needs none of that. What reads more than
some thousand elements after all begins anew on a store, as any other statement does, and so does what fails: its
error is then the one that all see.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow.compute as pc

from qengine._gc import gc_paused
from qengine.catalog.procedures import Procedures
from qengine.errors import QengineError, QueryInterrupted, QueryTimeout
from qengine.exec.arrow_out import RowBatch
from qengine.exec.common.access import hash_index, note_scan
from qengine.exec.context import ExecutionContext
from qengine.exec.reference.graph import Edge
from qengine.exec.reference.run import Compiler
from qengine.exec.scalar.materialize import materialize
from qengine.plan import logical as op
from qengine.plan.access import HASH
from qengine.plan.column_types import column_types
from qengine.plan.pattern import LabelExpr
from qengine.plan.traverse import operators
from qengine.planned import Planned
from qengine.planning import one_statement, planning
from qengine.result import Result, ResultStats
from qengine.statements import Statements
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn
from qengine.storage.states import RelationshipState
from qengine.storage.store import GraphStore
from qengine.types import ANY, Kind, Type
from qengine.update_plans import OpenCatalog, bound_over
from qengine.write.base import Link
from qengine.write.live import LiveEnvironment, ValueFinder, WalkedVersion
from qengine.write.readable import Readable
from qengine.write.reading import FEW, is_anchored, most_rows

_MOST = 2_000  # elements and rows that are looked at, before a store is made
_LEAST = 500  # of these in a graph of any size
_PART = 2_000  # of a graph's elements as many may be looked at: a store of a small one takes less time
_MOST_TYPES = 16  # combinations of types that properties may have, of which each is tried
_LONGEST = 256  # executions that make a store at once, after walks that came to nothing
_WALKS = 4  # executions by walking before a statement is planned for an earlier version, too
_REASON = "few elements are read of a version that was just committed"
_WALKED = (
    op.Unit,
    op.Argument,
    op.Match,
    op.Filter,
    op.Project,
    op.Aggregate,
    op.Distinct,
    op.Sort,
    op.Skip,
    op.Limit,
    op.Unwind,
)


class _TooMuch(Exception):
    """More is read than is worth doing element by element."""


class LivePlan:
    """A plan for all versions, and whether it is worth walking: what has read too much is tried ever more rarely."""

    def __init__(
        self,
        planned: Planned,
        properties: Collection[tuple[str, str]] = (),
        is_refused: Callable[[Mapping[tuple[str, str], Type]], bool] = lambda types: False,
    ) -> None:
        """``properties``: as ("node", "age"), by whose types ``is_refused`` tells that the statement is wrong."""
        self.planned = planned
        self._properties = properties
        self._is_refused = is_refused
        self._fits: dict[tuple[frozenset[Type], ...], bool] = {}
        self._misses = 0
        self._left = 0
        self._walks = 0

    @property
    def is_enough(self) -> bool:
        """Whether the last walk was enough, or none was tried."""
        return not self._misses

    def is_due(self) -> bool:
        """Tell whether to walk this time."""
        if self._left:
            self._left -= 1
            return False
        return True

    def planned_for(self, statements: Statements, context: ExecutionContext) -> Planned | None:
        """Plan the statement for an earlier version, on which it may stay, once it was walked some times.

        Errors of the context's limits as for any planning; None where there is another.
        """
        if self._walks < _WALKS:
            return None
        try:
            return statements.plan(self.planned.text, False, context, quiet=True)[0]
        except (QueryTimeout, QueryInterrupted):
            raise
        except QengineError:
            self._walks = 0
            return None

    def fits(self, version: Readable) -> bool:
        """Tell whether no types that the properties of a version may have make the statement a wrong one.

        Where all values that are below were replaced, a property has the types of those above alone.
        """
        if not self._properties:
            return True
        types = tuple(version.property_types(*each) for each in self._properties)
        if (known := self._fits.get(types)) is None:
            few = math.prod(len(each) or 1 for each in types) <= _MOST_TYPES
            combined = itertools.product(*(each or (ANY,) for each in types)) if few else ()
            refused = (self._is_refused(dict(zip(self._properties, each, strict=True))) for each in combined)
            known = self._fits[types] = few and not any(refused)
        return known

    def note(self, *, walked: bool) -> None:
        """Take note of whether the walk was enough."""
        self._walks += walked
        self._misses = 0 if walked else self._misses + 1
        self._left = min(4**self._misses, _LONGEST) if self._misses else 0


def live_plan(
    text: str, undirected: frozenset[str], context: ExecutionContext, procedures: Procedures
) -> LivePlan | None:
    """Return what a statement that only reads is planned to, for all versions, where it begins at known nodes.

    None for any other statement, and for one in which something is wrong: who plans it for a store says what.
    ``undirected``: the types whose relationships have no direction.
    """
    try:
        with planning(text, context.check_planning):
            statement = one_statement(text)
            if statement.explain is not None or statement.hints:
                return None
            catalog = OpenCatalog(undirected)
            planned = bound_over(catalog, statement, text, procedures)
    except (QueryTimeout, QueryInterrupted):
        raise
    except QengineError:
        return None
    root = planned.logical.root
    parts = list(operators(root))
    walked = all(isinstance(each, _WALKED) for each in parts) and is_anchored(root, walks=True)
    has_match = any(isinstance(each, op.Match) for each in parts)  # SHOW reads the rules
    if not (walked and has_match):
        return None

    def is_refused(types: Mapping[tuple[str, str], Type]) -> bool:
        try:
            with planning(text, context.check_planning):
                bound_over(OpenCatalog(undirected, types.get), statement, text, procedures)
        except (QueryTimeout, QueryInterrupted):
            raise
        except QengineError:
            return True
        return False

    typed = catalog.asked and is_refused(dict.fromkeys(catalog.asked, Type(Kind.PATH)))  # which no operator takes
    return LivePlan(planned, tuple(catalog.asked), is_refused) if typed else LivePlan(planned)


def read_live(
    plan: LivePlan,
    version: Readable,
    params: Mapping[str, Any] | None,
    context: ExecutionContext,
) -> Result | None:
    """Return the rows of a statement over a version, all of which are read now; None where that is too much.

    ``plan``: what ``live_plan`` gave.
    """
    found = _read(plan.planned, version, params, context) if plan.fits(version) else None
    plan.note(walked=found is not None)
    return found


def _read(
    planned: Planned, version: Readable, params: Mapping[str, Any] | None, context: ExecutionContext
) -> Result | None:
    begin = time.perf_counter()
    context.parameters = params or {}
    if context.memory_limit is not None or most_rows(planned.logical.root, context.parameters) > FEW:
        return None
    logical = planned.logical
    columns = logical.columns
    try:
        with gc_paused():
            graph = _ReadGraph(version, context)
            found = list(_Compiler(graph, context).rows(logical.root)({}))
            rows = materialize([[row[name] for name in columns] for row in found], graph, context.check)
    except (QueryTimeout, QueryInterrupted):
        raise
    except (_TooMuch, QengineError, RecursionError):
        return None
    except KeyboardInterrupt:
        context.interrupt()
        raise QueryInterrupted("The query was interrupted.", code="Interrupted") from None
    stats = ResultStats(device="cpu", device_reason=_REASON, rows=len(rows))
    stats.seconds = time.perf_counter() - begin
    batches = iter([RowBatch(columns, rows)] if rows and columns else [])
    return Result(columns, batches, stats, None, planned.notices, None, partial(column_types, logical.root))


class _ReadGraph(WalkedVersion[Readable]):
    """A version of which only so much is read."""

    def __init__(self, version: Readable, context: ExecutionContext) -> None:
        super().__init__(version)
        self.begin(context)
        self._left = min(_MOST, max(_LEAST, version.base.size // _PART))

    def spend(self) -> None:
        """Count one more element or row.

        Raises
        ------
        _TooMuch
            Where there were enough.
        """
        self._left -= 1
        if self._left < 0:
            raise _TooMuch

    def _edge(self, link: Link) -> Edge:
        self.spend()
        return super()._edge(link)

    def _made(self, number: int, state: RelationshipState) -> Edge:
        self.spend()
        return super()._made(number, state)

    def having(self, wanted: Mapping[str, Any], labels: LabelExpr | None = None) -> Iterator[int]:
        """Give the nodes whose properties equal some values, and perhaps others that satisfy the label expression."""
        for number in super().having(wanted, labels):
            self.spend()
            yield number

    def with_value(self, key: str, value: int | str) -> list[int] | None:
        found = super().with_value(key, value)
        for _ in found or ():
            self.spend()
        return found

    def _node_index(self, key: str) -> ValueFinder | None:
        store = self._base.store
        found = hash_index(store, key, self.context)
        if found is None and (column := store.node_property(key)) is not None and _Scan.fits(column):
            note_scan(store, HASH, key)
            return _Scan(column)
        return found or super()._node_index(key)


class _Scan:
    """Finds values in a column by reading it, as long as that is less than to make an index (``ValueFinder``)."""

    def __init__(self, column: PropertyColumn) -> None:
        self._column = column

    @staticmethod
    def fits(column: PropertyColumn) -> bool:
        """Tell whether a column's values are compared at once."""
        return str(column.arrow_type) in ("int64", "string", "large_string")

    def ids(self, value: Any, context: ExecutionContext) -> Array:
        """Return the ids that have a value (int64, ascending)."""
        context.check()
        if type(value) is float and value.is_integer():
            value = int(value)
        is_number = str(self._column.arrow_type) == "int64"
        fits = type(value) is int and -(2**63) <= value < 2**63 if is_number else type(value) is str
        if not fits:
            return np.empty(0, np.int64)
        same = pc.equal(self._column.array, value).fill_null(False)
        return np.flatnonzero(same.to_numpy(zero_copy_only=False)) + self._column.begin

    def few(self, value: Any, context: ExecutionContext) -> list[int]:
        """Return ``ids`` as a list."""
        found: list[int] = self.ids(value, context).tolist()
        return found


class _Compiler(Compiler):
    """Compiles a plan over a version of which only so much is read."""

    def __init__(self, graph: _ReadGraph, context: ExecutionContext) -> None:
        def environment(subqueries: Any) -> LiveEnvironment:
            return LiveEnvironment(graph, subqueries=subqueries, memory=context.memory)

        super().__init__(environment, lambda: graph, _no_store, context)
        self._env.begin(context.parameters)  # type: ignore[attr-defined]
        stop: Callable[[], None] = context.check

        def check() -> None:
            stop()
            graph.spend()

        self._check = check


def _no_store() -> GraphStore:
    raise _TooMuch
