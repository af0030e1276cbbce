"""Expressions with queries inside: every form of subquery in every form of expression."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from qengine.testing.random_expressions import Expressions, Scope
from qengine.testing.random_graph import RandomGraph

Subquery = Callable[[Scope, str, int], str]
"""Makes the query inside ``{ … }``, for a scope, a use (``exists``, ``count``, ``integers``, ``number``), a depth."""


class ComposedExpressions(Expressions):
    """Expressions of a wanted type; where ``depth`` is left some hold a subquery.

    ``subquery`` makes queries. ``parameters`` collects the values of ``$p0``, ``$p1``, ….
    """

    def __init__(self, chance: random.Random, graph: RandomGraph, subpattern: Callable[[Scope], str]) -> None:
        super().__init__(chance, graph, subpattern)
        self.subquery: Subquery
        self.parameters: dict[str, Any] = {}
        self.depth = 3

    def below(self, make: Callable[[], str]) -> str:
        """Return what ``make`` gives one level deeper."""
        self.depth -= 1
        try:
            return make()
        finally:
            self.depth += 1

    def _nests(self, odds: float) -> bool:
        return self.depth > 0 and self._chance.random() < odds

    def parameter(self, value: Any) -> str:
        """Return a new parameter with a value."""
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return f"${name}"

    # -- conditions --------------------------------------------------------------------------------------------

    def condition(self, scope: Scope) -> str:
        """Return what may stand behind WHERE: also a path pattern."""
        if scope.of("node") and self._chance.random() < 0.1:
            path = self.known_path(scope)
            truth = self.truth(scope)
            return self._chance.choice([path, f"NOT {path}", f"{path} AND {truth}", f"{truth} OR {path}"])
        return self.truth(scope)

    def known_path(self, scope: Scope) -> str:
        """Return a path pattern that names nothing new."""
        node = self._chance.choice(scope.of("node"))
        end = self._chance.choice(["()", f"(:{self.labels()})", *(f"({name})" for name in scope.of("node"))])
        kind = self._chance.choice(["", *(f"[:{name}]" for name in self._graph.types), "[*1..2]"])
        left, right = self._chance.choice([("-", "->"), ("<-", "-"), ("-", "-")])
        return f"({node}){left}{kind}{right}{end}"

    def truth(self, scope: Scope) -> str:
        """Return a boolean that may stand anywhere."""
        if self._nests(0.5):
            return self.below(lambda: self._composed_truth(scope))
        plain: list[Callable[[], str]] = [
            lambda: f"{self.integer(scope, 0)} {self._chance.choice(['=', '<>', '<', '>='])} {self.integer(scope, 0)}",
            lambda: f"{self.any_value(scope)} IS {self._chance.choice(['', 'NOT '])}NULL",
            lambda: f"{self.integer(scope, 0)} IN [0, {self.integer(scope, 0)}, null]",
            lambda: f"{self.string(scope)} {self._chance.choice(['STARTS WITH', 'ENDS WITH', 'CONTAINS'])} 'a'",
            lambda: self._chance.choice(["true", "false", "null"]),
        ]
        if scope.of("node"):
            plain += [lambda: f"{self._chance.choice(scope.of('node'))}:{self.labels()}"] * 2
            plain.append(lambda: f"exists({self.known_path(scope)})")
            plain.append(lambda: f"{self._chance.choice(scope.of('node'))}.b")
            plain.append(lambda: f"{self._chance.choice(scope.of('node'))} IS LABELED {self.labels()}")
            plain.append(lambda: f"property_exists({self._chance.choice(scope.of('node'))}, i)")
        return "(" + self._chance.choice(plain)() + ")"

    def _composed_truth(self, scope: Scope) -> str:
        truth, integer = self.truth, self.integer
        makers: list[Callable[[], str]] = [
            lambda: f"EXISTS {{ {self.subquery(scope, 'exists', self.depth)} }}",
            lambda: f"EXISTS {{ {self.subquery(scope, 'exists', self.depth)} }}",
            lambda: f"({truth(scope)} {self._chance.choice(['AND', 'OR', 'XOR'])} {truth(scope)})",
            lambda: f"(NOT {truth(scope)})",
            lambda: f"({truth(scope)} = {truth(scope)})",
            lambda: f"({truth(scope)} IS NULL)",
            lambda: f"({truth(scope)} IN [true, {truth(scope)}])",
            lambda: f"({integer(scope)} IN {self.integers(scope)})",
            lambda: f"coalesce({truth(scope)}, {truth(scope)})",
            lambda: f"(CASE WHEN {truth(scope)} THEN {truth(scope)} ELSE {truth(scope)} END)",
            lambda: f"({integer(scope)} < {integer(scope)} <= {integer(scope)})",
            lambda: f"[{truth(scope)}, {truth(scope)}][{self._chance.randint(0, 1)}]",
            lambda: f"{{v: {truth(scope)}}}.v",
            lambda: self._item_test(scope),
            lambda: self._step_test(scope),
            lambda: f"({self.any_value(scope)} IS {self._chance.choice(['', 'NOT '])}TYPED INTEGER)",
        ]
        return self._chance.choice(makers)()

    def _step_test(self, scope: Scope) -> str:
        source, inner = self.integers(scope), scope.inner()
        item, total = inner.new("integer"), f"t{inner.fresh[0]}"
        step = f"{total} + {self.integer(inner, 0)}"
        return f"allReduce({total} = {self.integer(scope, 0)}, {item} IN {source} | {step}, {total} < 3)"

    def _item_test(self, scope: Scope) -> str:
        word = self._chance.choice(["all", "any", "none", "single"])
        source = self.integers(scope)
        inner = scope.inner()
        item = inner.new("integer")
        return f"{word}({item} IN {source} WHERE {self.truth(inner)})"

    # -- values ------------------------------------------------------------------------------------------------

    def value(self, scope: Scope) -> str:
        """Return a value of any type that has one form only: it may be compared, sorted and grouped by."""
        makers = [self.integer, self.integer, self.any_value, self.truth, self.string]
        if self._nests(0.25):
            makers += [self._map, self._list]
        return self._chance.choice(makers)(scope)

    def integer(self, scope: Scope, depth: int = 1) -> str:
        """Return an integer expression."""
        if depth and self._nests(0.35):
            return self.below(lambda: self._composed_integer(scope))
        if self._chance.random() < 0.04:
            return self.parameter(self._chance.choice([0, 1, 2, None]))
        return super().integer(scope, depth)

    def _composed_integer(self, scope: Scope) -> str:
        truth, integer = self.truth, self.integer
        makers: list[Callable[[], str]] = [
            lambda: f"COUNT {{ {self.subquery(scope, 'count', self.depth)} }}",
            lambda: f"COUNT {{ {self.subquery(scope, 'count', self.depth)} }}",
            lambda: f"size(COLLECT {{ {self.subquery(scope, 'integers', self.depth)} }})",
            lambda: f"size({self.integers(scope)})",
            lambda: f"(CASE WHEN {truth(scope)} THEN {integer(scope)} ELSE {integer(scope)} END)",
            lambda: f"(CASE {integer(scope)} WHEN {integer(scope)} THEN 1 WHEN 0 THEN {integer(scope)} END)",
            lambda: f"(CASE {integer(scope)} WHEN < {integer(scope)}, 2 THEN 1 WHEN IS NULL THEN {integer(scope)} END)",
            lambda: f"VALUE {{ {self.subquery(scope, 'number', self.depth)} }}",
            lambda: f"CAST(CAST({integer(scope)} AS {self._chance.choice(['STRING', 'FLOAT'])}) AS INTEGER)",
            lambda: f"({integer(scope)} {self._chance.choice('+-')} {integer(scope)})",
            lambda: f"coalesce({integer(scope)}, {integer(scope)})",
            lambda: f"{self.integers(scope)}[{self._chance.randint(-1, 1)}]",
            lambda: f"head({self.integers(scope)}[{self._chance.choice(['1..', '..2', '..'])}])",
            lambda: f"{{v: {integer(scope)}, w: {truth(scope)}}}['v']",
            lambda: self._fold(scope),
        ]
        return self._chance.choice(makers)()

    def _fold(self, scope: Scope) -> str:
        source, inner = self.integers(scope), scope.inner()
        item = inner.new("integer")
        total = f"t{item}"
        return f"reduce({total} = {self.integer(scope)}, {item} IN {source} | {total} + {self.integer(inner)})"

    def integers(self, scope: Scope) -> str:
        """Return a list of integers in one order."""
        plain: list[Callable[[], str]] = [
            lambda: f"[{self.integer(scope, 0)}, {self.integer(scope, 0)}]",
            lambda: f"range(0, {self._chance.randint(0, 3)})",
            lambda: self.parameter(self._chance.choice([[], [0, 1], [2, None]])),
        ]
        if scope.of("node"):
            plain.append(lambda: f"{self._chance.choice(scope.of('node'))}.l")
        if not self._nests(0.5):
            return self._chance.choice(plain)()
        return self.below(lambda: self._composed_integers(scope))

    def _composed_integers(self, scope: Scope) -> str:
        def comprehension() -> str:
            source, inner = self.integers(scope), scope.inner()
            item = inner.new("integer")
            where = f" WHERE {self.condition(inner)}" if self._chance.random() < 0.5 else ""
            result = f" | {self.integer(inner)}" if self._chance.random() < 0.7 else ""
            return f"[{item} IN {source}{where}{result}]"

        makers: list[Callable[[], str]] = [
            lambda: f"COLLECT {{ {self.subquery(scope, 'integers', self.depth)} }}",
            comprehension,
            comprehension,
            lambda: f"[{self.integer(scope)}, {self.integer(scope)}]",
            lambda: f"({self.integers(scope)} + {self.integer(scope)})",
            lambda: f"(CASE WHEN {self.truth(scope)} THEN {self.integers(scope)} ELSE [] END)",
            lambda: f"reverse({self.integers(scope)})",
        ]
        return self._chance.choice(makers)()

    def _list(self, scope: Scope) -> str:
        return f"[{self.value(scope)}, {self.value(scope)}]"

    def _map(self, scope: Scope) -> str:
        if scope.of("node") and self._chance.random() < 0.5:
            node = self._chance.choice(scope.of("node"))
            return f"{node} {{.k, v: {self.value(scope)}, {self._chance.choice(['.i', '.*', 'w: 1', node])}}}"
        return f"{{a: {self.value(scope)}, b: {self.value(scope)}}}"

    def unordered(self, scope: Scope) -> str:
        """Return a list of values in no sure order: of a pattern comprehension or of COLLECT without ORDER BY."""
        if not scope.of("node") or self._chance.random() < 0.5:
            return f"COLLECT {{ {self.below(lambda: self.subquery(scope, 'unordered', self.depth))} }}"
        inner = scope.inner()
        name = inner.new("path") if self._chance.random() < 0.2 else None
        pattern = self._subpattern(inner)
        where = f" WHERE {self.condition(inner)}" if self._chance.random() < 0.4 else ""
        result = self.below(lambda: self.value(inner))
        return f"[{f'{name} = ' if name else ''}{pattern}{where} | {result}]"
