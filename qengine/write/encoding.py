"""Commits as bytes, and back: JSON in UTF-8, which stays readable, and which Python's own C code writes and checks.

``[1, next node, next relationship, nodes, relationships]`` with the version of the encoding first. A node is
``[number, labels, properties]``, a relationship ``[number, type, start, end, properties]``; of a deleted one there is
the number alone. Where rules have changed, a sixth part has all of them, as lists of strings.

A commit with blocks of new elements is ``[2, …]``: the same parts, with null for rules that haven't changed, then
blocks of nodes ``[first number, how many, labels, columns]`` and of relationships
``[first number, how many, type, starts, ends, columns]``. Columns are an object of lists, with null for no value.

A commit with patches is ``[3, …]``: after blocks, patches of nodes and of relationships. One is
``[numbers, columns, added labels, removed labels]``, or the numbers alone of elements that it deletes. A column is null
where the property goes of all of them.

What JSON has no value for is an object of one entry, as ``{"date": 20779}``; NaN and the infinities
are written as Python does. A NaN's bits aren't kept. Text may hold single surrogates. Arrow IPC, which the project
has too, takes ten times the bytes for a small commit; its columns pay for tables.

Decoding trusts nothing: what isn't exactly the above is a ``StorageError``.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from qengine.catalog.rules import Rules
from qengine.errors import ExecutionError, StorageError
from qengine.spatial import Point
from qengine.storage.states import Commit, NodeBlock, NodeState, Patch, RelationshipBlock, RelationshipState
from qengine.storage.variant import from_python
from qengine.temporal.arrow import to_values
from qengine.temporal.fields import checked_days, checked_nanoseconds, within
from qengine.temporal.values import DAY, SECOND, Date, DateTime, Duration, LocalDateTime, LocalTime, Time
from qengine.temporal.zones import parse_zone

VERSION = 3
"""The newest version of the encoding, of commits with patches."""
_WITHOUT_BLOCKS, _WITH_BLOCKS = 1, 2
_PARTS = {_WITHOUT_BLOCKS: (5, 6), _WITH_BLOCKS: (8,), VERSION: (10,)}
DEEPEST = 100
"""How deep lists may be nested."""

_T = TypeVar("_T")
_B = TypeVar("_B", NodeBlock, RelationshipBlock)
_LEAST, _MOST = -(2**63), 2**63 - 1
_LARGEST_OFFSET = DAY // SECOND
_PLAIN = frozenset((str, float, bool))
_PLAIN_OR_NOTHING = frozenset((str, float, bool, int, type(None)))
_TEMPORAL: dict[type, Callable[[Any], dict[str, Any]]] = {
    Date: lambda value: {"date": value.days},
    LocalTime: lambda value: {"localtime": value.nanoseconds},
    Time: lambda value: {"time": (value.utc, value.offset_seconds)},
    LocalDateTime: lambda value: {"localdatetime": value.nanoseconds},
    DateTime: lambda value: {"datetime": (value.utc, value.offset_seconds, value.zone)},
    Duration: lambda value: {"duration": (value.months, value.days, value.nanoseconds)},
    Point: lambda value: {"point": (value.crs, *value.coordinates)},
}
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))
_DECODER = json.JSONDecoder()


def _made_encoder() -> Callable[[Any], str]:
    """Return ``_ENCODER.encode``, which makes an encoder each time, with one that is made once where there is one."""
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return _ENCODER.encode
    escaped = json.encoder.encode_basestring
    encoder = make(None, _ENCODER.default, escaped, None, ":", ",", False, False, True)
    return lambda value: "".join(encoder(value, 0))


_text = _made_encoder()


def encode(commit: Commit) -> bytes:
    """Return a commit as bytes, of which none is 0xFE or 0xFF.

    Raises
    ------
    StorageError
        If a value can't be a property, an integer has more than 64 bits, a list is nested too deep, a number was never
        given.
    """
    nodes: list[tuple[Any, ...]] = []
    for number, node in commit.nodes.items():
        _given(number, commit.next_node)
        nodes.append((number,) if node is None else (number, node.labels, _written(node.properties)))
    relationships: list[tuple[Any, ...]] = []
    for number, one in commit.relationships.items():
        _given(number, commit.next_relationship)
        if one is None:
            relationships.append((number,))
            continue
        _given(one.start, commit.next_node)
        _given(one.end, commit.next_node)
        relationships.append((number, one.type, one.start, one.end, _written(one.properties)))
    for following in (commit.next_node, commit.next_relationship):
        _given(following, _MOST)
    found = commit.next_node, commit.next_relationship, nodes, relationships
    if commit.node_patches or commit.relationship_patches:
        patches = (
            [_patch_written(patch, commit.next_node) for patch in commit.node_patches],
            [_patch_written(patch, commit.next_relationship) for patch in commit.relationship_patches],
        )
        whole = VERSION, *found, commit.rules, *_blocks_written(commit), *patches
        return _text(whole).encode("utf-8", "surrogatepass")
    if commit.node_blocks or commit.relationship_blocks:
        blocks = _blocks_written(commit)
        return _text((_WITH_BLOCKS, *found, commit.rules, *blocks)).encode("utf-8", "surrogatepass")
    rules = () if commit.rules is None else (commit.rules,)
    return _text((_WITHOUT_BLOCKS, *found, *rules)).encode("utf-8", "surrogatepass")


def decode(data: bytes) -> Commit:
    """Return the commit that some bytes hold.

    Raises
    ------
    StorageError
        If they don't hold one, or one that a newer version wrote.
    """
    try:
        return _commit(_DECODER.decode(str(data, "utf-8", "surrogatepass")))
    except (ValueError, ExecutionError, StorageError, RecursionError) as error:
        raise StorageError(f"A logged commit can't be understood: {_why(error)}") from None


# ---------------------------------------------------------------- to bytes


def _given(number: int, following: int) -> None:
    if not (type(number) is int and 0 <= number < following):
        raise StorageError(f"A commit can't be logged: the number {number!r} was never given.")


def _blocks_written(commit: Commit) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    nodes = []
    for block in commit.node_blocks:
        _given(block.first + block.count - 1, commit.next_node)
        nodes.append((block.first, block.count, block.labels, _columns_written(block.columns)))
    relationships = []
    for each in commit.relationship_blocks:
        _given(each.first + each.count - 1, commit.next_relationship)
        starts, ends = each.starts.tolist(), each.ends.tolist()
        for number in (min(starts), min(ends), max(starts), max(ends)):
            _given(number, commit.next_node)
        relationships.append((each.first, each.count, each.type, starts, ends, _columns_written(each.columns)))
    return nodes, relationships


def _patch_written(patch: Patch, following: int) -> tuple[Any, ...]:
    numbers = patch.numbers.tolist()
    if numbers:
        _given(numbers[0], following)
        _given(numbers[-1], following)
    if patch.deleted:
        return (numbers,)
    present = {name: array for name, array in patch.columns.items() if array.null_count < len(array)}
    columns = dict.fromkeys(patch.columns) | _columns_written(
        {name: to_values(array) for name, array in present.items()}
    )
    return numbers, columns, patch.added, patch.removed


def _columns_written(columns: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    return {
        name: values
        if _are_plain(values)
        else [None if value is None else _value_written(value, DEEPEST) for value in values]
        for name, values in columns.items()
    }


def _are_plain(values: list[Any]) -> bool:
    """Tell whether values are null, strings, numbers or booleans, integers with 64 bits at most."""
    classes = set(map(type, values))
    if not classes <= _PLAIN_OR_NOTHING:
        return False
    if int in classes:
        try:
            array("q", values if classes == {int} else [value for value in values if type(value) is int])
        except OverflowError:
            return False
    return True


def _written(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        if type(value) in _PLAIN or (type(value) is int and _LEAST <= value <= _MOST)
        else _value_written(value, DEEPEST)
        for name, value in properties.items()
    }


def _value_written(value: Any, deepest: int) -> Any:
    kind = type(value)
    if kind in _PLAIN or (kind is int and _LEAST <= value <= _MOST) or (value is None and deepest < DEEPEST):
        return value
    if kind is list and deepest:
        return [_value_written(each, deepest - 1) for each in value]
    if kind in _TEMPORAL:
        return _TEMPORAL[kind](value)
    if kind is list:
        what = f"a list is nested deeper than {DEEPEST} times"
    elif kind is int:
        what = "an integer has more than 64 bits"
    else:
        what = f"a property can't be a {kind.__name__}"
    raise StorageError(f"A commit can't be logged: {what}.")


# ---------------------------------------------------------------- from bytes


def _commit(found: Any) -> Commit:
    if type(found) is not list or not found or type(found[0]) is not int:
        raise ValueError("it isn't a list that begins with a version")
    if found[0] not in _PARTS:
        raise ValueError(f"it has version {found[0]} of the encoding; this version of qengine reads up to {VERSION}")
    if len(found) not in _PARTS[found[0]]:
        raise ValueError(f"it has {len(found)} parts")
    next_node, next_relationship = _number(found[1], _MOST), _number(found[2], _MOST)
    blocks: list[Any] = found[6:8] or [[], []]
    patches: list[Any] = found[8:] or [[], []]
    return Commit(
        _by_number(found[3], next_node, _node),
        _by_number(found[4], next_relationship, lambda parts: _relationship(parts, next_node)),
        next_node,
        next_relationship,
        _rules(found[5]) if len(found) == 6 or (len(found) > 6 and found[5] is not None) else None,
        _blocks(blocks[0], next_node, _node_block),
        _blocks(blocks[1], next_relationship, lambda parts: _relationship_block(parts, next_node)),
        _patches(patches[0], next_node, labels=True),
        _patches(patches[1], next_relationship, labels=False),
    )


def _rules(found: Any) -> tuple[tuple[str, ...], ...]:
    if type(found) is not list or not all(type(row) is list and _are_names(row) for row in found):
        raise ValueError("rules aren't lists of strings")
    return Rules.of(found).rows()


def _by_number(found: Any, following: int, read: Callable[[list[Any]], _T]) -> dict[int, _T | None]:
    if type(found) is not list:
        raise ValueError("its elements aren't a list")
    states: dict[int, _T | None] = {}
    for one in found:
        if type(one) is not list or not one:
            raise ValueError("an element isn't a list that begins with a number")
        states[_number(one[0], following)] = None if len(one) == 1 else read(one)
    if len(states) != len(found):
        raise ValueError("an element comes twice")
    return states


def _node(parts: list[Any]) -> NodeState:
    _, labels, properties = _parts(parts, 3)
    return NodeState(_labels(labels), _properties(properties))


def _labels(found: Any) -> tuple[str, ...]:
    if type(found) is not list or not _are_names(found) or len(set(found)) != len(found):
        raise ValueError("a node's labels aren't different names")
    return tuple(found)


def _relationship(parts: list[Any], next_node: int) -> RelationshipState:
    _, name, start, end, properties = _parts(parts, 5)
    return RelationshipState(_type(name), _number(start, next_node), _number(end, next_node), _properties(properties))


def _type(found: Any) -> str:
    if type(found) is not str:
        raise ValueError("a type isn't a name")
    return found


def _blocks(found: Any, following: int, read: Callable[[list[Any]], _B]) -> tuple[_B, ...]:
    if type(found) is not list:
        raise ValueError("its blocks aren't a list")
    blocks = []
    least = 0
    for one in found:
        if type(one) is not list or len(one) < 2:
            raise ValueError("a block isn't a list that begins with two numbers")
        first, count = _number(one[0], following), _number(one[1], _MOST)
        if not count or first + count > following:
            raise ValueError("a block has numbers that were never given")
        if first < least:
            raise ValueError("an element comes twice, or blocks aren't in order")
        least = first + count
        blocks.append(read(one))
    return tuple(blocks)


def _node_block(parts: list[Any]) -> NodeBlock:
    first, count, labels, columns = _parts(parts, 4)
    return NodeBlock(first, count, _labels(labels), _columns(columns, count))


def _relationship_block(parts: list[Any], next_node: int) -> RelationshipBlock:
    first, count, name, *ends, columns = _parts(parts, 6)
    for each in ends:
        numbers = _column(each, count)
        if set(map(type, numbers)) != {int} or min(numbers) < 0 or max(numbers) >= next_node:
            raise ValueError("an end isn't a number that was given")
    starts, stops = (np.array(each, np.int64) for each in ends)
    return RelationshipBlock(first, count, _type(name), starts, stops, _columns(columns, count))


def _patches(found: Any, following: int, *, labels: bool) -> tuple[Patch, ...]:
    if type(found) is not list:
        raise ValueError("its patches aren't a list")
    return tuple(_patch(each, following, labels=labels) for each in found)


def _patch(found: Any, following: int, *, labels: bool) -> Patch:
    if type(found) is not list or not found or type(found[0]) is not list or not set(map(type, found[0])) <= {int}:
        raise ValueError("a patch isn't a list that begins with numbers")
    if found[0] and not 0 <= min(found[0]) <= max(found[0]) < following:
        raise ValueError("a patch has numbers that were never given")
    numbers = np.array(found[0], np.int64)
    if (numbers[1:] <= numbers[:-1]).any():
        raise ValueError("the numbers of a patch don't ascend")
    if len(found) == 1:
        return Patch(numbers, deleted=True)
    _, given, added, removed = _parts(found, 4)
    if type(given) is not dict:
        raise ValueError("columns aren't an object")
    names = _labels(added), _labels(removed)
    if not labels and any(names):
        raise ValueError("a relationship has no labels")
    columns = _columns({name: values for name, values in given.items() if values is not None}, len(numbers))
    arrays = {
        name: from_python(columns[name], "a property") if name in columns else pa.nulls(len(numbers)) for name in given
    }
    return Patch(numbers, arrays, *names)


def _columns(found: Any, count: int) -> dict[str, list[Any]]:
    if type(found) is not dict:
        raise ValueError("columns aren't an object")
    for name, values in found.items():
        if not _are_plain(_column(values, count)):
            found[name] = [None if value is None else _value(value, DEEPEST) for value in values]
    return found


def _column(found: Any, count: int) -> list[Any]:
    if type(found) is not list or len(found) != count:
        raise ValueError("a column hasn't as many values as a block has elements")
    return found


def _parts(found: Any, count: int) -> list[Any]:
    if type(found) is not list or len(found) != count:
        raise ValueError(f"there aren't {count} parts where there must be")
    return found


def _are_names(found: Iterable[Any]) -> bool:
    return all(type(one) is str for one in found)


def _number(found: Any, following: int) -> int:
    if type(found) is not int or not 0 <= found < following:
        raise ValueError("a number isn't one that was given")
    return found


def _properties(found: Any) -> dict[str, Any]:
    if type(found) is not dict:
        raise ValueError("properties aren't an object")
    for name, value in found.items():
        if type(value) not in _PLAIN:
            found[name] = _value(value, DEEPEST)
    return found


def _value(found: Any, deepest: int) -> Any:
    kind = type(found)
    if kind in _PLAIN or (found is None and deepest < DEEPEST):
        return found
    if kind is int:
        return _integer(found)
    if kind is list and deepest:
        return [_value(each, deepest - 1) for each in found]
    if kind is not dict or len(found) != 1:
        raise ValueError("a property's value is none that there is")
    ((name, parts),) = found.items()
    if name not in _READERS:
        raise ValueError("a property's value is of a kind that there isn't")
    return _READERS[name](parts)


def _integer(found: Any) -> int:
    if type(found) is not int or not _LEAST <= found <= _MOST:
        raise ValueError("a number isn't an integer of 64 bits")
    return found


def _large(found: Any) -> int:
    """Return an integer of which the caller checks the range."""
    if type(found) is not int:
        raise ValueError("a part of a temporal value isn't an integer")
    return found


def _offset(found: Any) -> int:
    return within("offset", _large(found), -_LARGEST_OFFSET, _LARGEST_OFFSET)


def _time(parts: Any) -> Time:
    utc, offset = _parts(parts, 2)
    offset = _offset(offset)
    within("time", _large(utc) + offset * SECOND, 0, DAY - 1)
    return Time.from_utc(utc, offset)


def _date_time(parts: Any) -> DateTime:
    utc, offset, zone = _parts(parts, 3)
    if type(zone) is not str or (zone and parse_zone(zone) != zone):
        raise ValueError("a zone isn't a name")
    return DateTime.from_utc(checked_nanoseconds(_large(utc)), _offset(offset), zone)


def _duration(parts: Any) -> Duration:
    months, days, nanoseconds = map(_large, _parts(parts, 3))
    for part in (months, days, nanoseconds // SECOND):
        within("duration", part, _LEAST, _MOST)
    return Duration.from_parts(months, days, nanoseconds)


def _point(parts: Any) -> Point:
    if type(parts) is not list or len(parts) not in (3, 4):
        raise ValueError("a point isn't a system and two or three coordinates")
    crs, *coordinates = parts
    if type(crs) is not str or any(type(each) is not float for each in coordinates):
        raise ValueError("a point isn't a system and two or three coordinates")
    return Point(*coordinates, crs=crs)


_READERS: dict[str, Callable[[Any], Any]] = {
    "date": lambda found: Date.from_days(checked_days(_large(found))),
    "localtime": lambda found: LocalTime.from_nanoseconds(within("time", _large(found), 0, DAY - 1)),
    "time": _time,
    "localdatetime": lambda found: LocalDateTime.from_nanoseconds(checked_nanoseconds(_large(found))),
    "datetime": _date_time,
    "duration": _duration,
    "point": _point,
}


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    return str(getattr(error, "message", None) or error)
