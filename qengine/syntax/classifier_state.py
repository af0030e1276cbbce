"""The classifier's place in the text: a stack of frames, one a bracket, and what its rules share."""

from __future__ import annotations

from enum import Enum

from qengine.syntax.brackets import Brackets
from qengine.syntax.paths import AHEAD, PathFinder, word
from qengine.syntax.scanner import BACKTICKED, Token
from qengine.syntax.words import PATTERN_PREFIX, SET_OPERATORS


class Context(Enum):
    """What kind of text stands here."""

    EXPRESSION = 1
    PATTERN = 2  # path patterns joined by commas, or one path
    NODE = 3
    RELATIONSHIP = 4


# Tokens that end an operand: an operator, a comma or a clause may follow, a new operand can't.
_OPERAND_END = frozenset((
    "NAME", "PARAMETER", "INTEGER", "FLOAT", "STRING", "TRUE", "FALSE", "NULL", "END", "RPAR", "RSQB", "RBRACE",
    "PATTERN_END", "FINISH", "TRANSACTIONS", "ROWS", "ON_ERROR", "COMMAND", "SHOW", "ASC", "DESC", "NULLS_ORDER",
    "TYPE_TEST", "NOT_TYPE_TEST", "NORMALIZED", "PLANNER_HINT",
))  # fmt: skip
# Types whose token may be followed by the first clause of a query.
_QUERY_START = frozenset(
    (
        "",
        "LBRACE",
        "CYPHER_OPTIONS",
        "EXPLAIN",
        "STEPS",
        "PROFILE",
        "ALL",
        *SET_OPERATORS,
        "NEXT",
        "DIVIDER",
        "PERIODIC_COMMIT",
    )
)


OPENING = frozenset(("LPAR", "LSQB", "LBRACE", "LIST_COMPREHENSION", "PATTERN_COMPREHENSION"))
CLOSING = frozenset(("RPAR", "RSQB", "RBRACE"))


class ClassifierState:
    """Reads ``tokens`` by index and writes to ``out``. Rules are methods that take an index and return the next."""

    def __init__(self, tokens: list[Token], brackets: Brackets) -> None:
        self.tokens = tokens
        self.kinds = [*brackets.kinds, *AHEAD]  # as scanned: they are read from the index on
        self.brackets = brackets
        self.paths = PathFinder(tokens, self.kinds, brackets)
        self.out: list[Token] = []
        # The current frame: the kind of text, whether clauses may begin here, whether keys stand after commas, the
        # index of the `|` that divides it, and the index where the path inside an expression ends.
        self.context = Context.EXPRESSION
        self.is_query = True
        self.is_command = False  # whether it began with SHOW or TERMINATE
        self.is_map = False
        self.divider = -1
        self.path_end = -1
        self.frames: list[tuple[Context, bool, bool, int, int]] = []
        self.query_braces: set[int] = set()  # indices of the `{` of CALL
        self.query_ends: set[int] = set()  # and of their `}`
        self.cast_types: dict[int, int] = {}  # indices of the AS of CAST and of the last word of the type behind it
        self.search_ends: set[int] = set()  # indices of the `)` of SEARCH n IN ( … )
        self.kept = -1  # how many tokens were written when KEEP ended
        self.label_ends: set[int] = set()  # indices of the `)` of `$(…)` in label expressions

    def push(self, context: Context, *, is_query: bool = False, is_map: bool = False, divider: int = -1) -> None:
        """Enter a bracket."""
        self.frames.append((self.context, self.is_query, self.is_map, self.divider, self.path_end))
        self.context, self.is_query, self.is_map, self.divider, self.path_end = context, is_query, is_map, divider, -1

    def pop(self) -> None:
        """Leave a bracket."""
        if self.frames:
            self.context, self.is_query, self.is_map, self.divider, self.path_end = self.frames.pop()

    # ------------------------------------------------------------------------------------------------- questions

    def kind(self, index: int) -> str:
        """Return the type of the token at an index, ``""`` behind the end."""
        return self.kinds[index]

    def word(self, index: int) -> str:
        """Return the word at an index in upper case, ``""`` for what is no word."""
        return word(self.tokens, index)

    def is_name(self, index: int) -> bool:
        """Tell whether a word stands at an index, keyword or not."""
        return self.kinds[index] in ("NAME", BACKTICKED)

    def previous(self) -> str:
        """Return the type of the token written last."""
        return self.out[-1].type if self.out else ""

    def after_operand(self) -> bool:
        """Tell whether an operand ends here, so that an operator or a clause may follow."""
        if len(self.out) == self.kept:
            return True
        previous = self.previous()
        if previous == "STAR":  # RETURN *, count(*), or a factor is still to come
            return len(self.out) > 1 and self.out[-2].type in ("RETURN", "WITH", "DISTINCT", "LPAR", "YIELD")
        return previous in _OPERAND_END

    def begins_clause(self) -> bool:
        """Tell whether a clause may begin here."""
        if not self.is_query:
            return False
        previous = self.previous()
        if previous == "DISTINCT":
            return len(self.out) > 1 and self.out[-2].type in SET_OPERATORS
        if previous in ("THEN", "ELSE"):
            return not self._in_case()
        return previous in _QUERY_START or self.after_operand()

    def _in_case(self) -> bool:
        """Tell whether a CASE is open here, in the same brackets."""
        open_ones = depth = 0
        for token in reversed(self.out):
            depth += (token.type in CLOSING) - (token.type in OPENING)
            open_ones += 0 if depth else (token.type == "END") - (token.type == "CASE")
            if depth < 0 or open_ones < 0:
                return depth == 0
        return False

    # --------------------------------------------------------------------------------------------------- writing

    def emit(self, kind: str, index: int) -> int:
        """Write the token at an index with this type."""
        token = self.tokens[index]
        token.type = kind
        self.out.append(token)
        return index + 1

    def emit_name(self, index: int) -> int:
        """Write the token at an index as a name, without its backticks."""
        token = self.tokens[index]
        if token.type == BACKTICKED:
            token.value = token.value[1:-1].replace("``", "`")
            token.type = "NAME" if token.value else "EMPTY_NAME"
        self.out.append(token)
        return index + 1

    def emit_joined(self, kind: str, value: str, first: int, last: int) -> int:
        """Write the tokens from one index to another as a single one."""
        self.out.append(Token(kind, value, self.tokens[first].start_pos, self.tokens[last].end_pos))
        return last + 1

    # ------------------------------------------------------------------------------------- what several rules take

    def labels(self, index: int) -> int:
        """Take a label expression whole: its words are names, its ``:`` mean "and"."""
        depth = 0
        while True:
            while self.kind(index) in ("BANG", "LPAR"):
                depth += self.kind(index) == "LPAR"
                index = self.emit(self.kind(index), index)
            if self.is_name(index):
                index = self.emit_name(index)
            elif self.kind(index) == "PERCENT":
                index = self.emit("PERCENT", index)
            elif self.kind(index) == "DOLLAR" or self._is_choice(index):
                return self._dynamic(index, depth)
            elif self.kind(index) == "PARAMETER":
                index = self.emit("PARAMETER", index)
            else:
                break
            while depth and self.kind(index) == "RPAR":
                depth -= 1
                index = self.emit("RPAR", index)
            kind = self.kind(index)
            if kind == "AMP" or (kind == "BAR" and index != self.divider):
                index = self.emit(kind, index)
                if kind == "BAR" and self.kind(index) == "COLON":
                    index = self.emit("COLON", index)
            elif kind == "COLON":
                index = self.emit("AND_COLON", index)
            else:
                break
        for _ in range(depth):  # parentheses that go on as something else
            self.push(Context.EXPRESSION)
        return index

    def _is_choice(self, index: int) -> bool:
        """Tell whether ``$any(…)`` or ``$all(…)`` stands at an index."""
        return self.kind(index + 1) == "LPAR" and self.tokens[index].value.lower() in ("$any", "$all")

    def _dynamic(self, index: int, depth: int) -> int:
        """Enter ``$(…)``, an expression; the label expression, inside ``depth`` parentheses, goes on behind it."""
        for _ in range(depth):
            self.push(Context.EXPRESSION)
        self.emit("DYNAMIC", index)
        self.out.append(self.tokens[index + 1])
        self.push(Context.EXPRESSION)
        self.label_ends.add(self.brackets.partner[index + 1])
        return index + 2

    def more_labels(self, index: int) -> int:
        """Take what goes on behind a ``$(…)`` that closes before an index."""
        kind = self.kind(index)
        if kind == "COLON":
            return self.labels(self.emit("AND_COLON", index))
        if kind == "AMP" or (kind == "BAR" and index != self.divider):
            index = self.emit(kind, index)
            return self.labels(self.emit("COLON", index) if self.kind(index) == "COLON" else index)
        return index

    def path_name(self, index: int) -> int:
        """Take the name of a path and its ``=``, where they stand."""
        if self.is_name(index) and self.kind(index + 1) == "EQ":
            self.emit_name(index)
            return self.emit("EQ", index + 1)
        return index

    def pattern_prefix(self, index: int) -> int:
        """Take what may stand before a path: its name, a path selector, a path mode."""
        index = self.path_name(index)
        while (kind := PATTERN_PREFIX.get(self.word(index))) is not None:
            index = self.emit(kind, index)
            if self.kind(index) == "INTEGER":
                index = self.emit("INTEGER", index)
        return index
