"""Queries that mean something: clauses, unions and subqueries, nested to a depth of three."""

from __future__ import annotations

import random
from collections.abc import Callable

from qengine.testing.composed.expressions import ComposedExpressions
from qengine.testing.random_expressions import Scope
from qengine.testing.random_graph import RandomGraph
from qengine.testing.random_patterns import Patterns
from qengine.testing.random_query import RandomQuery

__all__ = ["composed_query"]

_MODES = ("", "", "", "DIFFERENT NODES ", "REPEATABLE ELEMENTS ", "DIFFERENT RELATIONSHIPS ")


def composed_query(seed: int | str, graph: RandomGraph) -> RandomQuery:
    """Return a random composed query over a graph's labels, types and properties, the same for the same seed."""
    return _Composer(random.Random(f"composed {seed}"), graph).query()


class _Composer:
    def __init__(self, chance: random.Random, graph: RandomGraph) -> None:
        self._chance = chance
        self._patterns = Patterns(chance, graph)
        self._expressions = ComposedExpressions(chance, graph, self._patterns.from_known)
        self._expressions.subquery = self._subquery
        self._patterns.condition = self._expressions.boolean
        self._patterns.labels = self._expressions.labels
        self._ordered = False
        self._lists_ordered = True

    def query(self) -> RandomQuery:
        scope = Scope()
        width = self._chance.randint(1, 3)
        branches = self._chance.choice([1, 1, 1, 1, 2, 2, 3])
        word = self._chance.choice([" UNION ", " UNION ALL ", " UNION DISTINCT "])
        parts = []
        for _ in range(branches):
            inner = scope.inner()
            reading = self._reading(inner, 3)
            parts.append(f"{reading} {self._return(inner, width, only=branches == 1)}")
        return RandomQuery(word.join(parts).strip(), self._expressions.parameters, self._ordered, self._lists_ordered)

    # -- subqueries --------------------------------------------------------------------------------------------

    def _subquery(self, scope: Scope, use: str, depth: int) -> str:
        """Return the inside of ``EXISTS | COUNT | COLLECT { … }``."""
        draw = self._chance.random()
        if use in ("exists", "count") and draw < 0.3:
            inner = scope.inner()
            pattern = self._pattern(inner)
            where = f" WHERE {self._expressions.condition(inner)}" if self._chance.random() < 0.4 else ""
            return f"{self._chance.choice(['', 'MATCH '])}{pattern}{where}"
        branches = self._chance.choice([1, 1, 1, 2, 3]) if use != "integers" else 1
        word = self._chance.choice([" UNION ", " UNION ALL "])
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
        return word.join(parts).strip()

    def _without_with_at_end(self, reading: str) -> str:
        """Return clauses that may end a subquery, which WITH may not."""
        return reading if " WITH " not in f" {reading}" else f"{reading} MATCH ()"

    def _subquery_return(self, scope: Scope, use: str, names: list[str]) -> str:
        make = self._expressions.integer if use == "integers" else self._expressions.value
        if use != "integers" and self._chance.random() < 0.2:
            items = [f"{self._aggregate(scope)} AS {name}" for name in names]
        else:
            items = [f"{make(scope)} AS {name}" for name in names]
        distinct = self._chance.choice(["", "", "DISTINCT "])
        text = f"RETURN {distinct}{', '.join(items)}"
        return text + self._tail(scope, names, must_order=use == "integers")

    def _tail(self, scope: Scope, names: list[str], *, must_order: bool = False, first: str | None = None) -> str:
        """Return ORDER BY all columns, SKIP and LIMIT, or a part of them that leaves one bag of rows.

        ``first``: an expression to sort by before all others, now and then.
        """
        draw = self._chance.random()
        if draw < 0.5 and not must_order:
            return ""
        self._chance.shuffle(keys := list(names))
        if first is not None and self._chance.random() < 0.4:
            keys.insert(0, first)
        order = " ORDER BY " + ", ".join(f"{key}{self._chance.choice(['', ' ASC', ' DESC'])}" for key in keys)
        if draw < 0.6:
            return order
        skip = f" SKIP {self._rows()}" if self._chance.random() < 0.4 else ""
        limit = f" LIMIT {self._rows()}" if self._chance.random() < 0.8 else ""
        return f"{order}{skip}{limit}"

    def _rows(self) -> str:
        number = self._chance.choice([0, 1, 1, 2, 3])
        return self._chance.choice(
            [str(number), str(number), f"{number} + 1", f"toInteger({number}.0)", f"size(range(1, {number}))"]
            + [self._expressions.parameter(number)] * (self._chance.random() < 0.3)
        )

    # -- clauses -----------------------------------------------------------------------------------------------

    def _reading(self, scope: Scope, most: int) -> str:
        first = self._chance.choice([self._match, self._match, self._match, self._unwind])
        clauses = [first(scope)]
        for _ in range(self._chance.randint(0, most - 1)):
            make = self._chance.choice([self._match, self._with, self._with, self._unwind])
            clauses.append(make(scope))
        return " ".join(clauses)

    def _match(self, scope: Scope) -> str:
        optional = "OPTIONAL " if self._chance.random() < 0.3 else ""
        if self._chance.random() < 0.06:
            seen = scope.inner()
            pattern = self._patterns.shortest(scope)
            for name in scope.of("shortest"):  # which path it is isn't sure
                del scope.kinds[name]
            where = f" WHERE {self._expressions.condition(seen)}" if self._chance.random() < 0.3 else ""
            return f"{optional}MATCH {pattern}{where}"
        mode = self._chance.choice(_MODES)
        pattern = self._pattern(scope, mode)
        where = f" WHERE {self._expressions.condition(scope)}" if self._chance.random() < 0.4 else ""
        return f"{optional}MATCH {mode}{pattern}{where}"

    def _pattern(self, scope: Scope, mode: str = "") -> str:
        known = scope.inner()
        if self._chance.random() < 0.12:
            name = scope.new("node")
            value = self._expressions.integer(known)
            if self._chance.random() < 0.5:
                return f"({name} {{i: {value}}})"
            inner = known.inner()
            inner.kinds[name] = "node"
            return f"({name} WHERE {self._expressions.condition(inner)})"
        return self._patterns.match(scope, nodes=self._chance.choice([1, 1, 2, 2, 3]), mode=mode)

    def _unwind(self, scope: Scope) -> str:
        source = self._expressions.integers(scope)
        return f"UNWIND {source} AS {scope.new('integer')}"

    def _with(self, scope: Scope) -> str:
        outer = scope.inner()
        kept = [name for name, kind in scope.kinds.items() if kind not in ("shortest", "list")]
        kept = [name for name in kept if self._chance.random() < 0.6] or kept[:1]
        scope.kinds = {name: outer.kinds[name] for name in kept}
        items, added = list(kept), []
        draw = self._chance.random()
        if draw < 0.1 and kept:
            scope.kinds = dict(outer.kinds)
            items = ["*"]
        elif draw < 0.4:
            added = [f"{self._aggregate(outer, beside=kept)} AS {scope.new('integer')}"]
        elif draw < 0.8 or not items:
            added = [f"{self._expressions.integer(outer)} AS {scope.new('integer')}"]
        distinct = "DISTINCT " if self._chance.random() < 0.2 else ""
        tail = ""
        if items != ["*"] and not set(scope.kinds.values()) & {"path", "relationships", "list"}:
            keys = [f"{name}.k" if kind in ("node", "relationship") else name for name, kind in scope.kinds.items()]
            tail = self._tail(scope, keys) if keys else ""
        where = f" WHERE {self._expressions.condition(scope)}" if self._chance.random() < 0.3 else ""
        return f"WITH {distinct}{', '.join([*items, *added])}{tail}{where}"

    # -- results -----------------------------------------------------------------------------------------------

    def _return(self, scope: Scope, width: int, *, only: bool) -> str:
        """Return a RETURN with the columns ``c0``, ``c1``, …; ``only``: of the whole query's only branch."""
        names = [f"c{place}" for place in range(width)]
        if only and self._chance.random() < 0.2:
            self._lists_ordered = False
            items = [f"{self._expressions.unordered(scope)} AS {name}" for name in names]
            return f"RETURN {', '.join(items)}"
        grouped = self._chance.random() < 0.25
        makes = [self._aggregate if grouped and place else self._expressions.value for place in range(width)]
        items = [f"{make(scope)} AS {name}" for make, name in zip(makes, names, strict=True)]
        distinct = self._chance.choice(["", "", "DISTINCT "])
        first = None if distinct or grouped else self._expressions.value(scope)
        tail = self._tail(scope, names, first=first)
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
