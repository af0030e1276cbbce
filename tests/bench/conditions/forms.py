"""Patterns of many forms over the schema of any graph, which is asked for what joins what and for its values.

Conditions are on up to three variables: functions, parts of dates, long lists, alternatives over two properties, NOT,
null tests, prefixes, comparisons, subqueries. Relationships are directed or not, of one type to any, between nodes with
labels or without, or walks; what follows is a second pattern, an optional one, different rows, groups, a limit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine.errors import QengineError
from tests.bench.conditions.families import families_graph
from tests.bench.conditions.generated import papers, shop
from tests.bench.conditions.graphs import GROUNDS
from tests.bench.conditions.patterns import Drawn, literal

_SECONDS = 4.0  # that counting may take: patterns of longer ones are left out
_TRIES, _EMPTY = 6, 0.15  # patterns drawn where one has no embedding, and how often that is kept
_VALUES = 400  # of a property of a label or a type
_NAMES = "abcde"
_SEED = 5


class Maker:
    """Draws texts over the schema of a graph."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.source = random.Random(seed)
        rows = graph.query(
            "MATCH (a)-[r]->(b) UNWIND CASE labels(a) WHEN [] THEN [''] ELSE labels(a) END AS one "
            "UNWIND CASE labels(b) WHEN [] THEN [''] ELSE labels(b) END AS other "
            "RETURN type(r) AS t, one, other, count(*) AS n ORDER BY n DESC LIMIT 60"
        )
        self.ways = [(row["t"], row["one"], row["other"]) for row in rows]
        owners = {label for _, *ends in self.ways for label in ends} | {type for type, *_ in self.ways}
        self.values = {each: self._properties(graph, each) for each in sorted(owners)}
        self.owners: dict[str, str] = {}

    def _properties(self, graph: Graph, owner: str) -> dict[str, list[Any]]:
        is_type = any(owner == type for type, *_ in self.ways)
        pattern = f"()-[x:{owner}]->()" if is_type else f"(x:{owner})" if owner else "(x)"
        found: dict[str, list[Any]] = {}
        rows = graph.query(f"MATCH {pattern} WITH x LIMIT 20000 RETURN properties(x) AS p")
        for row in self.source.sample(every := list(rows), min(len(every), 4 * _VALUES)):
            for key, value in row["p"].items():
                if isinstance(value, int | float | str) or hasattr(value, "isoformat") or "date" in str(type(value)):
                    found.setdefault(key, []).append(value)
        return {key: values[:_VALUES] for key, values in found.items() if len(values) > 1 and key.isidentifier()}

    def node(self, name: str, label: str, labelled: float = 0.8) -> str:
        """Return a node's text at its first place, perhaps without its label."""
        first = name not in self.owners
        self.owners.setdefault(name, label)
        return f"({name}:{label})" if first and label and self.source.random() < labelled else f"({name})"

    def step(self, label: str | None = None) -> tuple[str, str, str]:
        """Return a type that joins a label (None: any), the label at the near end, and the one at the other."""
        fits = [(t, one, other) for t, one, other in self.ways if label in (None, one)]
        fits += [("<" + t, other, one) for t, one, other in self.ways if label in (None, other)]
        return self.source.choice(fits)

    def edge(self, way: str, name: str = "") -> str:
        """Return a relationship's text: along its way, either way, of further types, or of any."""
        type, back = way.removeprefix("<"), way.startswith("<")
        roll = self.source.random()
        types = f":{type}"
        if name:
            self.owners[name] = type
        elif roll < 0.15:
            types += f"|{self.source.choice(self.ways)[0]}"
        elif roll < 0.22:
            types = ""
        inside = f"[{name}{types}]"
        if self.source.random() < 0.2:
            return f"-{inside}-"
        return f"<-{inside}-" if back else f"-{inside}->"

    def chain(self, hops: int, labelled: float = 0.8, begin: str | None = None) -> str:
        """Return the text of a chain; its nodes are named by ``_NAMES``."""
        if begin is None:
            self.owners.clear()
            label = self.step()[1]
            text = self.node("a", label, labelled)
        else:
            label, text = self.owners[begin], f"({begin})"
        for place in range(hops):
            way, _, label = self.step(label)
            named = f"r{place}" if self.source.random() < 0.5 and begin is None else ""
            text += self.edge(way, named) + self.node(
                _NAMES[place + 1] if begin is None else f"{begin}{place}", label, labelled
            )
        return text

    def keys(self, name: str, kind: type | tuple[type, ...] | None = None) -> list[str]:
        """Return the properties of a variable, of those whose values are of some Python type."""
        found = self.values.get(self.owners[name], {})
        return [key for key, values in found.items() if kind is None or isinstance(values[0], kind)]

    def variable(self, kind: type | tuple[type, ...] | None = None) -> tuple[str, str, list[Any]]:
        """Return a variable with one of its properties and values of that."""
        fits = [(name, key) for name in self.owners for key in self.keys(name, kind)]
        if not fits:
            raise LookupError
        name, key = self.source.choice(fits)
        return name, key, self.values[self.owners[name]][key]

    def plain(self) -> str:
        """Return a comparison of a property with a value, a range, or a text's part."""
        name, key, known = self.variable()
        value, roll = self.source.choice(known), self.source.random()
        if isinstance(value, str):
            return (
                f"{name}.{key} STARTS WITH {literal(value[: self.source.randint(1, 3)])}"
                if roll < 0.5
                else f"{name}.{key} = {literal(value)}"
            )
        if isinstance(value, bool) or roll < 0.25:
            return f"{name}.{key} = {literal(value)}"
        return f"{name}.{key} {self.source.choice(('<', '>', '<=', '>='))} {literal(value)}"


def _function(make: Maker) -> str:
    name, key, known = make.variable((int, str))
    value, source = make.source.choice(known), make.source
    if isinstance(value, str):
        return source.choice(
            (
                f"size({name}.{key}) = {len(value)}",
                f"left({name}.{key}, 2) = {literal(value[:2])}",
                f"toLower({name}.{key}) CONTAINS {literal(value[1:3].lower())}",
                f"substring({name}.{key}, 1, 1) = {literal(value[1:2])}",
                f"{name}.{key} =~ {literal('.*' + ''.join(c for c in value[-1:] if c.isalnum()))}",
            )
        )
    step = source.choice((2, 3, 7, 10))
    return source.choice(
        (
            f"{name}.{key} % {step} = {value % step}",
            f"abs({name}.{key} - {value}) < {max(2, abs(value) // 10)}",
            f"{name}.{key} / {step} = {value // step if value >= 0 else 0}",
            f"toString({name}.{key}) STARTS WITH {literal(str(value)[:1])}",
        )
    )


def _dates(make: Maker) -> str:
    fits = [(n, k) for n in make.owners for k in make.keys(n) if hasattr(make.values[make.owners[n]][k][0], "year")]
    if not fits:
        raise LookupError
    name, key = make.source.choice(fits)
    value, other = (make.source.choice(make.values[make.owners[name]][key]) for _ in range(2))
    part = make.source.choice(("year", "month", "day"))
    if make.source.random() < 0.5:
        return f"{name}.{key}.{part} {make.source.choice(('=', '<', '>='))} {getattr(value, part)}"
    low, high = sorted((value, other), key=str)
    return f"{literal(low)} <= {name}.{key} AND {name}.{key} < {literal(high)}"


def _many(make: Maker) -> str:
    name, key, known = make.variable((int, str))
    items = {literal(make.source.choice(known)): None for _ in range(make.source.randint(10, 60))}
    return f"{make.source.choice(('', '', 'NOT '))}{name}.{key} IN [{', '.join(items)}]"


def _nulls(make: Maker) -> str:
    name, key, _ = make.variable()
    return f"{name}.{key} IS {make.source.choice(('', 'NOT '))}NULL"


def _three(make: Maker) -> str:
    fits: dict[str, list[str]] = {}
    for name in make.owners:
        for key in make.keys(name, (int, float)):
            fits.setdefault(key, []).append(name)
    keys = [key for key, names in fits.items() if len(names) > 1]
    if not keys:
        raise LookupError
    key = make.source.choice(keys)
    one, other, *rest = make.source.sample(fits[key], min(3, len(fits[key])))
    text = f"{one}.{key} {make.source.choice(('<', '>', '='))} {other}.{key}"
    if rest:
        third = rest[0]
        if make.source.random() < 0.5:
            return f"{one}.{key} + {other}.{key} {make.source.choice('<>')} 2 * {third}.{key}"
        text += f" AND {other}.{key} <= {third}.{key}"
    return text


def _subquery(make: Maker) -> str:
    name = make.source.choice([each for each in make.owners if each[0] in _NAMES])
    outer = dict(make.owners)
    inner = make.chain(make.source.choice((1, 1, 2)), 0.6, name)
    names = [each for each in make.owners if each not in outer]
    make.owners = {each: make.owners[each] for each in names}
    try:
        where = f" WHERE {make.plain()}" if make.source.random() < 0.6 else ""
    except LookupError:
        where = ""
    make.owners = outer
    body = f"{{ {inner}{where} }}"
    return make.source.choice(
        (
            f"EXISTS {body}",
            f"NOT EXISTS {body}",
            f"COUNT {body} {make.source.choice('<>')} {make.source.choice((1, 2, 5, 20))}",
        )
    )


CONDITIONS: dict[str, Callable[[Maker], str]] = {
    "plain": Maker.plain,
    "function": _function,
    "dates": _dates,
    "many": _many,
    "or": lambda make: f"({make.plain()} OR {make.plain()})",
    "not": lambda make: f"NOT ({make.plain()} AND {make.plain()})",
    "null": _nulls,
    "three": _three,
    "subquery": _subquery,
}


def _conditions(make: Maker, most: int) -> tuple[str, list[str]]:
    """Return a WHERE clause of up to so many conditions, and their kinds."""
    found, kinds = [], []
    for _ in range(make.source.randint(0, most)):
        kind = make.source.choice(list(CONDITIONS))
        try:
            found.append(CONDITIONS[kind](make))
        except LookupError:  # no property fits
            continue
        kinds.append(kind)
    return (f" WHERE {' AND '.join(found)}" if found else ""), kinds


def _walk(make: Maker) -> str:
    way, _, label = make.step(make.owners["a"])
    hops = make.source.choice(("*1..2", "*2", "*3", "*0..2", "*2..3"))
    types = f":{way.removeprefix('<')}" if make.source.random() < 0.7 else ""
    if make.source.random() < 0.2:
        types = f"{types or ':' + make.ways[0][0]}|{make.source.choice(make.ways)[0]}"
    inside = f"[{types}{hops}]"
    arrow = f"-{inside}-" if make.source.random() < 0.2 else f"<-{inside}-" if way[0] == "<" else f"-{inside}->"
    return f"(a){arrow}{make.node('w', label, 0.4)}"


def _tail(make: Maker) -> tuple[str, str]:
    nodes = [name for name in make.owners if name[0] in _NAMES]
    values = [f"{name}.{key}" for name in make.owners for key in make.keys(name)] or nodes
    one, other = make.source.choice(nodes), make.source.choice(values)
    kind = make.source.choice(("optional", "second", "distinct", "groups", "large groups", "limit"))
    if kind in ("optional", "second"):
        outer = dict(make.owners)
        text = make.chain(1, 0.6, one)
        where = _conditions(make, 1)[0] if set(make.owners) - set(outer) else ""
        return kind, f" {'OPTIONAL ' * (kind == 'optional')}MATCH {text}{where}"
    if kind == "distinct":
        return kind, f" WITH DISTINCT {one} AS x, {other} AS y"
    if kind == "limit":
        return kind, f" WITH DISTINCT {other} AS y LIMIT {make.source.choice((1, 10, 100, 1000))}"
    text = f" WITH {make.source.choice((one, other))} AS k, count(*) AS n"
    return kind, text if kind == "groups" else f"{text} WHERE n > {make.source.choice((1, 3, 10))}"


def _text(make: Maker) -> tuple[str, list[str]]:
    hops = make.source.choice((1, 1, 2, 2, 3))
    labelled = make.source.choice((1.0, 0.8, 0.3, 0.0))
    parts, kinds = [make.chain(hops, labelled)], [] if labelled > 0.5 else ["unlabelled"]
    roll = make.source.random()
    if roll < 0.15 and hops > 1:
        pair = [each for each in make.ways if each[1:] == (make.owners["a"], make.owners["c"])]
        if pair:
            parts.append(f"(a)-[:{make.source.choice(pair)[0]}]->(c)")
            kinds.append("circle")
    elif roll < 0.35:
        parts.append(_walk(make))
        kinds.append("walk")
    where, more = _conditions(make, 3)
    tail, end = _tail(make) if make.source.random() < 0.35 else ("", "")
    return f"MATCH {', '.join(parts)}{where}{end}", [*kinds, *more, *([tail] if tail else [])]


def of_forms(graph: Graph, count: int, seed: int, seconds: float = _SECONDS) -> Iterator[Drawn]:
    """Yield patterns with their counts: those that a search counts in time."""
    make = Maker(graph, seed)
    for _ in range(count):
        for _ in range(_TRIES):
            text, kinds = _text(make)
            try:
                (row,) = graph.query(f"{text} RETURN count(*) AS n", timeout=seconds)
            except QengineError:
                break
            if row["n"] or make.source.random() < _EMPTY:
                yield Drawn("forms", text, {}, tuple(dict.fromkeys(kinds)), int(row["n"]))
                break


def _dense() -> Graph:
    """Make a small graph: 60 nodes of overlapping labels, each joined with most others by three types, some twice."""
    source = np.random.default_rng(_SEED)
    size, number = 60, np.arange(60)
    table = pa.table(
        {"id": number, "x": number % 7, "y": source.integers(0, 5, size), "s": [f"n{k % 9}" for k in number]}
    )
    nodes = [(("A", "B"), table.slice(0, 20)), ("B", table.slice(20, 25)), (("B", "C"), table.slice(45, 15))]
    relationships = []
    for type, count in (("R", 1_800), ("S", 600), ("T", 150)):
        start, end = source.integers(0, size, (2, count))
        properties = {"w": source.integers(0, 10, count), "v": start % 7 + source.integers(0, 2, count)}
        relationships.append((type, None, None, pa.table({"start": start, "end": end, **properties})))
    return Graph.from_arrow(nodes, relationships)


FORMS: dict[str, Callable[[], Graph]] = {
    **{f"forms: {name}": (lambda ground=ground: ground().graph) for name, ground in GROUNDS.items()},
    "forms: skewed": lambda: families_graph(_SEED),
    "forms: dense": _dense,
    "forms: shop": shop,
    "forms: papers": papers,
}
