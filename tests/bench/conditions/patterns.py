"""Draws patterns with conditions from a seed, with the counts that a search finds of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from qengine.errors import QengineError
from tests.bench.conditions.graphs import Ground, Shape

_SECONDS = 2.0  # that counting may take: patterns of longer ones are left out
_ITEMS = 3


@dataclass(frozen=True)
class Drawn:
    """A pattern with its parameters and its count. ``kinds``: of its conditions, "" where there is none."""

    shape: str
    text: str
    params: dict[str, Any]
    kinds: tuple[str, ...]
    truth: int


def drawn(ground: Ground, count: int, seed: int, most: int = 4) -> Iterator[Drawn]:
    """Yield patterns with 0 to ``most`` conditions; their constants are values of elements drawn at random."""
    source = random.Random(seed)
    values = {(owner, key): _values(ground, owner, key) for owner, keys in ground.properties.items() for key in keys}
    for number in range(count):
        shape = ground.shapes[number % len(ground.shapes)]
        wanted = (number // len(ground.shapes)) % (most + 1)
        found = [_condition(source, ground, shape, values) for _ in range(wanted)]
        where = " AND ".join([text for _, text in found] + [shape.condition] * bool(shape.condition))
        text = " ".join(filter(None, [f"MATCH {shape.text}", f"WHERE {where}" if where else "", shape.tail]))
        try:
            (row,) = ground.graph.query(f"{text} RETURN count(*) AS n", timeout=_SECONDS)
        except QengineError:
            continue
        yield Drawn(shape.name, text, {}, tuple(kind for kind, _ in found), int(row["n"]))


def _values(ground: Ground, owner: str, key: str) -> list[Any]:
    is_type = owner in ground.graph.relationship_types
    pattern = f"()-[x:{owner}]->()" if is_type else f"(x:{owner})"
    text = f"MATCH {pattern} WHERE x.{key} IS NOT NULL RETURN x.{key} AS v LIMIT 200000"
    return [row["v"] for row in ground.graph.query(text)]


def _condition(
    source: random.Random, ground: Ground, shape: Shape, values: dict[tuple[str, str], list[Any]]
) -> tuple[str, str]:
    """Return a condition's kind and text."""
    if source.random() < 0.35:
        pairs = _pairs(ground, shape)
        if pairs:
            (one, key), (other, key2) = source.choice(pairs)
            sort = values[shape.owners[one], key][0]
            if isinstance(sort, int) and source.random() < 0.2:
                return "function of two", f"abs({one}.{key} - {other}.{key2}) < 3"
            if isinstance(sort, str) or source.random() < 0.5:
                return "equal", f"{one}.{key} = {other}.{key2}"
            return "less", f"{one}.{key} {source.choice('<>')} {other}.{key2}"
    variables = [name for name, owner in shape.owners.items() if ground.properties.get(owner)]
    name = source.choice(variables)
    roll = source.random()
    if roll < 0.1:
        both = [_of_one(source, ground, shape, values, name)[1] for _ in range(2)]
        return "or", f"({' OR '.join(both)})"
    if roll < 0.15:
        return "not", f"NOT ({_of_one(source, ground, shape, values, name)[1]})"
    return _of_one(source, ground, shape, values, name)


def _of_one(
    source: random.Random, ground: Ground, shape: Shape, values: dict[tuple[str, str], list[Any]], name: str
) -> tuple[str, str]:
    """Return the kind and the text of a condition on one variable."""
    key = source.choice(ground.properties[shape.owners[name]])
    known = values[shape.owners[name], key]
    value = source.choice(known)
    on = "relationship " if name in ("r", "s", "k") else ""
    roll = source.random()
    if roll < 0.06:
        return f"{on}null", f"{name}.{key} IS {source.choice(('', 'NOT '))}NULL"
    if roll < 0.14 and isinstance(value, int | str):
        call = f"toUpper({name}.{key})" if isinstance(value, str) else f"{name}.{key} % 5"
        return f"{on}function", f"{call} = {literal(value.upper() if isinstance(value, str) else value % 5)}"
    roll = source.random()
    if isinstance(value, str):
        if roll < 0.06:
            return f"{on}text", f"{name}.{key} ENDS WITH {literal(value[-2:])}"
        if roll < 0.12:
            return f"{on}text", f"{name}.{key} CONTAINS {literal(value[1:3])}"
        if roll < 0.2:
            return f"{on}text", f"{name}.{key} STARTS WITH {literal(value[: max(1, len(value) // 2)])}"
        if roll < 0.35:
            items = ", ".join(literal(source.choice(known)) for _ in range(_ITEMS))
            return f"{on}in", f"{name}.{key} IN [{items}]"
        return f"{on}constant", f"{name}.{key} = {literal(value)}"
    if roll < 0.35 and not isinstance(value, float):
        return f"{on}constant", f"{name}.{key} = {literal(value)}"
    if roll < 0.55:
        low, high = sorted((value, source.choice(known)))
        return f"{on}between", f"{literal(low)} <= {name}.{key} <= {literal(high)}"
    return f"{on}range", f"{name}.{key} {source.choice('<>')} {literal(value)}"


def _pairs(ground: Ground, shape: Shape) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Return what may be compared: one property of two variables of a label, and what else is comparable."""
    found = []
    named = list(shape.owners.items())
    for place, (one, owner) in enumerate(named):
        for other, owner2 in named[place + 1 :]:
            if owner == owner2:
                found += [((one, key), (other, key)) for key in ground.properties.get(owner, ())]
        for other, owner2 in named:
            for left, key, right, key2 in ground.comparable:
                if (left, right) == (owner, owner2) and one != other:
                    found.append(((one, key), (other, key2)))
    return found


def literal(value: Any) -> str:
    """Return a value as a literal."""
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    kind = type(value).__name__.lower()
    function = (
        "localdatetime"
        if "T" in text and "date" in kind and "Z" not in text
        else "date"
        if "T" not in text
        else "datetime"
    )
    return f"{function}('{text}')"
