"""The binder where a golden plan would say too little or too much: names, types, notices, captured variables."""

from __future__ import annotations

from typing import Any

import pytest

from qengine.binder import BoundStatement, bind
from qengine.errors import SemanticError, Unsupported
from qengine.plan.expr import Comparison, Literal, Property, Subquery, Variable
from qengine.plan.logical import Aggregate, Argument, Match, Operator, Project
from qengine.plan.pattern import Direction, LabelAnd, LabelIs, QueryGraph
from qengine.syntax import parse
from qengine.testing.catalog import SOCIAL
from qengine.types import INTEGER, NODE, STRING


def bound(text: str, parameters: dict[str, Any] | None = None) -> BoundStatement:
    (statement,) = parse(text)
    return bind(statement, text, SOCIAL, parameters)


def root(text: str) -> Operator:
    return bound(text).plan.root


def graph(text: str) -> QueryGraph:
    """Return the query graph of the first MATCH."""
    operator = root(text)
    while not isinstance(operator, Match):
        operator = operator.input  # type: ignore[attr-defined]
    return operator.graph


def test_an_alias_that_equals_a_matched_variable_gets_a_column_of_its_own() -> None:
    plan = root("MATCH (c:City) RETURN c.code AS c, count(*)")
    assert isinstance(plan, Project)
    assert [name for name, _ in plan.items] == ["c", "count(*)"]
    aggregate = plan.input
    assert isinstance(aggregate, Aggregate)
    ((key, expr),) = aggregate.keys
    assert key != "c"
    assert expr == Property(Variable("c", type=NODE), "code", type=STRING)


def test_a_variable_bound_anew_is_another_column() -> None:
    bound_plan = bound("MATCH (a:Person) WITH a.age AS x MATCH (a:City) WHERE a.population > x RETURN a")
    assert bound_plan.plan.columns == ("a",)
    match = bound_plan.plan.root.input  # type: ignore[attr-defined]
    assert match.graph.nodes[0].name == "a@2"
    assert not match.graph.nodes[0].bound


def test_repeated_nodes_unify_and_their_labels_join() -> None:
    found = graph("MATCH (a:Person)-[:knows]->(b), (a:City {name: 'x'})-[:knows]->(b) RETURN a")
    a, b = found.nodes
    assert a.labels == LabelAnd((LabelIs("Person"), LabelIs("City")))
    assert a.predicates == (
        Comparison(("=",), (Property(Variable("a", type=NODE), "name", type=STRING), Literal("x", type=STRING))),
    )
    assert (b.name, b.labels) == ("b", None)
    assert len(found.relationships) == 2


def test_a_relationship_to_the_left_is_turned_round() -> None:
    (edge,) = graph("MATCH (a)<-[r:knows]-(b) RETURN r").relationships
    assert (edge.start, edge.end, edge.direction) == ("b", "a", Direction.OUT)


def test_a_variable_length_one_keeps_its_ends_for_the_order_of_its_list() -> None:
    (edge,) = graph("MATCH (a)<-[r:knows*1..2]-(b) RETURN r").relationships
    assert (edge.start, edge.end, edge.direction, edge.hops) == ("a", "b", Direction.IN, (1, 2))


def test_conditions_go_to_the_element_that_they_speak_of() -> None:
    found = graph(
        "MATCH (a)-[r:knows]->(b) WHERE a.age > 3 AND b:Person AND r.since = 5 AND a.age < b.age AND $p RETURN a"
    )
    a, b = found.nodes
    assert len(a.predicates) == 1
    assert b.labels == LabelIs("Person") and b.predicates == ()
    assert len(found.relationships[0].predicates) == 1
    assert len(found.predicates) == 2


def test_a_random_condition_is_not_pushed_to_an_element() -> None:
    found = graph("MATCH (a) WHERE a.height < rand() RETURN a")
    assert found.nodes[0].predicates == ()
    assert len(found.predicates) == 1


def test_a_subquery_captures_only_what_it_reads() -> None:
    (predicate,) = graph(
        "MATCH (a), (b), (c) WHERE EXISTS { MATCH (a)-->(x) WHERE x.age > b.age RETURN x } RETURN c"
    ).predicates
    assert isinstance(predicate, Subquery)
    assert predicate.outer == ("a", "b")


def test_an_uncorrelated_subquery_captures_nothing() -> None:
    plan = root("MATCH (a) RETURN COUNT { (x)-->(y) } AS n")
    assert isinstance(plan, Project)
    subquery = plan.items[0][1]
    assert isinstance(subquery, Subquery)
    assert (subquery.outer, subquery.type) == ((), INTEGER)
    assert isinstance(subquery.plan, Match) and subquery.plan.input == Argument(())


def test_nested_subqueries_hand_the_outer_column_through() -> None:
    (predicate,) = graph(
        "MATCH (a) WHERE EXISTS { MATCH (b) WHERE EXISTS { MATCH (b)--(c) WHERE c.age = a.age RETURN c } RETURN b } "
        "RETURN a"
    ).predicates
    assert isinstance(predicate, Subquery)
    assert predicate.outer == ("a",)


def test_the_outer_row_cannot_be_read_behind_a_total_inside_a_subquery() -> None:
    with pytest.raises(Unsupported, match="behind an aggregation"):
        bound("MATCH (a) RETURN COLLECT { MATCH (a)-->(b) WITH count(b) AS n RETURN n + a.age }")


def test_comprehension_variables_have_names_of_their_own() -> None:
    plan = root("MATCH (x) RETURN [x IN [1, 2] | x + 1] AS a, [x IN [3] | x] AS b")
    assert isinstance(plan, Project)
    names = [expr.variable for _, expr in plan.items]  # type: ignore[attr-defined]
    assert len({"x", *names}) == 3


def test_a_missing_parameter_is_named() -> None:
    bound("RETURN $a + $b", {"a": 1, "b": None})
    with pytest.raises(SemanticError) as caught:
        bound("RETURN $a + $b", {"a": 1})
    assert caught.value.code == "ParameterMissing"
    assert "$b" in caught.value.message


def test_unknown_names_give_one_notice_each() -> None:
    notices = bound("MATCH (a:Persn)-[:know]->(b:Persn) WHERE a.nam = b.nam AND b:City RETURN a.weight").notices
    assert [(notice.code, notice.hint) for notice in notices] == [
        ("UnknownLabel", "Did you mean `Person`?"),
        ("UnknownRelationshipType", "Did you mean `knows`?"),
        ("UnknownProperty", "Did you mean `name`?"),
        ("UnknownProperty", "Did you mean `height`?"),
    ]
    assert notices[0].span is not None


def test_known_names_give_no_notice() -> None:
    assert bound("MATCH (a:Person)-[r:knows]->(b) WHERE r.since > 1 RETURN a.name, {x: 1}.y").notices == ()


@pytest.mark.parametrize(
    ("expression", "type"),
    [
        ("1 + 2", "INTEGER"),
        ("1 + 2.0", "FLOAT"),
        ("[1, 2.5]", "LIST<NUMBER>"),
        ("[1, 'a']", "LIST"),
        ("[1] + [2]", "LIST<INTEGER>"),
        ("head(['a'])", "STRING"),
        ("coalesce(null, 1)", "INTEGER"),
        ("CASE WHEN true THEN 1 ELSE 2.0 END", "NUMBER"),
        ("[x IN [1, 2] | toString(x)]", "LIST<STRING>"),
        ("$p + 1", "ANY"),
        ("-$p", "ANY"),
        ("nodes($p)", "LIST<NODE>"),
        ("[1, 2][0]", "INTEGER"),
        ("[1, 2][0..]", "LIST<INTEGER>"),
    ],
)
def test_static_types(expression: str, type: str) -> None:
    plan = root(f"RETURN {expression} AS x")
    assert isinstance(plan, Project)
    assert str(plan.items[0][1].type) == type
