"""What the classifying pass decides, seen in the tree: a wrong decision would misread a query in silence."""

from __future__ import annotations

import pytest

from qengine.errors import QuerySyntaxError
from qengine.syntax import ast, parse
from qengine.syntax.words import KEYWORDS, PATTERN_WORDS, STATEMENT_WORDS

WORDS = sorted(KEYWORDS | PATTERN_WORDS | STATEMENT_WORDS)

# Places where only a name can stand, so that any word is one.
NAME_PLACES = [
    "RETURN a.{}",
    "RETURN a.{}.b",
    "RETURN 1 AS {}",
    "WITH 1 AS {} RETURN *",
    "UNWIND [1] AS {} RETURN *",
    "MATCH (:{}) RETURN 1",
    "MATCH (a:{}) RETURN 1",
    "MATCH (a:A&{}|!{}) RETURN 1",
    "MATCH (a:A:{}) RETURN 1",
    "MATCH (a IS {}) RETURN 1",
    "MATCH ()-[:{}]->() RETURN 1",
    "MATCH ()-[r:A|{}*1..2]->() RETURN 1",
    "MATCH ({}) RETURN 1",
    "MATCH ({}:A) RETURN 1",
    "MATCH ({} {{a: 1}}) RETURN 1",
    "MATCH ({} IS A) RETURN 1",
    "MATCH ({}:A WHERE a.x) RETURN 1",
    "MATCH (a), ({})-->(b) RETURN 1",
    "MATCH ()-[{}]->() RETURN 1",
    "MATCH ()-[{}:A]->() RETURN 1",
    "MATCH ()-[{} *]->() RETURN 1",
    "MATCH {} = (a)-->(b) RETURN 1",
    "MATCH (a), {} = (a)-->(b) RETURN 1",
    "MATCH (({} = (a)-->(b)) {{1,2}}) RETURN 1",
    "RETURN {{{}: 1}}",
    "RETURN {{a: 1, {}: 2}}",
    "RETURN n {{.{}, .*}}",
    "RETURN n {{{}: 1}}",
    "RETURN n {{a, {}}}",
    "RETURN [{} IN xs | 1]",
    "RETURN any({} IN xs WHERE true)",
    "RETURN reduce({} = 0, x IN xs | 1)",
    "WITH n WHERE n:{} RETURN n",
    "WITH n WHERE n:A|{} RETURN n",
    "RETURN {}.a",
    "RETURN {}.a.b + 1",
    "CALL a.{}() YIELD {} RETURN 1",
]


@pytest.mark.parametrize("place", NAME_PLACES)
def test_any_word_is_a_name_where_only_a_name_can_stand(place: str) -> None:
    plain = parse(place.format(*["zebra"] * 2))
    for word in WORDS:
        if ("[{} IN" in place or "({} IN" in place) and word == "NOT":
            continue  # [NOT IN ...] and any(NOT IN ...) are nonsense either way
        if "IS {})" in place and word in ("NOT", "NULL"):
            continue  # IS NULL and IS NOT NULL
        if place.startswith("MATCH ({} {{") and word == "WHERE":
            continue  # a condition on a map
        written = parse(place.format(*[word.lower()] * 2))
        assert repr(written) == repr(plain).replace("zebra", word.lower()), word


SOFT_WORDS = """
end type order limit skip offset desc asc count all any none single exists collect reduce shortestpath filter let for
use show insert path paths walk trail simple group groups node nodes shortest optional finish on yield load foreach
profile explain steps
"""


@pytest.mark.parametrize("word", SOFT_WORDS.split())
@pytest.mark.parametrize(
    "place",
    [
        "RETURN {}",
        "RETURN {}, 1",
        "RETURN 1 + {} AS x",
        "RETURN [{}, {}]",
        "RETURN f({})",
        "WITH 1 AS {} WHERE {} = 1 RETURN {} ORDER BY {} DESC LIMIT 3",
        "MATCH (n) WHERE {} > 1 AND {} IS NOT NULL RETURN {}",
        "RETURN CASE {} WHEN {} THEN {} ELSE {} END",
        "RETURN {{a: {}}}",
        "RETURN {}[0], {} {{.x}}",
        "UNWIND {} AS x RETURN x",
    ],
)
def test_soft_words_are_names_in_expressions(word: str, place: str) -> None:
    plain = parse(place.format(*["zebra"] * 4))
    assert repr(parse(place.format(*[word] * 4))) == repr(plain).replace("zebra", word)


@pytest.mark.parametrize("word", ["MATCH", "RETURN", "WHERE", "WITH", "UNION", "AND", "NOT", "CASE", "IN", "NULL"])
def test_a_keyword_in_backticks_is_a_name(word: str) -> None:
    written = repr(parse(f"MATCH (n) WHERE `{word}` RETURN `{word}` AS `{word}`")).replace(f"`{word}`", word)
    assert written == repr(parse("MATCH (n) WHERE zebra RETURN zebra AS zebra")).replace("zebra", word)


def where(condition: str) -> ast.Expression:
    (statement,) = parse(f"MATCH (n) WHERE {condition} RETURN n")
    clause = statement.body.clauses[0]  # type: ignore[union-attr]
    assert isinstance(clause, ast.MatchClause) and clause.where is not None
    return clause.where


PATHS = [
    "(a)-->(b)", "(a)--(b)", "(a)<--(b)", "(a)<-->(b)", "(a)-[b]-(c)", "(a)-[]->()", "(a)-[:R]->(b)", "()--()",
    "(a)-[r:R*1..2]->(b)<-[:S]-(c)", "(a:A)-->(b {x: 1})", "(a IS A)-->(b WHERE b.x > 1)", "(:A)-->()",
    "({x: 1})-->(b)", "(a)-[{x: 1}]->(b)", "(a)-[*]->(b)", "(a)-[r WHERE r.x = 1]->(b)", "(a)-->+(b)", "(a)-->{1,2}(b)",
    "(a)-->(b)-->(c)--(d)", "(`a b`)-[`r`]->(`c`)", "(order)-->(end)", "(a) - [r] - > (b)",
]  # fmt: skip
NOT_PATHS = [
    "(a)-(b)", "(a)-[1]-(b)", "(a)-[b]-c", "(a) - b", "(a)<-(b)", "(a) < -b", "(a)-[b, c]-(d)", "(1)--(2)",
    "(a)--(b + 1)", "(a.x)--(b)", "(a)--b", "(a)-[b + 1]-(c)", "(a)-[b.x]-(c)", "f(a)--(b)", "(a)+(b)", "a-[b]-(c)",
    "(a) - (-b)", "x[0]-[1]-(c)",
]  # fmt: skip


@pytest.mark.parametrize("text", PATHS)
@pytest.mark.parametrize("place", ["{}", "NOT {}", "a AND {} OR b", "({})", "exists({})", "NOT ({} AND {})"])
def test_paths_in_expressions(text: str, place: str) -> None:
    tree = repr(where(place.format(text, text)))
    assert tree.count("PatternPredicate") == place.count("{}")
    inside = repr(parse(f"MATCH {text} RETURN 1")[0].body.clauses[0].patterns[0])  # type: ignore[union-attr]
    assert inside in tree


@pytest.mark.parametrize("text", NOT_PATHS)
def test_arithmetic_that_looks_like_a_path(text: str) -> None:
    assert "Pattern" not in repr(where(f"0 < {text}"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[x IN xs]", "ListComprehension"), ("[x IN xs WHERE x > 1]", "ListComprehension"),
        ("[x IN xs | x + 1]", "ListComprehension"), ("[x IN xs, y]", "ListLiteral"), ("[x]", "ListLiteral"),
        ("[(x) IN xs]", "ListLiteral"), ("[x.y IN xs]", "ListLiteral"), ("[NOT x IN xs]", "ListLiteral"),
        ("[(a)-->(b) | b]", "PatternComprehension"), ("[(a)-->(b) WHERE b.x | b]", "PatternComprehension"),
        ("[p = (a)-->(b) | p]", "PatternComprehension"), ("[p = (a)-->(b) WHERE true | p]", "PatternComprehension"),
        ("[(a), (b)]", "ListLiteral"), ("[(a)-(b)]", "ListLiteral"), ("[p = (a)]", "ListLiteral"),
        ("xs[0]", "Index"), ("xs[0..1]", "Slice"), ("xs[..]", "Slice"), ("(xs)[0]", "Index"), ("f(x)[0]", "Index"),
        ("[0][0]", "Index"), ("{a: 1}['a']", "Index"), ("'abc'[0]", "Index"), ("$p[0]", "Index"),
        ("COUNT { (a)-->(b) }", "SubqueryExpression"), ("count { .x }", "MapProjection"),
        ("count {x}", "MapProjection"), ("count {x: 1}", "MapProjection"),
        ("exists { MATCH (a) RETURN a }", "SubqueryExpression"),
        ("EXISTS { p = (a)-->(b) }", "SubqueryExpression"), ("COLLECT { MATCH (a) RETURN a }", "SubqueryExpression"),
        ("EXISTS { ANY SHORTEST (a)-->(b) }", "SubqueryExpression"), ("count(x)", "FunctionCall"),
        ("EXISTS { ((a)-->(b)){2} }", "SubqueryExpression"), ("all(x IN xs WHERE x)", "QuantifierExpression"),
        ("all(x)", "FunctionCall"), ("reduce(a = 1, x IN xs | a)", "ReduceExpression"), ("reduce(a)", "FunctionCall"),
        ("none", "Variable"), ("any.x", "PropertyAccess"), ("n {.x}", "MapProjection"), ("{x: 1}", "MapLiteral"),
        ("CASE WHEN a THEN b END", "CaseExpression"), ("end", "Variable"), ("a.b.c(1)", "FunctionCall"),
    ],
)  # fmt: skip
def test_the_kind_of_an_expression(text: str, kind: str) -> None:
    (statement,) = parse(f"RETURN {text} AS x")
    assert type(statement.body.clauses[0].projection.items[0].expression).__name__ == kind  # type: ignore[union-attr]


A_OR_B = ast.LabelDisjunction((ast.LabelName("A"), ast.LabelName("B")))


@pytest.mark.parametrize(
    ("text", "labels", "result"),
    [
        ("[x IN xs WHERE x:A | x.n]", ast.LabelName("A"), ast.PropertyAccess(ast.Variable("x"), "n")),
        ("[x IN xs WHERE x:A|B | x.n]", A_OR_B, ast.PropertyAccess(ast.Variable("x"), "n")),
        ("[x IN xs WHERE x:A | x]", ast.LabelName("A"), ast.Variable("x")),
        ("[x IN xs WHERE x:A|B | x]", A_OR_B, ast.Variable("x")),
        ("[x IN xs WHERE x:A | x:A|B]", ast.LabelName("A"), ast.LabelTest(ast.Variable("x"), A_OR_B)),
        ("[x IN xs WHERE x IS A|B | 1]", A_OR_B, ast.Literal(1)),
        ("[x IN xs WHERE x:(A|B) | 1]", A_OR_B, ast.Literal(1)),
    ],
)
def test_the_bar_that_divides(text: str, labels: ast.LabelExpression, result: ast.Expression) -> None:
    (statement,) = parse(f"RETURN {text}")
    comprehension = statement.body.clauses[0].projection.items[0].expression  # type: ignore[union-attr]
    assert comprehension.where == ast.LabelTest(ast.Variable("x"), labels)
    assert comprehension.result == result


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("(n:A:B)", "(n:A&B)"), ("(n IS A)", "(n:A)"), ("(n:A|:B)", "(n:A|B)"), ("(n:A&B|C)", "(n:(A&B)|C)"),
        ("(n:!A&B)", "(n:(!A)&B)"), ("(n:!(A|B)&%)", "(n:(!(A|B))&%)"), ("(n:A|B|C)", "(n : A | B | C)"),
        ("()-[:A|:B|:C]-()", "()-[:A|B|C]-()"), ("()-->()", "()-[]->()"), ("()--()", "()-[]-()"),
        ("()<--()", "()<-[]-()"), ("()<-->()", "()<-[]->()"), ("()-[*]-()", "()-[*1..]-()"),
        ("()-[*2]-()", "()-[*2..2]-()"),
        ("()-[*..3]-()", "()-[*1..3]-()"), ("()-[]-{2}()", "()-[]-{2,2}()"), ("()-[]-+()", "()-[]-{1,}()"),
        ("()-[]-*()", "()-[]-{0,}()"), ("()-[]-{,3}()", "()-[]-{0,3}()"), ("()-[]-+()", "()-[*]-()"),
    ],
)  # fmt: skip
def test_ways_to_write_the_same_pattern(text: str, same: str) -> None:
    (one,), (other,) = parse(f"MATCH {text} RETURN 1"), parse(f"MATCH {same} RETURN 1")
    assert one.body == other.body


UNSUPPORTED = """
CREATE                  «CREATE USER x»
SHOW                    «SHOW JOBS»
DROP                    «DROP ROLE x»
ALTER                   «ALTER USER x»
"""


@pytest.mark.parametrize("line", UNSUPPORTED.strip().splitlines())
def test_clauses_that_are_not_built(line: str) -> None:
    keyword, marked = line[:24].strip(), line[24:]
    before, rest = marked.split("«")
    clause_text, after = rest.split("»")
    (statement,) = parse(before + clause_text + after)
    assert isinstance(statement.body, ast.Query)
    (clause,) = (each for each in statement.body.clauses if isinstance(each, ast.UnsupportedClause))
    assert clause.keyword == keyword
    assert (clause.span.start, clause.span.end) == (len(before), len(before + clause_text))
    others = [each for each in statement.body.clauses if each is not clause]
    assert len(others) == sum(f" {before} {after} ".count(f" {word} ") for word in ("MATCH", "WITH", "RETURN"))


@pytest.mark.parametrize(
    "text",
    ["CREATE", "CREATE n RETURN n", "MERGE (n) SET", "MATCH (n) SET n.x RETURN n", "MATCH (n) DELETE RETURN n",
     "CALL RETURN 1", "FOREACH (x IN [1] | RETURN x)", "CALL { RETURN 1",
     "CALL { CREATE (n) } IN TRANSACTIONS OF n ROWS",
     "CALL { CREATE (n) } IN TRANSACTIONS ON ERROR", "CALL (n.x) { RETURN 1 AS y } RETURN y",
     "LOAD CSV 'x' RETURN 1", "LET x RETURN 1",
     "MATCH (n) REMOVE RETURN n", "MATCH (n) DETACH n", "MATCH (n) SET n.x = 1 garbage here"],
)  # fmt: skip
def test_garbage_in_clauses_that_update_or_are_not_built(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        parse(text)
