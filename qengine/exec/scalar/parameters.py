"""Parameters: values of Python, and of the libraries that hold columns, as values of the language.

=====================================================  ========================================================
Python                                                 in the language
=====================================================  ========================================================
None, pandas' NA and NaT                               null
bool, int, float, str, and NumPy's scalars             boolean, integer (64 bits), float, string
list, tuple, range and other sequences; sets, views    list; of a set in no given order
dict and other mappings with strings as keys           map
NumPy arrays; Series and Index of pandas or polars;    list, exactly: times keep their nanoseconds
Arrow arrays
scalars of Arrow                                       as the values that they hold
dates, times, durations: ours, Python's, NumPy's       the temporal values
UUID                                                   string
nodes, relationships, paths of a result                themselves
=====================================================  ========================================================

What has no plain meaning is refused, with a hint what to give: decimals and fractions (a float rounds them), bytes (of
which encoding?), generators (which can be read once), members of enumerations, dataclasses, tables.
"""

from __future__ import annotations

import datetime
import uuid
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any

import numpy as np

from qengine._limits import stop_if_due
from qengine._text import HALVES, are_texts, half_pair
from qengine.errors import ExecutionError, StorageError
from qengine.exec.interruptible import CHECKED_ITEMS, in_parts
from qengine.exec.scalar.values import Given, NodeHandle, PathHandle, RelationshipHandle, checked
from qengine.spatial import Point
from qengine.temporal import Temporal
from qengine.temporal.native import from_native, from_numpy, is_missing
from qengine.types import Node, Path, Relationship

_GIVE = (
    "Give None, bool, int, float, str, dates and times, lists (arrays and Series, too) or dicts of them, or nodes, "
    "relationships and paths of a result."
)
_PLAIN = frozenset((type(None), bool, int, float, str))
_VALUES = _PLAIN | {datetime.date, datetime.datetime, datetime.time, datetime.timedelta}
_ORDERED = frozenset((int, float, str))
_UNORDERED = frozenset((type(None), bool, list, tuple, dict))
_DEEP = 8  # lists and maps in each other, in which elements are looked for
_STRINGS = frozenset((str,))
_LISTS = frozenset((type(None), list))
_MANY = 16  # items that are looked at together
_TOGETHER = 4 * CHECKED_ITEMS  # at most, of many lists
_BYTES = (bytes, bytearray, memoryview)


def may_hold_elements(value: Any, depth: int = 0) -> bool:
    """Tell whether a parameter's value may be a node, relationship or path, or have one in it, so deep."""
    kind = type(value)
    if kind in _VALUES:
        return False
    if kind not in (list, dict) or depth > _DEEP:
        return True
    if kind is dict:
        value = value.values()
    kinds = set(map(type, value))
    if kinds <= _VALUES:
        return False
    return not kinds <= _VALUES | {list, dict} or any(may_hold_elements(each, depth + 1) for each in value)


def ordered_values(parameters: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return those of some parameters that may be bounds of ranges, as the language has them: numbers, texts, times."""
    values = {}
    for name in names:
        value = parameters.get(name)
        if type(value) not in _ORDERED:
            if type(value) in _UNORDERED:
                continue
            try:
                value = from_python(value, name, [])
            except ExecutionError:  # running the statement tells
                continue
            if not (type(value) in _ORDERED or isinstance(value, Temporal)):
                continue
        values[name] = value
    return values


def from_python(value: Any, name: str, given: list[Given]) -> Any:
    """Return a parameter's value as one of the language.

    Parameters
    ----------
    value
        What the user gives; see the module.
    name
        What it is, for messages: ``$x``.
    given
        Gets the nodes and relationships that the value holds. Their handles have numbers instead of internal ids until
        ``foreign.find_in_graph`` has found them.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentType`` for a value that the language doesn't have, ``IntegerOverflow`` for an
        integer beyond 64 bits, ``InvalidArgumentValue`` for lists or maps that are nested too deep, and for strings
        with half of a surrogate pair, which are no text.
    """
    try:
        return _converted(value, name, given)
    except RecursionError:
        raise ExecutionError(
            f"{name} holds lists or maps that are nested too deep, or that hold themselves.",
            code="InvalidArgumentValue",
            hint="Give flatter ones.",
        ) from None


def _converted(value: Any, name: str, given: list[Given]) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _text(value, name)
    if kind is int:
        return value if -(2**63) <= value < 2**63 else _integer(value, name)
    if value is None or kind is float or kind is bool:
        return value
    if isinstance(value, Temporal | Point):
        return value
    if isinstance(value, list | tuple):
        if len(value) <= CHECKED_ITEMS:
            return _items(value, name, given)
        return [item for part in in_parts(value, stop_if_due) for item in _items(part, name, given)]
    if isinstance(value, Mapping):
        return _map(value, name, given)
    if isinstance(value, Node | Relationship):
        handle = NodeHandle(value.id) if isinstance(value, Node) else RelationshipHandle(value.id)
        given.append((name, value, handle))
        return handle
    if isinstance(value, Path):
        nodes = tuple([_converted(node, name, given) for node in value.nodes])
        return PathHandle(nodes, tuple([_converted(edge, name, given) for edge in value.relationships]))
    if is_missing(value):
        return None
    if (temporal := from_native(value)) is not None:
        return temporal
    if isinstance(value, np.generic | np.ndarray):
        return _of_numpy(value, name, given)
    library = kind.__module__.partition(".")[0]
    if library in _LIBRARIES:
        return _LIBRARIES[library](value, name, given)
    if isinstance(value, uuid.UUID):
        return str(value)
    for base in (int, float, str):  # subclasses, such as members of IntEnum and StrEnum
        if isinstance(value, base):
            return _converted(base(value) if base is not str else str.__str__(value), name, given)
    if isinstance(value, Sequence | Set | ValuesView) and not isinstance(value, _BYTES):
        return [_converted(item, name, given) for item in value]
    raise _refused(value, name)


def _integer(value: int, name: str) -> int:
    """Return an integer that fits 64 bits."""
    try:
        return checked(value)
    except ExecutionError as error:
        raise ExecutionError(
            f"{name} holds an integer of more than 64 bits.", code=error.code, hint="Give it as a string or a float."
        ) from None


def _text(value: str, name: str) -> str:
    """Return a string that is a text."""
    half = half_pair(value)
    if half >= 0:
        raise ExecutionError(
            f"{name} holds a string with half of a surrogate pair: {value[half]!a} at character {half + 1}.",
            code="InvalidArgumentValue",
            hint=HALVES,
        )
    return value


def _items(items: Sequence[Any], name: str, given: list[Given]) -> list[Any]:
    """Return the items of a list; those of many are looked at together, as far as they are alike."""
    if len(items) >= _MANY:
        if _are_plain(items):
            return list(items)
        classes = set(map(type, items))
        found = None
        if classes == {dict}:
            found = _maps(items, name, given)
        elif classes <= _LISTS:
            found = _lists(items, name, given)
        if found is not None:
            return found
    return [_converted(item, name, given) for item in items]


def _maps(items: Sequence[dict[Any, Any]], name: str, given: list[Given]) -> list[Any] | None:
    """Return maps of the same strings, key by key; None for others."""
    keys = items[0].keys()
    if len(set(map(len, items))) != 1 or not _STRINGS.issuperset(map(type, chain.from_iterable(items))):
        return None
    if not are_texts(keys):
        return None
    try:
        columns = {key: list(map(itemgetter(key), items)) for key in keys}
    except KeyError:
        return None
    found = list(map(dict.copy, items))
    for key, column in columns.items():
        if not _are_plain(column):
            for own, value in zip(found, _items(column, name, given), strict=True):
                own[key] = value
    return found


def _lists(items: Sequence[list[Any] | None], name: str, given: list[Given]) -> list[Any] | None:
    """Return lists, and nulls, their items together; None where these are very many."""
    there = [each for each in items if each is not None]
    if sum(map(len, there)) > _TOGETHER:
        return None
    flat = list(chain.from_iterable(there))
    if _are_plain(flat):
        return [each if each is None else each.copy() for each in items]
    if len(flat) < _MANY:
        return None
    converted = iter(_items(flat, name, given))
    return [each if each is None else list(islice(converted, len(each))) for each in items]


def _are_plain(items: Sequence[Any]) -> bool:
    """Tell whether all items are values of the language as they are, none of them a list or a map."""
    classes = set(map(type, items))
    if not classes <= _PLAIN:
        return False
    if int in classes:
        try:
            array("q", items if classes == {int} else [item for item in items if type(item) is int])
        except OverflowError:
            return False
    if str in classes:
        return are_texts(items if classes == _STRINGS else [item for item in items if type(item) is str])
    return True


def _map(value: Mapping[Any, Any], name: str, given: list[Given]) -> dict[str, Any]:
    for key in value:
        if not isinstance(key, str):
            raise ExecutionError(
                f"{name} has the map key {key!r}: keys are strings.",
                code="InvalidArgumentType",
                hint="Make them strings: {str(key): value for key, value in mapping.items()}.",
            )
    return {_text(str.__str__(key), name): _converted(item, name, given) for key, item in value.items()}


def _of_numpy(value: Any, name: str, given: list[Given]) -> Any:
    if isinstance(value, np.generic):
        return _converted(from_numpy(value), name, given)
    if value.dtype.kind in "mM":  # nanoseconds would become integers
        return _converted(list(value) if value.ndim else value[()], name, given)
    return _converted(value.tolist(), name, given)


def _of_pandas(value: Any, name: str, given: list[Given]) -> Any:
    if getattr(value, "ndim", 0) == 1:  # Series, Index and what holds their values
        missing = value.isna() if hasattr(value, "isna") else repeat(False)  # strings that are missing are NaN there
        items = zip(value.tolist(), missing, strict=False)
        return [None if gone else _converted(item, name, given) for item, gone in items]
    raise _refused(value, name)


def _of_polars(value: Any, name: str, given: list[Given]) -> Any:
    if type(value).__name__ != "Series":
        raise _refused(value, name)
    if str(value.dtype) == "Object":
        return [_converted(item, name, given) for item in value.to_list()]
    return _of_arrow(value.to_arrow(), name, given)  # Python's times would lose their nanoseconds


def _of_arrow(value: Any, name: str, given: list[Given]) -> Any:
    import pyarrow as pa

    from qengine.storage.normal import normal_array
    from qengine.temporal.arrow import to_values

    if isinstance(value, pa.Scalar):
        return _of_arrow(pa.array([value], value.type), name, given)[0] if value.is_valid else None
    if not isinstance(value, pa.Array | pa.ChunkedArray):
        raise _refused(value, name)
    if _holds(value.type, pa.types.is_decimal):
        raise _refused(value, name)
    if _holds(value.type, lambda kind: pa.types.is_struct(kind) or pa.types.is_map(kind)):
        return [_converted(item, name, given) for item in value.to_pylist(maps_as_pydicts="strict")]
    try:
        return _converted(to_values(normal_array(value, name)), name, given)
    except (StorageError, UnicodeDecodeError):  # Arrow doesn't look whether strings are UTF-8
        raise _refused(value, name) from None


def _holds(kind: Any, wanted: Any) -> bool:
    return bool(wanted(kind)) or any(_holds(kind.field(i).type, wanted) for i in range(kind.num_fields))


_LIBRARIES = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_arrow}


def _refused(value: Any, name: str) -> ExecutionError:
    kind = type(value)
    library = kind.__module__.partition(".")[0]
    shown = f"a {kind.__name__} of {library}" if library in _LIBRARIES else f"a Python {kind.__name__}"
    return ExecutionError(
        f"{name} holds {shown}, which is no value of the language.",
        code="InvalidArgumentType",
        hint=f"{_instead(value)}{_GIVE}",
    )


def _instead(value: Any) -> str:
    """Return what to give instead of a value of a kind that is often given, as a sentence."""
    import dataclasses
    import enum
    import numbers
    from decimal import Decimal
    from pathlib import PurePath

    if isinstance(value, Decimal | numbers.Rational):
        return "Write float(value), which rounds, or str(value). "
    if isinstance(value, PurePath) or type(value).__module__ == "ipaddress":
        return "Write str(value). "
    if isinstance(value, _BYTES):
        return "Write value.decode() for text. "
    if isinstance(value, enum.Enum):
        return "Write value.value or value.name. "
    if dataclasses.is_dataclass(value):
        return "Write dataclasses.asdict(value). "
    if isinstance(value, Iterator):
        return "Write list(value). "
    if hasattr(value, "to_pylist"):
        return "Write value.to_pylist(), with decimals cast to float or string. "
    if hasattr(value, "to_dicts"):
        return "Write value.to_dicts(). "
    if hasattr(value, "to_dict"):
        return 'Write value.to_dict("records"). '
    return ""
