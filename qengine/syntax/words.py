"""The words that can be keywords, in sets that say where each one is."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


# Always keywords, save where only a name can stand: after a dot or AS, as a label, as a map's key, before a dot.
_RESERVED = word_set(
    "AND AS CASE CONTAINS DISTINCT ELSE ENDS FALSE IN IS MATCH NOT NULL OR RETURN STARTS THEN TRUE UNION UNWIND WHEN "
    "WHERE WITH XOR"
)

# Keywords only where their neighbours say so.
_AMBIGUOUS = word_set(
    "ALL ALLREDUCE ALLSHORTESTPATHS ANY ASC ASCENDING CAST COLLECT COUNT DESC DESCENDING END EXCEPT EXISTS EXTRACT "
    "FINISH GROUP INTERSECT KEEP LIMIT NONE NULLS OFFSET OPTIONAL ORDER OTHERWISE REDUCE SCORE SEARCH SHORTESTPATH "
    "SINGLE SKIP TRIM VALUE"
)

# Of clauses that change the graph, and of those that aren't built; most are keywords only where a clause may begin.
_CLAUSE_WORDS = word_set(
    "ALTER CALL CREATE DELETE DETACH DROP FIELDTERMINATOR FILTER FOR FOREACH INSERT LET LOAD MERGE NEXT NODETACH ON "
    "REMOVE SET SHOW TERMINATE USE USING YIELD"
)

KEYWORDS = _RESERVED | _AMBIGUOUS | _CLAUSE_WORDS
"""All words that the classifier looks at, in upper case."""

CLAUSES = word_set(
    "CALL CREATE DELETE DETACH FINISH FOREACH INSERT LOAD MATCH MERGE NODETACH OPTIONAL REMOVE RETURN SET UNION "
    "UNWIND WITH"
)
"""Words that begin a clause."""

QUERY_WORDS = CLAUSES | {"WHEN", "LET", "FOR", "FILTER", "USE", "ORDER", "SKIP", "OFFSET", "LIMIT"}
"""Words that may begin a query in braces."""

OPERATOR_WORDS = word_set("AND AS CONTAINS ELSE ENDS IN IS OR STARTS THEN UNION WHEN XOR")
"""Keywords with something on their left."""

SET_OPERATORS = word_set("EXCEPT INTERSECT OTHERWISE UNION")
"""Words between two queries whose rows they join."""

NORMAL_FORMS = frozenset(("NFC", "NFD", "NFKC", "NFKD"))
"""Unicode normal forms, as IS … NORMALIZED and normalize() name them."""

VECTOR_WORDS = {
    "vector": word_set(
        "FLOAT FLOAT32 FLOAT64 INT INT8 INT16 INT32 INT64 INTEGER INTEGER8 INTEGER16 INTEGER32 INTEGER64"
    ),
    "vector_distance": word_set("COSINE DOT EUCLIDEAN EUCLIDEAN_SQUARED HAMMING MANHATTAN"),
    "vector_norm": word_set("EUCLIDEAN MANHATTAN"),
}
"""Words that may be the last argument of functions of vectors: types of their numbers, and metrics."""

MATCH_MODES = {
    ("DIFFERENT", "NODE"): "DIFFERENT NODES",
    ("DIFFERENT", "NODES"): "DIFFERENT NODES",
    ("DIFFERENT", "RELATIONSHIP"): "DIFFERENT RELATIONSHIPS",
    ("DIFFERENT", "RELATIONSHIPS"): "DIFFERENT RELATIONSHIPS",
    ("REPEATABLE", "ELEMENT"): "REPEATABLE ELEMENTS",
    ("REPEATABLE", "ELEMENTS"): "REPEATABLE ELEMENTS",
}

PATTERN_PREFIX = {
    "ALL": "ALL", "ANY": "ANY", "SHORTEST": "SHORTEST", "PATH": "PATHS", "PATHS": "PATHS", "GROUP": "GROUPS",
    "GROUPS": "GROUPS", "WALK": "PATH_MODE", "TRAIL": "PATH_MODE", "ACYCLIC": "PATH_MODE", "SIMPLE": "PATH_MODE",
}  # fmt: skip
"""Words that may stand before a path, and their token types."""

STATEMENT_WORDS = word_set(
    "BY CYPHER DIFFERENT ELEMENT ELEMENTS EXPLAIN NODE NODES PROFILE RELATIONSHIP RELATIONSHIPS REPEATABLE"
)
"""Words that are keywords in one phrase only."""

SCHEMA_WORDS = word_set(
    "ALIAS BTREE COMPOSITE CONSTRAINT DATABASE FULLTEXT INDEX LOOKUP OR POINT RANGE ROLE TEXT UNIQUE USER VECTOR"
)
"""Words that may follow CREATE in a command of administration."""

SHOWN = {
    word: plural
    for plural, singular in (
        ("INDEXES", "INDEX"), ("CONSTRAINTS", "CONSTRAINT"), ("FUNCTIONS", "FUNCTION"), ("PROCEDURES", "PROCEDURE"),
        ("SETTINGS", "SETTING"), ("TRANSACTIONS", "TRANSACTION"), ("PRIVILEGES", "PRIVILEGE"), ("ALIASES", "ALIAS"),
        ("DATABASES", "DATABASE"), ("SERVERS", "SERVER"), ("ROLES", "ROLE"), ("USERS", "USER"),
    )
    for word in (plural, singular)
}  # fmt: skip
"""What SHOW can list, by the words for it; the first of them that a command has says what it lists."""
