"""Which of Python's strings are texts, as Unicode's encodings hold them: without single halves of surrogate pairs."""

from __future__ import annotations

from collections.abc import Collection

HALVES = "Such halves are no text: replace them, as text.encode(errors='replace').decode() does."
"""A hint what to do about them."""


def half_pair(text: str) -> int:
    """Return the place of the first half of a surrogate pair in a string, -1 where it is a text."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return error.start
    return -1


def are_texts(strings: Collection[str]) -> bool:
    """Tell whether all strings are texts; halves of a pair in two of them are none, either."""
    return half_pair("".join(strings)) < 0
