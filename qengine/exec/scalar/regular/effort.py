"""Bounds the steps that a backtracking engine takes for a regular expression."""

from __future__ import annotations

from re import _constants as c
from typing import Any

from qengine._frozen import frozen

_ENDLESS = 1 << 62


@frozen
class Effort:
    """``ways``: in which one text can be read, but for ``loops``, each of which may end after any character."""

    ways: int
    loops: int

    def steps(self, length: int) -> int:
        """Return a bound of the steps for a text of ``length`` characters."""
        each: int = (length + 1) ** max(1, self.loops)
        return self.ways * each


def effort_of(tree: Any) -> Effort:
    """Return the effort for a parsed expression (``re._parser``)."""
    ways, loops = 1, 0
    for op, argument in tree:
        inner = Effort(1, 0)
        if op is c.BRANCH:
            parts = [effort_of(part) for part in argument[1]]
            inner = Effort(sum(part.ways for part in parts), max(part.loops for part in parts))
        elif op in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
            inner = _repeated(*argument)
        elif op is c.SUBPATTERN:
            inner = effort_of(argument[3])
        elif op is c.ATOMIC_GROUP:
            inner = effort_of(argument)
        elif op in (c.ASSERT, c.ASSERT_NOT):
            inner = effort_of(argument[1])
        elif op is c.GROUPREF_EXISTS:
            parts = [effort_of(part) for part in argument[1:] if part is not None]
            inner = Effort(sum(part.ways for part in parts), max(part.loops for part in parts))
        ways, loops = min(ways * inner.ways, _ENDLESS), min(loops + inner.loops, 64)
    return Effort(ways, loops)


def _repeated(least: int, most: int, body: Any) -> Effort:
    inner = effort_of(body)
    if inner.ways == 1 and not inner.loops:
        return Effort(1, 1) if most is c.MAXREPEAT or most > 16 else Effort(most - least + 1, 0)
    if most is c.MAXREPEAT or most > 16:
        return Effort(_ENDLESS, 64)
    return Effort(min((inner.ways + 1) ** int(most), _ENDLESS), min(64, inner.loops * int(most)))
