"""Text that is safe to show: what would steer a terminal, or has no place in XML, is replaced by visible characters.

Names and values of a graph are the words of whoever made its files. Whatever shows them to a person (tables, plans,
errors, a ``repr``, pictures, HTML) passes them through here; data formats that go to a file don't.
"""

from __future__ import annotations

import re

# Control characters but newline and tab; overrides of the writing direction, which can make a text read as another;
# separators of lines that only some programs break at; halves of surrogate pairs; what XML has no character for.
_UNSAFE = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\ufffe\uffff\ud800-\udfff"
_REPLACED = re.compile(f"[{_UNSAFE}]")
_INSTEAD = "\ufffd"


def printable(text: str) -> str:
    """Return a text of any lines without the characters that aren't safe to show: each is U+FFFD."""
    return text if text.isprintable() else _REPLACED.sub(_INSTEAD, text)


def printable_line(text: str) -> str:
    """Return a text as one line: as ``printable``, with ``⏎`` for newlines and ``→`` for tabs."""
    return text if text.isprintable() else printable(text).replace("\n", "⏎").replace("\t", "→")


def escaped_in_json(text: str) -> str:
    """Return JSON with these characters as its own escapes: it is safe to show, and holds the same data."""
    return text if text.isprintable() else _REPLACED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def in_markup(text: str) -> str:
    """Return a text as it stands in HTML, SVG and other XML, between tags or in a quoted attribute."""
    from html import escape

    return escape(printable(text))
