"""Arrow arrays of values that differ in type: a dense union, one child a type, nulls in a child of their own.

Cypher lets one property be an integer here and a string there. Only such columns pay for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._text import HALVES
from qengine.errors import StorageError
from qengine.spatial import Point
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time
from qengine.temporal.arrow import to_array, union_parts
from qengine.temporal.native import from_native, from_numpy, is_missing

_OFFSET_LIMIT = 2**31 - 1  # what the 32-bit offsets of strings and unions reach
_SCALARS: tuple[tuple[type, Any], ...] = (
    (bool, pa.bool_()),
    (int, pa.int64()),
    (float, pa.float64()),
    (str, pa.string()),
)
_TEMPORALS = (Date, LocalTime, Time, LocalDateTime, DateTime, Duration, Point)
_LIST = len(_SCALARS) + len(_TEMPORALS)


def from_python(values: Sequence[Any], place: str) -> Any:
    """Return Python values as an Arrow array: plain where all have one type, else a dense union.

    Parameters
    ----------
    values
        None, bool, int, float, str, points, temporal values (ours or of Python's ``datetime``), and lists of them.
    place
        What the errors call the values.

    Raises
    ------
    StorageError
        For a value of another type or an integer of more than 64 bits.
    """
    classes = set(map(type, values))
    classes.discard(type(None))
    if len(classes) == 1:  # the commonest case, without a look at each value
        kind = next((index for index, (plain, _) in enumerate(_SCALARS) if plain in classes), None)
        if kind is not None:
            return _homogeneous(values, kind, place)
        if not classes.isdisjoint(_TEMPORALS):
            return to_array(values)
    kinds = np.fromiter((_kind(value, place) for value in values), np.int8, len(values))
    present = [int(kind) for kind in np.unique(kinds) if kind >= 0]
    if not present:
        return pa.nulls(len(values))
    if len(present) == 1:
        if -1 in kinds:  # what is missing has many names
            values = [None if kind < 0 else value for value, kind in zip(values, kinds.tolist(), strict=True)]
        return _homogeneous(values, present[0], place)
    parts = [
        ([values[row] for row in np.flatnonzero(kinds == kind).tolist()], kind)
        for kind in ([-1] if -1 in kinds else []) + present
    ]
    children = [pa.nulls(len(part)) if kind < 0 else _homogeneous(part, kind, place) for part, kind in parts]
    code = np.zeros(len(values), np.int8)
    offset = np.zeros(len(values), np.int32)
    for child, (part, kind) in enumerate(parts):
        rows = kinds == kind
        code[rows] = child
        offset[rows] = np.arange(len(part), dtype=np.int32)
    return pa.UnionArray.from_dense(pa.array(code), pa.array(offset), children)


def concatenate(arrays: Sequence[Any]) -> Any:
    """Return normal arrays, one after the other, as one: plain where the types agree, else a dense union.

    Arrays of type null take any type.
    """
    types = list(dict.fromkeys(array.type for array in arrays if not pa.types.is_null(array.type)))
    if set(types) == {pa.string(), pa.large_string()}:
        types = [pa.large_string()]
    if len(types) > 1 or any(map(is_variant, types)):
        return arrays[0] if len(arrays) == 1 else _union(arrays)
    target = types[0] if types else pa.null()
    if pa.types.is_string(target) and sum(array.nbytes for array in arrays) > _OFFSET_LIMIT:
        target = pa.large_string()
    same = [
        array
        if array.type == target
        else pa.nulls(len(array), target)
        if array.type == pa.null()
        else array.cast(target)
        for array in arrays
    ]
    return same[0] if len(same) == 1 else pa.concat_arrays(same)


def is_variant(arrow: Any) -> bool:
    """Tell whether a column of this Arrow type mixes types."""
    return bool(pa.types.is_union(arrow))


def is_present(array: Any) -> np.ndarray:
    """Return which values of a normal array aren't null, as bool.

    A union has no nulls of its own, and whether ``is_valid`` sees those of its children depends on Arrow's version.
    """
    if not is_variant(array.type):
        found: np.ndarray = array.is_valid().to_numpy(zero_copy_only=False)
        return found
    codes, offsets = union_parts(array)
    found = np.zeros(len(array), np.bool_)
    for i in range(array.type.num_fields):
        rows = np.flatnonzero(codes == i)
        found[rows] = array.field(i).is_valid().to_numpy(zero_copy_only=False)[offsets[rows]]
    return found


def _union(arrays: Sequence[Any]) -> Any:
    """Return one union over plain arrays and unions: children are concatenated type by type."""
    if sum(map(len, arrays)) > _OFFSET_LIMIT:
        raise StorageError("a mixed column is too long", hint="Give the property one type in all tables.")
    children: dict[Any, list[Any]] = {}
    filled: dict[Any, int] = {}
    codes: list[np.ndarray] = []
    offsets: list[np.ndarray] = []

    def add(child: Any) -> tuple[int, int]:
        base = filled.get(child.type, 0)
        children.setdefault(child.type, []).append(child)
        filled[child.type] = base + len(child)
        return list(children).index(child.type), base

    for array in arrays:
        if is_variant(array.type):
            code = np.zeros(len(array), np.int8)
            own, offset = union_parts(array)
            for i in range(array.type.num_fields):
                index, base = add(array.field(i))
                rows = own == i
                code[rows] = index
                offset[rows] += base
        else:
            index, base = add(array)
            code = np.full(len(array), index, np.int8)
            offset = np.arange(base, base + len(array), dtype=np.int32)
        codes.append(code)
        offsets.append(offset)
    joined = [pa.concat_arrays(parts) for parts in children.values()]
    return pa.UnionArray.from_dense(pa.array(np.concatenate(codes)), pa.array(np.concatenate(offsets)), joined)


def _kind(value: Any, place: str) -> int:
    """Return the index into ``_SCALARS`` and then ``_TEMPORALS``, -1 for null, ``_LIST`` for lists."""
    if isinstance(value, np.generic):
        value = from_numpy(value)
    if value is None or is_missing(value):
        return -1
    for index, (kind, _) in enumerate(_SCALARS):
        if isinstance(value, kind):
            return index
    if isinstance(value, (list, tuple)):
        return _LIST
    temporal = _temporal(value)
    if temporal is not None:
        return len(_SCALARS) + _TEMPORALS.index(type(temporal))
    raise StorageError(
        f"{place}: a value of Python's {type(value).__name__} can't be a property",
        hint="Write list(value). " * isinstance(value, np.ndarray | set | frozenset | range)
        + "Properties hold booleans, numbers, strings, dates and times, and lists of them.",
    )


def _temporal(value: Any) -> Temporal | Point | None:
    """Return a temporal value as one of ours or a point, None for any other value."""
    if isinstance(value, np.generic):
        value = from_numpy(value)
    return value if isinstance(value, Temporal | Point) else from_native(value)


def _homogeneous(values: Sequence[Any], kind: int, place: str) -> Any:
    try:
        if kind < len(_SCALARS):
            return pa.array(values, _SCALARS[kind][1])
    except (OverflowError, pa.ArrowInvalid):
        large = next(value for value in values if value is not None and not -(2**63) <= value < 2**63)
        raise StorageError(
            f"{place}: an integer needs more than 64 bits: {large}", hint="Store it as a float or a string."
        ) from None
    except UnicodeEncodeError as error:
        raise StorageError(
            f"{place} holds a string with half of a surrogate pair: {error.object[error.start]!a}", hint=HALVES
        ) from None
    if kind < _LIST:
        return to_array([_temporal(value) for value in values])
    items = from_python([item for value in values if value is not None for item in value], place)
    lengths = [0 if value is None else len(value) for value in values]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    mask = pa.array([value is None for value in values])
    return pa.ListArray.from_arrays(pa.array(offsets), items, mask=mask)
