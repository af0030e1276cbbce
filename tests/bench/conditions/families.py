"""Patterns of many families over a graph of 50 types whose degrees are skewed and whose values go together.

Each family is one way to write conditions: at both ends of a chain, around a star, on a triangle's relationships, by
labels, texts, lists, missing values, dates, subqueries, optional parts, second patterns, groups, walks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine.errors import QengineError
from tests.bench.conditions.patterns import Drawn, literal

_NODES = {"A": 6_000, "B": 4_000, "C": 2_000}
_TYPES = 50
_SECONDS = 2.0  # that counting may take: patterns of longer ones are left out
_TRIES, _EMPTY = 6, 0.2  # patterns drawn where one has no embedding, and how often that is kept
_DAY = 18_000  # since 1970, of the earliest date


def families_graph(seed: int) -> Graph:
    """Make nodes of three labels whose keys, texts and dates go together, and types that follow some of these."""
    source = np.random.default_rng(seed)
    total = sum(_NODES.values())
    key = np.minimum(source.zipf(1.5, total), 300)
    hired = _DAY + np.clip(key * 3 + source.normal(0, 300, total), -2_000, 2_000).astype(np.int64)
    name = [f"{'abcdefgh'[k % 8]}{'xyz'[k % 3]}{k}-{n % 17}" for n, k in enumerate(key.tolist())]
    columns = {
        "key": key,
        "size": source.integers(0, 100, total) // (1 + key % 4),
        "name": name,
        "hired": pa.array(hired.astype(np.int32), pa.date32()),
        "grade": pa.array(source.integers(0, 12, total), mask=source.random(total) < (key % 5) / 6),
    }
    whole = pa.table({"id": np.arange(total), **columns})
    nodes, begin = [], 0
    for label, count in _NODES.items():
        rows = whole.slice(begin, count)
        also = np.flatnonzero(source.random(count) < 0.2)
        plain = np.setdiff1d(np.arange(count), also)
        nodes += [(label, rows.take(plain)), ((label, "Extra"), rows.take(also))]
        begin += count
    label_of = np.repeat(np.arange(3), list(_NODES.values()))
    relationships: list[tuple[str, None, None, pa.Table]] = []
    made: list[tuple[np.ndarray, np.ndarray]] = []
    for number in range(_TYPES):
        start, end = _ends(source, key, label_of, made, number)
        made.append((start, end))
        count = len(start)
        when = _DAY + np.clip(key[start] * 3 + source.integers(-200, 400, count), -2_000, 3_000)
        properties = {
            "w": (source.random(count) ** 3).round(4),
            "n": key[end] % 7 + source.integers(0, 3, count),
            "on": pa.array(when.astype(np.int32), pa.date32()),
        }
        relationships.append((f"T{number}", None, None, pa.table({"start": start, "end": end, **properties})))
    return Graph.from_arrow(nodes, relationships)


def _ends(
    source: np.random.Generator,
    key: np.ndarray,
    label_of: np.ndarray,
    made: Sequence[tuple[np.ndarray, np.ndarray]],
    number: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a type's relationships: skewed, between two labels, alike in key, or along an earlier type."""
    total = len(key)
    count = int(30 * (40_000 / 30) ** source.random())
    of = [np.flatnonzero(label_of == each) for each in source.integers(0, 3, 2)]
    if number % 5 == 4:
        of = [np.arange(total)] * 2

    def drawn(ids: np.ndarray) -> np.ndarray:
        order = source.permutation(len(ids)) if source.random() < 0.5 else np.argsort(-key[ids], kind="stable")
        weights = (1.0 + np.arange(len(ids))) ** -source.choice([0.0, 0.4, 0.7, 0.9])
        return ids[
            order[np.searchsorted(np.cumsum(weights / weights.sum()), source.random(count)).clip(0, len(ids) - 1)]
        ]

    start, end = drawn(of[0]), drawn(of[1])
    way = number % 4
    if way == 1:  # most have the same key at both ends
        by_key = of[1][np.argsort(key[of[1]], kind="stable")]
        low = np.searchsorted(key[by_key], key[start], side="left")
        high = np.searchsorted(key[by_key], key[start], side="right")
        alike = (source.random(count) < 0.7) & (high > low)
        chosen = by_key[np.minimum(low + (source.random(count) * (high - low)).astype(np.int64), len(by_key) - 1)]
        end = np.where(alike, chosen, end)
    elif way == 2:  # most end near their start, which makes triangles
        near = start + np.rint(source.laplace(0, 8, count)).astype(np.int64)
        end = np.where(source.random(count) < 0.6, near % total, end)
    elif way == 3 and made:  # some go where an earlier type does
        old_start, old_end = made[source.integers(len(made))]
        taken = source.integers(0, len(old_start), count)
        along = source.random(count) < 0.5
        start, end = np.where(along, old_start[taken], start), np.where(along, old_end[taken], end)
    if number % 8 == 5:  # with loops, and several between two nodes
        return start, end
    pairs = np.unique((start * total + end)[start != end])
    return pairs // total, pairs % total


class _Maker:
    """Draws texts; ``kinds``: the type names with the labels that they lead from and to, most often."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.source = random.Random(seed)
        rows = graph.query(
            "MATCH (a)-[r]->(b) UNWIND [l IN labels(a) WHERE l <> 'Extra'] AS one "
            "UNWIND [l IN labels(b) WHERE l <> 'Extra'] AS other RETURN type(r) AS t, one, other, count(*) AS n"
        )
        self.ways = [(row["t"], row["one"], row["other"]) for row in rows for _ in range(int(row["n"] ** 0.5 / 3))]
        self.values = {
            (kind, key): [
                row["v"] for row in graph.query(f"MATCH {pattern} WHERE x.{key} IS NOT NULL RETURN x.{key} AS v")
            ]
            for kind, pattern, keys in (
                ("node", "(x)", ("key", "size", "name", "hired", "grade")),
                ("relationship", "()-[x]->()", ("w", "n", "on")),
            )
            for key in keys
        }

    def step(self, label: str | None = None) -> tuple[str, str, bool]:
        """Return a type that joins a label, the label at its other end, and whether it leads there."""
        fits = [each for each in self.ways if label is None or label in each[1:]]
        type, one, other = self.source.choice(fits)
        return (type, other, True) if label in (None, one) else (type, one, False)

    def chain(self, hops: int, names: str = "abcde") -> tuple[str, str]:
        """Return the text of a chain and the label of its last node."""
        _, label, _ = self.step()
        text = f"({names[0]}:{label})"
        for place in range(hops):
            type, other, forward = self.step(label)
            edge = f"[r{place}:{type}]"
            text += (f"-{edge}->" if forward else f"<-{edge}-") + f"({names[place + 1]}:{other})"
            label = other
        return text, label

    def condition(self, name: str, keys: Sequence[str] = ("key", "size", "name", "hired", "grade")) -> str:
        """Return a condition on one node or relationship."""
        source = self.source
        kind = "relationship" if name[0] == "r" else "node"
        key = source.choice(keys)
        known = self.values[kind, key]
        value, roll = source.choice(known), source.random()
        if isinstance(value, str):
            tests = (
                f"STARTS WITH {literal(value[: source.randint(1, 3)])}",
                f"CONTAINS {literal(value[1:3])}",
                f"ENDS WITH {literal(value[-2:])}",
                f"= {literal(value)}",
                f"IN [{', '.join(literal(source.choice(known)) for _ in range(4))}]",
            )
            return f"{name}.{key} {source.choice(tests)}"
        if roll < 0.3 and not isinstance(value, float):
            return f"{name}.{key} = {literal(value)}"
        if roll < 0.5:
            low, high = sorted((value, source.choice(known)))
            return f"{literal(low)} <= {name}.{key} <= {literal(high)}"
        return f"{name}.{key} {source.choice('<>')} {literal(value)}"

    def of_relationship(self, name: str) -> str:
        """Return a condition on a relationship."""
        return self.condition(name, ("w", "n", "on"))


def _chain_ends(make: _Maker) -> str:
    hops = make.source.choice((1, 2, 2, 3))
    text, _ = make.chain(hops)
    last = "abcde"[hops]
    conditions = [make.condition("a"), make.condition(last)]
    if make.source.random() < 0.4:
        conditions.append(f"a.key {make.source.choice(('=', '<'))} {last}.key")
    return f"MATCH {text} WHERE {' AND '.join(conditions)}"


def _star(make: _Maker) -> str:
    _, label, _ = make.step()
    parts = []
    for leaf in "bcd"[: make.source.choice((2, 2, 3))]:
        type, other, forward = make.step(label)
        parts.append(
            f"(a:{label})-[r{leaf}:{type}]->({leaf}:{other})"
            if forward
            else f"({leaf}:{other})-[r{leaf}:{type}]->(a:{label})"
        )
    key = make.source.choice(make.values["node", "key"])
    conditions = [f"a.key = {key}", make.condition("a", ("hired", "size", "name")), make.condition("b")]
    return f"MATCH {', '.join(parts)} WHERE {' AND '.join(make.source.sample(conditions, make.source.randint(1, 3)))}"


def _triangle(make: _Maker) -> str:
    type, *_ = make.step()
    one, other, third = (make.source.choice(make.ways)[0] if make.source.random() < 0.5 else type for _ in range(3))
    text = f"(a)-[r0:{one}]->(b)-[r1:{other}]->(c), (a)-[r2:{third}]->(c)"
    conditions = [
        make.of_relationship(f"r{place}") for place in make.source.sample(range(3), make.source.randint(1, 2))
    ]
    return f"MATCH {text} WHERE {' AND '.join(conditions)}"


def _lollipop(make: _Maker) -> str:
    type, _, _ = make.step()
    tail = make.source.choice(make.ways)[0]
    text = f"(a)-[r0:{type}]->(b)-[r1:{type}]->(c), (a)-[r2:{type}]->(c)-[r3:{tail}]-(d)"
    return f"MATCH {text} WHERE {make.condition('d')}"


def _labels(make: _Maker) -> str:
    expressions = ("A|B", "!A", "Extra", "A&Extra", "(A|C)&!Extra", "B|Extra", "!Extra", "C")
    one, other = (make.source.choice(expressions) for _ in range(2))
    types = "|".join(dict.fromkeys(make.source.choice(make.ways)[0] for _ in range(make.source.randint(1, 3))))
    more = f"-[:{make.source.choice(make.ways)[0]}]-(c)" if make.source.random() < 0.5 else ""
    return f"MATCH (a:{one})-[:{types}]-{make.source.choice(('>', ''))}(b:{other}){more} WHERE {make.condition('a')}"


def _texts(make: _Maker) -> str:
    text, _ = make.chain(make.source.choice((1, 2)))
    return f"MATCH {text} WHERE {make.condition('a', ('name',))} AND {make.condition('b', ('name',))}"


def _lists(make: _Maker) -> str:
    text, _ = make.chain(make.source.choice((1, 2)))
    found = []
    for name, key in (("a", "key"), ("b", make.source.choice(("size", "grade")))):
        items = ", ".join(str(make.source.choice(make.values["node", key])) for _ in range(make.source.randint(2, 9)))
        found.append(f"{make.source.choice(('', 'NOT '))}{name}.{key} IN [{items}]")
    return f"MATCH {text} WHERE {' AND '.join(found)}"


def _missing(make: _Maker) -> str:
    text, _ = make.chain(make.source.choice((1, 2)))
    one, other = (make.source.choice(("IS NULL", "IS NOT NULL")) for _ in range(2))
    return f"MATCH {text} WHERE a.grade {one} AND b.grade {other} AND {make.condition('a', ('key', 'hired'))}"


def _dates(make: _Maker) -> str:
    text, _ = make.chain(make.source.choice((1, 2)))
    both = make.source.choice(
        ("a.hired < r0.on", "a.hired > b.hired", "a.hired.year = b.hired.year", "r0.on.year = 2019")
    )
    return f"MATCH {text} WHERE {both} AND {make.condition('a', ('hired',))}"


def _optional(make: _Maker) -> str:
    text, _ = make.chain(1)
    type, other, forward = make.step()
    arrow = "-[x:{}]->" if forward else "<-[x:{}]-"
    return (
        f"MATCH {text} WHERE {make.condition('a')} "
        f"OPTIONAL MATCH (b){arrow.format(type)}(o:{other}) WHERE {make.condition('o')}"
    )


def _absent(make: _Maker) -> str:
    text, _ = make.chain(make.source.choice((1, 2)))
    type, *_ = make.step()
    word = make.source.choice(("NOT EXISTS", "EXISTS"))
    inner = f"(b)-[:{type}]-(o) WHERE {make.condition('o')}"
    return f"MATCH {text} WHERE {make.condition('a')} AND {word} {{ {inner} }}"


def _second(make: _Maker) -> str:
    text, label = make.chain(1)
    type, other, forward = make.step(label)
    arrow = f"-[:{type}]->" if forward else f"<-[:{type}]-"
    where = make.source.choice((make.condition("b"), "c.key = a.key", make.condition("a")))
    return f"MATCH {text} WHERE {make.condition('a')} MATCH (b){arrow}(c:{other}) WHERE {where}"


def _groups(make: _Maker) -> str:
    text, _ = make.chain(1)
    key = make.source.choice(("b", "b", "a.key", "a.hired.year"))
    most = make.source.randint(1, 20)
    return f"MATCH {text} WHERE {make.condition('a')} WITH {key} AS k, count(*) AS n WHERE n > {most}"


def _walk(make: _Maker) -> str:
    type, *_ = make.step()
    hops = make.source.choice(("*1..2", "*2", "*1..3", "*0..2"))
    return f"MATCH (a)-[:{type}{hops}]->(b) WHERE {make.condition('a')} AND {make.condition('b')}"


FAMILIES: dict[str, Callable[[_Maker], str]] = {
    "chain": _chain_ends,
    "star": _star,
    "triangle": _triangle,
    "lollipop": _lollipop,
    "labels": _labels,
    "texts": _texts,
    "lists": _lists,
    "missing": _missing,
    "dates": _dates,
    "optional": _optional,
    "absent": _absent,
    "second": _second,
    "groups": _groups,
    "walk": _walk,
}


def of_families(graph: Graph, count: int, seed: int) -> Iterator[Drawn]:
    """Yield patterns of the families by turns, with their counts: those that a search counts in time."""
    make = _Maker(graph, seed)
    for number in range(count):
        name = list(FAMILIES)[number % len(FAMILIES)]
        for _ in range(_TRIES):
            text = FAMILIES[name](make)
            try:
                (row,) = graph.query(f"{text} RETURN count(*) AS n", timeout=_SECONDS)
            except QengineError:
                break
            if row["n"] or make.source.random() < _EMPTY:
                yield Drawn(name, text, {}, (name,), int(row["n"]))
                break
