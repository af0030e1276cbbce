"""Graphs of names and values that are easily taken for others, made by chance, and what a graph holds, to compare.

Each text, name and number in the lists below might be taken for a delimiter, a null, a type, a file's name, a mark of a
script or another number.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from qengine import Date, DateTime, Duration, Graph, LocalDateTime, LocalTime, Point, Time
from qengine.formats.parts import node_parts, relationship_parts

Content = tuple[Counter[str], Counter[str]]
"""The texts of nodes, and those of relationships, each with how often there is one like it."""

_PIECES = (
    "", ";", "a;b", "'", '"', "\\", "\\n", "\r\n", "\n", "\r", "\t", "\x00", "\x1b", "\x7f", "\x85", "\u2028", "\ufeff",
    "\ufffe", "\uffff", "<&>", "]]>", "null", "NULL", "NaN", "inf", "1", "1.0", "-0", "true", "é", "e\u0301", "😀",
    "//", "/*", "*/", "`", ",", "a,b", " ", "  x ", "{", "}", "[", "]", "[1, 2]", '{"a": 1}', "$p", "2020-01-01",
    "date('2020-01-01')", "\\u0041", "&amp;", "\U0010ffff", "İ", "#", "|", ":", "=1", "\\'", '""', "''",
    "//undirected: ", ";;", "\u00a0", "\u200b", "point({x: 1})", "P1D", "10:00", "0x1F", "1e5", "-", "CREATE ();",
)  # fmt: skip
_KEYS = (
    "a", "b", "name", "A B", "x:y", ":ID", ":LABEL", ":TYPE", ":START_ID", "ü", "`", "labels", "label", "type", "id",
    "row", "start", "end", "1", "a.b", "properties", "source", "target", "from", "a;b", "a,b", '"', "'", "k:int", "_id",
    "n", "__index_level_0__", "x:string[]", "<a>", "\\", "/", "\n", "a\tb", " a", "a ", "😀", "A", "directed", "weight",
    "é", "e\u0301", "Id", "ID", "null", "true", "$x", "//", "\u2028", "UNIQUE IMPORT ID", "_start", "_labels", "_type",
)  # fmt: skip
_LABELS = (
    "A", "B", "a", "C;D", "E:F", "G`", "h i", "x/y", "..", ".", "Ü", "U\u0308", ",", '"', "\\", "nodes_A", "CON", "é😀",
    "A&B", "%", "A.parquet", "|", "\n", "null", "*", "?", " ", " b", "_", "node", "x" * 80, "$", "#a", "[",
    "UNIQUE IMPORT LABEL",
)  # fmt: skip
_TYPES = (
    "R", "S T", "u:v", "U", "r", "x/y", "..", "A_R_B", "R;", "`", "é", "\\", '"', "'", "<t>", "null", "R_", "\n",
    "y" * 80, "$", "E", "|", "edge", "%2F",
)  # fmt: skip
_OFFSETS = ("Z", "+01:00", "-12:30", "+18:00", "-18:00", "+01:02:03", "-00:30")
_ZONES = (*_OFFSETS, "[Europe/Stockholm]", "[Asia/Kathmandu]", "[UTC]", "[Etc/GMT+5]")
_TWICE = "2020-10-25T02:30"  # the hour that Stockholm's clocks show twice
_DAY = 86_400 * 10**9

_Draw = Callable[[random.Random], Any]


@dataclass(frozen=True)
class Described:
    """A graph as ``Graph.from_records`` takes it; each node has the property ``key``, which is its place."""

    nodes: list[dict[str, Any]]
    links: list[dict[str, Any]]
    undirected: list[str]

    def graph(self) -> Graph:
        return Graph.from_records(self.nodes, self.links, undirected=self.undirected)

    def content(self) -> Content:
        """Return what the graph holds, from its description alone."""
        nodes = Counter(_shown(sorted(each["labels"]), each["properties"]) for each in self.nodes)
        links = Counter(
            _link(each["type"], each["type"] in self.undirected, [each["start"], each["end"]], each["properties"])
            for each in self.links
        )
        return nodes, links


def described(seed: object) -> Described:
    """Return the graph of a seed: up to seven nodes and nine relationships, perhaps none."""
    chance = random.Random(f"exported {seed}")
    of_nodes, of_links = _columns(chance), _columns(chance)
    share = chance.choice([0.2, 0.5, 0.9, 1])

    def properties(columns: Mapping[str, _Draw]) -> dict[str, Any]:
        return {name: draw(chance) for name, draw in columns.items() if chance.random() < share}

    labels = chance.sample(_LABELS, chance.choice([0, 1, 2, 3]))
    types = chance.sample(_TYPES, chance.choice([1, 1, 2, 3]))
    count = chance.choice([0, 1, 2, 3, 5, 7])
    nodes = [
        {
            "id": number,
            "labels": [label for label in labels if chance.random() < 0.5],
            "properties": {**properties(of_nodes), "key": number},
        }
        for number in range(count)
    ]
    links = [
        {
            "type": chance.choice(types),
            "start": chance.randrange(count),
            "end": chance.randrange(count),
            "properties": properties(of_links),
        }
        for _ in range(chance.choice([0, 1, 3, 6, 9]) if count else 0)
    ]
    undirected = [name for name in dict.fromkeys(each["type"] for each in links) if chance.random() < 0.2]
    return Described(nodes, links, undirected)


def content(graph: Graph) -> Content:
    """Return what a graph holds, whatever its ids; nodes are told apart by a property ``key`` that all have."""
    store, keys = graph._store, {}
    nodes: Counter[str] = Counter()
    links: Counter[str] = Counter()
    for part in node_parts(store):
        for id, properties in zip(part.ids.tolist(), part.property_maps(), strict=True):
            keys[id] = properties["key"]
            nodes[_shown(sorted(part.labels), properties)] += 1
    for own in relationship_parts(store):
        for start, end, properties in zip(own.start.tolist(), own.end.tolist(), own.property_maps(), strict=True):
            links[_link(own.type, own.undirected, [keys[start], keys[end]], properties)] += 1
    return nodes, links


def _link(type: str, undirected: bool, ends: list[Any], properties: Mapping[str, Any]) -> str:
    return _shown([type, undirected, *(sorted(ends) if undirected else ends)], properties)


def _shown(names: Iterable[Any], properties: Mapping[str, Any]) -> str:
    return repr((names, sorted((key, repr(value)) for key, value in properties.items())))


# ---------------------------------------------------------------- values


def _columns(chance: random.Random) -> dict[str, _Draw]:
    """Return what draws the values of some properties: of one type, or of several, lists or not."""
    found: dict[str, _Draw] = {}
    for key in chance.sample(_KEYS, chance.choice([0, 1, 2, 3, 5])):
        one = chance.choice(_SCALARS)
        found[key] = chance.choice([one, one, _list_of(one), _any, _number, _list_of(_any), _list_of(_number)])
    return found


def _list_of(draw: _Draw) -> _Draw:
    return lambda chance: [draw(chance) for _ in range(chance.choice([0, 1, 2, 3]))]


def _any(chance: random.Random) -> Any:
    return chance.choice(_SCALARS)(chance)


def _number(chance: random.Random) -> Any:
    return chance.choice([_integer, _float])(chance)


def _text(chance: random.Random) -> str:
    return "".join(chance.choice(_PIECES) for _ in range(chance.choice([0, 1, 1, 1, 2, 3])))


def _integer(chance: random.Random) -> int:
    known = (0, 1, -1, 2**31, -(2**31), 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63))
    return chance.choice([*known, chance.randint(-9, 9), chance.randint(-(2**63), 2**63 - 1)])


def _float(chance: random.Random) -> float:
    known = (0.0, -0.0, 1.0, -1.5, 0.1, 1e16, 1e17, 1e22, 1e300, 5e-324, 1.7976931348623157e308, 2.0**53, 2.0**63, 1e-7)
    return chance.choice([*known, math.inf, -math.inf, math.nan, chance.random(), chance.uniform(-1e10, 1e10)])


def _within(chance: random.Random, most: float) -> float:
    drawn = _float(chance)
    return drawn if abs(drawn) <= most else 12.5


def _point(chance: random.Random) -> Point:
    height = _within(chance, 1e300) if chance.random() < 0.5 else None
    if chance.random() < 0.5:
        return Point(_within(chance, 1e300), _within(chance, 1e300), height)
    return Point(_within(chance, 180), _within(chance, 90), height, crs="wgs-84" if height is None else "wgs-84-3d")


def _clock(chance: random.Random) -> str:
    fraction = chance.choice(["", ".5", ".000000001", ".999999999"])
    return f"{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}{fraction}"


def _moment(chance: random.Random) -> DateTime:
    if chance.random() < 0.1:
        return DateTime(f"{_TWICE}{chance.choice(['+01:00', '+02:00'])}[Europe/Stockholm]")
    year = chance.choice(["2020", "1969", "1900", "1850", "0001", "9999", "2100"])
    day = f"{year}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    return DateTime(f"{day}T{_clock(chance)}{chance.choice(_ZONES)}")


def _date(chance: random.Random) -> Date:
    return Date.from_days(chance.choice([0, -1, -365_242_498, 364_522_971, chance.randint(-800_000, 2_900_000)]))


def _local_moment(chance: random.Random) -> LocalDateTime:
    whole = chance.randint(-(10**9), 10**9) * 10**9
    return LocalDateTime.from_nanoseconds(
        chance.choice([0, -1, whole, chance.randint(-(2**62), 2**62), 2**63 - 1, -(2**63)])
    )


def _duration(chance: random.Random) -> Duration:
    nanoseconds = (0, 1, -1, -(10**9), 10**9 + 1, -(10**9) - 1, chance.randint(-(2**60), 2**60))
    months, days = (chance.choice([0, chance.randint(-99, 99)]) for _ in range(2))
    return Duration(months=months, days=days, nanoseconds=chance.choice(nanoseconds))


_SCALARS: tuple[_Draw, ...] = (
    _integer,
    _float,
    lambda chance: chance.random() < 0.5,
    _text,
    _date,
    lambda chance: LocalTime.from_nanoseconds(chance.choice([0, _DAY - 1, chance.randrange(_DAY)])),
    lambda chance: Time(_clock(chance) + chance.choice(_OFFSETS)),
    _local_moment,
    _moment,
    _duration,
    _point,
)
