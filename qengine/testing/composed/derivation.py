"""Texts derived from ``grammar/cypher.lark``: any production may stand wherever the grammar lets it.

Names, keys and functions are chosen so that a good part of the texts means something; apart from that only the
grammar says what stands where, so that a rule that is added to it is tried at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from typing import Any

from qengine.catalog.functions import Function, functions
from qengine.testing.composed.grammar import WEIGHTS, Rule, all_rules, expansions, step_towards
from qengine.testing.composed.spelling import KEYS, spellings
from qengine.testing.random_graph import RandomGraph
from qengine.testing.random_query import RandomQuery

_CLAUSES = ("match", "match", "match", "unwind", "with_clause", "with_clause")
_SCOPED = frozenset(
    (
        *("query_first", "query_union", "subquery_query", "subquery_pattern"),
        *("list_comprehension", "quantified_predicate", "reduce", "all_reduce", "pattern_comprehension"),
    )
)
_ITEMS = frozenset(("list_comprehension", "quantified_predicate", "reduce", "all_reduce"))
_PARAMETERS: tuple[Any, ...] = (0, 1, 2, 1, 2, None, True, "a", 0.5, [0, 1], [], {"k": 1})
_UNSURE = frozenset(
    (
        *("SKIP", "OFFSET", "LIMIT", "COLLECT", "[", "SHORTEST", "ANY", "shortestPath", "allShortestPaths", "reduce"),
        *("collect", "DISTINCT", "UNION", "head", "last", "keys", "labels", "max", "min", "REDUCE"),
        *("VALUE", "EXCEPT", "INTERSECT"),
    )
)
"""Words of texts that may have several results: of unordered rows, lists or equal values of two types."""


def derived_query(seed: int | str, graph: RandomGraph, towards: tuple[str, Rule] | None = None) -> RandomQuery:
    """Return a text derived from the grammar, with names of a graph, the same for the same seed.

    Parameters
    ----------
    towards
        An expansion with its nonterminal, as of ``all_rules``, that the text holds where that can be.
    """
    derivation = _Derivation(random.Random(f"derived {seed}"), graph, towards)
    pieces = derivation.text()
    return RandomQuery(" ".join(pieces), derivation.parameters, lists_ordered=False, sure=_UNSURE.isdisjoint(pieces))


@cache
def _callable() -> tuple[Function, ...]:
    """Return the functions whose value depends on their arguments alone; those without any may ask the clock."""
    known = (each for each in functions() if each.kind != "operator" and each.available and each.deterministic)
    return tuple(each for each in known if all(signature.parameters for signature in each.signatures))


class _Derivation:
    """One text: ``names`` are the variables that were declared, the kind of each beside it."""

    def __init__(self, chance: random.Random, graph: RandomGraph, towards: tuple[str, Rule] | None) -> None:
        self._chance = chance
        self._graph = graph
        self._names: dict[str, str] = {}
        self._fresh = 0
        self._column = 0
        self._in_with = False
        # How often the grammar alone says what stands somewhere; and a rule that is looked for first.
        self._strange = chance.choice([0.03, 0.03, 0.03, 0.03, 0.4])
        self._target = towards or (chance.choice(all_rules()) if self._strange > 0.1 else None)
        self.parameters: dict[str, Any] = {}

    def text(self) -> list[str]:
        """Return the pieces of a statement."""
        return self._derive("statement" if self._chance.random() < 0.05 else "query", self._chance.randint(10, 18))

    # -- the grammar -------------------------------------------------------------------------------------------

    def _derive(self, nonterminal: str, left: int) -> list[str]:
        """Return the pieces of a text of a nonterminal whose tree has at most ``left`` levels, if that can be."""
        own = _OWN.get(nonterminal)
        if own is not None and self._target is None and self._chance.random() > self._strange:
            pieces = own(self, left)
            if pieces is not None:
                return pieces
        return self._expand(nonterminal, self._choose(nonterminal, left), left)

    def _choose(self, nonterminal: str, left: int) -> Rule:
        if self._target is not None and left > 0:
            origin, rule = self._target
            if nonterminal == origin:
                self._target = None
                return rule
            towards = step_towards(origin).get(nonterminal)
            if towards is not None and self._chance.random() < 0.7:
                return towards
        named = expansions()[nonterminal]
        fitting = {name: fit for name, rules in named.items() if (fit := [r for r in rules if r.height <= left])}
        if not fitting:
            least = min(rule.height for rules in named.values() for rule in rules)
            fitting = {name: fit for name, rules in named.items() if (fit := [r for r in rules if r.height == least])}
        if self._strange > 0.1:
            return self._chance.choice(fitting[self._chance.choice(list(fitting))])
        (name,) = self._chance.choices(list(fitting), [WEIGHTS.get(name, 1.0) for name in fitting])
        rules = fitting[name]
        (rule,) = self._chance.choices(rules, [rule.weight for rule in rules])
        return rule

    def _expand(self, nonterminal: str, rule: Rule, left: int) -> list[str]:
        if rule.name == "function_invocation" and self._chance.random() < 0.95:
            return self._call(left)
        if rule.name == "variable" and not self._names:
            return [self._chance.choice(spellings("INTEGER"))]
        if rule.name == "function_star" and self._chance.random() < 0.9:
            return ["count", "(", "*", ")"]
        if rule.name == "property_lookup" and self._names and self._chance.random() < 0.8:
            return [self._known("node", "relationship"), ".", self._chance.choice(KEYS)]
        with self._scope(rule.name in _SCOPED):
            pieces: list[str] = []
            items: list[str] = []  # names of items, which the list that is gone through doesn't see
            for place, (name, is_term) in enumerate(rule.symbols):
                pieces += [self._spelled(name, rule)] if is_term else self._derive(name, left - 1)
                if rule.name in _ITEMS and name == "NAME":
                    items.append(pieces[-1])
                    del self._names[pieces[-1]]
                elif place and rule.symbols[place - 1][0] == "IN":
                    self._names.update(dict.fromkeys(items, "value"))
            return pieces

    @contextmanager
    def _scope(self, is_one: bool) -> Any:
        """Forget at the end what was declared inside, where it can't be seen outside."""
        names, in_with = self._names, self._in_with
        if is_one:
            self._names, self._in_with = dict(names), False
        yield
        if is_one:
            self._names, self._in_with = names, in_with

    # -- terminals ---------------------------------------------------------------------------------------------

    def _spelled(self, terminal: str, rule: Rule) -> str:
        if terminal == "NAME":
            return _NAMES.get(rule.name, _Derivation._word)(self)
        if terminal == "PARAMETER":
            name = f"p{len(self.parameters)}"
            self.parameters[name] = self._chance.choice(_PARAMETERS)
            return f"${name}"
        written = spellings(terminal)
        if rule.name == "subquery_pattern" and terminal == "SUBQUERY" and self._strange < 0.1:
            written = tuple(word for word in written if word not in ("COLLECT", "VALUE"))
        return self._chance.choice(written)

    def _known(self, *kinds: str) -> str:
        names = [name for name, kind in self._names.items() if not kinds or kind in kinds]
        if not names or self._chance.random() < 0.01:
            return self._chance.choice([*self._names, "unknown"])
        return self._chance.choice(names)

    def _new(self, kind: str) -> str:
        self._fresh += 1
        name = f"{kind[0]}{self._fresh}"
        self._names[name] = kind
        return name

    def _node(self) -> str:
        known = [name for name, kind in self._names.items() if kind == "node"]
        return self._chance.choice(known) if known and self._chance.random() < 0.4 else self._new("node")

    def _label(self) -> str:
        return self._chance.choice([*self._graph.labels, *self._graph.types, "Unknown"])

    def _key(self) -> str:
        return self._chance.choice(KEYS)

    def _word(self) -> str:
        return self._chance.choice(["a", "b", "db", "labels"])

    # -- what chance alone would seldom make ---------------------------------------------------------------------

    def _single_query(self, left: int) -> list[str]:
        """Return clauses in an order that a query may have."""
        reading = [self._chance.choice(_CLAUSES) for _ in range(self._chance.choice([0, 1, 1, 1, 2, 3]))]
        if self._chance.random() < 0.04:
            reading.append(self._chance.choice(["updating_clause", "load_csv", "finish"]))
        pieces = [piece for clause in reading for piece in self._derive(clause, left - 2)]
        return [*pieces, *self._derive("return_clause", left - 2)]

    def _with(self, left: int) -> list[str] | None:
        """Return WITH, and forget what it doesn't keep."""
        before, self._names = self._names, {}
        kept = [name for name in before if self._chance.random() < 0.6]
        if not kept:
            self._names = before
            self._in_with = True
            pieces = self._expand("with_clause", self._choose("with_clause", left), left)
            self._in_with = False
            return pieces
        self._names = {name: before[name] for name in kept}
        pieces = ["WITH", *self._chance.choice([[], [], ["DISTINCT"]]), ", ".join(kept)]
        if self._chance.random() < 0.5:
            visible, self._names = self._names, before
            value = self._derive("expression", left - 2)
            self._names = visible
            pieces += [",", *value, "AS", self._new("value")]
        for part in ("order", "skip", "limit", "where"):
            if self._chance.random() < 0.2:
                pieces += self._derive(part, left - 2)
        return pieces

    def _where(self, left: int) -> list[str]:
        """Return WHERE with what is most often a condition."""
        if self._chance.random() < 0.3:
            return ["WHERE", self._chance.choice(["", "NOT"]), "EXISTS", "{", *self._derive("pattern", left - 3), "}"]
        sign = self._chance.choice(["=", "<>", "<", ">=", "IN", "IS NULL OR 1 <"])
        return ["WHERE", *self._derive("operand", left - 2), sign, *self._derive("operand", left - 2)]

    def _unwind(self, left: int) -> list[str]:
        """Return UNWIND of a list."""
        item = self._derive("expression", left - 3)
        other = self._derive("expression", left - 3)
        return ["UNWIND", "[", *item, ",", *other, "]", "AS", self._new("value")]

    def _projection_items(self, left: int) -> list[str]:
        self._column = 0
        declared: list[str] = []
        pieces: list[str] = []
        for place in range(self._chance.choice([1, 1, 2, 3])):
            pieces += [*([","] if place else []), *self._derive("projection_item", left - 1)]
            if self._in_with and pieces[-1] in self._names:  # not yet visible to the items beside it
                declared.append(pieces[-1])
                del self._names[pieces[-1]]
        self._names.update(dict.fromkeys(declared, "value"))
        return pieces

    def _projection_item(self, left: int) -> list[str] | None:
        if not self._in_with or self._chance.random() < 0.1:
            return None
        value = self._derive("expression", left - 1)
        return [*value, "AS", self._new("value")]

    def _steps(self, left: int) -> list[str]:
        """Return a path of one or two relationships."""
        pieces = self._derive("node_pattern", left - 2)
        for _ in range(self._chance.choice([1, 1, 2])):
            pieces += [*self._derive("relationship_pattern", left - 2), *self._derive("node_pattern", left - 2)]
        return pieces

    def _shortest_path(self, left: int) -> list[str]:
        ends = [self._derive("node_pattern", left - 2) for _ in range(2)]
        word = self._chance.choice(spellings("SHORTEST_PATH"))
        return [word, "(", *ends[0], self._chance.choice(["-[*]-", "-[*..2]->"]), *ends[1], ")"]

    def _properties(self, left: int) -> list[str]:
        return self._derive("map_literal", left - 1)

    def _row_count(self, left: int) -> list[str]:
        """Return what stands behind SKIP and LIMIT."""
        return [self._chance.choice(["1", "2", "1 + 1", "0"])]

    def _skip(self, left: int) -> list[str]:
        return ["SKIP", *self._row_count(left)]

    def _limit(self, left: int) -> list[str]:
        return ["LIMIT", *self._row_count(left)]

    def _alias(self) -> str:
        self._column += 1
        return f"c{self._column}"

    def _call(self, left: int) -> list[str]:
        """Return a call of a function with as many arguments as it takes."""
        function = self._chance.choice(_callable())
        signature = self._chance.choice(function.signatures)
        most = len(signature.parameters)
        count = max(1, most - self._chance.randint(0, signature.optional))  # date() asks the clock
        pieces = [function.name, "("]
        if function.kind == "aggregate" and self._chance.random() < 0.2:
            pieces.append("DISTINCT")
        for place in range(count):
            pieces += [*([","] if place else []), *self._derive("expression", left - 2)]
        return [*pieces, ")"]


def _new_path(derivation: _Derivation) -> str:
    return derivation._new("path")


def _new_value(derivation: _Derivation) -> str:
    return derivation._new("value")


_OWN: dict[str, Callable[[_Derivation, int], list[str] | None]] = {
    "single_query": _Derivation._single_query,
    "with_clause": _Derivation._with,
    "unwind": _Derivation._unwind,
    "where": _Derivation._where,
    "pattern_expression": _Derivation._steps,
    "shortest_path": _Derivation._shortest_path,
    "properties": _Derivation._properties,
    "skip": _Derivation._skip,
    "limit": _Derivation._limit,
    "projection_items": _Derivation._projection_items,
    "projection_item": _Derivation._projection_item,
}
"""Nonterminals that have an expansion of their own beside the grammar's."""
_NAMES: dict[str, Callable[[_Derivation], str]] = {
    "variable": _Derivation._known,
    "map_projection": lambda self: self._known("node", "relationship"),
    "projection_variable": _Derivation._known,
    "node_pattern": _Derivation._node,
    "relationship_detail": lambda self: self._new("relationship"),
    "label_name": _Derivation._label,
    **dict.fromkeys(("property_lookup", "projection_property", "map_entry"), _Derivation._key),
    "projection_item": _Derivation._alias,
    **dict.fromkeys(("pattern_part", "named_shortest_path", "pattern_comprehension", "parenthesized_path"), _new_path),
    **dict.fromkeys(("unwind", *_ITEMS, "load_csv", "let_item"), _new_value),
}
"""What NAME is in a rule."""
