"""The LALR(1) automaton of ``grammar/cypher.lark``: Lark computes it, this file keeps it and builds what it finds.

What Lark computes is kept in the user's cache directory. The native library classifies the tokens and runs the table
(``kernels/host/syntax``); what it gives back are the steps that make the tree.
"""

from __future__ import annotations

import ctypes
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qengine._asset_cache import cached_json
from qengine._assets import asset
from qengine._deadline import check_planning
from qengine._native import array_of
from qengine.errors import Span
from qengine.syntax.brackets import MAX_NESTING
from qengine.syntax.scanner import Token, Tokens, check_status, kinds, library, poll_address
from qengine.syntax.words import word_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lark import Lark

_END = "$END"
_FORMAT = 4  # of the tables that are kept
_POLLED = 4096  # steps after which the time is looked at
_AS_WRITTEN, _IN_BRACES = -1, -3  # of a token: its value is its text; a parameter, as {name}
_ONTO, _ABSENT = 1, 2  # steps behind those of the rules (``Program`` in kernels/host/syntax/automaton.h)
_LEVELS, _LEVELS_AROUND = 2, 8  # of the tree, at most, that a token around a part makes; and those of each statement
_NOTHING = [[None] * count for count in range(32)]

# What becomes of a rule's parts, by the name of its function (``Role`` in kernels/host/syntax/automaton.h), and which
# of them: those that are gathered to a list, a bit each, or the one that is passed on.
_BUILD, _PASS, _BEGIN, _APPEND, _UNWRAP, _LEAF = range(6)
_ROLES = {
    "list_first": (_BEGIN, 0b1), "sequence_first": (_BEGIN, 0b1), "list_next": (_APPEND, 0b100),
    "sequence_next": (_APPEND, 0b10), "binary_next": (_APPEND, 0b110), "path_step": (_APPEND, 0b110),
    "string_predicate": (_APPEND, 0b1010), "expression": (_UNWRAP, 0), "first": (_PASS, 0), "order": (_PASS, 2),
    "skip": (_PASS, 1), "limit": (_PASS, 1), "group_by": (_PASS, 1), "variable": (_LEAF, 0), "label_name": (_LEAF, 0),
    "projection_variable": (_LEAF, 0), None: (_PASS, 0),
}  # fmt: skip
BUILT_HERE = frozenset(name for name, (role, _) in _ROLES.items() if name and role in (_PASS, _BEGIN, _APPEND))
"""Rules without a function of their own."""

# Terminals that no function is given, except some.
_SILENT = word_set(
    "LPAR RPAR LSQB RSQB LBRACE RBRACE COMMA COLON DOT DOTDOT DIVIDER BAR AMP BANG AND_COLON MINUS EQ PATTERN_BEGIN "
    "PATTERN_END MATCH WHERE RETURN WITH AS ORDER BY SKIP LIMIT IN IS CASE WHEN THEN ELSE END LIST_COMPREHENSION "
    "PATTERN_COMPREHENSION UNWIND REDUCE ALL_REDUCE CAST FROM SEARCH VECTOR_INDEX FOR SCORE YIELD"
)
_HEARD = {
    "call": {"LBRACE", "RBRACE"}, "subquery_query": {"LBRACE"}, "subquery_pattern": {"LBRACE"},
    "optional_block": {"LBRACE"}, "list_comprehension": {"LIST_COMPREHENSION"},
    "label_disjunction": {"COLON"}, "show_yielding": {"YIELD"},
}  # fmt: skip


class Refused(Exception):
    """The automaton has no place for ``token`` among ``tokens``; it would have taken one of ``accepts``."""

    def __init__(self, token: Token, tokens: list[Token], accepts: set[str]) -> None:
        super().__init__(token, accepts)
        self.token = token
        self.tokens = tokens
        self.accepts = accepts


class Unpaired(Exception):
    """Brackets of a statement aren't paired: ``what`` is wrong with the tokens at ``place`` and ``other``."""

    def __init__(self, what: int, place: int, other: int) -> None:
        super().__init__(what, place, other)
        self.what, self.place, self.other = what, place, other


class _Parsed(NamedTuple):
    """What the library has found of a statement.

    ``refused``: the token that the automaton refuses, -1 for none; ``depth``: the most tokens around a part;
    ``length``, ``steps``: how many tokens and steps there are; ``numbers``: all of them in columns, and the kinds that
    it would have taken; ``values``: those of tokens that aren't their text.
    """

    refused: int
    depth: int
    length: int
    steps: int
    numbers: memoryview[int]
    values: list[str]

    @property
    def tokens(self) -> list[list[int]]:
        """The tokens' kinds, starts, ends and values."""
        return [self.numbers[each * self.length : (each + 1) * self.length].tolist() for each in range(4)]

    @property
    def program(self) -> list[list[int]]:
        """The steps' codes, counts, starts and ends."""
        columns = self.numbers[4 * self.length :]
        return [columns[each * self.steps : (each + 1) * self.steps].tolist() for each in range(4)]

    @property
    def accepted(self) -> list[int]:
        """The kinds of tokens that would have been taken."""
        return self.numbers[4 * (self.length + self.steps) :].tolist()


class Automaton:
    """Tables of an automaton with the function that each rule calls.

    Parameters
    ----------
    table
        As ``_computed`` returns it: JSON's types only.
    builder
        Has a method for each rule or alias of the grammar but those of ``BUILT_HERE``. It is given the rule's values
        and those tokens that tell something, with None for optional parts that are absent, and the place of all that
        the rule took; of a rule that takes a name alone that name.
    """

    def __init__(self, table: dict[str, Any], builder: object) -> None:
        self._names = kinds()
        number = {name: each for each, name in enumerate(self._names)}
        different = np.zeros((len(table["rows"]), len(number)), np.int16)
        for row, entries in zip(different, table["rows"], strict=True):
            row[[number[kind] for kind in entries]] = [target + (target >= 0) for target in entries.values()]
        states = np.array(table["actions"], np.int16)
        gotos = np.zeros((len(table["gotos"]), len(states)), np.int16)
        for row, pairs in zip(gotos, table["gotos"], strict=True):
            befores, behinds = zip(*pairs, strict=True) if pairs else ((), ())
            row[list(befores)] = behinds
        rules, layouts = list[tuple[int, ...]](), list[int]()
        self._build: list[Any] = []
        for origin, length, name, layout in table["rules"]:
            role, which = _ROLES.get(name, (_BUILD, 0))
            rules.append((origin, length, role, which, len(layouts), len(layout)))
            layouts += layout
            self._build.append(getattr(builder, name) if role in (_BUILD, _UNWRAP, _LEAF) else None)
        self.deepest = 0  # of the statement that ran last: no tree of it has more levels
        self._handle = ctypes.c_void_p()
        flat, places = np.array(rules, np.int32), np.array(layouts, np.int32)
        sizes = (len(states), table["start"], len(different), len(gotos), len(rules), len(places))
        counts = np.array(sizes, np.int32)
        status = library().qe_syntax_open(counts, states, different, gotos, flat, places, ctypes.byref(self._handle))
        check_status(status)

    def run(self, tokens: Tokens, *, classified: bool = False) -> Any:
        """Return what the start rule's function makes of a statement's tokens, without ``;`` and hints.

        Parameters
        ----------
        tokens
            There is at least one.
        classified
            They have their final kinds.

        Raises
        ------
        Unpaired
            For brackets that aren't paired, or nest too deep.
        Refused
            At the first token that no statement has here.
        """
        found = self._parsed(tokens, classified)
        self.deepest = _LEVELS * found.depth + _LEVELS_AROUND
        result = self._built(found, tokens.text)  # what it refuses stands before what the automaton refuses
        if found.refused < 0:
            return result
        objects = self._objects(found, tokens.text)
        end = Token(_END, "", objects[-1].start_pos, objects[-1].end_pos)
        raise Refused([*objects, end][found.refused], objects, {self._names[kind] for kind in found.accepted})

    def classified(self, tokens: Tokens) -> list[Token]:
        """Return a statement's tokens with their final types, helper tokens put in and phrases of words joined."""
        return self._objects(self._parsed(tokens, False), tokens.text)

    def _parsed(self, tokens: Tokens, classified: bool) -> _Parsed:
        found = array_of(ctypes.c_int64, 11)()
        status = library().qe_syntax_parse(
            self._handle, tokens.columns, len(tokens), classified, MAX_NESTING, poll_address(), found
        )
        check_status(status)
        brackets, place, other, refused, length, steps, accepted, characters, depth, numbers, texts = found
        if brackets:
            raise Unpaired(brackets, place, other)
        values = ctypes.string_at(texts, characters).decode().split("\n")
        content = ctypes.string_at(numbers, 8 * (4 * length + 4 * steps + accepted))
        return _Parsed(refused, depth, length, steps, memoryview(content).cast("q"), values)

    def _objects(self, found: _Parsed, text: str) -> list[Token]:
        numbers, starts, ends, values = found.tokens
        places = zip(numbers, starts, ends, values, strict=True)
        return [self._token(kind, start, end, value, found.values, text) for kind, start, end, value in places]

    def _built(self, found: _Parsed, text: str) -> Any:
        """Return the first value that the steps of a program make."""
        builders, rules, names = self._build, len(self._build), self._names
        parts: Any
        stack: list[Any] = []
        push, new = stack.append, tuple.__new__  # which takes half of what a call of the class takes
        columns = found.program
        for place in range(0, found.steps, _POLLED):
            check_planning()
            for code, count, start, end in zip(*(each[place : place + _POLLED] for each in columns), strict=True):
                if code < 0:
                    if count == _AS_WRITTEN:
                        push(new(Token, (names[~code], text[start:end], start, end)))
                    else:
                        push(self._token(~code, start, end, count, found.values, text))
                elif code < rules:
                    if count > 0:
                        parts = stack[-count:]
                        del stack[-count:]
                    else:  # a name alone
                        parts = text[start:end] if count == _AS_WRITTEN else _name(text, start, end)
                    push(builders[code](parts, new(Span, (start, end))))
                elif code == rules + _ABSENT:
                    stack += _NOTHING[count]
                else:
                    parts = stack[-count:]
                    del stack[-count:]
                    if code == rules + _ONTO:
                        parts[0] += parts[1:]
                        parts = parts[0]
                    push(parts)
        return stack[0] if stack else None

    def _token(self, kind: int, start: int, end: int, value: int, values: list[str], text: str) -> Token:
        if value >= 0:
            written = values[value]
        elif value == _IN_BRACES:
            written = f"${text[start + 1 : end - 1].strip()}"
        else:
            written = text[start:end] if value == _AS_WRITTEN else _name(text, start, end)
        return Token(self._names[kind], written, start, end)


def _name(text: str, start: int, end: int) -> str:
    """Return the name that stands in backticks."""
    return text[start + 1 : end - 1].replace("``", "`")


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
    on) and which parts the function gets (-1: None).
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
        rules.append([origin, len(rule.expansion), name, []])
    for (_, name, _), alike in _by_shape(lark.rules).items():
        silent = _SILENT - _HEARD.get(name, set())
        symbols = [[None if part < 0 else rule.expansion[part].name for part in parts] for rule, parts in alike]
        told = [
            place for place, each in enumerate(zip(*symbols, strict=True)) if not silent.issuperset({*each} - {None})
        ]
        for rule, parts in alike:
            rules[number[rule]][3] = [parts[place] for place in told]
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


def _by_shape(rules: Iterable[Any]) -> dict[tuple[str, str, int], list[tuple[Any, list[int]]]]:
    """Return rules that have the same parts but for optional ones, each with where its parts come from (-1: absent)."""
    found: dict[tuple[str, str, int], list[tuple[Any, list[int]]]] = {}
    for rule in rules:
        empty = rule.options.empty_indices or (False,) * len(rule.expansion)
        parts = [-1 if absent else place - sum(empty[:place]) for place, absent in enumerate(empty)]
        key = rule.origin.name, str(rule.alias or rule.origin.name), len(parts)
        found.setdefault(key, []).append((rule, parts))
    return found
