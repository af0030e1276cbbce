"""Regular expressions for RE2 against Python's own engine, which says what ``=~`` means."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qengine.exec.scalar.regular import linear, matcher

ATOMS = ["a", "b", "K", "7", "_", " ", ".", r"\.", r"\$", "[a-c]", "[^a]", r"\d", r"\D", r"\s", r"\S", r"\w", r"\W"]
QUANTIFIERS = ["", "", "", "*", "+", "?", "*?", "+?", "{2}", "{1,2}", "{1,}", "{0,1}?", "*+", "{,2}"]
TEXTS = st.text("abkK7_ .$\n\r\x0b\x1c\x85é\u212a٣", max_size=6)


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(parts, min_size=1, max_size=3).map("".join)


def quantified(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(atoms, st.sampled_from(QUANTIFIERS)).map("".join)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.tuples(st.sampled_from(["(", "(?:"]), joined(inner), st.sampled_from([")", "|a)", "|)"])).map("".join)
    return quantified(group)


PATTERNS = st.tuples(
    st.sampled_from(["", "", "(?i)"]),
    st.sampled_from(["", "^"]),
    joined(st.recursive(quantified(st.sampled_from(ATOMS)), grown, max_leaves=4)),
    st.sampled_from(["", "|b", "$"]),
).map("".join)


@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=8))
@example("a$", ["a", "a\n"])
@example(r"\w+", ["é", "a_7"])
def test_it_matches_where_python_does(pattern: str, texts: list[str]) -> None:
    found = linear(pattern)
    try:
        compiled = re.compile(pattern)
    except re.error:
        assert found is None
        return
    wanted = [compiled.fullmatch(text) is not None for text in texts]
    assert [matcher(pattern)(text) for text in texts] == wanted
    if found is not None and (not found.ascii_only or all(map(str.isascii, texts))):
        assert pc.match_substring_regex(pa.array(texts), found.text).to_pylist() == wanted


@pytest.mark.parametrize("name", "dDsSwW")
def test_classes_hold_the_same_characters_of_ascii(name: str) -> None:
    texts = [chr(code) for code in range(128)]
    found = linear(f"\\{name}")
    assert found is not None and found.ascii_only
    wanted = [re.fullmatch(f"\\{name}", text) is not None for text in texts]
    assert pc.match_substring_regex(pa.array(texts), found.text).to_pylist() == wanted


@pytest.mark.parametrize("pattern", ["(a+)+$", "(?i)^(a|a)*", "(a*)*b", ".*.*.*.*.*.*x", r"(\w+\s?)+\."])
def test_expressions_that_would_take_for_ever_take_no_time(pattern: str) -> None:
    text = "a" * 2_000 + "!"
    assert not matcher(pattern)(text)


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)a", "(?P<x>a)", "a*+", "[[:alpha:]]", "a$b", "(a|^b)", "é"])
def test_what_only_python_knows_stays_with_it(pattern: str) -> None:
    assert linear(pattern) is None


def test_too_many_repetitions_for_re2_are_left_to_python() -> None:
    pattern = "((a{99}){99}){99}"
    assert linear(pattern) is not None
    assert not matcher(pattern)("a")
