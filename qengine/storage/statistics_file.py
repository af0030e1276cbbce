"""A graph's statistics as an Arrow IPC file, so that a saved graph needn't be counted again.

``statistics.arrow`` has one record batch of one row, whose columns are lists: the values that a summary names (least,
greatest, common ones, bounds), what is counted of a type between label groups, the odds of triangles between them, or
how kinds of relationships go together and how often three of them make triangles. Each field's metadata says whose they
are, with the other numbers as JSON; of circles that is all. A file of a version that isn't known is left alone: all of
it can be counted anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from qengine.catalog.values import ValueSummary
from qengine.catalog.view import Incidence
from qengine.plan.pattern import Direction
from qengine.storage.arrowfiles import open_batches
from qengine.storage.blocks import BlockFile
from qengine.storage.group_pairs import NO_PAIRS, GroupPairs
from qengine.storage.json_schema import parse, schema, violations
from qengine.storage.normal import is_normal, language_type
from qengine.storage.statistics import Statistics
from qengine.storage.store import GraphStore
from qengine.storage.variant import from_python
from qengine.storage.wedges import Kind, WedgeSummary
from qengine.temporal.arrow import to_values
from qengine.types import NULL

_VERSION = "6"
_MOST = 1e60  # what no number of them reaches
_READABLE = ("2", "3", "4", "5", _VERSION)
"""2: without circles; 3: without kinds of relationships; 4: without what says which types join vertices both ways;
5: with one number of a triangle, of whichever side."""


def write_statistics(statistics: Statistics, file: BinaryIO) -> None:
    """Write what is known by now."""
    fields: list[Any] = []
    columns: list[Any] = []

    def add(kind: str, facts: Mapping[str, Any], values: Any) -> None:
        columns.append(pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values))
        metadata = {"kind": kind, "facts": json.dumps(facts)}
        fields.append(pa.field(f"{kind} {len(fields)}", columns[-1].type, metadata=metadata))

    for (entity, key, owner), found in statistics.known_values():
        named = [found.minimum, found.maximum, *(value for value, _ in found.common), *found.bounds]
        facts: dict[str, Any] = {"entity": entity, "key": key, "owner": owner}
        facts |= {"count": found.count, "nulls": found.nulls, "distinct": found.distinct}
        facts["shares"] = [share for _, share in found.common]
        add("values", facts, from_python(named, key))
    for (index, direction), counts in statistics.known_pairs():
        facts = {"type": index, "direction": direction.value}
        add("pairs", facts, pa.array(counts.rows().reshape(-1)))
    for type, wedges in statistics.known_wedges():
        facts = {"type": type, "wedges": wedges.wedges, "closed": wedges.closed}
        facts |= {"error": wedges.error, "odds": wedges.odds, "labelled_odds": wedges.labelled_odds}
        kinds = [[*kind, odds] for kind, odds in wedges.kinds.items()]
        add("wedges", facts, pa.array(np.array(kinds, np.float64).reshape(-1)))
    for type, acyclic in statistics.known_acyclic():
        add("circles", {"type": type, "acyclic": acyclic}, pa.nulls(0))
    for type, both_ways in statistics.known_antiparallel():
        add("antiparallel", {"type": type, "antiparallel": both_ways}, pa.nulls(0))
    together = statistics.known_together()
    factors = pa.array([factor for _, factor in together], pa.float64())
    add("together", {"of": [_plain(key) for key, _ in together]}, factors)
    triangles = statistics.known_mixed_triangles()
    every = pa.array([each for _, odds in triangles for each in odds], pa.float64())
    add("triangles", {"of": [_plain(key) for key, _ in triangles]}, every)
    schema = pa.schema(fields, metadata={"version": _VERSION})
    with pa.ipc.new_file(file, schema) as writer:
        writer.write_batch(pa.record_batch(columns, schema=schema))


def read_statistics(file: BlockFile, store: GraphStore) -> None:
    """Take over what ``write_statistics`` wrote.

    Raises
    ------
    StorageError
        If it can't be of this graph.
    """
    reader = open_batches(file)
    if (reader.schema.metadata or {}).get(b"version", b"").decode("utf-8", "replace") not in _READABLE:
        return
    file.check(0, file.size)
    if reader.num_record_batches != 1 or (batch := reader.get_batch(0)).num_rows != 1:
        raise file.damaged("it hasn't one batch of one row")
    counted: _Counted = {}
    for number, field in enumerate(reader.schema):
        metadata = field.metadata or {}
        kind = metadata.get(b"kind", b"").decode("utf-8", "replace")
        try:
            facts = parse(metadata.get(b"facts", b""))
            column = batch.column(number)
            column.validate(full=True)
            wrong = next(violations({kind: facts}, schema("statistics"), "statistics"), None)
            if wrong is not None or not pa.types.is_large_list(column.type) or column.null_count:
                raise _Wrong(wrong or "it is no list")
            if kind == "pairs":
                _read_pairs(store, facts, column.values, counted)
            else:
                _READERS[kind](store, facts, column.values)
        except (_Wrong, ValueError, TypeError, pa.ArrowException) as error:
            raise file.damaged(f"column {number}: {error}") from None
    for (index, way), pairs in counted.items():
        other = counted.get((index, {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT}.get(way, way)), NO_PAIRS)
        if not pairs.is_turned(other):
            raise file.damaged(f"relationships {store.types[index].name} are counted otherwise from their other ends")
        store.statistics.know_pairs(index, way, pairs)


_Counted = dict[tuple[int, Direction], GroupPairs]


class _Wrong(Exception):
    pass


def _read_values(store: GraphStore, facts: Any, values: Any) -> None:
    entity, key, owner = facts["entity"], facts["key"], facts["owner"]
    owners = {None, *store.labels} if entity == "node" else set(store.relationship_types)
    type_ = store.property_type(entity, key)
    if entity == "relationship" and owner in owners:
        index = store.type_index(owner)
        column = None if index is None else store.relationship_property(index, key)
        type_ = None if column is None else column.type
    if owner not in owners or type_ is None or not is_normal(values.type):
        raise _Wrong("there is no such property")
    if language_type(values.type) not in (NULL, type_):
        raise _Wrong(f"property {key} has values of another type")
    if len(values) < 2 + len(facts["shares"]) or facts["nulls"] > facts["count"]:
        raise _Wrong(f"property {key} has too few values")
    named = to_values(values)
    if None in named[2:] or (None in named and named != [None, None]):
        raise _Wrong(f"property {key} lacks a value")
    store.statistics.know_values(entity, key, owner, _summary(facts, named))


def _read_pairs(store: GraphStore, facts: Any, values: Any, counted: _Counted) -> None:
    if facts["type"] >= len(store.types):
        raise _Wrong("there is no such type")
    edge_type, way = store.types[facts["type"]], Direction(facts["direction"])
    if (way is Direction.BOTH) != edge_type.undirected:
        raise _Wrong(f"relationships {edge_type.name} have no direction {way.value}")
    rows = _numbers(values, 9, len(store.groups), 2)
    pairs = _pairs(rows)
    entries, owners, most = pairs.numbers.T
    if len(pairs) != len(rows) or entries.sum() != len(store.adjacency(edge_type.index, way)):
        raise _Wrong(f"relationships {edge_type.name} aren't as many")
    if not ((owners >= 1) & (owners <= entries) & (most >= 1) & (most <= entries)).all():
        raise _Wrong(f"relationships {edge_type.name} have more ends than there are")
    counted[edge_type.index, way] = pairs


def _read_wedges(store: GraphStore, facts: Any, values: Any) -> None:
    kinds = _kinds(_numbers(values, 4, len(store.groups), 3))
    if store.type_index(facts["type"]) is None:
        raise _Wrong("there is no such type")
    store.statistics.know_wedges(facts.pop("type"), WedgeSummary(**facts, kinds=kinds))


def _read_circles(store: GraphStore, facts: Any, values: Any) -> None:
    if store.type_index(facts["type"]) is None:
        raise _Wrong("there is no such type")
    store.statistics.know_acyclic(facts["type"], facts["acyclic"])


def _read_antiparallel(store: GraphStore, facts: Any, values: Any) -> None:
    if store.type_index(facts["type"]) is None:
        raise _Wrong("there is no such type")
    store.statistics.know_antiparallel(facts["type"], facts["antiparallel"])


def _read_together(store: GraphStore, facts: Any, values: Any) -> None:
    for (label, one, other), factor in zip(facts["of"], _factors(values), strict=True):
        store.statistics.know_together(_label(label), _incidence(one), _incidence(other), factor)


def _read_triangles(store: GraphStore, facts: Any, values: Any) -> None:
    if len(values) == len(facts["of"]):  # an older version's
        return
    every = iter(_factors(values))
    for (labels, sides), *odds in zip(facts["of"], every, every, every, strict=True):
        first, second, third = ((_incidence(one), _incidence(other)) for one, other in sides)
        corners = _label(labels[0]), _label(labels[1]), _label(labels[2])
        store.statistics.know_mixed_triangles(corners, (first, second, third), (odds[0], odds[1], odds[2]))


_READERS: dict[str, Callable[[GraphStore, Any, Any], None]] = {
    "values": _read_values,
    "wedges": _read_wedges,
    "circles": _read_circles,
    "antiparallel": _read_antiparallel,
    "together": _read_together,
    "triangles": _read_triangles,
}


def _factors(values: Any) -> list[float]:
    """Return numbers that are finite and above 0."""
    found: list[float] = _numbers(values, 1, 0, 0).reshape(-1).tolist()
    if not all(found):
        raise _Wrong("a number is 0")
    return found


def _numbers(values: Any, width: int, groups: int, indices: int) -> Any:
    """Return rows of numbers, finite and at least 0; the first ``indices`` of each are of label groups."""
    if values.type != pa.float64() or values.null_count or len(values) % width:
        raise _Wrong("it isn't rows of numbers")
    rows = values.to_numpy().reshape(-1, width)
    places = rows[:, :indices]
    if not (np.isfinite(rows).all() and (rows >= 0).all() and (rows < _MOST).all()):
        raise _Wrong("a number is out of range")
    if not ((places < groups).all() and (places == places.astype(np.int64)).all()):
        raise _Wrong("there is no such label group")
    return rows


def _label(plain: Any) -> str | None:
    if not isinstance(plain, str | None):
        raise _Wrong("a label is no name")
    return plain


def _plain(key: Any) -> Any:
    """Return a key of labels and kinds of relationships as JSON holds it."""
    if isinstance(key, Incidence):
        return [key.types, key.out, key.into, key.labels]
    return [_plain(part) for part in key] if isinstance(key, tuple) else key


def _incidence(plain: Any) -> Incidence:
    if len(plain) != 4 or [type(part) for part in plain[:3]] != [list, bool, bool]:
        raise _Wrong("it is no kind of relationships")
    types, out, into, label = plain
    return Incidence(tuple(types), out, into, _label(label))


def _summary(facts: Mapping[str, Any], named: list[Any]) -> ValueSummary:
    shares = facts["shares"]
    common = tuple(zip(named[2 : 2 + len(shares)], shares, strict=True))
    count, nulls, distinct = facts["count"], facts["nulls"], facts["distinct"]
    return ValueSummary(count, nulls, distinct, named[0], named[1], common, tuple(named[2 + len(shares) :]))


def _kinds(numbers: Any) -> dict[Kind, float]:
    return {(int(a), int(b), int(c)): odds for a, b, c, odds in numbers.tolist()}


def _pairs(numbers: Any) -> GroupPairs:
    """Return rows as what is counted; of several with one pair only one."""
    _, places = np.unique(numbers[:, :2], axis=0, return_index=True)
    rows = numbers[places]
    whole = rows[:, :5].astype(np.int64)
    return GroupPairs(whole[:, :2], whole[:, 2:], rows[:, 5:])
