"""The native scanner beside regular expressions that say what a token is; and that long scans and looks back stop."""

from __future__ import annotations

import random
import re

import pytest

from qengine._deadline import planning_deadline
from qengine.errors import QueryTimeout
from qengine.syntax import parser
from qengine.syntax.scanner import SYMBOLS, scan, scanned

ORACLE = re.compile(
    r"""
    [\s\ufeff]*+
    (?:
        (?P<NAME>[A-Za-z_][A-Za-z0-9_]*+(?![^\x00-\x7f]))
      | (?P<SYMBOL><=|>=|<>|=~|=>|!=|==|\|\||&&|\+=|::|\.\.|[()\[\]{},:;|&!%+\-*^=<>]|\.(?![0-9])|/(?![*/])|\$(?=\s*\())
      | (?P<FLOAT>(?:[0-9][0-9_]*+)?+\.[0-9][0-9_]*+(?:[eE][+-]?[0-9]++)?+\w*+|[0-9][0-9_]*+[eE][+-]?[0-9]++\w*+)
      | (?P<INTEGER>[0-9]\w*+)
      | (?P<STRING>'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+")
      | (?P<PARAMETER>\$(?:\w++|`(?:[^`]|``)++`))
      | (?P<BACKTICKED>`(?:[^`]|``)*+`)
      | (?P<WORD>[^\W\d])
      | (?P<HINT>/\*\+.*?\*/)
      | (?P<COMMENT>/\*.*?\*/|//[^\n\r]*+)
      | (?P<UNCLOSED>['"`]|/\*)
      | (?P<ERROR>.)
    )
    """,
    re.VERBOSE | re.DOTALL,
)

PIECES = [
    *SYMBOLS, *"'\"`\\/?#@_eE0159xa \n\r\t\0\x1f\u00a0\ufeff\ud800\u2013\u27e8é²٣ℼ℘\u0301\U0001d54f",
    "//", "/*", "*/", "/*+", "``", "1_0", ".5", "1e5", "0x1F", "RETURN", "name", "ünï", "$a", "$`b`", "'s'", "9..1",
]  # fmt: skip


def expected(text: str) -> list[tuple[str, str, int, int]]:
    found = []
    place = 0
    while (match := ORACLE.match(text, place)) is not None:
        kind = match.lastgroup or ""
        start, place = match.span(kind)
        if kind == "WORD":
            while place < len(text) and ("a" + text[place]).isidentifier():
                place += 1
            kind = "NAME"
            if not text[start:place].isidentifier():
                kind, place = "ERROR", start + 1
        written = text[start:place]
        found.append(({"SYMBOL": SYMBOLS.get(written, ""), "UNCLOSED": "ERROR"}.get(kind, kind), written, start, place))
        if kind == "UNCLOSED":
            break
    return found


@pytest.mark.parametrize("seed", range(4))
def test_any_text_is_cut_as_the_expressions_say(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(2_000):
        text = "".join(draw.choices(PIECES, k=draw.randrange(12)))
        assert scan(text, everything=True) == expected(text), ascii(text)


def test_the_library_is_stopped() -> None:
    """A clause is looked back over for each ORDER BY: without a deadline this would take minutes."""
    asked = []

    def check() -> None:
        asked.append(len(asked))
        if len(asked) > 3:
            raise QueryTimeout("Enough.")

    tokens = scanned("RETURN a" + " ORDER BY a" * 100_000)
    automaton, _ = parser._automaton()
    with planning_deadline(check), pytest.raises(QueryTimeout, match="Enough"):
        automaton.classified(tokens)
    with planning_deadline(check), pytest.raises(QueryTimeout, match="Enough"):
        scanned("a " * 200_000)
    assert len(asked) == 5
    assert parser.parse("RETURN 1")
