"""The LALR(1) automaton of ``grammar/cypher.lark``: Lark computes it, this file keeps it and runs it.

What Lark computes is kept in the user's cache directory. Running the table here takes a quarter of the time that Lark's
own driver takes, and Lark need not be imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from qengine._asset_cache import cached_json
from qengine._assets import asset
from qengine._deadline import check_planning
from qengine.syntax.scanner import Token

if TYPE_CHECKING:
    from lark import Lark

_END = "$END"
_FORMAT = 2  # of the tables that are kept
_POLLED = 4096  # tokens after which the time is looked at


class Refused(Exception):
    """The automaton has no place for ``token``; it would have taken one of ``accepts``."""

    def __init__(self, token: Token, accepts: set[str]) -> None:
        super().__init__(token, accepts)
        self.token = token
        self.accepts = accepts


_Rule = tuple[
    slice | None, Callable[[Sequence[Any]], Any] | None, Callable[[Sequence[Any]], Sequence[Any]] | None, dict[int, int]
]
"""Where its parts are on the stacks (None: the last alone); the builder's function (None: the one part is passed on);
what that is given of the parts and a None behind them (None: the parts); and from the state before it to the one
behind it."""


class Automaton:
    """Tables of an automaton with the function that each rule calls.

    Parameters
    ----------
    table
        As ``_computed`` returns it: JSON's types only.
    builder
        Has a method for each rule or alias of the grammar; it is given the rule's tokens and values, with None for
        optional parts that are absent.
    """

    def __init__(self, table: dict[str, Any], builder: object) -> None:
        self._start: int = table["start"]
        # For each state: from a terminal to the state that follows it, or to ~rule where a rule is complete.
        self._actions: list[dict[str, int]] = [table["rows"][row] for row in table["actions"]]
        gotos: list[dict[int, int]] = [dict(pairs) for pairs in table["gotos"]]
        self._rules: list[_Rule] = [
            (
                None if length == 1 else slice(-length, None),
                getattr(builder, name) if name else None,
                _arrange(layout),
                gotos[origin],
            )
            for origin, length, name, layout in table["rules"]
        ]

    def run(self, tokens: list[Token]) -> Any:
        """Return what the start rule's function makes of a statement's tokens; there is at least one.

        Raises
        ------
        Refused
            At the first token that no statement has here.
        """
        actions, rules = self._actions, self._rules
        states: list[int] = [self._start]
        values: list[Any] = []
        row = actions[self._start]
        last = tokens[-1]
        tokens = [*tokens, Token(_END, "", last.start_pos, last.end_pos)]
        for place in range(0, len(tokens), _POLLED):
            check_planning()
            for token in tokens[place : place + _POLLED]:
                kind = token.type
                while (action := row.get(kind)) is None or action < 0:
                    if action is None:
                        raise Refused(token, self._accepts(states))
                    tail, build, arrange, goto = rules[~action]
                    if tail is None:  # one part, the last
                        if build is not None:
                            value = values[-1]
                            values[-1] = build((value,) if arrange is None else arrange((value, None)))
                        state = states[-1] = goto[states[-2]]
                    else:
                        if build is not None:
                            parts: Sequence[Any] = values[tail]
                            del values[tail]
                            values.append(build(parts if arrange is None else arrange((*parts, None))))
                        del states[tail]
                        state = goto[states[-1]]
                        states.append(state)
                    row = actions[state]
                states.append(action)
                values.append(token)
                row = actions[action]
        return values[0]

    def _accepts(self, states: list[int]) -> set[str]:
        """Return the terminals that could follow."""
        return {kind for kind in self._actions[states[-1]] if self._takes(kind, list(states))}

    def _takes(self, kind: str, states: list[int]) -> bool:
        while (action := self._actions[states[-1]].get(kind)) is not None and action < 0:
            tail, _, _, goto = self._rules[~action]
            del states[slice(-1, None) if tail is None else tail]
            states.append(goto[states[-1]])
        return action is not None


def build_grammar() -> Lark:
    """Return Lark's parser of the grammar; a conflict in it raises ``lark.GrammarError``."""
    from lark import Lark
    from lark.lexer import Lexer

    class NoLexer(Lexer):
        """Lark asks for one, though the tokens come from ``qengine.syntax.scanner``."""

        def __init__(self, lexer_conf: Any) -> None:
            """Compile nothing: the terminals are declared only."""

        def lex(self, *state: Any) -> Any:
            """Refuse: Lark is never given a text."""
            raise NotImplementedError

    grammar = asset("grammar", "cypher.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer=NoLexer, start="statement", strict=True)


def load(builder: object) -> Automaton:
    """Return the automaton of the grammar, from the cache where that has it."""
    return Automaton(cached_json(f"grammar-{_FORMAT}", asset("grammar", "cypher.lark"), _computed), builder)


def _computed() -> dict[str, Any]:
    """Return the tables that Lark computes, as JSON's types.

    ``rules``: of each its nonterminal, its length, the name of its function (None where it only passes its one part
    on) and which parts the function gets (-1: None; null: all as they are).
    ``gotos``: for each nonterminal the pairs of a state and the one that follows it there.
    ``rows``, ``actions``: the different rows of the action table, and for each state which is its.

    States in which nothing can be done but to pass a part on are left out: what leads to one leads to what follows it.
    """
    from lark.parsers.lalr_analysis import Shift

    lark: Any = build_grammar()
    table = lark.parser.parser.parser.parse_table
    origins: dict[str, int] = {}
    rules: list[list[Any]] = []
    number: dict[Any, int] = {}
    for rule in lark.rules:
        number[rule] = len(rules)
        passes_on = rule.options.expand1 and not rule.alias
        name = None if passes_on else str(rule.alias or rule.origin.name)
        origin = origins.setdefault(rule.origin.name, len(origins))
        rules.append([origin, len(rule.expansion), name, _layout(rule.options.empty_indices)])
    gotos: list[dict[int, int]] = [{} for _ in origins]
    rows: list[dict[str, int]] = [{} for _ in table.states]
    rows[table.end_states["statement"]][_END] = table.end_states["statement"]
    for state, entries in table.states.items():
        for symbol, (action, target) in entries.items():
            if symbol in origins:
                gotos[origins[symbol]][state] = target
            else:
                rows[state][str(symbol)] = target if action is Shift else ~number[target]
    passed_to = [_passed_to(row, rules) for row in rows]

    def behind(before: int, state: int) -> int:
        while (origin := passed_to[state]) is not None:
            state = gotos[origin][before]
        return state

    different: dict[str, int] = {}
    actions = []
    for state, row in enumerate(rows):
        shorter = {kind: behind(state, target) if target >= 0 else target for kind, target in row.items()}
        actions.append(
            different.setdefault(json.dumps({} if passed_to[state] is not None else shorter), len(different))
        )
    return {
        "start": table.start_states["statement"],
        "rules": rules,
        "gotos": [[[state, behind(state, target)] for state, target in pairs.items()] for pairs in gotos],
        "rows": [json.loads(row) for row in different],
        "actions": actions,
    }


def _passed_to(row: dict[str, int], rules: list[list[Any]]) -> int | None:
    """Return the nonterminal that a part becomes in a state, if nothing else can be done there; else None."""
    found = set(row.values())
    if len(found) != 1 or (action := found.pop()) >= 0:
        return None
    origin, _, name, _ = rules[~action]
    return None if name else origin


def _layout(empty: tuple[bool, ...]) -> list[int] | None:
    """Return where each part of a rule comes from, given where optional parts are left out."""
    if True not in empty:
        return None
    layout: list[int] = []
    for position, absent in enumerate(empty):
        layout.append(-1 if absent else position - sum(empty[:position]))
    return layout


def _arrange(layout: list[int] | None) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
    """Return what puts the parts of a rule, with a None behind them, to their places."""
    return None if layout is None else itemgetter(*layout)
