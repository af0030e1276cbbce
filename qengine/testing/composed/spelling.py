"""How the terminals of the grammar are written."""

from __future__ import annotations

from collections.abc import Mapping

from qengine.syntax.scanner import SYMBOLS
from qengine.syntax.words import MATCH_MODES, PATTERN_PREFIX

__all__ = ["KEYS", "spellings"]

KEYS = ("k", "i", "m", "s", "l", "f", "none")
"""Property keys, most of them of ``random_graph``."""

_PHRASES = {
    "AND_COLON": (":",),
    "DIVIDER": ("|",),
    "LIST_COMPREHENSION": ("[",),
    "PATTERN_COMPREHENSION": ("[",),
    "PATTERN_BEGIN": ("",),
    "PATTERN_END": ("",),
    "INTEGER": ("0", "1", "1", "2", "3"),
    "FLOAT": ("0.5", "1.0", "2.5"),
    "STRING": ("''", "'a'", "'ab'"),
    "MATCH_MODE": tuple(sorted(set(MATCH_MODES.values()))),
    "PATH_MODE": tuple(word for word, kind in PATTERN_PREFIX.items() if kind == "PATH_MODE"),
    "QUANTIFIER": ("all", "any", "none", "single"),
    "SUBQUERY": ("EXISTS", "COUNT", "COLLECT"),
    "SHORTEST_PATH": ("shortestPath", "allShortestPaths"),
    "SKIP": ("SKIP", "OFFSET"),
    "ON_SET": ("ON CREATE SET", "ON MATCH SET"),
    "COMMAND": ("ALTER USER x", "DROP INDEX x", "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS UNIQUE"),
    "SHOW": ("SHOW INDEXES", "SHOW ALL CONSTRAINTS"),
    "LOAD_CSV": ("LOAD CSV FROM", "LOAD CSV WITH HEADERS FROM"),
    "PERIODIC_COMMIT": ("USING PERIODIC COMMIT", "USING PERIODIC COMMIT 5"),
    "TRANSACTIONS": ("IN TRANSACTIONS", "IN CONCURRENT TRANSACTIONS"),
    "ON_ERROR": ("ON ERROR FAIL", "ON ERROR BREAK", "ON ERROR CONTINUE"),
    "REPORT": ("REPORT STATUS",),
}


def spellings(terminal: str) -> tuple[str, ...]:
    """Return the texts that can stand for a terminal; a word that is not listed is written as it is called."""
    return _PHRASES.get(terminal) or _SIGNS.get(terminal) or (terminal,)


_SIGNS: Mapping[str, tuple[str, ...]] = {kind: (sign,) for sign, kind in SYMBOLS.items()}
