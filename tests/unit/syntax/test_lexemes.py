"""Highlighting and completeness: any text is covered, in order, without overlap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine.syntax import is_complete, tokens

QUERY = """// people
MATCH p = (a:Person|Pet {name: $name})-[r:KNOWS*1..2]->(`b c` WHERE a.age >= 30.5) /*+ order=a */
WHERE NOT a.count IN [1, 'x'] AND count { (a)-->() } > 1
RETURN count(*) AS n, toUpper(a.name), any(x IN xs WHERE x), {end: 1} ORDER BY n DESC; /* done */"""

KINDS = {
    "// people": "comment", "MATCH": "keyword", "p": "name", "=": "operator", "(": "punctuation", "a": "name",
    "Person": "label", "|": "operator", "Pet": "label", "name": "property", "$name": "parameter", "KNOWS": "label",
    "*": "operator", "1": "number", "..": "operator", "`b c`": "name", "WHERE": "keyword", "30.5": "number",
    "/*+ order=a */": "hint", "NOT": "keyword", "'x'": "string", "IN": "keyword", "RETURN": "keyword", "AS": "keyword",
    "toUpper": "function", "any": "function", "end": "property", "ORDER": "keyword", "BY": "keyword", "DESC": "keyword",
    ";": "punctuation", "/* done */": "comment",
}  # fmt: skip


def test_kinds_of_words() -> None:
    found = {QUERY[each.span.start : each.span.end]: each.kind for each in tokens(QUERY)}
    assert {text: found[text] for text in KINDS} == KINDS
    counts = [each.kind for each in tokens(QUERY) if QUERY[each.span.start : each.span.end] == "count"]
    assert counts == ["property", "keyword", "function"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("RETURN 'abc", "string"), ('RETURN "a', "string"), ("MATCH (`a", "name"), ("RETURN 1 /* a; b", "comment")],
)
def test_what_is_not_closed_reaches_to_the_end(text: str, kind: str) -> None:
    last = tokens(text)[-1]
    assert (last.kind, last.span.end) == (kind, len(text))


def covered(text: str) -> None:
    position = 0
    for each in tokens(text):
        assert each.span.start >= position and each.span.end > each.span.start
        assert not text[position : each.span.start].replace("\ufeff", " ").strip()
        position = each.span.end
    assert not text[position:].replace("\ufeff", " ").strip()


@given(st.text())
def test_any_text_is_covered(text: str) -> None:
    covered(text)
    is_complete(text)


@given(st.text(alphabet="ab1 .:'\"`/*+-<>=(){}[]|;$\\\n\ufeffé\u0301,"))
def test_any_text_of_the_language_s_signs_is_covered(text: str) -> None:
    covered(text)
    is_complete(text)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("RETURN 1;", True), ("RETURN 1; // done", True), ("RETURN 1;  \n", True), ("RETURN 1; RETURN 2;", True),
        ("RETURN 1", False), ("", False), ("RETURN ';", False), ("RETURN ';'", False), ("RETURN `;", False),
        ("RETURN 1 /* ;", False), ("RETURN 1 // ;", False), ("RETURN (1;", True), ("MATCH (n {a: 1;", True),
        ("RETURN (1", False),
        ("RETURN 1; RETURN 2", False), (";", True), ("RETURN 1);", True), ("RETURN '(' ;", True),
    ],
)  # fmt: skip
def test_is_complete(text: str, complete: bool) -> None:
    assert is_complete(text) is complete
