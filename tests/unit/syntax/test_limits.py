"""Hostile sizes: deep nesting, long chains and large texts give a tree or a clean error, never a crash."""

from __future__ import annotations

import sys

import pytest

from qengine.errors import QuerySyntaxError
from qengine.syntax import ast, checks, is_complete, parse, parser, tokens
from qengine.syntax.brackets import MAX_NESTING
from qengine.syntax.scanner import scan
from qengine.testing.composed import composed_query, derived_query
from qengine.testing.random_graph import random_graph

DEEP = 10_000
TOO_DEEP = {
    "parentheses": "RETURN " + "(" * DEEP + "1" + ")" * DEEP,
    "parentheses never closed": "RETURN " + "(" * DEEP,
    "lists": "RETURN " + "[" * DEEP + "]" * DEEP,
    "maps": "RETURN " + "{a: " * DEEP + "1" + "}" * DEEP,
    "subqueries": "MATCH (n) WHERE " + "EXISTS { MATCH (n) WHERE " * DEEP + "true" + "}" * DEEP + " RETURN n",
    "CASE": "RETURN " + "CASE WHEN " * DEEP + "1" + " THEN 1 END" * DEEP,
    "label parentheses": "MATCH (a:" + "(" * DEEP + "A" + ")" * DEEP + ") RETURN a",
    "label negations": "MATCH (a:" + "!" * DEEP + "A) RETURN a",
    "paths": "MATCH " + "(" * DEEP + "(a)-->(b)" + ")" * DEEP + " RETURN 1",
    "comprehensions": "RETURN " + "[x IN " * DEEP + "y" + "]" * DEEP,
    "pattern comprehensions": "RETURN " + "[(a)-->(b) | " * DEEP + "1" + "]" * DEEP,
    "NOT": "RETURN " + "NOT " * DEEP + "true",
    "signs": "RETURN " + "- " * DEEP + "a",
    "sums": "RETURN 1" + " + 1" * DEEP,
    "powers": "RETURN 1" + " ^ 1" * DEEP,
    "properties": "RETURN a" + ".b" * DEEP,
    "elements": "RETURN a" + "[0]" * DEEP,
    "calls": "RETURN " + "f(" * DEEP + ")" * DEEP,
    "null tests": "RETURN a" + " IS NULL" * DEEP,
    "sums in the first operand": "RETURN " + "(" * 100 + "1" + " + 1)" * 100 + " + 1" * 100,
}


@pytest.mark.parametrize("name", TOO_DEEP)
def test_deep_nesting_is_refused(name: str) -> None:
    limit = sys.getrecursionlimit()
    with pytest.raises(QuerySyntaxError, match=f"deeper than {MAX_NESTING} levels") as caught:
        parse(TOO_DEEP[name])
    assert len(str(caught.value)) < 1000
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("name", TOO_DEEP)
def test_tools_of_the_terminal_take_deep_texts(name: str) -> None:
    assert tokens(TOO_DEEP[name])
    assert not is_complete(TOO_DEEP[name])


WIDE = {
    "AND": "RETURN a" + " AND a" * DEEP,
    "comparisons": "RETURN a" + " < a" * DEEP,
    "labels": "MATCH (a:A" + "|B" * DEEP + ") RETURN a",
    "list": "RETURN [1" + ", 1" * DEEP + "]",
    "map": "RETURN {a: 1" + ", a: 1" * DEEP + "}",
    "path": "MATCH (a)" + "-->()" * DEEP + " RETURN a",
    "path in an expression": "RETURN NOT (a)" + "-->()" * DEEP,
    "UNION": "RETURN 1" + " UNION RETURN 1" * DEEP,
    "statements": "RETURN 1;" * DEEP,
    "WHEN": "RETURN CASE" + " WHEN a THEN 1" * DEEP + " END",
    "signs of a number": "RETURN " + "-" * DEEP + "1",
    "just deep enough": "RETURN " + "(" * MAX_NESTING + "1" + ")" * MAX_NESTING,
}


@pytest.mark.parametrize("name", WIDE)
def test_wide_texts_parse(name: str) -> None:
    assert parse(WIDE[name])


@pytest.mark.parametrize(
    "clause", ["MATCH (a) ", "UNWIND [1] AS x ", "WITH DISTINCT a ORDER BY a.x SKIP 1 LIMIT 2 WHERE a.y ", "CALL f() "]
)
def test_too_many_clauses_are_refused(clause: str) -> None:
    assert parse(clause * 24 + "RETURN 1")
    with pytest.raises(QuerySyntaxError, match="more than 150 clauses"):
        parse(clause * 1000 + "RETURN 1")
    with pytest.raises(QuerySyntaxError, match="more than 150 clauses"):
        parse("RETURN EXISTS { " + clause * 151 + "RETURN 1 }")


MEGABYTES = 10_000_000
HUGE = {
    "a string": "RETURN '" + "x" * MEGABYTES + "'",
    "a string never closed": "RETURN '" + "x" * MEGABYTES,
    "a comment never closed": "RETURN 1 /*" + "x" * MEGABYTES,
    "a name": "RETURN " + "x" * MEGABYTES,
    "a number": "RETURN " + "1" * MEGABYTES,
    "white space": "RETURN 1" + " " * MEGABYTES,
    "a list": "RETURN [" + "1," * (MEGABYTES // 2) + "1]",
    "semicolons": ";" * MEGABYTES,
    "quotes": "'" * (MEGABYTES + 1),
    "backslashes": "RETURN '" + "\\" * MEGABYTES,
    "opening brackets": "(" * MEGABYTES,
}


@pytest.mark.parametrize("name", HUGE)
def test_ten_megabytes(name: str) -> None:
    try:
        parse(HUGE[name])
    except QuerySyntaxError as error:
        assert len(str(error)) < 1000


def test_too_many_tokens_are_refused_before_they_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_TOKENS", 10)
    assert parse("RETURN [1, 2, 3]")
    with pytest.raises(QuerySyntaxError, match="more than 10 words and signs"):
        parse("RETURN [1, 2, 3, 4, 5]")


@pytest.mark.parametrize("word", ["a ", "é ", "x² ", "/**/a ", "'"])
def test_scanning_ends_soon_behind_a_limit(word: str) -> None:
    assert len(scan(word * 5_000, limit=100)) in range(1 if word == "'" else 101, 202)


def levels(node: object) -> int:
    if isinstance(node, tuple):
        return max(map(levels, node), default=0)
    if not isinstance(node, ast.Ast):
        return 0
    return 1 + max((levels(getattr(node, name)) for name in checks._child_fields(type(node))), default=0)


def test_no_tree_is_deeper_than_its_tokens_say() -> None:
    """So few trees need be looked through."""
    for seed in range(60):
        text = (derived_query if seed % 2 else composed_query)(seed, random_graph(seed % 20)).text
        try:
            (statement,) = parse(text)
        except QuerySyntaxError:
            continue
        assert levels(statement) <= parser._automaton()[0].deepest, text
