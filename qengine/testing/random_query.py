"""Random queries over a random graph, as text, with what must be known to compare their results."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from qengine.testing.random_expressions import Expressions, Scope
from qengine.testing.random_graph import RandomGraph
from qengine.testing.random_patterns import Patterns

_MODES = ("",) * 6 + ("DIFFERENT NODES ", "DIFFERENT NODES ", "REPEATABLE ELEMENTS ", "REPEATABLE ELEMENTS ")


@dataclass(frozen=True)
class RandomQuery:
    """A query and its parameters.

    ``ordered``: its rows come in an order that it gives in full. ``lists_ordered``: so do the items of its lists.
    ``sure``: it has one result; without that only what kind of result it is can be compared.
    """

    text: str
    parameters: dict[str, Any] = field(default_factory=dict)
    ordered: bool = False
    lists_ordered: bool = True
    sure: bool = True


def random_query(seed: int | str, graph: RandomGraph) -> RandomQuery:
    """Return a random query over a graph's labels, types and properties, the same for the same seed."""
    return _Generator(random.Random(f"query {seed}"), graph).query()


class _Generator:
    def __init__(self, chance: random.Random, graph: RandomGraph) -> None:
        self._chance = chance
        self._patterns = Patterns(chance, graph)
        self._expressions = Expressions(chance, graph, self._patterns.from_known)
        self._patterns.condition = self._expressions.boolean
        self._patterns.labels = self._expressions.labels
        self._parameters: dict[str, Any] = {}
        self._ordered = False
        self._lists_ordered = True

    def query(self) -> RandomQuery:
        if self._chance.random() < 0.07:
            word = self._chance.choice([" UNION ", " UNION ALL "])
            width = self._chance.randint(1, 2)
            text = word.join(f"{self._reading(scope)} {self._scalars(scope, width)}" for scope in (Scope(), Scope()))
        else:
            scope = Scope()
            text = f"{self._reading(scope)} {self._return(scope)}"
        return RandomQuery(text, self._parameters, self._ordered, self._lists_ordered)

    # -- clauses -----------------------------------------------------------------------------------------------

    def _reading(self, scope: Scope) -> str:
        clauses = []
        if self._chance.random() < 0.1:
            clauses.append(self._unwind(scope))
        clauses.append(self._match(scope, nodes=self._chance.choice([1, 2, 3, 3, 4, 5])))
        for _ in range(self._chance.choice([0, 0, 0, 1, 1, 2])):
            make = self._chance.choice([self._further, self._further, self._with, self._with, self._unwind])
            clauses.append(make(scope))
        return " ".join(clauses)

    def _match(self, scope: Scope, *, nodes: int, optional: bool = False) -> str:
        seen = scope
        if self._chance.random() < 0.04:
            pattern, mode = self._patterns.shortest(scope), ""
            seen = scope.without("path", "shortest")  # a condition on the path could decide which is the shortest
        else:
            mode = self._chance.choice(_MODES)
            pattern = self._patterns.match(scope, nodes=nodes, mode=mode)
        where = f" WHERE {self._condition(seen)}" if self._chance.random() < 0.3 else ""
        return f"{'OPTIONAL ' if optional else ''}MATCH {mode}{pattern}{where}"

    def _further(self, scope: Scope) -> str:
        return self._match(scope, nodes=self._chance.choice([1, 2, 2]), optional=self._chance.random() < 0.6)

    def _condition(self, scope: Scope) -> str:
        if self._chance.random() < 0.1:
            name = f"p{len(self._parameters)}"
            value = self._chance.choice([0, 1, 2, None, [0, 1]])
            self._parameters[name] = value
            op = "IN" if isinstance(value, list) else self._chance.choice(["=", "<", ">="])
            return f"{self._expressions.integer(scope)} {op} ${name}"
        elements = scope.of("node", "relationship")
        if elements and self._chance.random() < 0.12:
            return self._fallible(scope, self._chance.choice(elements))
        if self._chance.random() < 0.3:
            return self._expressions.equalities(scope)
        return self._expressions.boolean(scope)

    def _fallible(self, scope: Scope, name: str) -> str:
        """Return a condition that fails for some matches, or would for nodes that other conditions exclude."""
        fails = self._chance.choice(
            [f"6 / {name}.i > 1", f"toInteger(0.0 / {name}.i) = 0", f"6 % ({name}.i - {name}.k) = 0"]
        )
        others = [f"{name}.i <> 0", self._expressions.boolean(scope, 0)]
        parts = [fails, *others[: self._chance.randint(0, 2)]]
        self._chance.shuffle(parts)
        return " AND ".join(parts)

    def _unwind(self, scope: Scope) -> str:
        lists = ["[1, 2]", "[0, 1, null]", "range(0, 2)", *(f"{name}.l" for name in scope.of("node"))]
        source = self._chance.choice([*lists, *scope.of("list")])
        return f"UNWIND {source} AS {scope.new('integer')}"

    def _with(self, scope: Scope) -> str:
        """Return a WITH that keeps some variables, adds values, aggregates or removes duplicates."""
        draw = self._chance.random()
        unsure = ("shortest",) if 0.5 <= draw < 0.75 else ("shortest", "list")
        kept = [name for name, kind in scope.kinds.items() if kind not in unsure and self._chance.random() < 0.6]
        if not any(scope.kinds[name] == "node" for name in kept):
            kept += scope.of("node")[:1]
        outer = scope.inner()
        scope.kinds = {name: outer.kinds[name] for name in kept}
        items = list(kept)
        distinct = ""
        if draw < 0.5:
            items.append(f"{self._aggregate_integer(outer)} AS {scope.new('integer')}")
            if self._chance.random() < 0.3:
                self._lists_ordered = False
                items.append(f"collect({self._expressions.integer(outer)}) AS {scope.new('list')}")
        elif draw < 0.75:
            items.append(f"{self._expressions.integer(outer)} AS {scope.new('integer')}")
        else:
            distinct = "DISTINCT "
        make = self._expressions.equalities if self._chance.random() < 0.2 else self._expressions.boolean
        where = f" WHERE {make(scope)}" if self._chance.random() < 0.3 else ""
        return f"WITH {distinct}{', '.join(items)}{self._cut(scope)}{where}"

    def _cut(self, scope: Scope) -> str:
        """Return, now and then, an order of all that a ``WITH`` keeps, and how many rows of it."""
        if scope.of("path", "shortest", "list", "relationships") or self._chance.random() < 0.75:
            return ""
        keys = [f"{name}.k" if kind in ("node", "relationship") else name for name, kind in scope.kinds.items()]
        self._chance.shuffle(keys)
        order = ", ".join(f"{key}{self._chance.choice(['', ' DESC'])}" for key in keys)
        skip = self._chance.choice(["", "", " SKIP 1"])
        return f" ORDER BY {order}{skip} LIMIT {self._chance.choice([1, 2, 3, 5, 20])}"

    # -- results -----------------------------------------------------------------------------------------------

    def _return(self, scope: Scope) -> str:
        draw = self._chance.random()
        if draw < 0.25:
            return "RETURN count(*) AS c0"
        if draw < 0.45:
            return self._aggregation(scope)
        if draw < 0.65:
            return self._sorted(scope)
        if draw < 0.75:
            return self._scalars(scope, self._chance.randint(1, 3), self._chance.choice(["", "DISTINCT "]))
        distinct = self._chance.choice(["", "", "DISTINCT "])
        unsure = ("shortest", "list") if distinct else ("shortest",)
        sure = [name for name, kind in scope.kinds.items() if kind not in unsure]
        names = [name for name in sure if self._chance.random() < 0.7] or sure[:1]
        return f"RETURN {distinct}{', '.join(names)}"

    def _scalars(self, scope: Scope, width: int, distinct: str = "") -> str:
        items = [f"{self._expressions.any_value(scope)} AS c{place}" for place in range(width)]
        return f"RETURN {distinct}{', '.join(items)}"

    def _sorted(self, scope: Scope) -> str:
        """Return columns sorted by all of them, so that rows that tie are the same."""
        width = self._chance.randint(1, 3)
        text = self._scalars(scope, width, self._chance.choice(["", "", "DISTINCT "]))
        places = self._chance.sample(range(width), width)
        order = ", ".join(f"c{place}{self._chance.choice(['', ' DESC', ' ASC'])}" for place in places)
        skip = f" SKIP {self._chance.choice([0, 1, 1, 2])}" if self._chance.random() < 0.3 else ""
        limit = f" LIMIT {self._chance.choice([0, 1, 2, 3, 5, 8])}" if self._chance.random() < 0.5 else ""
        self._ordered = True
        return f"{text} ORDER BY {order}{skip}{limit}"

    def _aggregation(self, scope: Scope) -> str:
        keys = [self._expressions.any_value(scope) for _ in range(self._chance.choice([0, 1, 1, 2]))]
        if (nodes := scope.of("node")) and self._chance.random() < 0.3:
            keys += self._chance.sample(nodes, min(len(nodes), self._chance.choice([1, 1, 2, 3])))
        values = [self._aggregate(scope) for _ in range(self._chance.randint(1, 2))]
        return "RETURN " + ", ".join(f"{item} AS c{place}" for place, item in enumerate([*keys, *values]))

    def _aggregate(self, scope: Scope) -> str:
        distinct = self._chance.choice(["", "", "DISTINCT "])
        draw = self._chance.random()
        if draw < 0.5:
            return self._aggregate_integer(scope)
        if draw < 0.65:
            return f"avg({distinct}{self._expressions.integer(scope)})"
        if draw < 0.8:
            return f"{self._chance.choice(['min', 'max'])}({self._expressions.any_value(scope)})"
        if draw < 0.85:
            return f"stDev({self._expressions.integer(scope)})"
        if draw < 0.9:
            share = self._chance.choice(["0", "0.5", "1.0"])
            return f"percentile{self._chance.choice(['Disc', 'Cont'])}({self._expressions.integer(scope)}, {share})"
        self._lists_ordered = False
        return f"collect({distinct}{self._expressions.any_value(scope)})"

    def _aggregate_integer(self, scope: Scope) -> str:
        distinct = self._chance.choice(["", "", "DISTINCT "])
        makers = [
            "count(*)",
            f"count({distinct}{self._expressions.any_value(scope)})",
            f"sum({distinct}{self._expressions.integer(scope)})",
            f"max({self._expressions.integer(scope)})",
            f"min({self._expressions.integer(scope)})",
        ]
        if scope.of("node"):
            makers.append(f"count({distinct}{self._chance.choice(scope.of('node'))})")
        return self._chance.choice(makers)
