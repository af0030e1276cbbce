"""Queries that mean something: clauses, unions and subqueries, nested to a depth of three."""

from __future__ import annotations

import random
from collections.abc import Callable

from qengine.testing.composed.clauses import Clauses
from qengine.testing.random_expressions import Scope
from qengine.testing.random_graph import RandomGraph
from qengine.testing.random_query import RandomQuery


def composed_query(seed: int | str, graph: RandomGraph) -> RandomQuery:
    """Return a random composed query over a graph's labels, types and properties, the same for the same seed."""
    return _Composer(random.Random(f"composed {seed}"), graph).query()


class _Composer(Clauses):
    def __init__(self, chance: random.Random, graph: RandomGraph) -> None:
        super().__init__(chance, graph)
        self._ordered = False
        self._lists_ordered = True

    def query(self) -> RandomQuery:
        scope = Scope()
        before = self._before_next(scope) if self._chance.random() < 0.12 else ""
        width = self._chance.randint(1, 3)
        branches = self._chance.choice([1, 1, 1, 1, 2, 2, 3])
        parts = []
        for _ in range(branches):
            inner = scope.inner()
            reading = self._reading(inner, 3)
            parts.append(f"{reading} {self._return(inner, width, only=branches == 1)}")
        text = before + self._set_operation().join(parts).strip()
        return RandomQuery(text, self._expressions.parameters, self._ordered, self._lists_ordered)

    def _before_next(self, scope: Scope) -> str:
        """Return a query whose columns the next one begins with: integers, or nodes of a single query."""
        if self._chance.random() < 0.5:
            names = [f"x{place}" for place in range(self._chance.randint(1, 2))]
            text = self._integer_rows(scope, names)
            scope.kinds = dict.fromkeys(names, "integer")
            return f"{text.lstrip()} NEXT "
        inner = scope.inner()
        reading = f"MATCH {self._patterns.match(inner, nodes=2, mode='')}"
        nodes = inner.of("node")[:2]
        scope.kinds = dict.fromkeys(nodes, "node")
        return f"{reading} RETURN {', '.join(nodes)} NEXT "

    # -- subqueries --------------------------------------------------------------------------------------------

    def _subquery(self, scope: Scope, use: str, depth: int) -> str:
        """Return the inside of ``EXISTS | COUNT | COLLECT | VALUE { … }``."""
        draw = self._chance.random()
        if use in ("exists", "count") and draw < 0.3:
            inner = scope.inner()
            pattern = self._pattern(inner)
            return f"{self._chance.choice(['', 'MATCH '])}{pattern}{self._where(inner, 0.4)}"
        if use == "number":
            inner = scope.inner()
            return f"{self._reading(inner, 2)} RETURN {self._aggregate(inner)} AS {inner.new('integer')}"
        branches = self._chance.choice([1, 1, 1, 2, 3]) if use != "integers" else 1
        columns = 1 if use in ("integers", "unordered") else self._chance.randint(1, 2)
        scope.fresh[0] += 1
        names = [f"u{scope.fresh[0]}{'ab'[place]}" for place in range(columns)]
        # Which rows of several branches without RETURN are alike is not for COUNT to say.
        bare = self._chance.random() < 0.2 and (use == "exists" or (use == "count" and branches == 1))
        parts = []
        for _ in range(branches):
            inner = scope.inner()
            reading = self._reading(inner, 2) if bare or self._chance.random() < 0.8 else ""
            if bare and reading:
                parts.append(self._without_with_at_end(reading))
                continue
            parts.append(f"{reading} {self._subquery_return(inner, use, names)}")
        word = self._chance.choice([" UNION ", " UNION ALL "]) if bare else self._set_operation()
        return word.join(parts).strip()

    def _without_with_at_end(self, reading: str) -> str:
        """Return clauses that may end a subquery, which WITH, and what stands for one, may not."""
        words = (" WITH ", " LET ", " FILTER ", " ORDER BY ")
        return f"{reading} MATCH ()" if any(word in f" {reading}" for word in words) else reading

    def _subquery_return(self, scope: Scope, use: str, names: list[str]) -> str:
        make = self._expressions.integer if use == "integers" else self._expressions.value
        if use != "integers" and self._chance.random() < 0.2:
            items = [f"{self._aggregate(scope)} AS {name}" for name in names]
        else:
            items = [f"{make(scope)} AS {name}" for name in names]
        distinct = self._chance.choice(["", "", "DISTINCT "])
        text = f"RETURN {distinct}{', '.join(items)}"
        return text + self._tail(names, must_order=use == "integers")

    # -- results -----------------------------------------------------------------------------------------------

    def _return(self, scope: Scope, width: int, *, only: bool) -> str:
        """Return a RETURN with the columns ``c0``, ``c1``, …; ``only``: of the whole query's only branch."""
        names = [f"c{place}" for place in range(width)]
        if only and self._chance.random() < 0.2:
            self._lists_ordered = False
            items = [f"{self._expressions.unordered(scope)} AS {name}" for name in names]
            return f"RETURN {', '.join(items)}"
        grouped = self._chance.random() < 0.25
        if grouped and self._chance.random() < 0.3:
            keys = [self._expressions.value(scope) for _ in range(self._chance.randint(1, 2))]
            shown = [self._chance.choice([keys[0], self._aggregate(scope)]) for _ in names]
            items = [f"{item} AS {name}" for item, name in zip(shown, names, strict=True)]
            return f"RETURN {', '.join(items)} GROUP BY {', '.join(keys)}"
        makes = [self._aggregate if grouped and place else self._expressions.value for place in range(width)]
        items = [f"{make(scope)} AS {name}" for make, name in zip(makes, names, strict=True)]
        distinct = self._chance.choice(["", "", "DISTINCT "])
        first = None if distinct or grouped else self._expressions.value(scope)
        tail = self._tail(names, first=first)
        self._ordered = only and bool(tail)
        return f"RETURN {distinct}{', '.join(items)}{tail}"

    def _aggregate(self, scope: Scope, beside: list[str] | None = None) -> str:
        """Return an integer that is aggregated, now and then with something beside it that has one value a group."""
        distinct = self._chance.choice(["", "", "DISTINCT "])
        makers: list[Callable[[], str]] = [
            lambda: "count(*)",
            lambda: f"count({distinct}{self._expressions.value(scope)})",
            lambda: f"sum({distinct}{self._expressions.integer(scope)})",
            lambda: f"{self._chance.choice(['min', 'max'])}({self._expressions.integer(scope)})",
            lambda: f"size(collect({distinct}{self._expressions.value(scope)}))",
        ]
        text = self._chance.choice(makers)()
        keys = Scope({name: scope.kinds[name] for name in beside or ()}, scope.fresh)
        if self._chance.random() < 0.3:
            other = self._chance.choice([text, "count(*)", "1", "COUNT { () }"])
            text = (
                f"{text} + {other}"
                if not beside or self._chance.random() < 0.5
                else (f"coalesce({text}, 0) + {self._plain(keys)}")
            )
        return text

    def _plain(self, keys: Scope) -> str:
        """Return an integer of grouping keys alone."""
        if (nodes := keys.of("node")) and self._chance.random() < 0.5:
            node = self._chance.choice(nodes)
            return self._chance.choice(
                [
                    f"COUNT {{ ({node})--() }}",
                    f"COUNT {{ MATCH ({node})-->(x) RETURN x.i AS x UNION RETURN {node}.k AS x }}",
                    f"size(COLLECT {{ UNWIND range(0, {node}.k) AS x RETURN x ORDER BY x LIMIT 2 }})",
                    f"CASE WHEN exists(({node})-->()) THEN 1 ELSE {node}.k END",
                    f"size([({node})--(x) WHERE x.k <> {node}.k | x])",
                ]
            )
        names = keys.of("node", "relationship")
        return f"{self._chance.choice(names)}.k" if names else "1"
