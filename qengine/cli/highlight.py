"""Colours of queries while they are typed."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

STYLE = Style.from_dict(
    {
        "keyword": "bold ansiblue",
        "string": "ansigreen",
        "number": "ansimagenta",
        "parameter": "ansicyan",
        "comment": "italic ansibrightblack",
        "error": "underline ansired",
        "command": "bold ansiyellow",
    }
)


class QueryLexer(Lexer):
    """Colours a text by the language's own tokens."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Return a function that gives a line's coloured fragments."""
        lines = _fragments(document.text)
        return lambda number: lines[number] if number < len(lines) else []


def _fragments(text: str) -> list[StyleAndTextTuples]:
    from qengine.syntax import tokens

    if text.lstrip().startswith(":"):
        return [[("class:command", line)] for line in text.split("\n")]
    lines: list[StyleAndTextTuples] = [[]]
    position = 0
    for token in tokens(text):
        _append(lines, "", text[position : token.span.start])
        _append(lines, f"class:{token.kind}", text[token.span.start : token.span.end])
        position = token.span.end
    _append(lines, "", text[position:])
    return lines


def _append(lines: list[StyleAndTextTuples], style: str, text: str) -> None:
    for i, part in enumerate(text.split("\n")):
        if i:
            lines.append([])
        if part:
            lines[-1].append((style, part))
