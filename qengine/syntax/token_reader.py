"""Reads a list of tokens from left to right, for the little languages that the grammar leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from qengine.errors import QuerySyntaxError, Span
from qengine.syntax.scanner import BACKTICKED, SYMBOLS, Token

_SIGNS = {kind: sign for sign, kind in SYMBOLS.items()}


class TokenReader:
    """A place in some tokens of a text. ``hint``: of errors from here on."""

    def __init__(self, tokens: Sequence[Token], text: str, span: Span) -> None:
        self.tokens = tokens
        self.text = text
        self.span = span
        self.at = 0
        self.hint: str | None = None

    def kind(self, ahead: int = 0) -> str:
        """Return the type of a token, empty behind the end."""
        return self.tokens[self.at + ahead].type if self.at + ahead < len(self.tokens) else ""

    def word(self, ahead: int = 0) -> str:
        """Return a word in upper case, empty for what is none."""
        return self.tokens[self.at + ahead].value.upper() if self.kind(ahead) == "NAME" else ""

    def place(self) -> Span:
        """Return where the next token stands."""
        if not self.kind():
            return Span(self.span.end, self.span.end)
        token = self.tokens[self.at]
        return Span(token.start_pos, token.end_pos)

    def take(self, *words: str) -> str | None:
        """Take one of some words, if it comes next."""
        found = self.word()
        if not found or found not in words:
            return None
        self.at += 1
        return found

    def take_sign(self, kind: str) -> bool:
        """Take a sign, if it comes next."""
        found = self.kind() == kind
        self.at += found
        return found

    def expect_word(self, *words: str) -> str:
        """Take one of some words."""
        found = self.take(*words)
        if found is None:
            self.unexpected(" or ".join(words))
        return found

    def expect(self, kind: str) -> None:
        """Take a sign."""
        if not self.take_sign(kind):
            self.unexpected(f"'{_SIGNS[kind]}'")

    def name(self) -> str:
        """Take a name."""
        if self.kind() not in ("NAME", BACKTICKED):
            self.unexpected("a name")
        token = self.tokens[self.at]
        name = token.value if token.type == "NAME" else token.value[1:-1].replace("``", "`")
        if not name:
            self.fail("A name can't be empty.")
        self.at += 1
        return name

    def unexpected(self, wanted: str | None = None) -> NoReturn:
        """Refuse the next token."""
        found = repr(self.tokens[self.at].value) if self.kind() else "the end"
        self.fail(f"Expected {wanted}, found {found}." if wanted else f"Unexpected {found}.")

    def fail(self, message: str, place: Span | None = None) -> NoReturn:
        """Raise an error at a place, or at the next token."""
        raise QuerySyntaxError(
            message, span=place or self.place(), text=self.text, hint=self.hint, code="UnexpectedSyntax"
        )
