"""Writes the small graph that every version of qengine must open: `python -m tests.data.saved.make FOLDER`.

`format1` was written by the last version that saved format 1, `format2` by the first that saved format 2. Neither is
ever written anew: a new format gets a new folder.
"""

from __future__ import annotations

import datetime
import sys
from itertools import cycle
from unittest import mock

import qengine
from qengine.storage.adjacency import Form
from qengine.temporal.durations import parse_duration

_ZONE = datetime.timezone(datetime.timedelta(hours=2))
_DAY = datetime.date(2024, 2, 29)
_MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 15, 250_000)


def nodes() -> list[dict[str, object]]:
    """Return nodes of several label sets, with properties of every type."""
    label_sets = [["Person"], ["Person", "Author"], ["City"], []]
    mixed = cycle([1, 2.5, "three", True, None, _DAY, [1, "two"]])
    found: list[dict[str, object]] = []
    for row in range(60):
        properties = {
            "number": row - 5,
            "share": row / 8,
            "name": f"näme {row}",
            "even": row % 2 == 0,
            "mixed": next(mixed),
            "day": _DAY + datetime.timedelta(days=row),
            "clock": _MOMENT.time(),
            "clock_there": _MOMENT.time().replace(tzinfo=_ZONE),
            "moment": _MOMENT + datetime.timedelta(hours=row),
            "moment_there": (_MOMENT + datetime.timedelta(days=row)).replace(tzinfo=_ZONE),
            "moments": _MOMENT.replace(tzinfo=(_ZONE, datetime.UTC)[row % 2]),
            "term": parse_duration(f"P{row}M1DT0.5S"),
            "wait": datetime.timedelta(minutes=row),
            "numbers": list(range(row % 4)),
            "scores": [row, -row],
            "words": ["a", "bb"][: row % 3],
            "sparse": "rare" if row % 17 == 3 else None,
        }
        present = {key: value for key, value in properties.items() if value is not None}
        found.append({"id": row, "labels": label_sets[row * 7 % 4], "properties": present})
    return found


def relationships() -> list[dict[str, object]]:
    """Return relationships: plain, with properties, parallel ones, loops, undirected ones."""
    found: list[dict[str, object]] = []
    for row in range(90):
        start, end = row * 7 % 60, row * row * 11 % 60
        found.append({"type": "KNOWS", "start": start, "end": end, "properties": {"since": 1990 + row % 30}})
        if row % 3 == 0:
            found.append({"type": "KNOWS", "start": start, "end": end, "properties": {"note": f"again {row}"}})
        if start < end:
            found.append({"type": "BEFORE", "start": start, "end": end, "properties": {}})
        if row % 2 and start != end:
            found.append({"type": "NEAR", "start": start, "end": end, "properties": {}})
        if row % 10 == 0:
            found.append({"type": "LIKES", "start": start, "end": start, "properties": {"much": row % 4 == 0}})
    seen: set[frozenset[object]] = set()
    kept = []
    for one in found:
        ends = frozenset((one["start"], one["end"]))
        if one["type"] != "NEAR" or ends not in seen:
            kept.append(one)
        if one["type"] == "NEAR":
            seen.add(ends)
    return kept


def graph() -> qengine.Graph:
    """Return the graph, whose types have all three forms of the row index."""
    forms = cycle((Form.DENSE, Form.GROUPS, Form.SORTED, Form.GROUPS))
    with mock.patch("qengine.storage.pcsr_build.choose", lambda *_: (next(forms), "as the test data needs")):
        return qengine.Graph.from_records(nodes(), relationships(), undirected=["NEAR"])


if __name__ == "__main__":
    graph().save(sys.argv[1])
