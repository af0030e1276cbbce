"""Clauses that change the graph: where each begins and ends, which may follow which, and how many there may be."""

from __future__ import annotations

import pytest

from qengine.errors import QuerySyntaxError
from qengine.syntax import ast, parse
from qengine.syntax.checks import MAX_UPDATES

CLAUSES = """
CreateClause    «CREATE (n:A {x: $p})-[:R]->(m)» RETURN n
CreateClause    «CREATE (n $p)»
CreateClause    MATCH (n) «CREATE (m)» WITH m MATCH (m)-->(k) RETURN k
CreateClause    «INSERT (n:A)»
MergeClause     «MERGE (n) ON CREATE SET n.x = 1 ON MATCH SET n.y = 2, n:B» RETURN n
SetClause       MATCH (n) «SET n.x = 1, n += {a: 1}, n:A:B, n = {b: 2}»
SetClause       MATCH (n) «SET n.match = 1, (n).set = 2, n['x'] = 3» RETURN n
RemoveClause    MATCH (n) «REMOVE n.x, n:A»
DeleteClause    MATCH (n) «DELETE n»
DeleteClause    MATCH (n) «DETACH DELETE n, m» RETURN 1
DeleteClause    MATCH (n) «NODETACH DELETE n»
ForEachClause   «FOREACH (x IN [1] | CREATE (n) SET n.x = x)»
CallClause      MATCH (n) «CALL { WITH n MATCH (n)-->(m) RETURN m }» RETURN m
CallClause      MATCH (n) «CALL (n) { RETURN n.x AS x }» RETURN x
CallClause      MATCH (n) «OPTIONAL CALL (*) { RETURN n.x AS x }» RETURN x
CallClause      «CALL { CREATE (n) } IN 3 CONCURRENT TRANSACTIONS OF 100 ROWS» RETURN 1 IN [1]
CallClause      «CALL () { CREATE (n) } IN TRANSACTIONS ON ERROR FAIL REPORT STATUS AS s OF $n ROWS» RETURN s
"""


@pytest.mark.parametrize("line", CLAUSES.strip().splitlines())
def test_a_clause_begins_and_ends_where_it_is_written(line: str) -> None:
    kind, marked = line[:16].strip(), line[16:]
    before, rest = marked.split("«")
    clause_text, after = rest.split("»")
    (statement,) = parse(before + clause_text + after)
    assert isinstance(statement.body, ast.Query)
    (clause,) = (each for each in statement.body.clauses if type(each).__name__ == kind)
    assert (clause.span.start, clause.span.end) == (len(before), len(before + clause_text))


def clause(text: str) -> ast.Clause:
    (statement,) = parse(text)
    assert isinstance(statement.body, ast.Query)
    return statement.body.clauses[0]


def test_detach_is_told_from_nodetach() -> None:
    assert clause("DETACH DELETE n").detach and not clause("NODETACH DELETE n").detach  # type: ignore[attr-defined]


def test_what_transactions_say_may_stand_in_any_order() -> None:
    one = clause("CALL { CREATE (n) } IN TRANSACTIONS OF 2 ROWS ON ERROR BREAK REPORT STATUS AS s")
    other = clause("CALL { CREATE (n) } IN TRANSACTIONS REPORT STATUS AS s ON ERROR BREAK OF 2 ROW")
    assert one == other
    assert one.transactions == ast.Transactions(ast.Literal(2), "break", "s")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("CREATE (a) MATCH (b) RETURN b", "InvalidClauseComposition", "MATCH"),
        ("MATCH (a) SET a.x = 1 UNWIND [1] AS b RETURN b", "InvalidClauseComposition", "UNWIND"),
        ("MERGE (a) CALL { RETURN 1 AS x } RETURN x", "InvalidClauseComposition", "CALL"),
        ("MATCH (a) WHERE EXISTS { MATCH (a) SET a.x = 1 } RETURN a", "InvalidClauseComposition", "SET a.x = 1"),
        ("RETURN COUNT { CALL { CREATE (b) } RETURN 1 }", "InvalidClauseComposition", "CREATE (b)"),
        ("MATCH (a) CALL { MATCH (b) } RETURN a", "UnexpectedSyntax", ""),
        ("CALL { RETURN 1 AS x }", "UnexpectedSyntax", ""),
        ("CREATE (a) WITH a", "UnexpectedSyntax", "WITH"),
        ("CALL { CREATE (a) UNION RETURN 1 AS x } RETURN 1", "DifferentColumnsInUnion", "CREATE (a)"),
        ("CREATE ()-[:A|B]->()", "NoSingleRelationshipType", "-[:A|B]->"),
        ("CREATE ()-->()", "NoSingleRelationshipType", "-->"),
        ("CREATE ()-[:A]-()", "RequiresDirectedRelationship", "-[:A]-"),
        ("MERGE ()<-[:A]->()", "RequiresDirectedRelationship", "<-[:A]->"),
        ("CREATE ()-[:A*2]->()", "CreatingVarLength", "-[:A*2]->"),
        ("CREATE (a:A|B)", "UnexpectedSyntax", "(a:A|B)"),
        ("CREATE (a WHERE a.x = 1)", "UnexpectedSyntax", "(a WHERE a.x = 1)"),
        ("MERGE ((a)-[:T]->(b))", "UnexpectedSyntax", "((a)-[:T]->(b))"),
        ("MERGE (a $p)", "InvalidParameterUse", "$p"),
        ("MATCH (n) SET n:!A", "UnexpectedSyntax", "!A"),
        ("MATCH (n) SET n.x += {y: 1}", "UnexpectedSyntax", "n.x"),
        ("MATCH (n) REMOVE n", "UnexpectedSyntax", "n"),
    ],
)
def test_what_is_refused(text: str, code: str, at: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(text)
    assert caught.value.code == code
    assert caught.value.span is not None
    assert text[caught.value.span.start : caught.value.span.end] == at


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (a) WITH a MATCH (b) RETURN b",
        "CALL { CREATE (a) } MATCH (b) RETURN b",
        "CREATE (a) UNION CREATE (b)",
        "MATCH (a) CALL { CREATE (b) }",
        "CREATE (a) FINISH",
        "MERGE (a)-[:T]-(b)",
    ],
)
def test_what_may_follow(text: str) -> None:
    assert len(parse(text)) == 1


def test_thousands_of_updates_may_follow_each_other_but_not_any_number() -> None:
    (statement,) = parse("CREATE (n) " * MAX_UPDATES)
    assert isinstance(statement.body, ast.Query)
    assert len(statement.body.clauses) == MAX_UPDATES
    with pytest.raises(QuerySyntaxError, match="more than 10,000 clauses that update"):
        parse("CREATE (n) " * (MAX_UPDATES + 1))


def test_updates_with_something_between_them_are_counted_as_any_clauses() -> None:
    with pytest.raises(QuerySyntaxError, match="more than 150 clauses"):
        parse("CREATE (n) WITH n " * 76 + "DELETE n")
    with pytest.raises(QuerySyntaxError, match="more than 150 clauses"):
        parse(" ".join(f"CREATE p{i} = (n{i})" for i in range(151)))
