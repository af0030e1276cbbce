"""Draws analytical queries: shape, filters, keys, aggregates, order and limit, as Cypher and as SQL alike."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.bench.analytics.shapes import PROPERTIES, SHAPES, Property, Shape

_COMPARED = {"int": ("<", ">", ">=", "=", "<>"), "float": ("<", ">"), "str": ("=", "<>", ">="), "bool": ("=",)}
_FILTERS = (0, 0, 1, 1, 1, 2, 3)
_KEYS = (0, 1, 1, 1, 2)
_AGGREGATES = (1, 1, 1, 2, 3)
_LIMITS = (None, None, 10, 100)
_LISTED = 1_000
"""Rows of queries that list matches: which of them come first is settled by all columns."""


@dataclass(frozen=True)
class Analytical:
    """One query. ``exact``: how many of its columns, the first ones, are compared as they are; floats come after."""

    name: str
    shape: str
    cypher: str
    sql: str
    exact: int


@dataclass(frozen=True)
class _Column:
    cypher: str
    sql: str
    exact: bool = True


def draw(count: int, seed: int) -> Iterator[Analytical]:
    """Yield different queries, the same ones for a seed."""
    dice = random.Random(seed)
    seen: set[str] = set()
    while len(seen) < count:
        query = _one(dice, f"a{seed}.{len(seen)}")
        if query.cypher not in seen:
            seen.add(query.cypher)
            yield query


def _one(dice: random.Random, name: str) -> Analytical:
    shape = dice.choice(SHAPES)
    filters = _filters(dice, shape)
    if dice.random() < 0.1:
        keys, aggregates = _listed(dice, shape), []
    else:
        keys = _keys(dice, shape, dice.choice(_KEYS))
        aggregates = _aggregates(dice, shape, dice.choice(_AGGREGATES), whole=not keys)
    columns = sorted([*keys, *aggregates], key=lambda column: not column.exact)
    order = _order(dice, columns, keys, listed=not aggregates)
    where = " AND ".join(filters)
    whole = " AND ".join(each for each in (shape.where, where) if each)
    grouped = " GROUP BY " + ", ".join(key.sql for key in keys) if keys and aggregates else ""
    cypher = f"MATCH {shape.match}" + (f" WHERE {where}" if where else "")
    cypher += " RETURN " + ", ".join(f"{column.cypher} AS c{k}" for k, column in enumerate(columns))
    sql = "SELECT " + ", ".join(f"{column.sql} AS c{k}" for k, column in enumerate(columns))
    sql += f" FROM {shape.source}" + (f" WHERE {whole}" if whole else "") + grouped
    return Analytical(name, shape.name, cypher + order[0], sql + order[1], sum(column.exact for column in columns))


def _filters(dice: random.Random, shape: Shape) -> list[str]:
    """Return conditions that mean the same in both languages."""
    found = []
    for _ in range(dice.choice(_FILTERS)):
        variable, prop = _property(dice, shape)
        value = dice.choice(prop.values)
        found.append(f"{variable}.{prop.name} {dice.choice(_COMPARED[prop.kind])} {value}")
    persons = [variable for variable, of in shape.of.items() if of == "Person"]
    if len(persons) > 1 and dice.random() < 0.15:
        one, other = dice.sample(persons, 2)
        found.append(
            dice.choice((f"{one}.city = {other}.city", f"{one}.age < {other}.age", f"{one}.job <> {other}.job"))
        )
    return found


def _property(dice: random.Random, shape: Shape, *, group: bool = False) -> tuple[str, Property]:
    choices = [
        (variable, prop) for variable, of in shape.of.items() for prop in PROPERTIES[of] if prop.group or not group
    ]
    return dice.choice(choices)


def _keys(dice: random.Random, shape: Shape, count: int) -> list[_Column]:
    names = {f"{variable}.{prop.name}" for variable, prop in (_property(dice, shape, group=True) for _ in range(count))}
    return [_Column(name, name) for name in sorted(names)]


def _listed(dice: random.Random, shape: Shape) -> list[_Column]:
    names = {
        f"{variable}.{prop.name}"
        for variable, prop in (_property(dice, shape) for _ in range(3))
        if prop.kind != "float"
    }
    names |= {f"{variable}.id" for variable, of in shape.of.items() if of != "knows"}
    return [_Column(name, name) for name in sorted(names)]


def _aggregates(dice: random.Random, shape: Shape, count: int, *, whole: bool) -> list[_Column]:
    """Return aggregates; ``whole``: of all matches, where SQL's sum of nothing is null."""
    found: dict[str, _Column] = {}
    for _ in range(count):
        kind = dice.choice(("count", "count", "sum", "avg", "min", "max", "distinct"))
        variable, prop = _property(dice, shape)
        name = f"{variable}.{prop.name}"
        if kind == "count":
            found["count(*)"] = _Column("count(*)", "count(*)")
        elif kind == "distinct":
            found[f"distinct {name}"] = _Column(f"count(DISTINCT {name})", f"count(DISTINCT {name})")
        elif kind in ("min", "max") and prop.kind != "bool":
            found[f"{kind} {name}"] = _Column(f"{kind}({name})", f"{kind}({name})", prop.kind != "float")
        elif kind in ("sum", "avg") and prop.kind in ("int", "float"):
            zero = "0" if prop.kind == "int" else "0.0"
            sql = f"coalesce(sum({name}), {zero})" if kind == "sum" else f"avg({name})"
            found[f"{kind} {name}"] = _Column(f"{kind}({name})", sql, kind == "sum" and prop.kind == "int")
    return list(found.values()) or [_Column("count(*)", "count(*)")]


def _order(
    dice: random.Random, columns: Sequence[_Column], keys: Sequence[_Column], *, listed: bool
) -> tuple[str, str]:
    """Return the clauses of order and limit: the keys settle ties."""
    limit = _LISTED if listed else dice.choice(_LIMITS)
    if limit is None or not keys:
        return "", ""
    places = [k for k, column in enumerate(columns) if column.exact]
    first = dice.choice([k for k in places if columns[k] not in keys] or places)
    ordered = [first, *(k for k, column in enumerate(columns) if column in keys and k != first)]
    ways = [dice.choice((("", "NULLS LAST"), (" DESC", "DESC NULLS FIRST"))) for _ in ordered]
    cypher = ", ".join(f"c{k}{way[0]}" for k, way in zip(ordered, ways, strict=True))
    sql = ", ".join(f"c{k} {way[1]}" for k, way in zip(ordered, ways, strict=True))
    return f" ORDER BY {cypher} LIMIT {limit}", f" ORDER BY {sql} LIMIT {limit}"
