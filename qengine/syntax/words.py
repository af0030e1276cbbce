"""The words that can be keywords, in sets that say where each one is."""

from __future__ import annotations

from qengine.syntax.scanner import words


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def _flagged(bit: int) -> frozenset[str]:
    return frozenset(word for word, bits in words().items() if bits & bit)


KEYWORDS = _flagged(1)
"""All words that the classifier looks at, in upper case; ``kernels/host/syntax/kinds.h`` lists what each may be."""

PATTERN_WORDS = _flagged(256)
"""Words that may stand before a path."""

STATEMENT_WORDS = _flagged(512)
"""Words that are keywords in one phrase only."""

NORMAL_FORMS = _flagged(128)
"""Unicode normal forms, as IS … NORMALIZED and normalize() name them."""

VECTOR_WORDS = {
    "vector": word_set(
        "FLOAT FLOAT32 FLOAT64 INT INT8 INT16 INT32 INT64 INTEGER INTEGER8 INTEGER16 INTEGER32 INTEGER64"
    ),
    "vector_distance": word_set("COSINE DOT EUCLIDEAN EUCLIDEAN_SQUARED HAMMING MANHATTAN"),
    "vector_norm": word_set("EUCLIDEAN MANHATTAN"),
}
"""Words that may be the last argument of functions of vectors: types of their numbers, and metrics."""

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
