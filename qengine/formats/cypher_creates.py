"""Reads statements that only create, however many elements they have, without parsing them.

The script of a graph is often one statement, ``CREATE (a:A {k: 1}), (b:B), (a)-[:R]->(b)``, or many of which each is
written otherwise. Nodes and relationships of equal labels, types and keys become the rows of a table, whatever they
are called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from qengine._frozen import record
from qengine.errors import QengineError
from qengine.formats.cypher_pieces import Piece, literal_column

_NAME = r"(?:[^\W\d]\w*|`[^`]+`)"
_HOLE = "\x00"
_VALUE = rf"(?:-?{_HOLE}|true|false|null)"
_MAP = rf"\{{\s*(?:{_NAME}\s*:\s*{_VALUE}\s*(?:,\s*{_NAME}\s*:\s*{_VALUE}\s*)*)?\}}"
_CREATE = re.compile(r"\s*CREATE\b", re.IGNORECASE)
_NODE = re.compile(rf"\s*\(\s*({_NAME})?\s*((?::\s*{_NAME}\s*)*)({_MAP})?\s*\)", re.IGNORECASE)
_LINK = re.compile(rf"\s*(<?)\s*-\s*\[\s*({_NAME})?\s*:\s*({_NAME})\s*({_MAP})?\s*\]\s*-\s*(>?)", re.IGNORECASE)
_NEXT = re.compile(r"\s*(?:,|CREATE\b)", re.IGNORECASE)
_END = re.compile(rf"\s*(?:RETURN\s+({_NAME}(?:\s*,\s*{_NAME})*))?\s*", re.IGNORECASE)
_ENTRY = re.compile(rf"({_NAME})\s*:\s*({_VALUE})", re.IGNORECASE)
_NAMES = re.compile(_NAME)
_WORDS = {"true": True, "false": False, "null": None}
_ROWS = 1 << 15  # of a query
_LEAST = 100  # rows of equal keys that are worth a query of their own

_RARE_NODES = "UNWIND $rows AS row CREATE (n:$(row.labels)) SET n = row.map"
_LINKED = "UNWIND $rows AS row MATCH (a), (b) WHERE id(a) = row.a AND id(b) = row.b CREATE (a)-[x:{}]->(b){}"

Run = Callable[[str, Mapping[str, Any]], Any]
_Table = tuple[str, list[int], list[dict[str, Any]]]
"""A query, which elements its rows make, and the rows."""


@record
class _Group:
    """Elements that are written alike: where the literals of each begin, and which node or link each is."""

    begins: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


_SIGNS = (_HOLE, "-" + _HOLE)


@record
class Elements:
    """What statements create: nodes and links, in groups of those that are written alike, and the nodes at their ends.

    ``count``: of nodes. ``met``: how many statements were like this one. Groups are found by their labels or type and
    their properties, as these stand between literals.
    """

    literals: list[str] = field(default_factory=list)
    nodes: dict[tuple[str, str | None], _Group] = field(default_factory=dict)
    links: dict[tuple[str, str | None], _Group] = field(default_factory=dict)
    ends: list[tuple[int, int]] = field(default_factory=list)
    count: int = 0
    met: int = 0

    def take(self, found: Elements, literals: Sequence[str]) -> None:
        """Add the elements of one statement more, with its literals."""
        begin = len(self.literals)
        for groups, others, offset in (
            (self.nodes, found.nodes, self.count),
            (self.links, found.links, len(self.ends)),
        ):
            for key, each in others.items():
                into = groups.setdefault(key, _Group())
                into.begins += [begin + place for place in each.begins]
                into.places += [offset + place for place in each.places]
        self.ends += [(self.count + one, self.count + other) for one, other in found.ends]
        self.count += found.count
        self.literals += literals

    def run(self, run: Run, settled: Callable[[], Any]) -> bool:
        """Create all elements by few queries; tell whether that did. If not, nothing of them stays.

        ``run`` carries out a query, ``settled`` lets a store be made of what was created.
        """
        nodes, links = (_tables(each, self.literals, is_link=each is self.links) for each in (self.nodes, self.links))
        if nodes is None or links is None:
            return False
        made = 0
        try:
            for text, _, rows in nodes:
                for part in _parts(rows):
                    run(text, {"rows": part})
                    made += len(part)
            if links:
                settled()
                ids = self._numbers(run, nodes, _last(run) - made)
                for text, places, rows in links:
                    for row, place in zip(rows, places, strict=True):
                        row["a"], row["b"] = map(ids.__getitem__, self.ends[place])
                    for part in _parts(rows):
                        run(text, {"rows": part})
        except QengineError:  # one by one, the statement that fails tells why
            run("MATCH (n) WHERE id(n) > $last DETACH DELETE n", {"last": _last(run) - made})
            return False
        return True

    def _numbers(self, run: Run, nodes: list[_Table], last: int) -> dict[int, int]:
        """Return the numbers of nodes behind ``last``: those of equal labels are in the order of their rows."""
        made = run("MATCH (n) WHERE id(n) > $last RETURN collect(id(n)), labels(n)", {"last": last})
        numbers = {frozenset(labels): iter(sorted(found)) for found, labels in made}
        own = {}
        for (labels, _), group in self.nodes.items():
            own.update(dict.fromkeys(group.places, numbers[frozenset(map(_plain, _NAMES.findall(labels)))]))
        return {place: next(own[place]) for _, places, _ in nodes for place in places}


def elements_of(piece: Piece) -> Elements | None:
    """Return what a statement creates, but for its literals; None for one that does something else."""
    text = _HOLE.join(piece.skeleton)
    match = _CREATE.match(text)
    if match is None or text.count(_HOLE) >= len(piece.skeleton):
        return None
    found = Elements()
    known: dict[str, int] = {}  # nodes by their names
    named: set[str] = set()  # links
    literal = at = 0
    while match is not None:
        before, is_left, link = -1, False, None
        while True:
            node = _NODE.match(text, match.end())
            if node is None:
                return None
            name, labels, keys = node.groups()
            place = known.get(_plain(name))
            if place is None:
                place, found.count = found.count, found.count + 1
                if name is not None:
                    known[_plain(name)] = place
                _put(found.nodes, (labels, keys), literal, place)
                literal += keys.count(_HOLE) if keys else 0
            elif labels or keys or (link is None and not _LINK.match(text, node.end())):
                return None  # is declared twice, which the parser tells
            if link is not None:
                found.ends.append((place, before) if is_left else (before, place))
            before = place
            link = _LINK.match(text, node.end())
            if link is None:
                break
            arrow, name, type, keys, head = link.groups()
            if (arrow == "<") == (head == ">") or _plain(name) in named:
                return None
            if name is not None:
                named.add(_plain(name))
            is_left = arrow == "<"
            _put(found.links, (type, keys), literal, len(found.ends))
            literal += keys.count(_HOLE) if keys else 0
            match = link
        at = node.end()
        match = _NEXT.match(text, at)
    end = _END.match(text, at)
    if end is None or end.end() < len(text) or not named.isdisjoint(known):
        return None
    returned = map(_plain, _NAMES.findall(end[1] or ""))
    return found if all(each in known or each in named for each in returned) else None


def _plain(name: str | None) -> str:
    return name.strip("`") if name else ""


def _parts(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    return (rows[begin : begin + _ROWS] for begin in range(0, len(rows), _ROWS))


def _last(run: Run) -> int:
    """Return the greatest number of a node, -1 where there is none."""
    ((found,),) = run("MATCH (n) RETURN coalesce(max(id(n)), -1) AS last", {})
    return int(found)


def _put(groups: dict[tuple[str, str | None], _Group], key: tuple[str, str | None], begin: int, place: int) -> None:
    group = groups.get(key)
    if group is None:
        group = groups[key] = _Group()
    group.begins.append(begin)
    group.places.append(place)


def _tables(
    groups: Mapping[tuple[str, str | None], _Group], literals: Sequence[str], *, is_link: bool
) -> list[_Table] | None:
    """Return the tables of elements; None where a literal has no value. What is rare shares one, whatever its keys."""
    alike: dict[tuple[tuple[str, ...], tuple[tuple[str, Any], ...]], _Group] = {}
    ordered: dict[frozenset[str], tuple[str, ...]] = {}  # labels, as they are first written
    for (labels, keys), group in groups.items():
        names = tuple(dict.fromkeys(map(_plain, _NAMES.findall(labels))))
        entries = tuple((_plain(key), _WORDS.get(value.lower(), value)) for key, value in _ENTRY.findall(keys or ""))
        if len(dict(entries)) < len(entries):
            return None
        into = alike.setdefault((ordered.setdefault(frozenset(names), names), entries), _Group())
        into.begins += group.begins
        into.places += group.places
    tables: list[_Table] = []
    rare: _Table = (_LINKED.format("$(row.labels)", " SET x = row.map") if is_link else _RARE_NODES, [], [])
    for (names, entries), group in alike.items():
        columns = _columns(entries, group.begins, literals)
        if columns is None:
            return None
        is_rare = len(group.begins) < _LEAST
        columned = [key if is_rare else f"p{number}" for number, (key, _) in enumerate(entries)]
        rows = [dict(zip(columned, row, strict=True)) for row in zip(*columns, strict=True)] if columned else []
        rows = rows or [{} for _ in group.begins]
        if is_rare:
            rare[1].extend(group.places)
            rare[2].extend({"labels": list(names), "map": row} for row in rows)
            continue
        quoted = ":".join(f"`{each}`" for each in names)
        inside = ", ".join(f"`{key}`: row.{name}" for (key, _), name in zip(entries, columned, strict=True))
        text = _LINKED.format(f"{quoted} {{{inside}}}", "") if is_link else _node_text(quoted, inside)
        tables.append((text, group.places, rows))
    return [*tables, rare] if rare[1] else tables


def _node_text(labels: str, inside: str) -> str:
    return f"UNWIND $rows AS row CREATE ({':' if labels else ''}{labels} {{{inside}}})"


def _columns(keys: Iterable[tuple[str, Any]], begins: Sequence[int], literals: Sequence[str]) -> list[list[Any]] | None:
    """Return the values of each key, None where a literal has none that a parameter may have."""
    columns: list[list[Any]] = []
    place = 0
    for _, value in keys:
        if value not in _SIGNS:
            columns.append([value] * len(begins))
            continue
        column = literal_column([literals[begin + place] for begin in begins])
        if column is None:
            return None
        if value != _HOLE:
            if not all(type(each) in (int, float) for each in column):
                return None
            column = [-each for each in column]
        columns.append(column)
        place += 1
    return columns
