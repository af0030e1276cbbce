"""Precedence and associativity, by comparing with what parentheses say (spans take no part in equality)."""

from __future__ import annotations

from typing import Any

import pytest

from qengine.errors import QuerySyntaxError
from qengine.syntax import ast, parse


def expression(text: str) -> ast.Expression:
    (statement,) = parse(f"RETURN {text}")
    (clause,) = statement.body.clauses  # type: ignore[union-attr]
    return clause.projection.items[0].expression  # type: ignore[union-attr, no-any-return]


SAME = """
a OR b XOR c            | a OR (b XOR c)
a XOR b AND c           | a XOR (b AND c)
a AND b OR c AND d      | (a AND b) OR (c AND d)
NOT a AND b             | (NOT a) AND b
NOT a = b               | NOT (a = b)
NOT a IS NULL           | NOT (a IS NULL)
NOT a IN b              | NOT (a IN b)
NOT NOT a               | NOT (NOT a)
a AND NOT b OR c        | (a AND (NOT b)) OR c
a = b IS NULL           | a = (b IS NULL)
a = b IN c              | a = (b IN c)
a + b IN c + d          | (a + b) IN (c + d)
a + b IS NOT NULL       | (a + b) IS NOT NULL
a STARTS WITH b + c     | a STARTS WITH (b + c)
a ENDS WITH b AND c     | (a ENDS WITH b) AND c
a CONTAINS b = c        | (a CONTAINS b) = c
a =~ b + c              | a =~ (b + c)
a < b + c * d           | a < (b + (c * d))
a - b - c               | (a - b) - c
a / b * c % d           | ((a / b) * c) % d
a ^ b ^ c               | (a ^ b) ^ c
a ^ b * c               | (a ^ b) * c
-a ^ b                  | (-a) ^ b
a ^ -b                  | a ^ (-b)
a - -b                  | a - (-b)
- - a                   | -(-a)
-a.b                    | -(a.b)
-a[0]                   | -(a[0])
a || b || c             | (a || b) || c
a + b[0]                | a + (b[0])
[1] + [2][0]            | [1] + ([2][0])
a = b AND c <> d        | (a = b) AND (c <> d)
n:A AND b               | (n:A) AND b
NOT n:A                 | NOT (n:A)
a + n.b:A               | a + (n.b:A)
a AND b AND c           | (a AND b) AND c
a.b.c[0].d              | (((a.b).c)[0]).d
CASE a WHEN b THEN c END.d | (CASE a WHEN b THEN c END).d
a<-1                    | a < (-1)
a<b>c                   | a < b > c
"""


@pytest.mark.parametrize("line", SAME.strip().splitlines())
def test_precedence(line: str) -> None:
    bare, _, parenthesized = (part.strip() for part in line.partition(" | "))
    assert expression(bare) == expression(parenthesized)


DIFFERENT = """
(a OR b) AND c     | a OR b AND c
(NOT a) = b        | NOT a = b
(a = b) IS NULL    | a = b IS NULL
a - (b - c)        | a - b - c
a ^ (b ^ c)        | a ^ b ^ c
-(a ^ b)           | -a ^ b
a = (b = c)        | a = b = c
"""


@pytest.mark.parametrize("line", DIFFERENT.strip().splitlines())
def test_parentheses_matter(line: str) -> None:
    left, _, right = (part.strip() for part in line.partition(" | "))
    assert expression(left) != expression(right)


def test_comparisons_chain() -> None:
    chain = expression("1 <= a < b <> 3")
    assert chain == ast.Comparison(
        ("<=", "<", "<>"), (ast.Literal(1), ast.Variable("a"), ast.Variable("b"), ast.Literal(3))
    )


@pytest.mark.parametrize("word", ["AND", "OR", "XOR"])
def test_long_chains_stay_shallow_and_whole(word: str) -> None:
    names = [f"x{number}" for number in range(5000)]
    tree = expression(f" {word} ".join(names))
    found: list[str] = []
    deepest = 0
    stack: list[tuple[Any, int]] = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        if isinstance(node, ast.Binary):
            assert node.op == word
            stack += [(node.right, depth + 1), (node.left, depth + 1)]
        else:
            found.append(node.name)
    assert found == names
    assert deepest < 50


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("42", 42), ("1_000_000", 1000000), ("0x2A", 42), ("0XfF", 255), ("0o17", 15), ("007", 7),
        ("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63)), ("- 0x8000000000000000", -(2**63)),
        ("-1", -1), ("+1", 1), ("--1", 1), ("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0), ("1.5E-3", 0.0015),
        ("-2.5", -2.5), ("1_0.5", 10.5), ("true", True), ("FALSE", False), ("Null", None),
    ],
)  # fmt: skip
def test_numbers_and_words(text: str, value: object) -> None:
    literal = expression(text)
    assert isinstance(literal, ast.Literal)
    assert (literal.value, type(literal.value)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a'", "a"), ('"a"', "a"), ("''", ""), ("'\"'", '"'), (r"'\''", "'"), (r'"\""', '"'), (r"'\\n'", "\\n"),
        (r"'\n\t\b\r\f'", "\n\t\b\r\f"), (r"'\u01FF'", "ǿ"), (r"'\U0001F600'", "😀"), (r"'\uD83D\uDE00'", "😀"),
        ("'a\nb'", "a\nb"), ("'日本語 // no comment'", "日本語 // no comment"), ("'/* no */'", "/* no */"),
    ],
)  # fmt: skip
def test_strings(text: str, value: str) -> None:
    assert expression(text) == ast.Literal(value)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("9223372036854775808", "IntegerOverflow"), ("-9223372036854775809", "IntegerOverflow"),
        ("1 - 9223372036854775808", "IntegerOverflow"), ("(9223372036854775808)", "IntegerOverflow"),
        ("+9223372036854775808", "IntegerOverflow"), ("- -9223372036854775808", "IntegerOverflow"),
        ("0x8000000000000000", "IntegerOverflow"), ("[1, 9223372036854775808]", "IntegerOverflow"),
        ("1" * 5000, "IntegerOverflow"), ("1.34E999", "FloatingPointOverflow"), ("0x", "InvalidNumberLiteral"),
        ("12abc", "InvalidNumberLiteral"), ("0x1G", "InvalidNumberLiteral"), ("0o8", "InvalidNumberLiteral"),
        ("1__0", "InvalidNumberLiteral"), ("1_", "InvalidNumberLiteral"), ("1.5x", "InvalidNumberLiteral"),
        (r"'\u12'", "InvalidUnicodeLiteral"), (r"'\U00110000'", "InvalidUnicodeLiteral"),
        (r"'\uD83D'", "InvalidUnicodeLiteral"), (r"'\q'", "UnexpectedSyntax"), ("'a", "UnexpectedSyntax"),
        ("42 — 41", "InvalidUnicodeCharacter"), ("a = NOT b", "UnexpectedSyntax"), ("-NOT a", "UnexpectedSyntax"),
        ("(a)(b)", "UnexpectedSyntax"), ("1(a)", "UnexpectedSyntax"), ("(a).b(c)", "UnexpectedSyntax"),
    ],
)  # fmt: skip
def test_refused(text: str, code: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        expression(text)
    assert caught.value.code == code
    assert caught.value.span is not None and caught.value.text == f"RETURN {text}"


def test_a_column_is_called_what_was_written() -> None:
    (statement,) = parse("RETURN count( * ), ( 1+  2 ), a . b AS c , 'x'")
    items = statement.body.clauses[0].projection.items  # type: ignore[union-attr]
    assert [item.text for item in items] == ["count( * )", "( 1+  2 )", "a . b", "'x'"]
    assert [item.alias for item in items] == [None, None, "c", None]


@pytest.mark.parametrize(
    ("text", "name"), [("$a", "a"), ("$1", "1"), ("$`a b`", "a b"), ("$`a``b`", "a`b"), ("$match", "match")]
)
def test_parameters(text: str, name: str) -> None:
    assert expression(text) == ast.Parameter(name)
