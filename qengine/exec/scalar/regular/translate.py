"""Writes a parsed regular expression for RE2, where it is regular."""

from __future__ import annotations

import re
from re import _constants as c
from typing import Any

from qengine.exec.scalar.regular.characters import closure

_MOST = 1000  # repetitions that RE2 takes
_ASCII = {
    c.CATEGORY_DIGIT: ("", "0-9"), c.CATEGORY_NOT_DIGIT: ("^", "0-9"),
    c.CATEGORY_SPACE: ("", r"\t-\r "), c.CATEGORY_NOT_SPACE: ("^", r"\t-\r "),
    c.CATEGORY_WORD: ("", "0-9A-Za-z_"), c.CATEGORY_NOT_WORD: ("^", "0-9A-Za-z_"),
}  # fmt: skip
_SPACES = r"\t-\r\x1c-\x20\x{85}\p{Z}"
_UNICODE = {
    c.CATEGORY_DIGIT: ("", r"\p{Nd}"), c.CATEGORY_NOT_DIGIT: ("^", r"\p{Nd}"),
    c.CATEGORY_SPACE: ("", _SPACES), c.CATEGORY_NOT_SPACE: ("^", _SPACES),
    c.CATEGORY_WORD: ("", r"\p{L}\p{N}_"), c.CATEGORY_NOT_WORD: ("^", r"\p{L}\p{N}_"),
}  # fmt: skip


class _NotRegularError(Exception):
    """RE2 can't say this."""


def translated(tree: Any, *, ascii_only: bool) -> str | None:
    """Return an expression for RE2 that finds what the tree matches in full; None where there is none.

    ``ascii_only``: for texts of ASCII alone, for which it is smaller and there is one more often.
    """
    writer = _Writer(ascii_only)
    try:
        return f"\\A{writer.sequence(tree, tree.state.flags, True)}\\z"
    except _NotRegularError:
        return None


class _Writer:
    """``tail``, of the methods: whether only the end of the text can follow."""

    def __init__(self, ascii_only: bool) -> None:
        self._ascii_only = ascii_only

    def sequence(self, tree: Any, flags: int, tail: bool) -> str:
        last = len(tree) - 1
        return (
            "(?:"
            + "".join(
                self._part(op, argument, flags, tail and place == last) for place, (op, argument) in enumerate(tree)
            )
            + ")"
        )

    def _part(self, op: Any, argument: Any, flags: int, tail: bool) -> str:
        if op is c.ANY:
            return r"(?s:.)" if flags & re.DOTALL else r"[^\n]"
        if op in (c.LITERAL, c.NOT_LITERAL):
            return self._set([(c.LITERAL, argument)], flags, op is c.NOT_LITERAL)
        if op is c.IN:
            negated = argument[0][0] is c.NEGATE
            return self._set(argument[1:] if negated else argument, flags, negated)
        if op is c.BRANCH:
            return "(?:" + "|".join(self.sequence(part, flags, tail) for part in argument[1]) + ")"
        if op is c.SUBPATTERN:
            _, added, removed, inner = argument
            return self.sequence(inner, (flags | added) & ~removed, tail)
        if op in (c.MAX_REPEAT, c.MIN_REPEAT):
            return self._repeat(argument, flags)
        if op is c.AT:
            return self._place(argument, flags, tail)
        raise _NotRegularError

    def _repeat(self, argument: Any, flags: int) -> str:
        least, most, body = argument
        inner = self.sequence(body, flags, False)
        if most is c.MAXREPEAT:
            if least > _MOST:
                raise _NotRegularError
            return inner + {0: "*", 1: "+"}.get(least, f"{{{least},}}")
        if most > _MOST:
            raise _NotRegularError
        return f"{inner}{{{least},{most}}}"

    def _place(self, kind: Any, flags: int, tail: bool) -> str:
        """Write an anchor; ``$`` is also in front of a line feed at the end, which nothing can match at the tail."""
        if kind is c.AT_BEGINNING:
            return "(?m:^)" if flags & re.MULTILINE else r"\A"
        if kind is c.AT_BEGINNING_STRING:
            return r"\A"
        if kind is c.AT_END_STRING:
            return r"\z"
        if kind is c.AT_END and flags & re.MULTILINE:
            return "(?m:$)"
        if kind is c.AT_END and tail:
            return r"\z"
        if kind in (c.AT_BOUNDARY, c.AT_NON_BOUNDARY) and (self._ascii_only or flags & re.ASCII):
            return r"\b" if kind is c.AT_BOUNDARY else r"\B"
        raise _NotRegularError

    def _set(self, parts: Any, flags: int, negated: bool) -> str:
        narrow = self._ascii_only or bool(flags & re.ASCII)
        ranges: list[tuple[int, int]] = []
        inside: list[str] = []
        outside: list[str] = []
        for kind, value in parts:
            if kind is c.CATEGORY:
                sign, members = (_ASCII if flags & re.ASCII else _SHORT if self._ascii_only else _UNICODE)[value]
                (outside if sign else inside).append(members)
            else:
                ranges.append((value, value) if kind is c.LITERAL else value)
        if flags & re.IGNORECASE:
            ranges = closure(ranges, narrow)
        if any(low <= 0xDFFF and high >= 0xD800 for low, high in ranges):
            raise _NotRegularError  # no text for RE2
        members = "".join([*map(_range, ranges), *inside])
        if not outside:
            return f"[{'^' if negated else ''}{members}]"
        if negated:
            if members or len(outside) > 1:
                raise _NotRegularError
            return f"[{outside[0]}]"
        alternatives = [f"[{members}]"] if members else []
        return "(?:" + "|".join([*alternatives, *(f"[^{each}]" for each in outside)]) + ")"


_SHORT = {
    **_ASCII,
    c.CATEGORY_SPACE: ("", r"\t-\r\x1c-\x20"),
    c.CATEGORY_NOT_SPACE: ("^", r"\t-\r\x1c-\x20"),
}
"""The classes of Unicode, where texts are of ASCII."""


def _range(bounds: tuple[int, int]) -> str:
    low, high = (chr(code) if chr(code).isascii() and chr(code).isalnum() else f"\\x{{{code:x}}}" for code in bounds)
    return low if bounds[0] == bounds[1] else f"{low}-{high}"
