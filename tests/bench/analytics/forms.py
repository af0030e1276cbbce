"""Draws analytical queries of more forms than MATCH and RETURN: steps, subqueries, UNION, OPTIONAL, expressions.

``draw.draw`` has the queries of one grouping, whose seeds figures are published of; these are beside them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

from tests.bench.analytics.draw import Analytical
from tests.bench.analytics.shapes import PROPERTIES, SHAPES, Property, Shape

_COMPARED = {"int": ("<", ">", ">=", "=", "<>"), "float": ("<", ">"), "str": ("=", "<>", ">="), "bool": ("=",)}
_EITHER = '(SELECT start, "end", since, w, kind FROM knows UNION ALL SELECT "end", start, since, w, kind FROM knows)'

WIDER = (
    Shape(
        "acquaintances either way",
        "(a:Person)-[k:knows]-(b:Person)",
        f"Person a JOIN {_EITHER} k ON k.start = a.id JOIN Person b ON b.id = k.end",
        {"a": "Person", "b": "Person", "k": "knows"},
    ),
    Shape(
        "homes two hops away",
        "(a:Person)-[k:knows]->(b:Person)-[:knows]->(d:Person)-[:lives_in]->(c:City)",
        "Person a JOIN knows k ON k.start = a.id JOIN Person b ON b.id = k.end JOIN knows l ON l.start = b.id "
        "JOIN Person d ON d.id = l.end JOIN lives_in h ON h.start = d.id JOIN City c ON c.id = h.end",
        {"a": "Person", "b": "Person", "k": "knows", "c": "City"},
    ),
    Shape(
        "tags of what acquaintances like",
        "(a:Person)-[k:knows]->(b:Person)-[:likes]->(p:Post)-[:has_tag]->(t:Tag)",
        "Person a JOIN knows k ON k.start = a.id JOIN Person b ON b.id = k.end JOIN likes s ON s.start = b.id "
        "JOIN Post p ON p.id = s.end JOIN has_tag g ON g.start = p.id JOIN Tag t ON t.id = g.end",
        {"a": "Person", "k": "knows", "p": "Post", "t": "Tag"},
    ),
    Shape(
        "cities by name",
        "(a:Person), (c:City)",
        "Person a, City c",
        {"a": "Person", "c": "City"},
        "c.name = a.city",
    ),
    Shape(
        "interests of who likes",
        "(p:Post)<-[:likes]-(a:Person)-[:interest]->(t:Tag)",
        "Post p JOIN likes s ON s.end = p.id JOIN Person a ON a.id = s.start JOIN interest i ON i.start = a.id "
        "JOIN Tag t ON t.id = i.end",
        {"p": "Post", "a": "Person", "t": "Tag"},
    ),
)
_JOINED = {"cities by name"}  # by the condition that SQL has, in Cypher too
_ONE_STEP = tuple(shape for shape in (*SHAPES, *WIDER) if shape.name not in ("two hops", "common acquaintance"))

_STEPS = (
    ("(a)-[:lives_in]->(c:City)", "JOIN lives_in h ON h.start = a.id JOIN City c ON c.id = h.end", "c.name"),
    ("(a)-[:interest]->(c:Tag)", "JOIN interest h ON h.start = a.id JOIN Tag c ON c.id = h.end", "c.name"),
    ("(a)-[:likes]->(c:Post)", "JOIN likes h ON h.start = a.id JOIN Post c ON c.id = h.end", "c.lang"),
    ("(a)-[h:knows]->(c:Person)", "JOIN knows h ON h.start = a.id JOIN Person c ON c.id = h.end", "c.job"),
)
_KNOWN = {"x": "Person", "k": "knows"}
_INNER = (
    ("(a)-[k:knows]->(x:Person)", "knows k JOIN Person x ON x.id = k.end WHERE k.start = a.id", _KNOWN),
    ("(a)<-[k:knows]-(x:Person)", "knows k JOIN Person x ON x.id = k.start WHERE k.end = a.id", _KNOWN),
    ("(a)-[:likes]->(x:Post)", "likes k JOIN Post x ON x.id = k.end WHERE k.start = a.id", {"x": "Post"}),
    ("(a)-[:lives_in]->(x:City)", "lives_in k JOIN City x ON x.id = k.end WHERE k.start = a.id", {"x": "City"}),
)
_EXPRESSIONS = (
    ("CASE WHEN a.age < 40 THEN 'young' WHEN a.age < 65 THEN 'middle' ELSE 'old' END",) * 2,
    ("a.age / 10", "a.age // 10"),
    ("substring(a.name, 0, 6)", "substring(a.name, 1, 6)"),
    ("toUpper(a.city)", "upper(a.city)"),
    ("coalesce(a.job, 'none')",) * 2,
    ("a.age % 7",) * 2,
    ("size(a.name)", "length(a.name)"),
    ("a.income > 22000.0",) * 2,
)
_PREDICATES = (
    ("a.name CONTAINS '12'", "contains(a.name, '12')"),
    ("a.city STARTS WITH 'City1'", "starts_with(a.city, 'City1')"),
    ("a.name ENDS WITH '7'", "ends_with(a.name, '7')"),
    ("a.city IN ['City1', 'City7', 'City23', 'City40']", "a.city IN ('City1', 'City7', 'City23', 'City40')"),
    ("a.id IN [3, 14, 159, 2653, 58979]", "a.id IN (3, 14, 159, 2653, 58979)"),
    ("a.job IS NULL",) * 2,
    ("NOT a.income < 22000.0",) * 2,
    ("a.age + 10 < a.id % 100",) * 2,
    ("(a.age < 30 OR a.city = 'City7')",) * 2,
    ("a.income * 2 > 50000.0 + a.age",) * 2,
)
_AGGREGATES = (
    ("size(collect(DISTINCT {int}))", "count(DISTINCT {int})", True),
    ("size([v IN collect({int}) WHERE v > 40])", "count(*) FILTER ({int} > 40)", True),
    ("sum(CASE WHEN {int} > 40 THEN 1 ELSE 0 END)", "coalesce(sum(CASE WHEN {int} > 40 THEN 1 ELSE 0 END), 0)", True),
    ("percentileCont({float}, 0.5)", "quantile_cont({float}, 0.5)", False),
    ("percentileDisc({int}, 0.9)", "quantile_disc({int}, 0.9)", True),
    ("max({int}) - min({int})",) * 2 + (True,),
    ("count(*)",) * 2 + (True,),
    ("count({float})",) * 2 + (True,),
    ("avg({int} * 2 + 1)",) * 2 + (False,),
)

Drawn = tuple[str, str, str, int]
"""A form's name, Cypher, SQL, and how many columns are exact."""


def draw_forms(count: int, seed: int) -> Iterator[Analytical]:
    """Yield different queries, the same ones for a seed."""
    dice = random.Random(seed)
    seen: set[str] = set()
    while len(seen) < count:
        form, cypher, sql, exact = dice.choice(_FORMS)(dice)
        if cypher not in seen:
            seen.add(cypher)
            yield Analytical(f"f{seed}.{len(seen) - 1}", form, cypher, sql, exact)


def _conditions(dice: random.Random, of: dict[str, str], count: int) -> list[tuple[str, str]]:
    found = []
    for _ in range(count):
        if of.get("a") == "Person" and dice.random() < 0.4:
            found.append(dice.choice(_PREDICATES))
            continue
        variable, prop = dice.choice(_properties(of))
        text = f"{variable}.{prop.name} {dice.choice(_COMPARED[prop.kind])} {dice.choice(prop.values)}"
        found.append((text, text))
    return found


def _properties(of: dict[str, str], kinds: Sequence[str] = (), *, group: bool = False) -> list[tuple[str, Property]]:
    return [
        (variable, prop)
        for variable, table in of.items()
        for prop in PROPERTIES[table]
        if (prop.group or not group) and (not kinds or prop.kind in kinds)
    ]


def _where(conditions: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _matched(shape: Shape, conditions: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return MATCH with its conditions, and FROM with them."""
    joined = [shape.where] if shape.where else []
    inside = joined if shape.name in _JOINED else []
    cypher = f"MATCH {shape.match}{_where([*inside, *(one for one, _ in conditions)])}"
    return cypher, f"FROM {shape.source}{_where([*joined, *(other for _, other in conditions)])}"


def _named(dice: random.Random, of: dict[str, str]) -> str:
    variable, prop = dice.choice(_properties(of, group=True))
    return f"{variable}.{prop.name}"


def _value(dice: random.Random, of: dict[str, str], kind: str) -> str:
    variable, prop = dice.choice(_properties(of, (kind,)) or _properties(of, ("int",)))
    return f"{variable}.{prop.name}"


def _grouped(dice: random.Random, shape: Shape, keys: Sequence[tuple[str, str]], name: str) -> Drawn:
    """Return keys and one or two aggregates of a shape; keys settle ties, should there be an order."""
    cypher, sql = _matched(shape, _conditions(dice, shape.of, dice.choice((0, 1, 1, 2))))
    values = {kind: _value(dice, shape.of, kind) for kind in ("int", "float")}
    chosen = dict.fromkeys(dice.choice(_AGGREGATES) for _ in range(dice.choice((1, 1, 2))))
    found = sorted(((a.format(**values), b.format(**values), c) for a, b, c in chosen), key=lambda each: not each[2])
    columns = [*((*key, True) for key in keys), *found]
    cypher += " RETURN " + ", ".join(f"{one} AS c{k}" for k, (one, _, _) in enumerate(columns))
    sql = "SELECT " + ", ".join(f"{other} AS c{k}" for k, (_, other, _) in enumerate(columns)) + f" {sql}"
    sql += f" GROUP BY {', '.join(other for _, other in keys)}" if keys else ""
    if keys and dice.random() < 0.4:
        first = dice.choice([k for k, column in enumerate(columns) if column[2]])
        order = [f"c{first}", *(f"c{k}" for k in range(len(keys)) if k != first)]
        cypher += f" ORDER BY {', '.join(order)} LIMIT 20"
        sql += f" ORDER BY {', '.join(f'{each} NULLS LAST' for each in order)} LIMIT 20"
    return name, cypher, sql, sum(exact for _, _, exact in columns)


def _wider(dice: random.Random) -> Drawn:
    shape = dice.choice(_ONE_STEP)
    name = _named(dice, shape.of)
    return _grouped(dice, shape, [(name, name)] if dice.random() < 0.8 else [], shape.name)


def _expressions(dice: random.Random) -> Drawn:
    shape = dice.choice([each for each in _ONE_STEP if each.of.get("a") == "Person"])
    keys = [dice.choice(_EXPRESSIONS)]
    if dice.random() < 0.4:
        keys += [(_named(dice, shape.of),) * 2]
    return _grouped(dice, shape, keys, "expressions")


def _two_steps(dice: random.Random) -> Drawn:
    """A count by person, kept where it is large, then another MATCH that begins there."""
    shape = dice.choice([each for each in _ONE_STEP if each.of.get("a") == "Person"])
    cypher, sql = _matched(shape, _conditions(dice, shape.of, dice.choice((0, 1))))
    least = dice.choice((0, 1, 5, 20))
    match, joins, key = dice.choice(_STEPS)
    cypher += f" WITH a, count(*) AS n WHERE n > {least} MATCH {match} RETURN {key} AS c0, count(*) AS c1, sum(n) AS c2"
    inner = f"SELECT a.id AS id, count(*) AS n {sql} GROUP BY a.id HAVING count(*) > {least}"
    sql = f"SELECT {key} AS c0, count(*) AS c1, sum(a.n) AS c2 FROM ({inner}) a {joins} GROUP BY {key}"
    return "two steps", cypher, sql, 3


def _distribution(dice: random.Random) -> Drawn:
    """How many groups have how many rows."""
    shape = dice.choice(_ONE_STEP)
    cypher, sql = _matched(shape, _conditions(dice, shape.of, dice.choice((0, 1, 2))))
    key = _named(dice, shape.of)
    cypher += f" WITH {key} AS g, count(*) AS n RETURN n AS c0, count(*) AS c1 ORDER BY c0 DESC LIMIT 50"
    sql = f"SELECT n AS c0, count(*) AS c1 FROM (SELECT {key} AS g, count(*) AS n {sql} GROUP BY {key}) GROUP BY n"
    return "distribution", cypher, f"{sql} ORDER BY c0 DESC LIMIT 50", 2


def _subquery(dice: random.Random) -> Drawn:
    """Persons by EXISTS, NOT EXISTS or COUNT of what is at them."""
    pattern, source, of = dice.choice(_INNER)
    conditions = _conditions(dice, of, dice.choice((0, 1, 1)))
    inner = f"{pattern}{_where([one for one, _ in conditions])}"
    below = source + "".join(f" AND {other}" for _, other in conditions)
    kind = dice.choice(("EXISTS", "NOT EXISTS", "COUNT"))
    least = dice.choice((0, 2, 10))
    asked = f"COUNT {{ {inner} }} > {least}" if kind == "COUNT" else f"{kind} {{ {inner} }}"
    told = f"(SELECT count(*) FROM {below}) > {least}" if kind == "COUNT" else f"{kind} (SELECT 1 FROM {below})"
    shape = dice.choice(SHAPES[:1] * 2 + SHAPES[2:4])
    condition = re.sub(r"\bk\b", "k0", asked), re.sub(r"\bk\b", "k0", told)
    cypher, sql = _matched(shape, [condition])
    key = _named(dice, shape.of)
    columns = f"{key} AS c0, count(*) AS c1"
    return "subquery", f"{cypher} RETURN {columns}", f"SELECT {columns} {sql} GROUP BY {key}", 2


def _union(dice: random.Random) -> Drawn:
    """Two groupings under each other, or their different rows."""
    every = dice.choice((" ALL", ""))
    parts = []
    for _ in range(2):
        shape = dice.choice([each for each in _ONE_STEP if _properties(each.of, ("str",), group=True)])
        variable, prop = dice.choice(_properties(shape.of, ("str",), group=True))
        key = f"{variable}.{prop.name}"
        cypher, sql = _matched(shape, _conditions(dice, shape.of, dice.choice((0, 1))))
        columns = f"{key} AS c0, count(*) AS c1"
        parts.append((f"{cypher} RETURN {columns}", f"SELECT {columns} {sql} GROUP BY {key}"))
    texts = (f" UNION{every} ".join(part[k] for part in parts) for k in range(2))
    return "union", *texts, 2  # type: ignore[return-value]


def _optional(dice: random.Random) -> Drawn:
    """Persons with what may be at them, nothing being counted as none."""
    pattern, source, of = dice.choice(_INNER)
    before = _conditions(dice, {"a": "Person"}, dice.choice((0, 1)))
    inside = _conditions(dice, of, dice.choice((0, 1, 1)))
    key = dice.choice(("a.id", "a.city", "a.age", "a.job", "a.name"))
    value = _value(dice, of, "int")
    columns = f"{key} AS c0, count(x) AS c1, max({value}) AS c2"
    cypher = f"MATCH (a:Person){_where([one for one, _ in before])}"
    cypher += f" OPTIONAL MATCH {pattern}{_where([one for one, _ in inside])} RETURN {columns}"
    below, on = source.split(" WHERE ")
    named = ", ".join(f"x.{prop.name} AS x_{prop.name}" for prop in PROPERTIES[of["x"]])
    inner = f"SELECT k.*, {named} FROM {below}{_where([other for _, other in inside])}"
    sql = "SELECT " + columns.replace("count(x)", "count(k.x_id)").replace("max(x.", "max(k.x_")
    sql += f" FROM Person a LEFT JOIN ({inner}) k ON {on}{_where([other for _, other in before])} GROUP BY {key}"
    return "optional", cypher, sql, 3


def _different(dice: random.Random) -> Drawn:
    """Different rows of two properties, the first of an order."""
    shape = dice.choice([each for each in _ONE_STEP if len(each.of) > 1])
    cypher, sql = _matched(shape, _conditions(dice, shape.of, dice.choice((0, 1, 2))))
    names = sorted({_named(dice, shape.of) for _ in range(2)})
    columns = ", ".join(f"{name} AS c{k}" for k, name in enumerate(names))
    order = [f"c{k}" for k in range(len(names))]
    cypher += f" RETURN DISTINCT {columns} ORDER BY {', '.join(order)} LIMIT 500"
    sql = f"SELECT DISTINCT {columns} {sql} ORDER BY {', '.join(f'{each} NULLS LAST' for each in order)} LIMIT 500"
    return "different", cypher, sql, len(names)


_FORMS: tuple[Callable[[random.Random], Drawn], ...] = (
    _wider, _wider, _expressions, _expressions, _two_steps, _two_steps, _distribution, _subquery, _subquery, _union,
    _optional, _optional, _different,
)  # fmt: skip
