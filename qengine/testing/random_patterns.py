"""Random graph patterns as text: chains of nodes and relationships, branching and closing at known nodes."""

from __future__ import annotations

import random
from collections.abc import Callable

from qengine.testing.random_expressions import Scope
from qengine.testing.random_graph import RandomGraph

_BOUNDED = ("*1..2", "*2", "*0..1", "*0..2", "*..3")


class Patterns:
    """Makes path patterns and declares their variables.

    ``condition`` makes a condition on the variables of a scope, ``labels`` a label expression.
    """

    def __init__(self, chance: random.Random, graph: RandomGraph) -> None:
        self._chance = chance
        self._graph = graph
        self.condition: Callable[[Scope, int], str]
        self.labels: Callable[[], str]
        self._lengths: tuple[str, ...] = ()
        self._repeatable = False
        self._bound: list[str] = []

    def match(self, scope: Scope, *, nodes: int, mode: str) -> str:
        """Return comma-joined path patterns with at most ``nodes`` new nodes for a ``MATCH`` of a mode."""
        self._lengths = self._possible_lengths(mode)
        self._repeatable = mode.startswith("REPEATABLE")
        self._bound = scope.of("relationship")
        parts = []
        left = nodes
        while True:
            before = len(scope.of("node"))
            parts.append(self._path(scope, left))
            left -= max(1, len(scope.of("node")) - before)
            if left <= 0 or self._chance.random() < 0.6:
                return ", ".join(parts)

    def from_known(self, scope: Scope) -> str:
        """Return a path pattern that starts at a known node, of one or two hops."""
        text = f"({self._chance.choice(scope.of('node'))})"
        for _ in range(self._chance.choice([1, 1, 2])):
            text += self._hop(scope, named=False) + self._node(scope, new=self._chance.random() < 0.3)
        return text

    def shortest(self, scope: Scope) -> str:
        """Return a pattern of shortest paths between two nodes: one, all, or more of them, some of a least length."""
        a, b = self._node(scope, new=True), self._node(scope, new=True)
        left, right = self._chance.choice([("-", "->"), ("<-", "-"), ("-", "-")])
        hops = self._chance.choice(["*", "*..3", "*0..2", "*2..3"])
        path = f"{a}{left}[{self._types()}{hops}]{right}{b}"
        draw = self._chance.random()
        if draw < 0.15:
            return f"{scope.new('shortest')} = ANY SHORTEST {path}"
        if draw < 0.3:
            return f"{scope.new('shortest')} = shortestPath({path})"
        if draw < 0.45:
            return f"{scope.new('path')} = ALL SHORTEST {path}"
        if draw < 0.55 or hops == "*":  # to prove that there are no more takes the reference too long
            return f"{scope.new('path')} = allShortestPaths({path})"
        few = self._chance.randint(1, 3)
        if draw < 0.85:
            return f"{scope.new('shortest')} = {self._chance.choice(['SHORTEST', 'SHORTEST', 'ANY'])} {few} {path}"
        return f"{scope.new('path')} = SHORTEST {few} GROUPS {path}"

    def _path(self, scope: Scope, nodes: int) -> str:
        most = min(nodes, self._chance.choice([1, 2, 2, 2, 3, 3, 4, 5]))
        text = self._node(scope, new=True)
        for _ in range(most - 1):
            text += self._hop(scope, named=True) + self._node(scope, new=self._chance.random() < 0.8)
        if most > 1 and self._chance.random() < 0.12:
            return f"{scope.new('path')} = {self._path_mode()}{text}"
        return f"{self._path_mode()}{text}"

    def _path_mode(self) -> str:
        """Return the mode of a path, mostly none."""
        if self._chance.random() > 0.05:
            return ""
        return self._chance.choice(["ACYCLIC ", "TRAIL "] if self._repeatable else ["ACYCLIC ", "SIMPLE ", "TRAIL "])

    def _node(self, scope: Scope, *, new: bool) -> str:
        known = scope.of("node")
        if known and self._chance.random() < (0.05 if len(known) == 1 else 0.15 if new else 0.7):
            name = self._chance.choice(known[:-1] or known)  # the last is often the neighbour: a self-loop
            return f"({name})" if self._chance.random() < 0.8 else f"({name}:{self.labels()})"
        anonymous = bool(known) and (not new or self._chance.random() < 0.15)
        name = "" if anonymous else scope.new("node")
        labels = f":{self.labels()}" if self._chance.random() < 0.25 else ""
        detail = ""
        if self._chance.random() < 0.05:
            value = f"{self._chance.choice(known)}.i" if known and self._chance.random() < 0.3 else "1"
            detail = f" {{i: {value}}}"
        elif name and self._chance.random() < 0.07:
            detail = f" WHERE {self.condition(Scope({name: 'node'}, scope.fresh), 0)}"
        return f"({name}{labels}{detail})"

    def _hop(self, scope: Scope, *, named: bool) -> str:
        left, right = self._chance.choice([("-", "->"), ("-", "->"), ("<-", "-"), ("-", "-")])
        types, draw = self._types(), self._chance.random()
        if draw < 0.15 and (not named or self._lengths):
            name = scope.new("relationships") if named and self._chance.random() < 0.3 else ""
            hops = self._chance.choice(self._lengths if named else _BOUNDED)
            if self._chance.random() < 0.12:
                return self._quantified(scope, left, right, types, name if named else "")
            detail = f" {{i: {self._chance.randint(0, 2)}}}" if self._chance.random() < 0.15 else ""
            return f"{left}[{name}{types}{hops}{detail}]{right}"
        if named and self._bound and self._chance.random() < 0.1:
            again = self._bound.pop()
            return f"{left}[{again}{types}]{right}"
        name = scope.new("relationship") if named and self._chance.random() < 0.35 else ""
        detail = ""
        if self._chance.random() < 0.04:
            detail = f" {{i: {self._chance.randint(0, 2)}}}"
        elif name and self._chance.random() < 0.08:
            detail = f" WHERE {self.condition(Scope({name: 'relationship'}, scope.fresh), 0)}"
        inside = f"{name}{types}{detail}"
        return f"{left}[{inside}]{right}" if inside or self._chance.random() < 0.5 else f"{left}{right}"

    def _quantified(self, scope: Scope, left: str, right: str, types: str, name: str) -> str:
        """Return a quantified path pattern of one relationship or several, perhaps with conditions inside."""
        chance = self._chance
        scope.fresh[0] += 1
        a, b, c = (f"{letter}{scope.fresh[0]}" for letter in "abc")
        inside, last = f"({a}){left}[{name}{types}]{right}({b})", b
        if chance.random() < 0.5:
            further = chance.choice(["-->", "<--", "--", f"-[{self._types()}]->", "-[{i: 1}]-"])
            last = chance.choice([c, c, c, c, a])
            inside += f"{further}({last})"
        where = ""
        if chance.random() < 0.6:
            ends = [f"{a}.i <= {last}.i", f"{a} <> {last}", f"{b}.i = {a}.i"]
            where = f" WHERE {chance.choice([*ends, f'{b}.k > 1', f'{a}:{self.labels()}'])}"
        return f" ({inside}{where}){chance.choice(['{1,2}', '{2}', '{,2}', '{0,1}'])} "

    def _possible_lengths(self, mode: str) -> tuple[str, ...]:
        """Return the variable lengths of a mode; unbounded ones where relationships differ and the graph has few."""
        if mode.startswith("REPEATABLE") or len(self._graph.relationships) > 6:
            return _BOUNDED
        return (*_BOUNDED, "*")

    def _types(self) -> str:
        known = self._graph.types
        a, b = self._chance.sample(known, 2) if len(known) > 1 else (*known, "UNKNOWN", "UNKNOWN")[:2]
        if self._chance.random() < 0.04:
            a = "UNKNOWN"
        return self._chance.choice(["", "", "", f":{a}", f":{a}", f":{a}|{b}", f":!{b}"])
