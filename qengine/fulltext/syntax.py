"""Reads what a full-text search asks for: words with operators, phrases, patterns, groups.

The language is that of Lucene's classic query parser, which Neo4j has: terms, ``"phrases"``, ``field:``, ``AND``,
``OR``, ``NOT``, ``+``, ``-``, ``*`` and ``?``, ``/regular expressions/``, ``~`` for what is nearly so, ``[a TO b]``,
``^`` for what weighs more, parentheses, and the backslash before what is meant as it is. As there, AND makes both its
sides necessary and OR neither, from left to right, without precedence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from qengine._frozen import frozen
from qengine.errors import ExecutionError

_MOST_NESTED = 100
_SPACES = " \t\n\r\u3000"
_ENDS = frozenset(_SPACES + '!():^[]"{}~')
_MOST_EDITS = 2


@frozen
class Word:
    """A term or a pattern. ``text``: without escapes; ``stars``: which places of it are ``*`` or ``?`` with a meaning.

    ``edits``: the most changes of a character that it may differ by, None where it mayn't; below 1 the similarity that
    it must have. ``regular``: it is a regular expression.
    """

    text: str
    stars: tuple[int, ...] = ()
    edits: float | None = None
    regular: bool = False


@frozen
class Phrase:
    """Words that stand side by side, or at most ``slop`` moves of a word apart."""

    text: str
    slop: int = 0


@frozen
class Range:
    """Terms between two others, None for no bound."""

    low: str | None
    high: str | None
    has_low: bool
    has_high: bool


@frozen
class Clause:
    """A part of a group. ``needed``: True where it must match, False where it mustn't, None where it may.

    ``field``: the property meant, "*" for any that there is, None for all of the index; ``at``: where that stands.
    """

    query: Query
    needed: bool | None
    field: str | None
    weight: float
    at: int


@frozen
class Group:
    """Several clauses."""

    clauses: tuple[Clause, ...]


Query = Word | Phrase | Range | Group


def read_query(text: str) -> Group:
    """Read a query.

    Raises
    ------
    ExecutionError
        ``InvalidFullTextQuery``, with the place in the query, where it isn't written as it should be.
    """
    reader = _Reader(text)
    found = reader.group(0)
    if reader.at < len(text):
        reader.fail("This ')' closes nothing.", hint=r"Write \) for the sign itself.")
    return found


def wrong(text: str, at: int, message: str, hint: str | None = None) -> ExecutionError:
    """Return the error that points at a place of a query."""
    begin, end = max(0, at - 30), at + 30
    excerpt = f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"
    place = f"character {at + 1} of" if at < len(text) else "the end of"
    shown = f" At {place} the full-text query {excerpt!r}." if text else ""
    return ExecutionError(f"{message}{shown}", code="InvalidFullTextQuery", hint=hint)


class _Reader:
    """A place in the text of a query."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, message: str, at: int | None = None, hint: str | None = None) -> NoReturn:
        raise wrong(self.text, self.at if at is None else at, message, hint)

    def next(self, count: int = 1) -> str:
        return self.text[self.at : self.at + count]

    def space(self) -> None:
        while self.next() and self.next() in _SPACES:
            self.at += 1

    def take(self, *signs: str) -> str | None:
        """Take one of some signs or words in capital letters, if it comes next."""
        for sign in signs:
            behind = self.text[self.at + len(sign) : self.at + len(sign) + 1]
            if self.text.startswith(sign, self.at) and not (sign.isalpha() and behind and behind not in _ENDS):
                self.at += len(sign)
                return sign
        return None

    # ------------------------------------------------------------ groups

    def group(self, depth: int) -> Group:
        """Read clauses up to the end, or to the parenthesis that closes them."""
        clauses: list[Clause] = []
        for joined, needed, at in self._operators(clauses):
            clause = self.clause(depth)
            if joined == "AND":
                if clauses[-1].needed is None:
                    last = clauses[-1]
                    clauses[-1] = Clause(last.query, True, last.field, last.weight, last.at)
                needed = True if needed is None else needed
            clauses.append(Clause(clause.query, needed, clause.field, clause.weight, at))
        return Group(tuple(clauses))

    def _operators(self, before: list[Clause]) -> Iterator[tuple[str | None, bool | None, int]]:
        """Give for each clause the operator that joins it to the one before, whether it is needed, where it stands."""
        while True:
            self.space()
            if not self.next() or self.next() == ")":
                if not before:
                    self.fail("There is nothing to search for.")
                return
            place = self.at
            joined = {"&&": "AND", "||": "OR"}.get(found := self.take("AND", "OR", "&&", "||") or "", found)
            if joined and not before:
                self.fail(f"{found} joins two parts, and there is none before it.", place)
            self.space()
            sign = self.take("NOT", "+", "-", "!")
            needed = None if sign is None else sign == "+"
            if joined or sign:
                self.space()
                if not self.next() or self.next() == ")" or self.take("AND", "OR", "&&", "||"):
                    self.fail(f"Something must follow {sign or found}.", place, rf"Write \{sign} for the sign itself."
                              if sign and not sign.isalpha() else None)  # fmt: skip
            yield joined or None, needed, self.at

    def clause(self, depth: int) -> Clause:
        """Read one part, with its property, and what it weighs."""
        at, field = self.at, None
        word = self._word()
        if word is not None and self.next() == ":":
            self.at += 1
            self.space()
            field = word.text
            if word.stars and word.text != "*":
                self.fail("A property has no wildcards.", at)
            word = self._word()
        query: Query
        if word is not None:
            query = self._nearly(word)
        elif self.next() == "(":
            query = self._parentheses(depth)
        elif self.next() == '"':
            query = Phrase(self._quoted(), self._slop())
        elif self.next() and self.next() in "[{":
            query = self._range()
        else:
            found = self.next()
            hint = rf"Write \{found} for the sign itself." if found else None
            self.fail("A word, a phrase or a group was expected.", hint=hint)
        return Clause(query, None, field, self._weight(), at)

    def _parentheses(self, depth: int) -> Group:
        begin = self.at
        if depth >= _MOST_NESTED:
            self.fail(f"Groups are nested more than {_MOST_NESTED} deep.")
        self.at += 1
        found = self.group(depth + 1)
        if not self.take(")"):
            self.fail("This '(' is never closed.", begin, r"Write \( for the sign itself.")
        return found

    # ------------------------------------------------------------ words

    def _word(self) -> Word | None:
        """Read a term, a pattern or a regular expression; None where none comes next."""
        if self.next() == "/":
            return self._regular()
        text, stars, begin = "", [], self.at
        while (found := self.next()) and found not in _ENDS and not (found in "+-" and self.at == begin):
            if found == "\\":
                found = self._escaped()
            elif found in "*?":
                stars.append(len(text))
            elif found in "&|" and self.next(2) in ("&&", "||"):
                break
            text += found
            self.at += 1
        return Word(text, tuple(stars)) if self.at > begin else None

    def _escaped(self) -> str:
        """Return what a backslash stands before; the place is then there."""
        if self.at + 1 >= len(self.text):
            self.fail("Nothing follows the backslash.", hint=r"Write \\ for the sign itself.")
        self.at += 1
        return self.next()

    def _regular(self) -> Word:
        begin = self.at
        end = self.at + 1
        while end < len(self.text) and self.text[end] != "/":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            self.fail("This '/' begins a regular expression that never ends.", begin, r"Write \/ for the sign itself.")
        self.at = end + 1
        return Word(self.text[begin + 1 : end].replace("\\/", "/"), regular=True)

    def _nearly(self, word: Word) -> Word:
        if self.next() != "~":
            return word
        at = self.at
        self.at += 1
        number = self._number()
        if word.stars or word.regular:
            self.fail("A pattern can't be fuzzy.", at)
        if number is not None and number >= 1 and number != int(number):
            self.fail("Edits are a whole number, or a similarity below 1.", at)
        return Word(word.text, edits=_MOST_EDITS if number is None else min(number, _MOST_EDITS))

    def _quoted(self) -> str:
        begin, found = self.at, ""
        self.at += 1
        while self.next() != '"':
            if not self.next():
                self.fail("This '\"' is never closed.", begin, 'Write \\" for the sign itself.')
            found += self._escaped() if self.next() == "\\" else self.next()
            self.at += 1
        self.at += 1
        return found

    def _slop(self) -> int:
        at = self.at
        if not self.take("~"):
            return 0
        number = self._number()
        if number is None or number != int(number):
            self.fail("How far apart words may be is a whole number.", at)
        return int(number)

    def _weight(self) -> float:
        at = self.at
        if not self.take("^"):
            return 1.0
        number = self._number()
        if number is None:
            self.fail("A number must follow '^'.", at, r"Write \^ for the sign itself.")
        return number

    def _number(self) -> float | None:
        """Read a number that isn't negative; None where none comes next."""
        begin = self.at
        while self.next() and self.next() in "0123456789.":
            self.at += 1
        try:
            return float(self.text[begin : self.at]) if self.at > begin else None
        except ValueError:
            self.fail("This is no number.", begin)

    def _range(self) -> Range:
        begin, has_low = self.at, self.next() == "["
        self.at += 1
        low = self._bound()
        self.space()
        if not self.take("TO"):
            self.fail("TO was expected.", hint="Write [low TO high], or {low TO high} without the bounds.")
        high = self._bound()
        self.space()
        closing = self.take("]", "}")
        if closing is None:
            self.fail("This range is never closed.", begin)
        return Range(low, high, has_low, closing == "]")

    def _bound(self) -> str | None:
        self.space()
        if self.next() == '"':
            return self._quoted()
        word = self._word()
        if word is None:
            self.fail("A bound was expected.", hint="Write [low TO high]; * is no bound.")
        return None if word.text == "*" and word.stars else word.text
