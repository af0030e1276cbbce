"""The words of types, and where a type ends in a list of tokens."""

from __future__ import annotations

from qengine.syntax.paths import word
from qengine.syntax.scanner import Token
from qengine.syntax.words import word_set

_WORDS = word_set(
    "ANY ARRAY BOOL BOOLEAN DATE DATETIME DURATION EDGE FLOAT INT INTEGER LIST LOCAL MAP NODE NOTHING NULL PATH POINT "
    "PROPERTY RELATIONSHIP SIGNED STRING TIME TIMESTAMP VALUE VARCHAR VERTEX ZONED"
)


def type_end(tokens: list[Token], index: int) -> int:
    """Return the index behind the type that begins at an index, such as ``LIST<INTEGER NOT NULL> | STRING``."""
    depth = 0
    while index < len(tokens):
        kind, here = tokens[index].type, word(tokens, index)
        after = word(tokens, index + 1)
        before = word(tokens, index - 1)
        if here in _WORDS:
            index += 1
        elif here == "NOT" and after == "NULL":
            index += 2
        elif here in ("WITH", "WITHOUT") and after in ("TIME", "TIMEZONE") and before in ("TIME", "TIMESTAMP"):
            index += 3 if word(tokens, index + 2) == "ZONE" else 2
        elif kind == "LT" and before in ("LIST", "ARRAY"):
            depth += 1
            index += 1
        elif kind == "GT" and depth:
            depth -= 1
            index += 1
        elif kind == "BAR" and after in _WORDS:
            index += 1
        else:
            break
    return index
