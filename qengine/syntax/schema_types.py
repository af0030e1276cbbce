"""Reads the types that constraints give to properties, in their many spellings."""

from __future__ import annotations

from qengine._type_text import union_text
from qengine.errors import Span
from qengine.syntax.scanner import scan
from qengine.syntax.token_reader import TokenReader

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
_OTHERS = {
    "NODE": ("NODE", "ANY NODE", "VERTEX", "ANY VERTEX"),
    "RELATIONSHIP": ("RELATIONSHIP", "ANY RELATIONSHIP", "EDGE", "ANY EDGE"),
    "MAP": ("MAP", "ANY MAP"),
    "PATH": ("PATH", "ANY PATH"),
    "PROPERTY VALUE": ("PROPERTY VALUE", "ANY PROPERTY VALUE"),
    "ANY": ("ANY", "ANY VALUE"),
    "NOTHING": ("NOTHING",),
    "NULL": ("NULL",),
}


def _spellings(types: dict[str, tuple[str, ...]]) -> list[tuple[list[str], str]]:
    found = ((spelling.split(), name) for name, spellings in types.items() for spelling in spellings)
    return sorted(found, key=lambda each: -len(each[0]))


_SPELLINGS = _spellings(_TYPES)
_ALL_SPELLINGS = _spellings({**_TYPES, **_OTHERS})


def property_type(reader: TokenReader) -> str:
    """Return the type that comes next as ``INTEGER | LIST<STRING NOT NULL>``, alternatives in the order of types."""
    reader.hint = "Write a type like STRING, INTEGER, ZONED DATETIME, LIST<FLOAT NOT NULL>, or INTEGER | FLOAT."
    found = {_alternative(reader)}
    while reader.take_sign("BAR"):
        found.add(_alternative(reader))
    return union_text(found)


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


def value_types(text: str, span: Span) -> str:
    """Return what ``IS [NOT] :: types`` at a place tests, with one spelling for each type.

    Raises
    ------
    QuerySyntaxError
        Where it is no type, or where some alternatives admit null and others don't.
    """
    tokens = [
        token._replace(start_pos=token.start_pos + span.start, end_pos=token.end_pos + span.start)
        for token in scan(text[span.start : span.end])
        if token.type != "HINT"
    ]
    reader = TokenReader(tokens, text, span)
    reader.hint = "Write a type like STRING, INTEGER NOT NULL, ZONED DATETIME, LIST<FLOAT>, or INTEGER | FLOAT."
    while reader.take("IS", "NOT", "TYPED", "AS") or reader.take_sign("COLON_COLON"):
        pass
    found = _union(reader)
    if reader.kind():
        reader.unexpected()
    return found


def _union(reader: TokenReader) -> str:
    found = [_value_type(reader)]
    while reader.take_sign("BAR"):
        found.append(_value_type(reader))
    if len({each.endswith("NOT NULL") for each in found}) > 1:
        reader.fail("All alternatives are NOT NULL, or none is.", reader.span)
    return " | ".join(found)


def _value_type(reader: TokenReader) -> str:
    if reader.take("LIST", "ARRAY"):
        reader.expect("LT")
        found = f"LIST<{_union(reader)}>"
        reader.expect("GT")
    else:
        found = _scalar(reader, _ALL_SPELLINGS)
    while reader.word() == "NOT" or reader.word() in ("LIST", "ARRAY"):
        if reader.take("LIST", "ARRAY"):  # INTEGER NOT NULL LIST
            found = f"LIST<{found}>"
        else:
            reader.at += 1
            reader.expect_word("NULL")
            found += " NOT NULL"
    return found


def _scalar(reader: TokenReader, spellings: list[tuple[list[str], str]] = _SPELLINGS) -> str:
    for words, name in spellings:
        if [reader.word(ahead) for ahead in range(len(words))] == words:
            reader.at += len(words)
            return name
    reader.unexpected("a type")
