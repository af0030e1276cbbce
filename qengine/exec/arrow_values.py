"""Python values of the language as Arrow arrays, exactly: lists and maps at any depth, values of different types.

==========================  ==========================================================================================
values                      Arrow type
==========================  ==========================================================================================
of one type                 that type; temporal values as ``qengine.temporal.arrow`` says
lists                       list of what the items of all lists are together
maps with the same keys     struct
nodes                       struct<id, labels, properties>; a property that a node lacks is null, and so below
relationships               struct<id, type, start, end, properties>
paths                       struct<nodes: list, relationships: list>
of different types          dense union with a child for each type, and for each set of keys that maps have
==========================  ==========================================================================================

What Arrow can't hold changes its form, and ``Tell`` hears of it: temporal values without a type become text, maps with
more sets of keys than a union has children one struct with nulls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._limits import stop_if_due
from qengine.spatial import Point
from qengine.temporal import Temporal
from qengine.temporal.arrow import text_kinds, to_array, without_text
from qengine.types import Node, Path, Relationship

Tell = Callable[[str], None]
"""Takes what a conversion changes, as a sentence."""

_PLAIN = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
_MOST_CHILDREN = 127  # of a union, whose codes are 8-bit integers
_KEYS = "Maps got null for the keys that they lack: they have more different sets of keys than an Arrow union can tell."


def silent(_: str) -> None:
    """Tell nobody."""


def array_of(values: Sequence[Any], tell: Tell = silent) -> Any:
    """Return Python values of the language as an Arrow array (see the module).

    Parameters
    ----------
    values
        None, and values as results have them.
    tell
        Called once for each kind of value that changes its form, or more often.
    """
    stop_if_due()
    kinds = set(map(type, values))
    kinds.discard(type(None))
    if not kinds:
        return pa.nulls(len(values))
    if len(kinds) > 1 or dict in kinds:
        return _mixed(values, kinds, tell)
    return _alike(values, kinds.pop(), tell)


def told_as_text(array: Any, tell: Tell) -> Any:
    """Return an array for readers that don't know of temporal values as text in structs: as plain strings."""
    kinds = text_kinds(array.type)
    for kind in kinds:
        tell(f"{kind.value} values became text: no Arrow type holds them all.")
    return without_text(array) if kinds else array


def _alike(values: Sequence[Any], kind: type, tell: Tell) -> Any:
    """Return values of one class, other than maps."""
    if kind in _PLAIN:
        return _plain(values, kind)
    if issubclass(kind, Temporal | Point):
        return told_as_text(to_array(values), tell)
    return _lists(values, tell) if kind is list else _ENTITIES[kind](values, tell)


def _plain(values: Sequence[Any], kind: type) -> Any:
    array = pa.array(values, _PLAIN[kind])
    if isinstance(array, pa.ChunkedArray):  # more text than 32-bit offsets reach
        return pa.array(values, pa.large_string())
    return array


def _lists(values: Sequence[Any], tell: Tell) -> Any:
    lengths = np.fromiter((0 if value is None else len(value) for value in values), np.int64, len(values))
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    items = array_of(list(chain.from_iterable(value for value in values if value is not None)), tell)
    if offsets[-1] >= 2**31:
        return pa.LargeListArray.from_arrays(pa.array(offsets), items, mask=_nulls(values))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), items, mask=_nulls(values))


def _nulls(values: Sequence[Any]) -> Any:
    """Return a mask of the values that are null, None without any."""
    mask = [value is None for value in values]
    return pa.array(mask, pa.bool_()) if True in mask else None


def _structs(values: Sequence[Any], fields: dict[str, Any]) -> Any:
    """Return structs of fields that were made for all values; null where a value is None."""
    if not fields:
        return pa.array([None if value is None else {} for value in values], pa.struct([]))
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields), mask=_nulls(values))


def _maps(values: Sequence[dict[str, Any] | None], keys: Iterable[str], tell: Tell) -> Any:
    """Return maps as structs with a field for each key."""
    return _structs(
        values,
        {key: array_of([None if each is None else each.get(key) for each in values], tell) for key in keys},
    )


def _properties(values: Sequence[Any], tell: Tell) -> Any:
    """Return the properties of nodes or relationships: a field for each key that one of them has."""
    properties = [None if value is None else dict(value.properties) or None for value in values]
    keys = dict.fromkeys(chain.from_iterable(each for each in properties if each))
    return _maps(properties, keys, tell) if keys else pa.nulls(len(values))


def _field(values: Sequence[Any], name: str, arrow: Any) -> Any:
    return pa.array([None if value is None else getattr(value, name) for value in values], arrow)


def _nodes(values: Sequence[Node | None], tell: Tell) -> Any:
    fields = {
        "id": _field(values, "id", pa.int64()),
        "labels": _field(values, "labels", pa.list_(pa.string())),
        "properties": _properties(values, tell),
    }
    return _structs(values, fields)


def _relationships(values: Sequence[Relationship | None], tell: Tell) -> Any:
    fields = {
        "id": _field(values, "id", pa.int64()),
        "type": _field(values, "type", pa.string()),
        "start": _field(values, "start", pa.int64()),
        "end": _field(values, "end", pa.int64()),
        "properties": _properties(values, tell),
    }
    return _structs(values, fields)


def _paths(values: Sequence[Path | None], tell: Tell) -> Any:
    fields = {
        name: _lists([None if value is None else getattr(value, name) for value in values], tell)
        for name in ("nodes", "relationships")
    }
    return _structs(values, fields)


_ENTITIES: dict[type, Callable[[Sequence[Any], Tell], Any]] = {
    Node: _nodes,
    Relationship: _relationships,
    Path: _paths,
}


def _mixed(values: Sequence[Any], kinds: set[type], tell: Tell) -> Any:
    """Return values of different classes, or maps, as a dense union; as they are where all have one form."""
    forms = [_form(value) for value in values] if dict in kinds else [type(value) for value in values]
    order = sorted(set(forms) - {type(None)}, key=_name)
    if len(order) > _MOST_CHILDREN:
        tell(_KEYS)
        forms = [dict if isinstance(form, frozenset) else form for form in forms]
        order = sorted(set(forms) - {type(None)}, key=_name)
    if len(order) == 1:
        return _of_form(values, order[0], tell)
    number = {form: code for code, form in enumerate(order)}
    number[type(None)] = 0
    codes = np.fromiter((number[form] for form in forms), np.int8, len(values))
    offsets = np.zeros(len(values), np.int32)
    children = []
    for code, form in enumerate(order):
        rows = np.flatnonzero(codes == code)
        offsets[rows] = np.arange(len(rows), dtype=np.int32)
        children.append(_of_form([values[row] for row in rows.tolist()], form, tell))
    names = [
        f"{_name(form)[0]}{code}" if isinstance(form, frozenset) else form.__name__ for code, form in enumerate(order)
    ]
    return pa.UnionArray.from_dense(pa.array(codes), pa.array(offsets), children, names)


_Form = type | frozenset[str]
"""What values of one child of a union share: their class, or the keys of maps."""


def _form(value: Any) -> _Form:
    return frozenset(value) if type(value) is dict else type(value)


def _name(form: _Form) -> tuple[str, list[str]]:
    return ("dict", sorted(form)) if isinstance(form, frozenset) else (form.__name__, [])


def _of_form(values: Sequence[Any], form: _Form, tell: Tell) -> Any:
    if isinstance(form, frozenset) or form is dict:
        return _maps(values, dict.fromkeys(chain.from_iterable(value for value in values if value is not None)), tell)
    return _alike(values, form, tell)
