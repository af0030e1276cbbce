"""A graph's statistics as an Arrow IPC file, so that a saved graph needn't be counted again.

``statistics.arrow`` has one record batch of one row, whose columns are lists: the values that a summary names (least,
greatest, common ones, bounds), what is counted of a type between label groups, the odds of triangles between them, or
how kinds of relationships go together and how often three of them make triangles. Each field's metadata says whose they
are, with the other numbers as JSON; of circles that is all. A file of a version that isn't known is left alone: all of
it can be counted anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from qengine.catalog.values import ValueSummary
from qengine.catalog.view import Incidence
from qengine.plan.pattern import Direction
from qengine.storage.statistics import PairCounts, Statistics
from qengine.storage.variant import from_python
from qengine.storage.wedges import Kind, WedgeSummary
from qengine.temporal.arrow import to_values

__all__ = ["read_statistics", "write_statistics"]

_VERSION = "4"
_READABLE = ("2", "3", _VERSION)  # 2: without circles; 3: without kinds of relationships


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
        rows = [[*pair, *each] for pair, each in counts.items()]
        facts = {"type": index, "direction": direction.value}
        add("pairs", facts, pa.array(np.array(rows, np.float64).reshape(-1)))
    for type, wedges in statistics.known_wedges():
        facts = {"type": type, "wedges": wedges.wedges, "closed": wedges.closed}
        facts |= {"error": wedges.error, "odds": wedges.odds, "labelled_odds": wedges.labelled_odds}
        kinds = [[*kind, odds] for kind, odds in wedges.kinds.items()]
        add("wedges", facts, pa.array(np.array(kinds, np.float64).reshape(-1)))
    for type, acyclic in statistics.known_acyclic():
        add("circles", {"type": type, "acyclic": acyclic}, pa.nulls(0))
    for kind, known in (("together", statistics.known_together()), ("triangles", statistics.known_mixed_triangles())):
        add(kind, {"of": [_plain(key) for key, _ in known]}, pa.array([number for _, number in known], pa.float64()))
    schema = pa.schema(fields, metadata={"version": _VERSION})
    with pa.ipc.new_file(file, schema) as writer:
        writer.write_batch(pa.record_batch(columns, schema=schema))


def read_statistics(reader: Any, statistics: Statistics) -> None:
    """Take over what ``write_statistics`` wrote."""
    if (reader.schema.metadata or {}).get(b"version", b"").decode() not in _READABLE:
        return
    batch = reader.get_batch(0)
    for number, field in enumerate(reader.schema):
        facts = json.loads(field.metadata[b"facts"])
        values = batch.column(number).values
        if field.metadata[b"kind"] == b"pairs":
            statistics.know_pairs(facts["type"], Direction(facts["direction"]), _pairs(values.to_numpy()))
        elif field.metadata[b"kind"] == b"wedges":
            statistics.know_wedges(facts.pop("type"), WedgeSummary(**facts, kinds=_kinds(values.to_numpy())))
        elif field.metadata[b"kind"] == b"circles":
            statistics.know_acyclic(facts["type"], facts["acyclic"])
        elif field.metadata[b"kind"] == b"together":
            for (label, one, other), factor in zip(facts["of"], values.to_pylist(), strict=True):
                statistics.know_together(label, _incidence(one), _incidence(other), factor)
        elif field.metadata[b"kind"] == b"triangles":
            for (labels, sides), odds in zip(facts["of"], values.to_pylist(), strict=True):
                first, second, third = ((_incidence(one), _incidence(other)) for one, other in sides)
                statistics.know_mixed_triangles((labels[0], labels[1], labels[2]), (first, second, third), odds)
        else:
            statistics.know_values(facts["entity"], facts["key"], facts["owner"], _summary(facts, to_values(values)))


def _plain(key: Any) -> Any:
    """Return a key of labels and kinds of relationships as JSON holds it."""
    if isinstance(key, Incidence):
        return [key.types, key.out, key.into, key.label]
    return [_plain(part) for part in key] if isinstance(key, tuple) else key


def _incidence(plain: Any) -> Incidence:
    types, out, into, label = plain
    return Incidence(tuple(types), out, into, label)


def _summary(facts: Mapping[str, Any], named: list[Any]) -> ValueSummary:
    shares = facts["shares"]
    common = tuple(zip(named[2 : 2 + len(shares)], shares, strict=True))
    count, nulls, distinct = facts["count"], facts["nulls"], facts["distinct"]
    return ValueSummary(count, nulls, distinct, named[0], named[1], common, tuple(named[2 + len(shares) :]))


def _kinds(numbers: Any) -> dict[Kind, float]:
    return {(int(a), int(b), int(c)): odds for a, b, c, odds in numbers.reshape(-1, 4).tolist()}


def _pairs(numbers: Any) -> dict[tuple[int, int], PairCounts]:
    found: dict[tuple[int, int], PairCounts] = {}
    for source, target, entries, owners, most, *moments in numbers.reshape(-1, 9).tolist():
        found[int(source), int(target)] = (int(entries), int(owners), int(most), *moments)
    return found
