"""Groups of a row each: where a key has another value for each vertex, nothing is grouped."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from qengine._frozen import frozen, replace
from qengine.exec.common.grouping import ascends
from qengine.exec.common.runtime import Runtime
from qengine.plan.expr import Expr, Property, Variable
from qengine.plan.logical import Aggregate
from qengine.plan.physical import VertexLevel

_SAMPLED = 1024  # values that are looked at before all are


def single_calls(operator: Aggregate) -> Aggregate:
    """Return an aggregate that gives the same of groups of a row each, without looking for different values."""
    return replace(
        operator, aggregates=tuple((name, replace(call, distinct=False)) for name, call in operator.aggregates)
    )


def tells_apart(operator: Aggregate, level: VertexLevel, runtime: Runtime) -> bool:
    """Tell whether a key is another value for each vertex that a level, the only one, may bind."""
    ranges = runtime.store.label_ranges(level.labels).tolist()
    return any(is_unique(expr, ranges, runtime) for _, expr in operator.keys)


@frozen
class _Unique:
    """Whether a property has another value for each vertex of a range; what the graph keeps of it."""

    holds: bool
    nbytes: int = 64


def is_unique(expr: Expr, ranges: Sequence[Sequence[int]], runtime: Runtime) -> bool:
    """Tell whether an expression of a vertex is another value for each one with an id in some ranges."""
    if isinstance(expr, Variable):
        return True
    if not isinstance(expr, Property) or not isinstance(expr.subject, Variable):
        return False
    if len(ranges) != 1:
        return False
    begin, end = ranges[0]
    column = runtime.store.node_property(expr.key)
    if column is None or not (column.begin <= begin and end <= column.end):
        return False
    cached, key = runtime.store.derived, ("unique", expr.key, (begin, end))

    def seen() -> _Unique:
        array = column.slice(begin, end)
        return _Unique(_may_be_unique(array) and runtime.context.aside(lambda: _all_differ(array), len(array)))

    # To look at all takes memory.
    found: _Unique | None = cached.get(key, seen) if runtime.memory.limit is None else cached.find(key)
    return found is not None and found.holds


def _may_be_unique(array: pa.Array) -> bool:
    """Tell whether values are of a kind whose equality is that of groups, none null, and the first of them differ."""
    if array.null_count or not (pa.types.is_int64(array.type) or pa.types.is_string(array.type)):
        return False
    sample = array.slice(0, _SAMPLED)
    return len(pc.unique(sample)) == len(sample)


def _all_differ(array: pa.Array) -> bool:
    if pa.types.is_int64(array.type) and ascends(array.to_numpy()):
        return True
    return bool(pc.count_distinct(array).as_py() == len(array))
