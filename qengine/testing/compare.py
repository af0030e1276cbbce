"""Compares results of different executors: as bags of rows, or in order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from qengine.errors import QengineError
from qengine.graph import Graph
from qengine.types import Node, Path, Relationship

_SHOWN = 5


def canonical(value: Any, *, lists_ordered: bool = True) -> Any:
    """Return a hashable form: equal for values that users would call the same, types included.

    Integers differ from floats and from booleans; NaN is itself; floats agree to 12 digits; nodes and relationships
    are known by their id, labels or type, and properties.
    """
    if value is None or isinstance(value, bool | int | str):
        return (type(value).__name__, value)
    if isinstance(value, float):
        return ("float", "NaN" if math.isnan(value) else float(f"{value:.12g}") + 0.0)
    if isinstance(value, list | tuple):
        items = [canonical(item, lists_ordered=lists_ordered) for item in value]
        return ("list", *(items if lists_ordered else sorted(items, key=repr)))
    if isinstance(value, Node):
        return ("node", value.id, tuple(value.labels), _properties(value.properties))
    if isinstance(value, Relationship):
        return ("relationship", value.id, value.type, value.start, value.end, _properties(value.properties))
    if isinstance(value, Path):
        return ("path", *(canonical(element) for element in value))
    if isinstance(value, dict):
        return ("map", _properties(value, lists_ordered=lists_ordered))
    return (type(value).__name__, value)


def _properties(properties: Any, *, lists_ordered: bool = True) -> tuple[Any, ...]:
    entries = ((key, canonical(value, lists_ordered=lists_ordered)) for key, value in properties.items())
    return tuple(sorted(entries, key=lambda entry: entry[0]))


def difference(
    expected: Iterable[Sequence[Any]],
    found: Iterable[Sequence[Any]],
    *,
    ordered: bool = False,
    lists_ordered: bool = True,
) -> str | None:
    """Return how two results differ, in a few lines; None where they are the same.

    Parameters
    ----------
    ordered
        Compare the rows in order; else as bags.
    lists_ordered
        Compare lists inside rows in order; else as bags (``collect`` gives no order).
    """
    left = [tuple(canonical(value, lists_ordered=lists_ordered) for value in row) for row in expected]
    right = [tuple(canonical(value, lists_ordered=lists_ordered) for value in row) for row in found]
    missing, extra = Counter(left) - Counter(right), Counter(right) - Counter(left)
    if missing or extra:
        lines = [f"expected {len(left)} rows, found {len(right)}"]
        lines += [f"  missing {times}x {row}" for row, times in list(missing.items())[:_SHOWN]]
        lines += [f"  extra   {times}x {row}" for row, times in list(extra.items())[:_SHOWN]]
        return "\n".join(lines)
    if ordered and left != right:
        place = next(index for index, (a, b) in enumerate(zip(left, right, strict=True)) if a != b)
        return f"the order differs at row {place}: expected {left[place]}, found {right[place]}"
    return None


def agree(
    graph: Graph,
    text: str,
    params: dict[str, Any] | None = None,
    *,
    asked: str | None = None,
    device: str = "cpu",
    ordered: bool = False,
    errors: bool = False,
    **options: Any,
) -> Any:
    """Check that a device gives a statement's rows as the reference executor does; return these.

    Parameters
    ----------
    asked
        What the device is asked in place of ``text``: the same with hints.
    errors
        Whether both may fail, with errors of one class, whose name is returned then.
    options
        What else the device's ``Graph.query`` is given.

    Raises
    ------
    AssertionError
        With the statement, where they differ.
    """

    def outcome(text: str, **options: Any) -> Any:
        try:
            return graph.query(text, params, **options).fetchall()
        except QengineError as error:
            if not errors:
                raise
            return type(error).__name__

    expected, found = outcome(text, device="reference"), outcome(asked or text, device=device, **options)
    if isinstance(expected, str) or isinstance(found, str):
        assert expected == found, f"{asked or text}: {found}, not {expected}"
    else:
        told = difference(expected, found, ordered=ordered)
        assert told is None, f"{asked or text} {params or ''}\n{told}"
    return expected
