"""Reads the types that constraints give to properties, in their many spellings."""

from __future__ import annotations

from qengine.syntax.token_reader import TokenReader

__all__ = ["property_type"]

_TYPES = {
    "BOOLEAN": ("BOOLEAN", "BOOL"),
    "STRING": ("STRING", "VARCHAR"),
    "INTEGER": ("INTEGER", "INT", "SIGNED INTEGER"),
    "FLOAT": ("FLOAT",),
    "DATE": ("DATE",),
    "LOCAL TIME": ("LOCAL TIME", "TIME WITHOUT TIME ZONE", "TIME WITHOUT TIMEZONE"),
    "ZONED TIME": ("ZONED TIME", "TIME WITH TIME ZONE", "TIME WITH TIMEZONE"),
    "LOCAL DATETIME": ("LOCAL DATETIME", "TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP WITHOUT TIMEZONE"),
    "ZONED DATETIME": ("ZONED DATETIME", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIMEZONE"),
    "DURATION": ("DURATION",),
    "POINT": ("POINT",),
}
_SPELLINGS = sorted(
    ((spelling.split(), name) for name, spellings in _TYPES.items() for spelling in spellings),
    key=lambda each: -len(each[0]),
)


def property_type(reader: TokenReader) -> str:
    """Return the type that comes next as ``INTEGER | LIST<STRING NOT NULL>``, alternatives in alphabetical order."""
    reader.hint = "Write a type like STRING, INTEGER, ZONED DATETIME, LIST<FLOAT NOT NULL>, or INTEGER | FLOAT."
    found = {_alternative(reader)}
    while reader.take_sign("BAR"):
        found.add(_alternative(reader))
    return " | ".join(sorted(found))


def _alternative(reader: TokenReader) -> str:
    if reader.take("LIST", "ARRAY"):
        reader.expect("LT")
        item = _scalar(reader)
        reader.expect_word("NOT")
        reader.expect_word("NULL")
        reader.expect("GT")
        return f"LIST<{item} NOT NULL>"
    found = _scalar(reader)
    if reader.word() == "NOT" and reader.word(1) == "NULL" and reader.word(2) in ("LIST", "ARRAY"):
        reader.at += 3
        return f"LIST<{found} NOT NULL>"
    return found


def _scalar(reader: TokenReader) -> str:
    for words, name in _SPELLINGS:
        if [reader.word(ahead) for ahead in range(len(words))] == words:
            reader.at += len(words)
            return name
    reader.unexpected("a type")
