"""Clauses that read, over a scope of variables: those of Cypher, and those of GQL beside them."""

from __future__ import annotations

import random

from qengine.testing.composed.expressions import ComposedExpressions
from qengine.testing.random_expressions import Scope
from qengine.testing.random_graph import RandomGraph
from qengine.testing.random_patterns import Patterns

_MODES = ("", "", "", "DIFFERENT NODES ", "REPEATABLE ELEMENTS ", "DIFFERENT RELATIONSHIPS ")
_KEPT = ("TRAIL", "ACYCLIC", "SIMPLE", "ALL SHORTEST", "SHORTEST 2 GROUPS")
_OWN_MODES = ("ACYCLIC", "SIMPLE", "TRAIL")
_UNORDERED = frozenset(("path", "relationships", "list", "shortest"))
"""Kinds of variables whose values can't be sorted by, or aren't sure."""


class Clauses:
    """Makes clauses, which declare their variables in the scope that they are given."""

    def __init__(self, chance: random.Random, graph: RandomGraph) -> None:
        self._chance = chance
        self._patterns = Patterns(chance, graph)
        self._expressions = ComposedExpressions(chance, graph, self._patterns.from_known)
        self._expressions.subquery = self._subquery
        self._patterns.condition = self._expressions.boolean
        self._patterns.labels = self._expressions.labels

    def _subquery(self, scope: Scope, use: str, depth: int) -> str:
        raise NotImplementedError

    def _aggregate(self, scope: Scope, beside: list[str] | None = None) -> str:
        raise NotImplementedError

    # -- clauses -----------------------------------------------------------------------------------------------

    def _reading(self, scope: Scope, most: int) -> str:
        first = self._chance.choice([self._match, self._match, self._match, self._unwind, self._call])
        clauses = [first(scope)]
        for _ in range(self._chance.randint(0, most - 1)):
            makers = [self._match, self._with, self._with, self._unwind, self._call, self._with_all, self._matches]
            clauses.append(self._chance.choice(makers)(scope))
        return " ".join(clauses)

    def _where(self, scope: Scope, odds: float) -> str:
        return f" WHERE {self._expressions.condition(scope)}" if self._chance.random() < odds else ""

    def _matches(self, scope: Scope) -> str:
        """Return matches that are found together or not at all."""
        return f"OPTIONAL {{ {' '.join(self._required_match(scope) for _ in range(self._chance.randint(1, 2)))} }}"

    def _call(self, scope: Scope) -> str:
        """Return a subquery that is joined with each row, the columns of which are integers."""
        if self._expressions.depth == 0:
            return self._unwind(scope)
        inner = scope.without(*_UNORDERED)
        inner.kinds = {name: kind for name, kind in inner.kinds.items() if self._chance.random() < 0.7}
        names = [scope.new("integer") for _ in range(self._chance.choice([1, 1, 2]))]
        optional, seen = self._chance.choice(["", "", "OPTIONAL "]), ", ".join(inner.kinds)
        text = self._expressions.below(lambda: self._integer_rows(inner, names))
        return f"{optional}CALL ({seen}) {{ {text} }}"

    def _integer_rows(self, scope: Scope, names: list[str]) -> str:
        """Return a query of integers: of one branch or several, or the first of some whose condition holds."""
        branches = self._chance.choice([1, 1, 2])

        def branch() -> str:
            inner = scope.inner()
            reading = self._reading(inner, 2) if self._chance.random() < 0.8 else ""
            items = ", ".join(f"{self._expressions.integer(inner)} AS {name}" for name in names)
            return f"{reading} RETURN {self._chance.choice(['', '', 'DISTINCT '])}{items}{self._tail(names)}"

        if self._chance.random() < 0.2:
            when = " ".join(f"WHEN {self._expressions.truth(scope)} THEN {branch()}" for _ in range(branches))
            return f"{when} ELSE {branch()}"
        return self._set_operation().join(branch() for _ in range(branches))

    def _set_operation(self) -> str:
        """Return the words between queries whose rows are taken together."""
        word = self._chance.choice(["UNION", "UNION", "UNION", "EXCEPT", "INTERSECT", "OTHERWISE"])
        return f" {word}{'' if word == 'OTHERWISE' else self._chance.choice(['', ' ALL', ' DISTINCT'])} "

    def _with_all(self, scope: Scope) -> str:
        """Return a clause that keeps all variables: LET, FILTER, or ORDER BY with SKIP and LIMIT."""
        keys = self._keys(scope)
        if keys and self._chance.random() < 0.3:
            return self._tail(keys, must_order=True).lstrip()
        return self._chance.choice([self._let, self._filter])(scope)

    def _let(self, scope: Scope) -> str:
        before = scope.inner()
        items = [
            f"{scope.new('integer')} = {self._expressions.integer(before)}" for _ in range(self._chance.randint(1, 2))
        ]
        return f"LET {', '.join(items)}"

    def _filter(self, scope: Scope) -> str:
        return f"FILTER {self._chance.choice(['', 'WHERE '])}{self._expressions.condition(scope)}"

    def _keys(self, scope: Scope) -> list[str]:
        """Return expressions by which rows of a scope have one order, none where there are no such."""
        if not _UNORDERED.isdisjoint(scope.kinds.values()):
            return []
        return [f"{name}.k" if kind in ("node", "relationship") else name for name, kind in scope.kinds.items()]

    def _match(self, scope: Scope) -> str:
        return f"{'OPTIONAL ' if self._chance.random() < 0.3 else ''}{self._required_match(scope)}"

    def _required_match(self, scope: Scope) -> str:
        if self._chance.random() < 0.06:
            seen = scope.inner()
            pattern = self._patterns.shortest(scope)
            for name in scope.of("shortest"):  # which path it is isn't sure
                del scope.kinds[name]
            return f"MATCH {pattern}{self._where(seen, 0.3)}"
        mode = self._chance.choice(_MODES)
        pattern = self._pattern(scope, mode)
        plain = not mode.startswith("REPEATABLE") and not any(word in pattern for word in _OWN_MODES)
        keep = f" KEEP {self._chance.choice(_KEPT)}" if plain and self._chance.random() < 0.1 else ""
        return f"MATCH {mode}{pattern}{keep}{self._where(scope, 0.4)}"

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
        if self._chance.random() < 0.7:
            return f"UNWIND {source} AS {scope.new('integer')}"
        place = self._chance.choice(["", " WITH ORDINALITY ", " WITH OFFSET "])
        return f"FOR {scope.new('integer')} IN {source}{place}{scope.new('integer') if place else ''}"

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
        if items != ["*"] and (keys := self._keys(scope)):
            tail = self._tail(keys)
        return f"WITH {distinct}{', '.join([*items, *added])}{tail}{self._where(scope, 0.3)}"

    # -- order ---------------------------------------------------------------------------------------------------

    def _tail(self, names: list[str], *, must_order: bool = False, first: str | None = None) -> str:
        """Return ORDER BY all columns, SKIP and LIMIT, or a part of them that leaves one bag of rows.

        ``first``: an expression to sort by before all others, now and then.
        """
        draw = self._chance.random()
        if draw < 0.5 and not must_order:
            return ""
        self._chance.shuffle(keys := list(names))
        if first is not None and self._chance.random() < 0.4:
            keys.insert(0, first)
        ways = [*("", " ASC", " DESC") * 2, " NULLS FIRST", " DESC NULLS LAST"]
        order = " ORDER BY " + ", ".join(f"{key}{self._chance.choice(ways)}" for key in keys)
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
