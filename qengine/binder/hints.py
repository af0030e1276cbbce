"""Hints of a statement, ``/*+ … */``: read, checked, and laid into the query graphs of its matches.

``order(a, b, c)`` binds these nodes first, in this order; ``order(gsi)``, ``order(ri)`` and ``order(quicksi)`` order by
a published rule; ``search`` goes depth first, ``extend`` breadth first, ``eliminate`` counts without matching.
``kernel(masked_product, …)`` eliminates, too, by these rows of the kernel table wherever they match
(``plan/kernels``). Several stand side by side, with or without commas, or in hints of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from qengine._frozen import frozen, replace
from qengine._nearest import nearest
from qengine.binder.binding import did_you_mean
from qengine.errors import SemanticError, Span
from qengine.plan.logical import Match, Operator
from qengine.plan.pattern import Hints
from qengine.plan.traverse import rewrite_plan
from qengine.syntax import ast

_STRATEGIES = ("search", "extend", "eliminate")
_RULES = ("gsi", "ri", "quicksi")
_KNOWN = (
    "Hints are order(a, b, …), order(gsi), order(ri), order(quicksi), search, extend, "
    "eliminate, kernel(name, …), join(a, … | b, …) and as_written."
)
_NAMES = (*_STRATEGIES, "as_written", "order", "join", "kernel")
_JOIN = "Write join(a, b | b, c), with the nodes that the two sides share in both."
_WORD = re.compile(r"`(?:[^`]|``)*`|\w+|\S")


@frozen
class _Word:
    text: str
    span: Span

    def is_name(self) -> bool:
        return self.text[0] == "`" or self.text[0].isidentifier() or self.text[0].isdigit()

    def name(self) -> str:
        return self.text[1:-1].replace("``", "`") if self.text[0] == "`" else self.text


def with_hints(root: Operator, hints: Sequence[ast.Hint], text: str) -> tuple[Operator, Hints]:
    """Return a bound plan with the statement's hints at each of its matches, and the hints.

    Raises
    ------
    SemanticError
        For a hint that isn't known, that names no node of a pattern, or that contradicts another.
    """
    nodes: set[str] = set()

    def collect(operator: Operator) -> Operator:
        if isinstance(operator, Match):
            nodes.update(node.name for node in operator.graph.nodes)
        return operator

    rewrite_plan(root, collect)
    found = _Reader(text, frozenset(nodes)).read(hints)

    def hinted(operator: Operator) -> Operator:
        return (
            replace(operator, graph=replace(operator.graph, hints=found)) if isinstance(operator, Match) else operator
        )

    return rewrite_plan(root, hinted), found


class _Reader:
    def __init__(self, text: str, nodes: frozenset[str]) -> None:
        self._text = text
        self._nodes = nodes
        self._hints = Hints(text=text)

    def read(self, hints: Sequence[ast.Hint]) -> Hints:
        for hint in hints:
            words = list(self._words(hint))
            while words:
                self._take(words)
        return self._hints

    def _words(self, hint: ast.Hint) -> Iterator[_Word]:
        start = hint.span.start
        for found in _WORD.finditer(hint.text):
            yield _Word(found.group(), Span(start + found.start(), start + found.end()))

    def _take(self, words: list[_Word]) -> None:
        """Read one hint off the front of the words."""
        word = words.pop(0)
        kind = word.text.lower()
        if kind == ",":
            return
        self._hints = replace(self._hints, places=(*self._hints.places, (kind, word.span)))
        if kind in _STRATEGIES:
            self._once(word, self._hints.strategy is None)
            self._hints = replace(self._hints, strategy=kind)
        elif kind == "as_written":
            self._once(word, not self._hints.as_written)
            self._hints = replace(self._hints, as_written=True)
        elif kind == "order":
            self._once(word, not self._hints.order and self._hints.rule is None)
            self._order(self._arguments(word, words, "Write order(a, b, c), or order(gsi).")[0])
        elif kind == "kernel":
            self._once(word, not self._hints.kernels)
            self._kernels(self._arguments(word, words, "Write kernel(masked_product), or several names.")[0])
        elif kind == "join":
            self._once(word, self._hints.join is None)
            self._join(word, self._arguments(word, words, _JOIN, "|"))
        else:
            hint = did_you_mean(nearest(kind, _NAMES)) or _KNOWN
            raise self._error(f"There is no hint {word.text!r}.", word.span, hint, "UnknownHint")

    def _arguments(self, word: _Word, words: list[_Word], usage: str, between: str = "") -> list[list[_Word]]:
        """Read ``(name, …)`` off the front of the words; ``between`` separates several lists of names."""
        expected = "(" if not words or words[0].text != "(" else None
        lists: list[list[_Word]] = [[]]
        while expected is None:
            words.pop(0)  # a parenthesis, a comma, or what is between lists
            if not words or not words[0].is_name():
                expected = "a node's name"
                break
            lists[-1].append(words.pop(0))
            if words and words[0].text == ")":
                words.pop(0)
                return lists
            if words and words[0].text == between:
                lists.append([])
            elif not words or words[0].text != ",":
                expected = ")"
        span = words[0].span if words else word.span
        message = f"The hint {word.text!r} lacks {expected!r}." if len(expected) == 1 else f"The hint lacks {expected}."
        raise self._error(message, span, usage, "InvalidHint")

    def _order(self, words: list[_Word]) -> None:
        names = [word.name() for word in words]
        if len(words) == 1 and names[0].lower() in _RULES and names[0] not in self._nodes:
            self._hints = replace(self._hints, rule=names[0].lower())
            return
        self._check(words, "The order", _RULES)
        self._hints = replace(self._hints, order=tuple(names))

    def _kernels(self, words: list[_Word]) -> None:
        from qengine.plan.kernels import KERNEL_NAMES

        for word in words:
            if word.name() not in KERNEL_NAMES:
                close = did_you_mean(nearest(word.name(), KERNEL_NAMES))
                hint = close or f"Kernels are {', '.join(sorted(KERNEL_NAMES))}."
                raise self._error(f"There is no kernel `{word.name()}`.", word.span, hint, "UnknownHint")
        self._hints = replace(self._hints, kernels=tuple(word.name() for word in words))

    def _join(self, word: _Word, lists: list[list[_Word]]) -> None:
        for words in lists:
            self._check(words, "A side of the join")
        if len(lists) != 2:
            raise self._error("A join has two sides.", word.span, _JOIN, "InvalidHint")
        one, other = (tuple(each.name() for each in words) for words in lists)
        self._hints = replace(self._hints, join=(one, other))

    def _check(self, words: list[_Word], what: str, besides: Sequence[str] = ()) -> None:
        """Check that names are those of nodes, each once."""
        names = [word.name() for word in words]
        for word, name in zip(words, names, strict=True):
            if name not in self._nodes:
                alone = name.lower() in besides
                hint = (
                    f"The rule {name} stands alone." if alone else did_you_mean(nearest(name, (*self._nodes, *besides)))
                )
                raise self._error(f"No pattern has a node `{name}`.", word.span, hint, "UndefinedVariable")
            if names.count(name) > 1:
                raise self._error(f"{what} names `{name}` twice.", word.span, "Name each once.", "InvalidHint")

    def _once(self, word: _Word, first: bool) -> None:
        if not first:
            message = f"The hint {word.text!r} contradicts one before it."
            raise self._error(message, word.span, "Keep one of them.", "InvalidHint")

    def _error(self, message: str, span: Span, hint: str | None, code: str) -> SemanticError:
        return SemanticError(message, span=span, text=self._text, hint=hint, code=code)
