"""Gives each token of a statement the type that its place calls for, so that an LALR grammar can parse it.

One pass over the tokens, with a stack of frames (one a bracket) that says what kind of text this is: an
expression, a list of path patterns, the inside of a node or of a relationship. The head of
``grammar/cypher.lark`` lists what is decided here. The pass never fails: what makes no sense keeps its plain type,
and the parser reports it.
"""

from __future__ import annotations

from enum import Enum

from qengine.syntax.brackets import Brackets
from qengine.syntax.paths import PathFinder, word
from qengine.syntax.scanner import BACKTICKED, Token
from qengine.syntax.words import CLAUSES, KEYWORDS, MATCH_MODES, PATTERN_PREFIX, UNSUPPORTED

__all__ = ["classify"]


class _Land(Enum):
    """What kind of text stands here."""

    EXPRESSION = 1
    PATTERN = 2  # path patterns joined by commas, or one path
    NODE = 3
    RELATIONSHIP = 4


_EXPRESSION, _PATTERN, _NODE, _RELATIONSHIP = _Land

# Tokens that end an operand: an operator, a comma or a clause may follow, a new operand can't.
_OPERAND_END = frozenset(
    (
        "NAME",
        "PARAMETER",
        "INTEGER",
        "FLOAT",
        "STRING",
        "TRUE",
        "FALSE",
        "NULL",
        "END",
        "RPAR",
        "RSQB",
        "RBRACE",
        "PATTERN_END",
        "UNSUPPORTED",
        "FINISH",
    )
)
_CLOSING = frozenset(("RPAR", "RSQB", "RBRACE"))
_DIRECTIONS = {"ASC": "ASC", "ASCENDING": "ASC", "DESC": "DESC", "DESCENDING": "DESC"}
_QUANTIFIERS = frozenset(("ALL", "ANY", "NONE", "SINGLE"))
_SUBQUERIES = frozenset(("EXISTS", "COUNT", "COLLECT"))
_SHORTEST_PATHS = frozenset(("SHORTESTPATH", "ALLSHORTESTPATHS"))
_AFTER_NODE_NAME = frozenset(("RPAR", "COLON", "LBRACE", "PARAMETER"))
_AFTER_RELATIONSHIP_NAME = frozenset(("RSQB", "COLON", "LBRACE", "PARAMETER", "STAR"))


def classify(tokens: list[Token], brackets: Brackets) -> list[Token]:
    """Return one statement's tokens with final types, helper tokens put in and phrases of words joined.

    Parameters
    ----------
    tokens
        From ``scan``, without ``;`` and hints. They are changed in place where only the type differs.
    brackets
        The table of these tokens.
    """
    return _Classifier(tokens, brackets).run()


class _Classifier:
    def __init__(self, tokens: list[Token], brackets: Brackets) -> None:
        self.tokens = tokens
        self.brackets = brackets
        self.paths = PathFinder(tokens, brackets)
        self.out: list[Token] = []
        # The current frame: the kind of text, whether clauses may begin here, whether keys stand after commas, the
        # index of the `|` that divides it, and the index where the path inside an expression ends.
        self.land = _EXPRESSION
        self.is_query = True
        self.is_map = False
        self.divider = -1
        self.path_end = -1
        self.frames: list[tuple[_Land, bool, bool, int, int]] = []

    def run(self) -> list[Token]:
        """Classify all tokens."""
        tokens, out, count = self.tokens, self.out, len(self.tokens)
        index = self._statement_prefix()
        while index < count:
            if index == self.path_end:
                self._end_path(tokens[index - 1])
            token = tokens[index]
            handler = _HANDLERS.get(token.type)
            if handler is not None:
                index = handler(self, index, token)
            else:
                out.append(token)
                index += 1
        if self.path_end == count:
            self._end_path(tokens[count - 1])
        return out

    # ------------------------------------------------------------------------------------------- small helpers

    def _next(self, index: int) -> str:
        return self.tokens[index].type if index < len(self.tokens) else ""

    def _word(self, index: int) -> str:
        return word(self.tokens, index)

    def _is_name(self, index: int) -> bool:
        return self._next(index) in ("NAME", BACKTICKED)

    def _emit(self, kind: str, index: int) -> int:
        token = self.tokens[index]
        token.type = kind
        self.out.append(token)
        return index + 1

    def _emit_name(self, index: int) -> int:
        token = self.tokens[index]
        if token.type == BACKTICKED:
            token.value = token.value[1:-1].replace("``", "`")
            token.type = "NAME" if token.value else "EMPTY_NAME"
        self.out.append(token)
        return index + 1

    def _backticked(self, index: int, token: Token) -> int:
        return self._emit_name(index)

    def _previous(self) -> str:
        return self.out[-1].type if self.out else ""

    def _after_operand(self) -> bool:
        previous = self._previous()
        if previous == "STAR":  # RETURN *, count(*), or a factor is still to come
            return len(self.out) > 1 and self.out[-2].type in ("RETURN", "WITH", "DISTINCT", "LPAR")
        return previous in _OPERAND_END

    def _push(self, land: _Land, *, is_query: bool = False, is_map: bool = False, divider: int = -1) -> None:
        self.frames.append((self.land, self.is_query, self.is_map, self.divider, self.path_end))
        self.land, self.is_query, self.is_map, self.divider, self.path_end = land, is_query, is_map, divider, -1

    def _end_path(self, last: Token) -> None:
        self.out.append(Token("PATTERN_END", "", last.end_pos, last.end_pos))
        self.land, self.path_end = _EXPRESSION, -1

    # ------------------------------------------------------------------------------------------------- brackets

    def _open_parenthesis(self, index: int, token: Token) -> int:
        out = self.out
        if self.land is _EXPRESSION and not self._after_operand() and self._previous() != "SHORTEST_PATH":
            end = self.paths.end(index)
            if end > 0:
                out.append(Token("PATTERN_BEGIN", "", token.start_pos, token.start_pos))
                self.land, self.path_end = _PATTERN, end
        inside = _EXPRESSION
        if self._previous() == "SHORTEST_PATH":
            inside = _PATTERN
        elif self.land is _PATTERN:
            inside = _PATTERN if self.paths.is_parenthesized(index) else _NODE
        out.append(token)
        self._push(inside)
        index += 1
        if inside is _PATTERN:
            return self._path_name(index)
        if inside is _NODE and self._is_name(index) and self._is_element_name(index, _AFTER_NODE_NAME):
            return self._emit_name(index)
        return index

    def _open_square(self, index: int, token: Token) -> int:
        out = self.out
        if self.land is _PATTERN:
            out.append(token)
            self._push(_RELATIONSHIP)
            if self._is_name(index + 1) and self._is_element_name(index + 1, _AFTER_RELATIONSHIP_NAME):
                return self._emit_name(index + 1)
            return index + 1
        if self._after_operand():
            out.append(token)
            self._push(_EXPRESSION)
            return index + 1
        comprehends = self._is_name(index + 1) and self._word(index + 2) == "IN" and self._word(index + 1) != "NOT"
        if comprehends and index not in self.brackets.commas:
            self._emit("LIST_COMPREHENSION", index)
            self._push(_EXPRESSION, divider=self.paths.divider(index))
            return self._emit_name(index + 1)
        start = index + 3 if self._is_name(index + 1) and self._next(index + 2) == "EQ" else index + 1
        end = self.paths.end(start) if self._next(start) == "LPAR" else -1
        if end > 0 and (self._next(end) == "BAR" or self._word(end) == "WHERE"):
            self._emit("PATTERN_COMPREHENSION", index)
            self._push(_EXPRESSION, divider=self.paths.divider(index))
            return self._path_name(index + 1)
        out.append(token)
        self._push(_EXPRESSION)
        return index + 1

    def _open_brace(self, index: int, token: Token) -> int:
        opens_query = self._previous() == "SUBQUERY"
        self.out.append(token)
        if opens_query:
            begins_clause = self._word(index + 1) in CLAUSES and self._next(index + 2) != "EQ"
            self._push(_EXPRESSION if begins_clause else _PATTERN, is_query=True)
            return index + 1 if begins_clause else self._pattern_prefix(index + 1)
        if self.land is _PATTERN:  # the bounds of a quantifier
            self._push(_PATTERN)
            return index + 1
        self._push(_EXPRESSION, is_map=True)
        return self._map_key(index + 1)

    def _close(self, index: int, token: Token) -> int:
        self.out.append(token)
        if self.frames:
            self.land, self.is_query, self.is_map, self.divider, self.path_end = self.frames.pop()
        return index + 1

    def _comma(self, index: int, token: Token) -> int:
        self.out.append(token)
        if self.is_map:
            return self._map_key(index + 1)
        if self.land is _PATTERN:
            return self._pattern_prefix(index + 1)
        return index + 1

    def _map_key(self, index: int) -> int:
        if not self._is_name(index):
            return index
        index = self._emit_name(index)
        if self._next(index) == "COLON":
            return self._emit("COLON", index)
        return index

    def _bar(self, index: int, token: Token) -> int:
        return self._emit("DIVIDER" if index == self.divider else "BAR", index)

    # --------------------------------------------------------------------------------------------------- labels

    def _colon(self, index: int, token: Token) -> int:
        self.out.append(token)
        return self._labels(index + 1)

    def _labels(self, index: int) -> int:
        """Take a label expression whole: its words are names, its ``:`` mean "and"."""
        depth = 0
        while True:
            while self._next(index) in ("BANG", "LPAR"):
                depth += self._next(index) == "LPAR"
                index = self._emit(self._next(index), index)
            if self._is_name(index):
                index = self._emit_name(index)
            elif self._next(index) == "PERCENT":
                index = self._emit("PERCENT", index)
            else:
                break
            while depth and self._next(index) == "RPAR":
                depth -= 1
                index = self._emit("RPAR", index)
            kind = self._next(index)
            if kind == "AMP" or (kind == "BAR" and index != self.divider):
                index = self._emit(kind, index)
                if kind == "BAR" and self._next(index) == "COLON":
                    index = self._emit("COLON", index)
            elif kind == "COLON":
                index = self._emit("AND_COLON", index)
            else:
                break
        for _ in range(depth):  # parentheses that go on as something else
            self._push(_EXPRESSION)
        return index

    # ------------------------------------------------------------------------------------------------- patterns

    def _is_element_name(self, index: int, followers: frozenset[str]) -> bool:
        after = self._word(index + 1)
        if self._word(index) in ("WHERE", "IS") and self._next(index + 1) in ("PARAMETER", "NAME", "LBRACE"):
            return False
        return self._next(index + 1) in followers or after in ("IS", "WHERE")

    def _path_name(self, index: int) -> int:
        if self._is_name(index) and self._next(index + 1) == "EQ":
            self._emit_name(index)
            return self._emit("EQ", index + 1)
        return index

    def _pattern_prefix(self, index: int) -> int:
        """Take what may stand before a path: its name, a path selector, a path mode."""
        index = self._path_name(index)
        while (kind := PATTERN_PREFIX.get(self._word(index))) is not None:
            index = self._emit(kind, index)
            if self._next(index) == "INTEGER":
                index = self._emit("INTEGER", index)
        return index

    def _match(self, index: int) -> int:
        index = self._emit("MATCH", index)
        self.land = _PATTERN
        mode = MATCH_MODES.get((self._word(index), self._word(index + 1)))
        if mode is not None:
            last = index + 2 if self._word(index + 2) in ("BINDING", "BINDINGS") else index + 1
            self.out.append(Token("MATCH_MODE", mode, self.tokens[index].start_pos, self.tokens[last].end_pos))
            index = last + 1
        return self._pattern_prefix(index)

    # ---------------------------------------------------------------------------------------------------- words

    def _statement_prefix(self) -> int:
        first = self._word(0)
        if first in ("EXPLAIN", "PROFILE") and self._is_name(1):
            self._emit(first, 0)
            if first == "EXPLAIN" and self._word(1) == "STEPS":
                return self._emit("STEPS", 1)
            return 1
        return 0

    def _name(self, index: int, token: Token) -> int:
        upper = token.value.upper()
        if upper not in KEYWORDS or self._previous() in ("DOT", "AS"):
            self.out.append(token)
            return index + 1
        after_operand = self._after_operand()
        if not after_operand and self._next(index + 1) == "DOT":
            self.out.append(token)
            return index + 1
        handler = _WORDS.get(upper)
        if handler is not None:
            return handler(self, index, upper, after_operand)
        if upper in UNSUPPORTED:
            return self._unsupported(index, upper, after_operand)
        return self._emit(upper, index)

    def _clause(self, index: int, upper: str, after_operand: bool) -> int:
        if upper == "MATCH":
            return self._match(index)
        if upper == "WITH" and self._previous() in ("STARTS", "ENDS"):
            return self._emit(upper, index)
        self.land = _EXPRESSION
        index = self._emit(upper, index)
        if upper == "UNION" and self._word(index) == "ALL":
            return self._emit("ALL", index)
        return index

    def _is(self, index: int, upper: str, after_operand: bool) -> int:
        index = self._emit("IS", index)
        return index if self._word(index) in ("NULL", "NOT") else self._labels(index)

    def _optional(self, index: int, upper: str, after_operand: bool) -> int:
        if self._word(index + 1) == "CALL":
            return self._unsupported(index, upper, after_operand)
        return self._emit("OPTIONAL" if self._word(index + 1) == "MATCH" else "NAME", index)

    def _order(self, index: int, upper: str, after_operand: bool) -> int:
        if self._word(index + 1) == "BY":
            self._emit("ORDER", index)
            return self._emit("BY", index + 1)
        return self._emit("ORDER" if after_operand else "NAME", index)

    def _row_limit(self, index: int, upper: str, after_operand: bool) -> int:
        is_keyword = after_operand or self._next(index + 1) in ("INTEGER", "PARAMETER")
        return self._emit(("LIMIT" if upper == "LIMIT" else "SKIP") if is_keyword else "NAME", index)

    def _direction(self, index: int, upper: str, after_operand: bool) -> int:
        return self._emit(_DIRECTIONS[upper] if after_operand else "NAME", index)

    def _end(self, index: int, upper: str, after_operand: bool) -> int:
        return self._emit("END" if after_operand else "NAME", index)

    def _finish(self, index: int, upper: str, after_operand: bool) -> int:
        begins = self.is_query and (after_operand or not self.out or self._previous() == "LBRACE")
        return self._emit("FINISH" if begins else "NAME", index)

    def _quantifier(self, index: int, upper: str, after_operand: bool) -> int:
        if self._next(index + 1) == "LPAR" and self._is_name(index + 2) and self._word(index + 3) == "IN":
            self._emit("QUANTIFIER", index)
            return self._scoped_name(index)
        return self._emit("NAME", index)

    def _reduce(self, index: int, upper: str, after_operand: bool) -> int:
        if self._next(index + 1) == "LPAR" and self._is_name(index + 2) and self._next(index + 3) == "EQ":
            self._emit("REDUCE", index)
            return self._scoped_name(index)
        return self._emit("NAME", index)

    def _scoped_name(self, index: int) -> int:
        """Take ``(`` and the name after it, behind the word at ``index``."""
        self.out.append(self.tokens[index + 1])
        self._push(_EXPRESSION, divider=self.paths.divider(index + 1))
        return self._emit_name(index + 2)

    def _subquery(self, index: int, upper: str, after_operand: bool) -> int:
        first, second = self._next(index + 2), self._next(index + 3)
        is_projection = first in ("DOT", "STAR") or (
            first in ("NAME", BACKTICKED) and second in ("COLON", "COMMA", "RBRACE")
        )
        opens = self._next(index + 1) == "LBRACE" and not is_projection
        return self._emit("SUBQUERY" if opens else "NAME", index)

    def _shortest_path(self, index: int, upper: str, after_operand: bool) -> int:
        return self._emit("SHORTEST_PATH" if self._next(index + 1) == "LPAR" else "NAME", index)

    def _unsupported(self, index: int, upper: str, after_operand: bool) -> int:
        """Join a clause that isn't built into one token, up to the next clause."""
        begins = not self.out or self._previous() in ("LBRACE", "EXPLAIN", "STEPS", "PROFILE", "ALL", "UNION")
        if not (self.is_query and (after_operand or begins)):
            return self._emit("NAME" if upper in ("FILTER", "FOR", "LET", "SHOW", "USE") else upper, index)
        end = index + 1
        while end < len(self.tokens) and self._next(end) not in _CLOSING and not self._begins_clause(end):
            end = self.brackets.partner.get(end, end) + 1
        last = self.tokens[end - 1]
        keyword = f"{upper} {self._word(index + 1)}" if upper in ("DETACH", "LOAD", "NODETACH", "OPTIONAL") else upper
        kind = "UNSUPPORTED" if end > index + 1 else upper
        self.out.append(Token(kind, keyword, self.tokens[index].start_pos, last.end_pos))
        self.land = _EXPRESSION
        return end

    def _begins_clause(self, index: int) -> bool:
        upper = self._word(index)
        if upper not in CLAUSES or self._next(index - 1) in ("DOT", "COLON", "AMP", "BAR"):
            return False
        before = self._word(index - 1)
        if upper == "SET" and before in ("MATCH", "CREATE"):
            return self._word(index - 2) != "ON"
        return before not in ("ON", "CSV", "STARTS", "ENDS", "DETACH", "NODETACH", "AS", "OPTIONAL")


_HANDLERS = {
    "NAME": _Classifier._name,
    BACKTICKED: _Classifier._backticked,
    "LPAR": _Classifier._open_parenthesis,
    "LSQB": _Classifier._open_square,
    "LBRACE": _Classifier._open_brace,
    "RPAR": _Classifier._close,
    "RSQB": _Classifier._close,
    "RBRACE": _Classifier._close,
    "COMMA": _Classifier._comma,
    "COLON": _Classifier._colon,
    "BAR": _Classifier._bar,
}

_WORDS = {
    **dict.fromkeys(("MATCH", "WHERE", "WITH", "RETURN", "UNWIND", "UNION"), _Classifier._clause),
    "IS": _Classifier._is,
    "OPTIONAL": _Classifier._optional,
    "ORDER": _Classifier._order,
    **dict.fromkeys(("SKIP", "OFFSET", "LIMIT"), _Classifier._row_limit),
    **dict.fromkeys(_DIRECTIONS, _Classifier._direction),
    "END": _Classifier._end,
    "FINISH": _Classifier._finish,
    **dict.fromkeys(_QUANTIFIERS, _Classifier._quantifier),
    "REDUCE": _Classifier._reduce,
    **dict.fromkeys(_SUBQUERIES, _Classifier._subquery),
    **dict.fromkeys(_SHORTEST_PATHS, _Classifier._shortest_path),
}
