"""The terms that a pattern of a query stands for: wildcards, regular expressions, ranges, what is nearly so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.errors import ExecutionError
from qengine.fulltext.postings import Postings
from qengine.fulltext.syntax import Range, Word


def like_pattern(postings: Postings, word: Word) -> Sequence[int]:
    """Return the places of the terms that are as a word with wildcards, or as a regular expression, says.

    Raises
    ------
    ExecutionError
        ``InvalidFullTextQuery`` for a wrong regular expression.
    """
    if word.regular:
        return _matching(postings, range(len(postings.terms)), word.text)
    prefix = word.text[: word.stars[0]]
    among = postings.beginning(prefix)
    if word.stars == (len(word.text) - 1,) and word.text.endswith("*"):
        return among
    signs = {"*": "(?s:.*)", "?": "(?s:.)"}
    pattern = "".join(signs[each] if place in word.stars else _literal(each) for place, each in enumerate(word.text))
    return _matching(postings, among, pattern)


def _literal(character: str) -> str:
    """Return a character as RE2 takes it for itself."""
    return character if character.isalnum() or ord(character) >= 0x80 else f"\\x{{{ord(character):x}}}"


def _matching(postings: Postings, among: range, pattern: str) -> Sequence[int]:
    terms = postings.terms.slice(among.start, len(among))
    try:
        found = pc.match_substring_regex(terms, f"^(?:{pattern})$")
    except pa.ArrowInvalid as error:
        raise ExecutionError(
            f"{pattern!r} is no regular expression.", code="InvalidFullTextQuery", hint=str(error).partition("\n")[0]
        ) from None
    places: Sequence[int] = (np.flatnonzero(np.asarray(found)) + among.start).tolist()
    return places


def like_range(postings: Postings, wanted: Range) -> range:
    """Return the places of the terms between two others, in the order of their code points."""
    low = 0 if wanted.low is None else postings.place(wanted.low)
    high = len(postings.terms) if wanted.high is None else postings.place(wanted.high)
    if wanted.low is not None and not wanted.has_low:
        low += len(postings.find(wanted.low))
    if wanted.high is not None and wanted.has_high:
        high += len(postings.find(wanted.high))
    return range(low, max(low, high))


def nearly(postings: Postings, text: str, edits: int) -> list[tuple[str, int]]:
    """Return the terms that some edits make a text of, with how many: a character more, less, other, or two swapped.

    Which letters a term has rules most of them out: each edit changes at most two of these.
    """
    if not len(postings.terms):
        return []
    wanted = np.uint64(0)
    for letter in text:
        wanted |= np.uint64(1 << (ord(letter) & 63))
    characters, bounds = postings.spelt
    lengths = np.diff(bounds)
    likely = (np.bitwise_count(postings.letters ^ wanted) <= 2 * edits) & (abs(lengths - len(text)) <= edits)
    found = []
    for place in np.flatnonzero(likely).tolist():
        term = characters[bounds[place] : bounds[place + 1]].tobytes().decode("utf-32-le")
        apart = distance(text, term, edits)
        if apart <= edits:
            found.append((term, apart))
    return found


def distance(one: str, other: str, most: int) -> int:
    """Return how many edits make one text of another (optimal string alignment); where more than ``most``, any more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            cost = before[j - 1] + (letter != wanted)
            cost = min(cost, before[j] + 1, row[j - 1] + 1)
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
