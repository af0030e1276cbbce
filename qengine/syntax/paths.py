"""Finds path patterns inside expressions by looking ahead over the tokens, jumping over brackets.

``(a)-[r]-(c)`` could be arithmetic; like the openCypher grammar, this reads it as a path wherever it can be one.
"""

from __future__ import annotations

from qengine.syntax.brackets import Brackets
from qengine.syntax.scanner import BACKTICKED, Token

AHEAD = ("",) * 4
"""No token: so many may be asked for behind the end."""

_NAMES = frozenset(("NAME", BACKTICKED))
_LABEL_OPERATORS = frozenset(("COLON", "BAR", "AMP", "BANG"))


def word(tokens: list[Token], index: int) -> str:
    """Return the word at an index in upper case, or ``""`` where there is none or it stands in backticks."""
    if index < len(tokens) and tokens[index].type not in (BACKTICKED, "STRING", "PARAMETER"):
        return tokens[index].value.upper()
    return ""


class PathFinder:
    """Questions about the tokens of one statement, as ``scan`` gives them.

    ``kinds``: their types, with ``AHEAD`` behind the end, so that one may look ahead without asking how many are left.
    """

    def __init__(self, tokens: list[Token], kinds: list[str], brackets: Brackets) -> None:
        self._tokens = tokens
        self._kinds = kinds
        self._brackets = brackets

    def end(self, start: int) -> int:
        """Return the index behind the longest path of at least one step that begins at ``start``, or -1."""
        if not self._is_node(start):
            return -1
        partner = self._brackets.partner
        index = end = partner[start] + 1
        while True:
            if self._kinds[index] == "LPAR" and self._kinds[index + 1] == "LPAR":  # ((a)-->(b)){2} follows a node
                index = end = self._quantifier_end(partner[index] + 1)
                if self._is_node(index):
                    index = end = partner[index] + 1
                continue
            target = self._relationship_end(index)
            if target < 0 or not self._is_node(target):
                return end if end > partner[start] + 1 else -1
            index = end = partner[target] + 1

    def is_parenthesized(self, index: int) -> bool:
        """Tell whether the ``(`` here, in a pattern, opens a path and not a node."""
        if self._kinds[index + 1] == "LPAR":
            return True
        return self._kinds[index + 1] in _NAMES and self._kinds[index + 2] == "EQ"

    def divider(self, opening: int) -> int:
        """Return the index of the ``|`` that divides the comprehension opened here, or -1.

        A ``|`` may also join labels: ``[x IN xs WHERE x:A|B | x.name]``. It does where a label stands before it and
        another one, not an expression, behind it; the last one always divides.
        """
        bars = self._brackets.bars.get(opening, ())
        for bar in bars:
            if not self._joins_labels(bar):
                return bar
        return bars[-1] if bars else -1

    def _joins_labels(self, bar: int) -> bool:
        label_before = self._kinds[bar - 1] in ("RPAR", "PERCENT", *_NAMES) and (
            self._kinds[bar - 2] in _LABEL_OPERATORS or word(self._tokens, bar - 2) == "IS"
        )
        if not label_before:
            return False
        return self._kinds[bar + 1] in _NAMES and self._kinds[bar + 2] in ("BAR", "AMP")

    def _is_node(self, index: int) -> bool:
        if self._kinds[index] != "LPAR":
            return False
        first, second = self._kinds[index + 1], self._kinds[index + 2]
        if first in ("RPAR", "COLON", "LBRACE"):
            return True
        if first not in _NAMES:
            return False
        if second in ("RPAR", "COLON", "LBRACE", "PARAMETER"):
            return True
        return word(self._tokens, index + 2) in ("IS", "WHERE") or word(self._tokens, index + 1) in ("IS", "WHERE")

    def _relationship_end(self, index: int) -> int:
        index += self._kinds[index] == "LT"
        if self._kinds[index] != "MINUS":
            return -1
        index += 1
        if self._kinds[index] == "LSQB":
            if not self._is_relationship(index):
                return -1
            index = self._brackets.partner[index] + 1
        if self._kinds[index] != "MINUS":
            return -1
        index += 1
        index += self._kinds[index] == "GT"
        return self._quantifier_end(index)

    def _is_relationship(self, index: int) -> bool:
        first, second = self._kinds[index + 1], self._kinds[index + 2]
        if first in ("RSQB", "COLON", "STAR", "LBRACE"):
            return True
        if first not in _NAMES:
            return False
        if second in ("RSQB", "COLON", "STAR", "LBRACE", "PARAMETER"):
            return True
        return word(self._tokens, index + 2) in ("IS", "WHERE") or word(self._tokens, index + 1) in ("IS", "WHERE")

    def _quantifier_end(self, index: int) -> int:
        if self._kinds[index] in ("PLUS", "STAR"):
            return index + 1
        if self._kinds[index] == "ERROR" and self._tokens[index].value == "?":
            return index + 1
        if self._kinds[index] == "LBRACE":
            return self._brackets.partner[index] + 1
        return index
