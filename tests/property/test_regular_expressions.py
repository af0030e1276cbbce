"""Regular expressions against Python's own engine, which says what ``=~`` means."""

from __future__ import annotations

import re
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qengine.errors import ExecutionError, OutOfMemory
from qengine.exec.memory import MemoryAccount
from qengine.exec.scalar import regular
from qengine.exec.scalar.regular import linear, matches

ATOMS = ["a", "b", "K", "7", "_", " ", ".", r"\.", r"\$", "[a-c]", "[^a]", r"\d", r"\D", r"\s", r"\S", r"\w", r"\W",
         "é", "[é-ü]", r"[^\W_]", r"[\Wa]", "ß", "ſ", "i", r"\b", r"\B", "$", "^", r"\Z"]  # fmt: skip
BEYOND = ["(?=a)", "(?!a)", "(?<=a)", "(?<!ab)", "(?>a|ab)", r"(?=(a|b))", r"(?(1)a|b)", r"\1"]
QUANTIFIERS = ["", "", "", "*", "+", "?", "*?", "+?", "{2}", "{1,2}", "{1,}", "{0,1}?", "*+", "{,2}"]
TEXTS = st.text("abkK7_ .$\n\r\x0b\x1c\x85é\u212a٣ÉßſiİıI", max_size=6)


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(parts, min_size=1, max_size=3).map("".join)


def quantified(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(atoms, st.sampled_from(QUANTIFIERS)).map("".join)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.tuples(st.sampled_from(["(", "(?:"]), joined(inner), st.sampled_from([")", "|a)", "|)"])).map("".join)
    return quantified(group)


def patterns(atoms: list[str]) -> st.SearchStrategy[str]:
    return st.tuples(
        st.sampled_from(["", "", "(?i)", "(?s)", "(?m)", "(?a)", "(?im)"]),
        st.sampled_from(["", "^", "(a)?"]),
        joined(st.recursive(quantified(st.sampled_from(atoms)), grown, max_leaves=4)),
        st.sampled_from(["", "|b", "$"]),
    ).map("".join)


def compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None


@given(patterns(ATOMS), st.lists(TEXTS, min_size=1, max_size=8))
@example("a$", ["a", "a\n"])
@example(r"\w+", ["é", "a_7"])
@example("(?i)i", ["İ", "ı", "I"])
def test_what_is_regular_matches_where_python_does(pattern: str, texts: list[str]) -> None:
    python = compiled(pattern)
    if python is None:
        with pytest.raises(ExecutionError, match="malformed"):
            linear(pattern)
        return
    wanted = [python.fullmatch(text) is not None for text in texts]
    memory = MemoryAccount(None)
    assert [matches(text, pattern, memory) for text in texts] == wanted
    found = linear(pattern)
    if found.any is not None:
        assert pc.match_substring_regex(pa.array(texts), found.any).to_pylist() == wanted
    if found.ascii is not None and all(map(str.isascii, texts)):
        assert pc.match_substring_regex(pa.array(texts), found.ascii).to_pylist() == wanted


@given(patterns([*ATOMS, *BEYOND, *BEYOND]), st.lists(TEXTS, min_size=1, max_size=8))
def test_the_counting_engine_matches_where_python_does(pattern: str, texts: list[str]) -> None:
    python = compiled(pattern)
    if python is None:
        return
    program = regular._expression(pattern).program
    memory = MemoryAccount(None)
    assert [program.matches(text, memory) for text in texts] == [python.fullmatch(text) is not None for text in texts]
    assert memory.charged == 0


@pytest.mark.parametrize("name", "dDsSwW")
def test_classes_hold_the_same_characters(name: str) -> None:
    found = linear(f"\\{name}")
    for form, last in ((found.ascii, 128), (found.any, sys.maxunicode + 1)):
        texts = [chr(code) for code in range(last) if not 0xD800 <= code <= 0xDFFF]
        python = re.compile(f"\\{name}")
        matched = pc.match_substring_regex(pa.array(texts), form).to_pylist()
        differ = [text for text, ours in zip(texts, matched, strict=True) if ours != bool(python.fullmatch(text))]
        assert len(differ) <= (0 if last == 128 else 12_000), differ[:20]


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(?i)^(a|a)*", "(a*)*b", ".*.*.*.*.*.*x", r"(\w+\s?)+\.", r"(?i)(\w+\w+)+b", "(a|aa)+(?=b)b",
     r"(\ba|a)*b", "((a+)+)+?(?<=b)", "(?>(a|aa)+)b"],
)  # fmt: skip
@pytest.mark.parametrize("end", ["!", "é"])
def test_expressions_without_references_take_no_time(pattern: str, end: str) -> None:
    assert not matches("a" * 2_000 + end, pattern, MemoryAccount(None))


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("pattern", [r"(a|aa)+\1b", r"(a*)*\1b", r"((a+)+)+\2b", r"(a|(a)|a)*(?(2)b|c)"])
def test_expressions_with_references_can_be_stopped(pattern: str) -> None:
    looks = 0

    def check() -> None:
        nonlocal looks
        looks += 1
        if looks == 5:
            raise StoppedError

    with pytest.raises(StoppedError):
        matches("a" * 200 + "!", pattern, MemoryAccount(None, check))


def test_what_is_left_to_try_is_charged() -> None:
    with pytest.raises(OutOfMemory):
        matches("a" * 3_000_000, r"(a)(a|b)*\1b", MemoryAccount(20_000_000))


def test_too_large_expressions_are_refused() -> None:
    with pytest.raises(ExecutionError, match="too large") as caught:
        matches("a" * 100, "((a{99}|b){99}){99}(?=b)", MemoryAccount(None))
    assert caught.value.hint
