"""The grammar itself: no conflicts, every rule built; the automaton beside Lark's own, and its cache."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from functools import cache as once
from pathlib import Path
from typing import Any

import lark
import numpy as np
import pytest
from lark import GrammarError

from qengine._assets import asset
from qengine.errors import Span
from qengine.syntax import ast, automaton, parse, parser, scanner
from qengine.syntax.build_clauses import AstBuilder
from qengine.syntax.report import _SYMBOL_OF, _WORDS
from qengine.syntax.scanner import Tokens

# Rules with `?` that only pass on.
INLINED = {"clause", "label_expression", "label_term", "path_term", "properties", "prefix", "binary", "case_operator"}


def test_the_grammar_has_no_conflict() -> None:
    automaton.build_grammar()


def test_a_conflict_would_be_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = asset("grammar", "cypher.lark").read_text()
    bad = tmp_path / "cypher.lark"
    bad.write_text(text.replace("| LPAR expression RPAR ", "| LPAR path RPAR -> first\n       | LPAR expression RPAR "))
    monkeypatch.setattr(automaton, "asset", lambda *parts: bad)
    with pytest.raises(GrammarError, match="conflict"):
        automaton.build_grammar()


def test_each_rule_has_its_builder() -> None:
    names = {str(rule.alias or rule.origin.name) for rule in automaton.build_grammar().rules}
    missing = {name for name in names if not name.startswith("_") and not hasattr(AstBuilder, name)}
    assert missing == INLINED | automaton.BUILT_HERE


lark_parser = once(automaton.build_grammar)


class Anything:
    """A builder for every rule; the values don't matter."""

    def __getattr__(self, rule: str) -> Callable[[Any, Span], None]:
        return lambda parts, span: None


def tokens_of(kinds: list[str]) -> Tokens:
    numbers = [scanner.kinds().index(kind) for kind in kinds]
    return Tokens("", np.array([numbers, *[[0] * len(kinds)] * 3], np.int64).tobytes())


@pytest.mark.parametrize("seed", range(10))
def test_the_automaton_takes_what_larks_own_takes(seed: int) -> None:
    draw = random.Random(seed)
    oracle = lark_parser().parse_interactive("")
    ours = automaton.load(Anything())
    kinds: list[str] = []
    for _ in range(40):
        with pytest.raises(automaton.Refused) as refused:
            ours.run(tokens_of([*kinds, "ERROR"]), classified=True)
        assert refused.value.accepts == oracle.accepts()
        kind = draw.choice(sorted(refused.value.accepts - {"$END"}))
        kinds.append(kind)
        oracle.feed_token(lark.Token(kind, ""))


def test_each_symbol_can_be_said_in_an_error() -> None:
    declared = {word for line in asset("grammar", "cypher.lark").read_text().splitlines()
                if line.startswith("%declare") for word in line.split()[1:]}  # fmt: skip
    helpers = {"PATTERN_BEGIN", "PATTERN_END", "LIST_COMPREHENSION", "PATTERN_COMPREHENSION", "ON_SET"}
    helpers |= {"ON_ERROR"}
    helpers |= {"ROWS_CLAUSE", "CYPHER_OPTIONS", "PLANNER_HINT", "TYPE_TEST", "NOT_TYPE_TEST", "TRIM_SIDE"}  # optional
    helpers |= {"ALL_REDUCE", "FOR_POSITION", "NULLS_ORDER", "VECTOR_INDEX"}
    unreadable = {word for word in declared if "_" in word and word not in _WORDS and word not in _SYMBOL_OF}
    assert unreadable <= helpers


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("QENGINE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "qengine"


def load_anew() -> None:
    """Load the automaton as a new process would, and use it."""
    parser._automaton.cache_clear()
    assert len(parse("RETURN 1; MATCH (n) RETURN n")) == 2
    parser._automaton.cache_clear()


def test_the_automaton_is_kept(cache: Path) -> None:
    load_anew()
    (file,) = cache.iterdir()
    before = file.stat().st_mtime_ns
    load_anew()
    assert file.stat().st_mtime_ns == before


def test_the_cache_is_where_the_user_says(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QENGINE_CACHE_DIR", str(cache.parent / "own"))
    load_anew()
    assert not cache.exists()
    assert len(list((cache.parent / "own").iterdir())) == 1


@pytest.mark.parametrize("keep", [0, 5000, -1])
def test_a_damaged_cache_is_made_anew(cache: Path, keep: int) -> None:
    load_anew()
    (file,) = cache.iterdir()
    whole = file.stat().st_size
    file.write_bytes(file.read_bytes()[:keep])
    load_anew()
    mended = file.stat().st_mtime_ns
    assert file.stat().st_size > whole * 0.9
    load_anew()
    assert file.stat().st_mtime_ns == mended


def test_an_unusable_cache_does_no_harm(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    load_anew()
    cache.unlink()
    load_anew()
    (file,) = cache.iterdir()
    file.unlink()
    file.mkdir()  # can be neither read nor written
    load_anew()


def test_importing_the_package_is_light() -> None:
    code = "import sys, qengine.syntax; sys.exit('lark' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_a_statement_of_every_clause_is_a_tuple_of_statements() -> None:
    statements = parse("RETURN 1 ;; /* nothing */ ; RETURN 2;")
    assert [type(each) for each in statements] == [ast.Statement, ast.Statement]
    assert parse("  // nothing\n ;") == ()
