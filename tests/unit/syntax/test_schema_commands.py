"""The spellings of commands about indexes and constraints, and the errors of those that are none."""

from __future__ import annotations

import pytest

from qengine.errors import QuerySyntaxError
from qengine.syntax import ast, parse

UNIQUE = "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS UNIQUE"
SAME = [
    (UNIQUE, "create constraint for (m:`A`) require (m.`x`) is unique"),
    (UNIQUE, "CREATE CONSTRAINT ON (n:A) ASSERT n.x IS UNIQUE"),
    (UNIQUE, "CREATE CONSTRAINT ON (n:A) ASSERT (n.x) IS NODE UNIQUE"),
    (UNIQUE, UNIQUE + " OPTIONS {indexProvider: 'range-1.0', indexConfig: {}}"),
    (UNIQUE, UNIQUE + " OPTIONS $options"),
    ("CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS NOT NULL", "CREATE CONSTRAINT ON (n:A) ASSERT exists(n.x)"),
    (
        "CREATE CONSTRAINT FOR (n:A) REQUIRE (n.x, n.y) IS NODE KEY",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x, n.y IS KEY",
    ),
    (
        "CREATE CONSTRAINT FOR ()-[r:T]-() REQUIRE r.x IS KEY",
        "CREATE CONSTRAINT FOR ()<-[r:T]-() REQUIRE (r.x) IS REL KEY",
    ),
    (
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS :: INT",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS TYPED SIGNED INTEGER",
    ),
    (
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x :: INT|BOOL",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS :: BOOLEAN | INT",
    ),
    (
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS :: LIST<ZONED DATETIME NOT NULL>",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS :: TIMESTAMP WITH TIME ZONE NOT NULL ARRAY",
    ),
    ("CREATE INDEX FOR (n:A) ON (n.x, n.y)", "CREATE RANGE INDEX FOR (n:A) ON n.x, n.y"),
    ("CREATE INDEX FOR (n:A) ON (n.x)", "CREATE INDEX ON :A(x)"),
    ("CREATE INDEX FOR ()-[r:T]-() ON (r.x)", "CREATE INDEX FOR ()-[other:T]->() ON (other.x)"),
    ("CREATE LOOKUP INDEX FOR (n) ON EACH labels(n)", "CREATE LOOKUP INDEX FOR (n) ON labels(n)"),
    ("SHOW INDEXES", "SHOW INDEX"),
    ("SHOW CONSTRAINTS WHERE name = 'a'", "show constraint where name = 'a'"),
]


@pytest.mark.parametrize(("text", "same"), SAME)
def test_ways_to_write_the_same_command(text: str, same: str) -> None:
    (one,), (other,) = parse(text), parse(same)
    assert one.body == other.body


def test_a_command_says_what_it_makes() -> None:
    text = "CREATE CONSTRAINT a IF NOT EXISTS FOR ()-[r:T]-() REQUIRE r.x IS :: STRING"
    (statement,) = parse(f"/* a comment */ {text} ;")
    assert isinstance(statement.body, ast.Query)
    (clause,) = statement.body.clauses
    assert clause == ast.SchemaClause(False, True, "a", True, "PROPERTY_TYPE", "RELATIONSHIP", "T", ("x",), "STRING")
    assert (clause.span.start, clause.span.end) == (16, 16 + len(text))


@pytest.mark.parametrize("name", ["if", "for", "on", "index", "constraint", "exists", "`a b`", "show", "require"])
def test_words_of_commands_are_names(name: str) -> None:
    for text in (f"CREATE INDEX {name} FOR (n:A) ON (n.x)", f"DROP INDEX {name}", f"DROP CONSTRAINT {name} IF EXISTS"):
        (statement,) = parse(text)
        assert isinstance(statement.body, ast.Query)
        (clause,) = statement.body.clauses
        assert isinstance(clause, ast.SchemaClause)
        assert clause.name == name.strip("`")
    parse(f"MATCH (n:A) WHERE n.{name} > 1 RETURN n.{name} AS {name}")


@pytest.mark.parametrize(
    "text",
    ["CREATE INDEX", "CREATE INDEX a", "CREATE INDEX FOR", "CREATE INDEX FOR (n:A)", "CREATE INDEX FOR (n:A) ON ()",
     "CREATE INDEX FOR (n:A) ON (n.x) RETURN 1", "CREATE INDEX ON :A", "CREATE INDEX ON :A()", "CREATE INDEX ON A(x)",
     "CREATE INDEX IF EXISTS FOR (n:A) ON (n.x)", "CREATE INDEX FOR (n:A|B) ON (n.x)",
     "CREATE INDEX `` FOR (n:A) ON (n.x)",
     "CREATE INDEX FOR ()-[r:T]- ON (r.x)", "CREATE INDEX FOR ()-[:T]-() ON (r.x)",
     "CREATE INDEX FOR (n:A) ON (n.x) OPTIONS",
     "CREATE LOOKUP INDEX FOR (n) ON EACH type(n)", "CREATE LOOKUP INDEX FOR (n:A) ON EACH labels(n)",
     "CREATE CONSTRAINT FOR (n:A) n.x IS UNIQUE", "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS NULL",
     "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x UNIQUE", "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS NODE",
     "CREATE CONSTRAINT FOR (n:A) REQUIRE (n.x IS UNIQUE", "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS :: LIST<INT>",
     "CREATE CONSTRAINT FOR ()-[r:T]-() REQUIRE r.x IS NODE KEY",
     "CREATE CONSTRAINT FOR (n:A) REQUIRE (n.x, n.x) IS KEY",
     "DROP INDEX a b", "DROP INDEX a IF NOT EXISTS", "DROP CONSTRAINT", "MATCH (n) DROP INDEX a",
     "MATCH (n) SHOW INDEXES",
     "SHOW INDEXES SHOW INDEXES", "SHOW INDEXES YIELD", "SHOW INDEXES WHERE", "SHOW INDEXES YIELD * YIELD *",
     "CALL { SHOW INDEXES } RETURN 1", "CALL { DROP INDEX a } RETURN 1"],
)  # fmt: skip
def test_what_is_no_command_is_refused(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        parse(text)
