"""How the terminals of the grammar are written."""

from __future__ import annotations

from collections.abc import Mapping

from qengine.syntax.scanner import SYMBOLS

KEYS = ("k", "i", "m", "s", "l", "f", "none")
"""Property keys, most of them of ``random_graph``."""

_PHRASES = {
    "AND_COLON": (":",),
    "CYPHER_OPTIONS": ("CYPHER 5", "CYPHER runtime=slotted", "CYPHER 5 planner=cost"),
    "DYNAMIC": ("$", "$any", "$all"),
    "DIVIDER": ("|",),
    "LIST_COMPREHENSION": ("[",),
    "PATTERN_COMPREHENSION": ("[",),
    "NORMALIZED": ("IS NORMALIZED", "IS NFD NORMALIZED", "IS NOT NORMALIZED"),
    "NOT_TYPE_TEST": ("IS NOT :: STRING", "IS NOT TYPED LIST<ANY>"),
    "PATTERN_BEGIN": ("",),
    "PATTERN_END": ("",),
    "INTEGER": ("0", "1", "1", "2", "3"),
    "FLOAT": ("0.5", "1.0", "2.5"),
    "STRING": ("''", "'a'", "'ab'"),
    "MATCH_MODE": ("DIFFERENT NODES", "DIFFERENT RELATIONSHIPS", "REPEATABLE ELEMENTS"),
    "PATH_MODE": ("WALK", "TRAIL", "ACYCLIC", "SIMPLE"),
    "QUANTIFIER": ("all", "any", "none", "single"),
    "SUBQUERY": ("EXISTS", "COUNT", "COLLECT", "VALUE"),
    "SHORTEST_PATH": ("shortestPath", "allShortestPaths"),
    "SKIP": ("SKIP", "OFFSET"),
    "ON_SET": ("ON CREATE SET", "ON MATCH SET"),
    "COMMAND": ("ALTER USER x", "DROP INDEX x", "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS UNIQUE"),
    "SHOW": ("SHOW INDEXES", "SHOW ALL CONSTRAINTS"),
    "LOAD_CSV": ("LOAD CSV FROM", "LOAD CSV WITH HEADERS FROM"),
    "PLANNER_HINT": ("USING INDEX n1:A(k)", "USING SCAN n1:A", "USING JOIN ON n1", "USING TEXT INDEX n1:A(k)"),
    "ROWS_CLAUSE": ("",),
    "TRIM_SIDE": ("BOTH", "LEADING", "TRAILING"),
    "TYPE_TEST": ("IS :: INTEGER", "IS TYPED STRING NOT NULL", ":: LIST<INTEGER | FLOAT>"),
    "PERIODIC_COMMIT": ("USING PERIODIC COMMIT", "USING PERIODIC COMMIT 5"),
    "TRANSACTIONS": ("IN TRANSACTIONS", "IN CONCURRENT TRANSACTIONS"),
    "ON_ERROR": ("ON ERROR FAIL", "ON ERROR BREAK", "ON ERROR CONTINUE", "ON ERROR RETRY FOR 1 SECOND THEN BREAK"),
    "REPORT": ("REPORT STATUS",),
    "NULLS_ORDER": ("NULLS FIRST", "NULLS LAST"),
    "GROUP_BY": ("GROUP BY",),
    "FOR_POSITION": ("WITH ORDINALITY", "WITH OFFSET"),
    "ALL_REDUCE": ("allReduce",),
    "CAST_TYPE": ("AS INTEGER", "AS STRING", "AS FLOAT", "AS LIST<ANY>", "AS ANY"),
    "VECTOR_INDEX": ("VECTOR INDEX",),
    "QUESTION": ("?",),
}


def spellings(terminal: str) -> tuple[str, ...]:
    """Return the texts that can stand for a terminal; a word that is not listed is written as it is called."""
    return _PHRASES.get(terminal) or _SIGNS.get(terminal) or (terminal,)


_SIGNS: Mapping[str, tuple[str, ...]] = {kind: (sign,) for sign, kind in SYMBOLS.items()}
