"""Random expressions over the variables in scope, as text.

They raise no run-time error and have one result: no overflow, no division by zero, no order where Cypher has none.
Conditions that fail for some matches are added by ``random_query``, where all matches are looked at.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from qengine.testing.random_graph import RandomGraph


@dataclass
class Scope:
    """Variables by kind: node, relationship, relationships (a list), path, shortest, integer, string, list.

    ``shortest`` is a path of which only the length is sure, ``list`` a list of integers in no sure order.
    ``fresh`` numbers the names that were given, also in scopes derived from it.
    """

    kinds: dict[str, str] = field(default_factory=dict)
    fresh: list[int] = field(default_factory=lambda: [0])

    def of(self, *kinds: str) -> list[str]:
        """Return the variables of some kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]

    def new(self, kind: str) -> str:
        """Declare a variable of a new name."""
        self.fresh[0] += 1
        name = f"{kind[0]}{self.fresh[0]}"
        self.kinds[name] = kind
        return name

    def inner(self) -> Scope:
        """Return a scope that sees all this one's variables; what it declares stays inside."""
        return self.without()

    def without(self, *kinds: str) -> Scope:
        """Return an inner scope that doesn't see the variables of some kinds."""
        return Scope({name: kind for name, kind in self.kinds.items() if kind not in kinds}, self.fresh)


Subpattern = Callable[[Scope], str]
"""Makes a path pattern that starts at a known node; its variables are declared in the scope."""


class Expressions:
    """Makes expressions of a wanted type."""

    def __init__(self, chance: random.Random, graph: RandomGraph, subpattern: Subpattern) -> None:
        self._chance = chance
        self._graph = graph
        self._subpattern = subpattern

    # -- booleans ----------------------------------------------------------------------------------------------

    def boolean(self, scope: Scope, depth: int = 2) -> str:
        """Return a condition."""
        if depth and self._chance.random() < 0.4:
            a, b = self.boolean(scope, depth - 1), self.boolean(scope, depth - 1)
            return self._chance.choice(
                [f"({a} AND {b})", f"({a} OR {b})", f"({a} OR {b})", f"({a} XOR {b})", f"NOT ({a})"]
            )
        makers = [self._comparison, self._membership, self._null_test, self._string_test, self._quantifier]
        if scope.of("node"):
            makers += [self._comparison, self._comparison, self._label_test, self._existence, self._degree]
        if scope.of("relationship"):
            makers.append(self._type_test)
        if len(scope.of("node")) > 1:
            makers.append(self._same_node)
        if scope.of("path", "relationships"):
            makers += [self._quantifier] * 3
        return self._chance.choice(makers)(scope)

    def _comparison(self, scope: Scope) -> str:
        op = self._chance.choice(["=", "<>", "<>", "<", "<=", "<=", ">", ">=", ">="])
        make = self._chance.choice([self.integer, self.integer, self.number, self.string, self.any_value])
        if self._chance.random() < 0.1:
            return f"{self.integer(scope)} <= {self.integer(scope)} < {self.integer(scope)}"
        return f"{make(scope)} {op} {make(scope)}"

    def _membership(self, scope: Scope) -> str:
        items = ", ".join(self._chance.choice(["null", "1", "2", "'a'", "0.5", "true", "[]"]) for _ in range(3))
        lists = [f"{name}.l" for name in scope.of("node")]
        items_or_list = self._chance.choice([f"[{items}]", "[]", *lists, *scope.of("list")])
        return f"{self.any_value(scope)} IN {items_or_list}"

    def _null_test(self, scope: Scope) -> str:
        return f"{self.any_value(scope)} IS {self._chance.choice(['', 'NOT '])}NULL"

    def _string_test(self, scope: Scope) -> str:
        op = self._chance.choice(["STARTS WITH", "ENDS WITH", "CONTAINS"])
        return f"{self._chance.choice([self.string, self.any_value])(scope)} {op} {self._chance.choice(_STRINGS)}"

    def _quantifier(self, scope: Scope) -> str:
        name = self._chance.choice(["all", "any", "none", "single"])
        lists = [*(f"{node}.l" for node in scope.of("node")), *scope.of("list"), "[1, null, 3]"]
        walks = [*scope.of("relationships"), *(f"{each}({path})" for path in scope.of("path") for each in _PARTS)]
        if walks and self._chance.random() < 0.7:
            source = self._chance.choice(walks)
            test = f"q:{self.labels()}" if source.startswith("nodes") and self._chance.random() < 0.5 else None
            if source.startswith("nodes") and self._chance.random() < 0.4:
                test = f"EXISTS {{ (q)-->(:{self.labels()}) }}"
            test = test or f"q.{self._chance.choice('ik')} {self._chance.choice('<=>')} {self._chance.randint(-1, 2)}"
            return f"{self._chance.choice(['', '', 'NOT '])}{name}(q IN {source} WHERE {test})"
        return f"{name}(q IN {self._chance.choice(lists)} WHERE q {self._chance.choice('<=>')} 1)"

    def _label_test(self, scope: Scope) -> str:
        return f"{self._chance.choice(scope.of('node'))}:{self.labels()}"

    def _type_test(self, scope: Scope) -> str:
        kind = self._chance.choice([*self._graph.types, "UNKNOWN"])
        return f"type({self._chance.choice(scope.of('relationship'))}) = '{kind}'"

    def _same_node(self, scope: Scope) -> str:
        a, b = self._chance.sample(scope.of("node"), 2)
        return f"{a} {self._chance.choice(['=', '<>'])} {b}"

    def equalities(self, scope: Scope) -> str:
        """Return a conjunction that says which elements are one, or what values they have; often a contradiction."""
        makers = [self._known_values, self._known_values]
        if len(scope.of("node")) > 1:
            makers += [lambda scope: self._one_element(scope.of("node"))] * 2
        if len(scope.of("relationship")) > 1:
            makers.append(lambda scope: self._one_element(scope.of("relationship")))
        parts = [self._chance.choice(makers)(scope) for _ in range(self._chance.choice([1, 1, 2, 3]))]
        return " AND ".join(parts)

    def _one_element(self, names: list[str]) -> str:
        a, b, c = self._chance.sample([*names, *names], 3)
        return self._chance.choice(
            [
                *[f"{a} = {b}"] * 4,
                f"{a} = {b} = {c}",
                f"id({a}) = id({b})",
                f"elementId({a}) = elementId({b})",
                f"{a} <> {b}",
            ]
        )

    def _known_values(self, scope: Scope) -> str:
        elements = scope.of("node", "relationship")
        if not elements:
            return self.boolean(scope, 0)
        key = self._chance.choice("iiks")
        a, b = (f"{self._chance.choice(elements)}.{key}" for _ in range(2))
        values = ["0", "1", "2", "1.0", "null", "true", "'a'", "''"] if key == "s" else ["0", "1", "1", "2", "3", "1.0"]
        x, y, z, *_ = (self._chance.choice(values) for _ in range(3))
        return self._chance.choice(
            [
                f"{a} = {b} AND {b} = {x}",
                f"{a} = {b} AND {a} = {x} AND {y} = {b}",
                f"{a} = {x} AND {a} IN [{x}, {y}]",
                f"{a} IN [{x}, {y}, {z}] AND {b} IN [{y}, {z}]",
                f"{a} = {b} AND {b} IN [{x}, {y}, null]",
                f"{x} <= {a} < {y}",
                f"{a} <= {b} <= {x}",
                f"{a} = {b} = {x}",
                f"({a} = {x} OR {y} = {a}) AND {a} >= {z}",
                f"{a} {self._chance.choice(['<', '<>', '=', '<='])} {a}",
                f"{a} IS NULL AND {b} = {x}",
            ]
        )

    def _existence(self, scope: Scope) -> str:
        inner = scope.inner()
        pattern = self._subpattern(inner)
        if set(inner.kinds) == set(scope.kinds) and self._chance.random() < 0.4:
            return pattern
        where = f" WHERE {self._inner_condition(inner)}" if self._chance.random() < 0.5 else ""
        match = self._chance.choice(["", "MATCH "])
        return f"EXISTS {{ {match}{pattern}{where} }}"

    def _inner_condition(self, scope: Scope) -> str:
        return self.equalities(scope) if self._chance.random() < 0.25 else self.boolean(scope, 0)

    def _degree(self, scope: Scope) -> str:
        return f"{self._count(scope)} {self._chance.choice(['=', '<', '>'])} {self._chance.randint(0, 2)}"

    def labels(self) -> str:
        """Return a label expression."""
        known = self._graph.labels
        a, b = self._chance.sample(known, 2) if len(known) > 1 else (*known, "Unknown", "Unknown")[:2]
        if self._chance.random() < 0.04 or not known:
            return self._chance.choice(["Unknown", "!Unknown", "!%"])
        return self._chance.choice([a, a, a, a, f"!{a}", f"{a}&{b}", f"{a}|{b}", f"!{a}|{b}", f"!({a}&{b})", "%", "%"])

    # -- values ------------------------------------------------------------------------------------------------

    def any_value(self, scope: Scope) -> str:
        """Return an expression of any scalar type, mixed properties among them."""
        makers = [self.integer, self.number, self.string]
        if nodes := scope.of("node"):
            node = self._chance.choice(nodes)
            key = self._chance.choice(["m", "m", "b", "none"])
            makers += [lambda scope: f"{node}.{key}"] * 2
        return self._chance.choice(makers)(scope)

    def integer(self, scope: Scope, depth: int = 1) -> str:
        """Return an integer expression."""
        simple = [str(self._chance.randint(-1, 3)), *scope.of("integer")]
        simple += [f"{name}.i" for name in scope.of("node", "relationship")] * 2
        simple += [f"{name}.k" for name in scope.of("node", "relationship")]
        if depth and self._chance.random() < 0.35:
            a, b = self.integer(scope, 0), self.integer(scope, 0)
            makers = [
                lambda: f"({a} + {b})",
                lambda: f"({a} - {b})",
                lambda: f"{a} % 3",
                lambda: f"{a} / 2",
                lambda: f"-({a})",
                lambda: f"abs({a})",
                lambda: f"coalesce({a}, {b})",
                lambda: f"CASE WHEN {a} > {b} THEN {a} ELSE {b} END",
                lambda: f"CASE {a} WHEN 1 THEN {b} END",
                lambda: f"size({self.string(scope)})",
            ]
            if paths := scope.of("path", "shortest"):
                makers.append(lambda: f"length({self._chance.choice(paths)})")
            if lists := [*scope.of("list", "relationships"), *(f"{node}.l" for node in scope.of("node"))]:
                makers.append(lambda: f"size({self._chance.choice(lists)})")
            if scope.of("node"):
                makers += [lambda: self._count(scope), lambda: self._of_list(scope), lambda: self._of_element(scope)]
            return self._chance.choice(makers)()
        return self._chance.choice(simple)

    def _of_list(self, scope: Scope) -> str:
        """Return an integer that is computed of a node's list."""
        node = self._chance.choice(scope.of("node"))
        test = f"q {self._chance.choice(['<', '>', '<>'])} {self._chance.choice(['1', f'{node}.i', f'{node}.k'])}"
        return self._chance.choice(
            [
                f"{node}.l[{self._chance.randint(-2, 2)}]",
                f"head({node}.l[1..])",
                f"size([q IN {node}.l WHERE {test}])",
                f"[q IN {node}.l WHERE {test} | q + {node}.k][0]",
                f"reduce(t = 0, q IN {node}.l | t + q)",
                f"size({node}.l + [{node}.i])",
            ]
        )

    def _of_element(self, scope: Scope) -> str:
        """Return an integer that says something of a node or of a relationship's ends."""
        makers = [f"size({part}({self._chance.choice(scope.of('node'))}))" for part in ("labels", "keys")]
        makers += [
            f"{end}Node({name}).{self._chance.choice('ik')}"
            for name in scope.of("relationship")
            for end in ("start", "end")
        ]
        return self._chance.choice(makers)

    def number(self, scope: Scope) -> str:
        """Return a float or integer expression."""
        floats = [f"{name}.f" for name in scope.of("node")]
        makers = [lambda: self.integer(scope)]
        if floats:
            makers += [lambda: self._chance.choice(floats), lambda: f"({self._chance.choice(floats)} + 1)"]
        return self._chance.choice(makers)()

    def string(self, scope: Scope) -> str:
        """Return a string expression."""
        simple = [self._chance.choice(_STRINGS), *scope.of("string")]
        simple += [f"{name}.s" for name in scope.of("node", "relationship")] * 2
        simple += [f"type({name})" for name in scope.of("relationship")]
        a = self._chance.choice(simple)
        makers = [lambda: a] * 4 + [
            lambda: f"toUpper({a})",
            lambda: f"{a} + 'x'",
            lambda: f"toString({self.integer(scope, 0)})",
            lambda: f"substring({a}, 0, 1)",
        ]
        return self._chance.choice(makers)()

    def _count(self, scope: Scope) -> str:
        inner = scope.inner()
        pattern = self._subpattern(inner)
        if self._chance.random() < 0.3:
            return f"size([{pattern} | 1])"
        where = f" WHERE {self._inner_condition(inner)}" if self._chance.random() < 0.4 else ""
        if self._chance.random() < 0.3:
            word = self._chance.choice(["RETURN", "RETURN DISTINCT", "WITH DISTINCT"])
            value = f"{self.integer(inner, 0)} AS {inner.new('integer')}"
            if word.startswith("WITH"):
                return f"COUNT {{ MATCH {pattern}{where} {word} {value} RETURN 1 AS one }}"
            return f"size(COLLECT {{ MATCH {pattern}{where} {word} {value} }})"
        return f"COUNT {{ {pattern}{where} }}"


_PARTS = ("nodes", "relationships")
_STRINGS = ("''", "'a'", "'ab'", "'A'", "'ä'")
