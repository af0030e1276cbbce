"""Which characters the parts of a regular expression stand for: classes, ranges, upper and lower case."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Callable
from re import _casefix  # type: ignore[attr-defined]
from re import _constants as c
from typing import Any

Range = tuple[int, int]

_LAST = 0x10FFFF


@functools.cache
def _cases(ascii_only: bool) -> tuple[frozenset[int], ...]:
    """Return the sets of characters that are the same but for their case, as ``re.IGNORECASE`` has them."""
    if ascii_only:
        return tuple(frozenset((code, code + 32)) for code in range(ord("A"), ord("Z") + 1))
    groups: dict[int, set[int]] = defaultdict(set)
    for code in range(_LAST + 1):
        lower = chr(code).lower()
        if len(lower) == 1 and ord(lower) != code:
            groups[ord(lower)] |= {code, ord(lower)}
    groups[ord("i")].add(0x130)  # whose lower case is two characters in full, one of them this
    for code, others in _casefix._EXTRA_CASES.items():
        joined = set.union(*(groups.get(each, {each}) for each in (code, *others)))
        for each in joined:
            groups[each] = joined
    return tuple({frozenset(group) for group in groups.values()})


def closure(ranges: list[Range], ascii_only: bool) -> list[Range]:
    """Return ranges with all characters that differ from theirs in case alone."""
    found = list(ranges)
    for group in _cases(ascii_only):
        if any(low <= code <= high for code in group for low, high in ranges):
            found += [(code, code) for code in group]
    return sorted(set(found))


def test_of(op: Any, argument: Any, flags: int) -> Callable[[str], bool]:
    """Return what tells whether a character is one that a part of the tree stands for."""
    if op is c.ANY:
        return (lambda mark: True) if flags & re.DOTALL else (lambda mark: mark != "\n")
    parts = [(c.LITERAL, argument)] if op in (c.LITERAL, c.NOT_LITERAL) else argument
    negated = op is c.NOT_LITERAL
    ranges: list[Range] = []
    classes: list[Callable[[str], bool]] = []
    for kind, value in parts:
        if kind is c.NEGATE:
            negated = not negated
        elif kind is c.CATEGORY:
            classes.append(_category(value, bool(flags & re.ASCII)))
        else:
            ranges.append((value, value) if kind is c.LITERAL else value)
    if flags & re.IGNORECASE:
        ranges = closure(ranges, bool(flags & re.ASCII))

    def holds(mark: str) -> bool:
        code = ord(mark)
        return negated != (any(low <= code <= high for low, high in ranges) or any(each(mark) for each in classes))

    return functools.lru_cache(maxsize=1024)(holds)


_CATEGORIES = {
    c.CATEGORY_DIGIT: r"\d", c.CATEGORY_NOT_DIGIT: r"\D", c.CATEGORY_SPACE: r"\s", c.CATEGORY_NOT_SPACE: r"\S",
    c.CATEGORY_WORD: r"\w", c.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _category(category: Any, ascii_only: bool) -> Callable[[str], bool]:
    compiled = re.compile(_CATEGORIES[category], re.ASCII if ascii_only else 0)
    return lambda mark: compiled.match(mark) is not None
