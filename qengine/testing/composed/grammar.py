"""The rules of ``grammar/cypher.lark``, with how often each is taken when texts are derived from it."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple, cast

from qengine.syntax.automaton import build_grammar


class Rule(NamedTuple):
    """An expansion of a nonterminal: ``name`` is its alias or the nonterminal, ``height`` that of its least tree."""

    name: str
    symbols: tuple[tuple[str, bool], ...]
    height: int
    weight: float


WEIGHTS = {
    **dict.fromkeys(("list_first", "variable", "label_name"), 8),
    **dict.fromkeys(("property_lookup", "function_invocation", "sequence_first", "query_first"), 5),
    **dict.fromkeys(("parameter", "integer", "subquery_query", "subquery_pattern"), 2),
    **dict.fromkeys(("prefixed_first", "label_predicate", "list_index", "list_slice", "map_projection"), 0.4),
    **dict.fromkeys(
        ("pattern_predicate", "prefixed_next", "string_predicate", "path_mode_prefix", "named_shortest_path"), 0.2
    ),
    **dict.fromkeys(("string_predicate_prefixed", "sequence_next", "function_star", "query_otherwise"), 0.1),
    **dict.fromkeys(("cast", "all_reduce"), 0.3),
    **dict.fromkeys(("node_pattern",), 40),
    **dict.fromkeys(("path_step",), 4),
}
"""How often a rule is taken compared with the others of its nonterminal, 1 where nothing is said."""
_SHORTER = 0.7  # how much rarer an expansion is for each part that it has more
_PARTS = {
    **dict.fromkeys(("parenthesized_path", "path_pattern_prefix", "STAR", "GROUPS", "COLON"), 0.1),
    **dict.fromkeys(("shortest_path", "quantifier", "properties", "MATCH_MODE", "range"), 0.3),
    **dict.fromkeys(("order", "skip", "limit", "where"), 0.6),
    **dict.fromkeys(("search",), 0.05),
    **dict.fromkeys(("NULLS_ORDER", "EXCEPT", "INTERSECT", "FOR_POSITION"), 0.3),
}
"""How much rarer an expansion is for holding a part."""


@cache
def expansions() -> dict[str, dict[str, list[Rule]]]:
    """Return the grammar's expansions by nonterminal and name."""
    found = [
        (rule.origin.name, rule.alias or rule.origin.name, tuple((part.name, part.is_term) for part in rule.expansion))
        for rule in cast(Any, build_grammar()).rules
    ]
    heights: dict[str, int] = {}

    def height(symbols: tuple[tuple[str, bool], ...]) -> int | None:
        below = [0 if is_term else heights.get(name) for name, is_term in symbols]
        return None if None in below else 1 + max((each for each in below if each is not None), default=0)

    changed = True
    while changed:
        changed = False
        for origin, _, symbols in found:
            own = height(symbols)
            if own is not None and own < heights.get(origin, own + 1):
                heights[origin] = own
                changed = True
    grammar: dict[str, dict[str, list[Rule]]] = {}
    for origin, name, symbols in found:
        least = height(symbols)
        assert least is not None, f"{origin} has no finite text"
        weight = math.prod(_SHORTER * _PARTS.get(part, 1.0) for part, _ in symbols)
        grammar.setdefault(origin, {}).setdefault(name, []).append(Rule(name, symbols, least, weight))
    return grammar


@cache
def all_rules() -> list[tuple[str, Rule]]:
    """Return all expansions with their nonterminals."""
    return [(origin, rule) for origin, named in expansions().items() for rules in named.values() for rule in rules]


@cache
def step_towards(wanted: str) -> dict[str, Rule]:
    """Return for each nonterminal whose texts can hold one of ``wanted`` the expansion that leads there soonest."""
    found: dict[str, Rule] = {}
    known = {wanted}
    while True:
        next_ones = {
            origin: rule
            for origin, rule in all_rules()
            if origin not in known and any(name in known for name, is_term in rule.symbols if not is_term)
        }
        if not next_ones:
            return found
        found |= next_ones
        known |= next_ones.keys()
