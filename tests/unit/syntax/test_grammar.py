"""The grammar itself: no conflicts, every rule built, the automaton's cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lark import GrammarError

from qengine._assets import asset
from qengine.syntax import ast, parse, parser
from qengine.syntax.build_clauses import AstBuilder
from qengine.syntax.report import _SYMBOL_OF, _WORDS

INLINED = {"clause", "path_term", "properties", "prefix", "binary"}  # rules with `?` that only pass on


def test_the_grammar_has_no_conflict() -> None:
    parser.build_grammar()


def test_a_conflict_would_be_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = asset("grammar", "cypher.lark").read_text()
    bad = tmp_path / "cypher.lark"
    bad.write_text(text.replace("| LPAR expression RPAR ", "| LPAR path RPAR -> first\n       | LPAR expression RPAR "))
    monkeypatch.setattr(parser, "asset", lambda *parts: bad)
    with pytest.raises(GrammarError, match="conflict"):
        parser.build_grammar()


def test_each_rule_has_its_builder() -> None:
    names = {str(rule.alias or rule.origin.name) for rule in parser.build_grammar().rules}
    missing = {name for name in names if not name.startswith("_") and not hasattr(AstBuilder, name)}
    assert missing == INLINED


def test_each_symbol_can_be_said_in_an_error() -> None:
    declared = {word for line in asset("grammar", "cypher.lark").read_text().splitlines()
                if line.startswith("%declare") for word in line.split()[1:]}  # fmt: skip
    helpers = {"PATTERN_BEGIN", "PATTERN_END", "LIST_COMPREHENSION", "PATTERN_COMPREHENSION", "ON_SET", "LOAD_CSV"}
    unreadable = {word for word in declared if "_" in word and word not in _WORDS and word not in _SYMBOL_OF}
    assert unreadable <= helpers


def run_with_cache(folder: Path, times: int = 1) -> None:
    code = "from qengine.syntax import parse; assert len(parse('RETURN 1; MATCH (n) RETURN n')) == 2"
    environment = {"XDG_CACHE_HOME": str(folder), "PYTHONPATH": ":".join(sys.path)}
    for _ in range(times):
        subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=60)


def test_the_automaton_is_kept(tmp_path: Path) -> None:
    run_with_cache(tmp_path)
    (file,) = (tmp_path / "qengine").iterdir()
    before = file.stat().st_mtime_ns
    run_with_cache(tmp_path)
    assert file.stat().st_mtime_ns == before


@pytest.mark.parametrize("keep", [0, 10, 100, 5000])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, keep: int) -> None:
    run_with_cache(tmp_path)
    (file,) = (tmp_path / "qengine").iterdir()
    file.write_bytes(file.read_bytes()[:keep])
    run_with_cache(tmp_path)
    mended = file.stat().st_mtime_ns
    run_with_cache(tmp_path)
    assert file.stat().st_mtime_ns == mended
    assert file.stat().st_size > 5000


def test_an_unusable_cache_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "qengine").write_text("a file where the folder should be")
    run_with_cache(tmp_path, 2)


def test_importing_the_package_is_light() -> None:
    code = "import sys, qengine.syntax; sys.exit('lark' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_a_statement_of_every_clause_is_a_tuple_of_statements() -> None:
    statements = parse("RETURN 1 ;; /* nothing */ ; RETURN 2;")
    assert [type(each) for each in statements] == [ast.Statement, ast.Statement]
    assert parse("  // nothing\n ;") == ()
