"""Plans as text and JSON: physical operators, parentheses, stability."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from qengine.binder import bind
from qengine.plan.expr import Literal, Variable
from qengine.plan.json import to_json
from qengine.plan.logical import Argument, LogicalPlan, Operator, Project, Unit
from qengine.plan.pattern import ALL_SHORTEST, ANY_SHORTEST, Direction, LabelIs, PathMode
from qengine.plan.physical import (
    Attach,
    ColumnCondition,
    EdgeLevel,
    Optional,
    Reach,
    Search,
    Shortest,
    Source,
    VertexLevel,
    Walk,
)
from qengine.plan.text import to_text
from qengine.syntax import parse
from qengine.testing.catalog import SOCIAL


def plan_of(text: str) -> LogicalPlan:
    return bind(parse(text)[0], text, SOCIAL).plan


def test_a_search_shows_its_levels() -> None:
    search = Search(
        Argument(("a",)),
        (
            VertexLevel("a"),
            VertexLevel("b", LabelIs("City"), sources=(Source(0, ("knows",), Direction.OUT),), different=(0,)),
            VertexLevel(
                "c",
                sources=(Source(0, (), Direction.IN), Source(1, ("r", "s"), Direction.BOTH)),
                less=(1,),
                pairs=((0, 1, 1, 2),),
                conditions=(ColumnCondition("<", 0, "age", 2, "age"),),
            ),
            EdgeLevel("r", 0, 1, ("knows",), Direction.OUT),
        ),
        seeds=1,
        emit=("b", "r"),
        count="@n",
        orbits=2,
        reason="cheapest",
        rows=1234.5,
    )
    assert to_text(search).splitlines() == [
        "Search emit b, r count @n orbits 2 (cheapest)",
        "  · a (given)",
        "  · b:City in (a)-[:knows]->(), ≠ a",
        "  · c in (a)<-[]-() ∩ (b)-[:r|s]-(), < b, not (a = b and b = c), a.age < c.age",
        "  · (a)-[r:knows]->(b)",
        "  Argument a",
    ]


def test_the_other_physical_operators() -> None:
    walk = Walk(Unit(), "a", VertexLevel("b"), False, ("T",), Direction.IN, 1, None, "rs", "r", different=("q",))
    shortest = Shortest(walk, "a", VertexLevel("b"), True, (), Direction.BOTH, 0, 3, None, "r", selector=ALL_SHORTEST)
    optional = Optional(shortest, Argument(("a",)), ("c",))
    attach = Attach(optional, Argument(()), "count", "@n", ("a",), weight="w")
    reach = Reach(Unit(), "a", VertexLevel("b"), ("T",), Direction.OUT, 0, 3, "r", ("a", "n"), mode=PathMode.ACYCLIC)
    assert to_text(reach).splitlines()[0] == "Reach (a)-[:T*0..3]->(b) repeating no node by a, n"
    counted = replace(reach, by=(), mode=PathMode.TRAIL, count="@n")
    assert to_text(counted).splitlines()[0] == "Reach (a)-[:T*0..3]->(b), count AS @n"
    lengths = replace(shortest, selector=ANY_SHORTEST, hops="h")
    assert to_text(lengths).splitlines()[0] == "Shortest (a)-[*0..3]-(b) given b, hops AS h"
    assert to_text(attach).splitlines() == [
        "Attach count of a AS @n weighted by w",
        "  Optional c",
        "    AllShortest (a)-[*0..3]-(b) given b",
        "      Walk (a)<-[rs:T*1..]-(b) ≠ q",
        "        Unit",
        "    Argument a",
        "  Argument",
    ]


def test_notes_stand_behind_their_operator() -> None:
    def note(operator: Operator) -> str:
        return "rows=3" if isinstance(operator, Unit) else ""

    assert to_text(plan_of("RETURN 1 AS x"), note) == "Project 1 AS x\n  Unit  [rows=3]"


@pytest.mark.parametrize(
    "expression",
    [
        "1 - (2 - 3)",
        "1 - 2 - 3",
        "(1 + 2) * 3",
        "2 ^ (3 ^ 4)",
        "-(1 + $x)",
        "-$x ^ 2",
        "-($x ^ 2)",
        "NOT ($a AND $b)",
        "($a OR $b) AND $c XOR $d",
        "$a < $b <= $c",
        "($a < $b) = $c",
        "($a IN [1]) IS NULL",
        "[1, 2][0]",
        "$x[1..]",
        "$x[..$y]",
        "{a: 1, `b c`: 'it\\'s'}.a",
        "CASE WHEN $x THEN 1 ELSE null END",
        "[y IN $x WHERE y > 1 | y + 1]",
        "all(y IN $x WHERE y)",
        "reduce(s = 0, y IN $x | s + y)",
        "toUpper(left('abc', 2)) STARTS WITH 'A'",
        "$a:Person&!(City|Country)",
        "count(DISTINCT $x)",
    ],
)
def test_an_expression_reads_back_as_what_it_was(expression: str) -> None:
    """The text of a bound expression is the expression again, parentheses and all."""
    text = f"RETURN {expression} AS x"
    plan = plan_of(text)
    shown = to_text(plan).splitlines()[0]
    assert shown.removeprefix("Project ").removeprefix("Aggregate: ") == f"{expression} AS x"
    assert plan_of(f"RETURN {shown.split(' ', 1)[1]}") == plan


def test_json_is_complete_and_stable() -> None:
    text = (
        "MATCH (a:Person)-[r:knows*1..2]->(b) WHERE EXISTS { (b)--() } RETURN a.name AS n, count(*) ORDER BY n LIMIT 2"
    )
    found = json.loads(json.dumps(to_json(plan_of(text))))
    assert found["node"] == "LogicalPlan"
    assert found["columns"] == ["n", "count(*)"]
    limit = found["root"]
    assert limit["node"] == "Limit"
    assert limit["count"] == {"node": "Literal", "type": "INTEGER", "value": 2}
    match = limit["input"]["input"]["input"]
    assert match["node"] == "Match"
    assert match["graph"]["mode"] == "DIFFERENT RELATIONSHIPS"
    assert match["graph"]["relationships"][0]["hops"] == [1, 2]
    assert match["graph"]["predicates"][0]["plan"]["input"] == {"node": "Argument", "columns": ["b"]}
    assert to_json(plan_of(text)) == to_json(plan_of(text))


def test_names_that_are_no_words_stand_in_backticks() -> None:
    plan = Project(Unit(), (("a b", Literal(1)), ("x", Variable("c`d"))))
    assert to_text(plan).splitlines()[0] == "Project 1 AS `a b`, `c``d` AS x"
