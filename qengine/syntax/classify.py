"""Gives each token of a statement the type that its place calls for, so that an LALR grammar can parse it.

One pass over the tokens, with a stack of frames (one a bracket) that says what kind of text this is: an
expression, a list of path patterns, the inside of a node or of a relationship. The head of
``grammar/cypher.lark`` lists what is decided here. The pass never fails: what makes no sense keeps its plain type,
and the parser reports it. This file takes brackets, commas and labels; words are in ``word_rules``.
"""

from __future__ import annotations

from qengine._deadline import check_planning
from qengine.syntax.brackets import Brackets
from qengine.syntax.classifier_state import Context
from qengine.syntax.scanner import BACKTICKED, Token
from qengine.syntax.type_words import type_end
from qengine.syntax.word_rules import WordRules
from qengine.syntax.words import KEYWORDS, QUERY_WORDS

_POLLED = 4096  # tokens between two looks whether to stop

_AFTER_NODE_NAME = frozenset(("RPAR", "COLON", "LBRACE", "PARAMETER"))
_AFTER_RELATIONSHIP_NAME = frozenset(("RSQB", "COLON", "LBRACE", "PARAMETER", "STAR"))

_PLAIN = frozenset(((), ("NAME",), ("COLON", "NAME"), ("NAME", "COLON", "NAME")))
"""What stands in the brackets of most nodes and relationships, where each token is what it looks like."""

_LOOKALIKES = {
    **dict.fromkeys("\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "MINUS"),
    **dict.fromkeys("\u27e8\u3008\ufe64\uff1c", "LT"),
    **dict.fromkeys("\u27e9\u3009\ufe65\uff1e", "GT"),
}
"""Characters that openCypher reads as those of an arrow, which editors and web pages put in their place."""

_IN_PATTERNS = {**_LOOKALIKES, "?": "QUESTION"}

_LONGEST_PLAIN = max(map(len, _PLAIN))


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


class _Classifier(WordRules):
    """The rules by token type."""

    def run(self) -> list[Token]:
        """Classify all tokens."""
        tokens, kinds, out, count = self.tokens, self.kinds, self.out, len(self.tokens)
        handlers = [
            None if kind == "NAME" and token.value.upper() not in KEYWORDS else _HANDLERS.get(kind)
            for kind, token in zip(kinds, tokens, strict=False)  # kinds go on behind the tokens
        ]
        index = self.statement_prefix()
        pause = 0
        while index < count:
            if index == self.path_end:
                self._end_path(tokens[index - 1])
            if (handler := handlers[index]) is None:
                out.append(tokens[index])
                index += 1
                continue
            if index >= pause:
                check_planning()
                pause += _POLLED
            index = handler(self, index, tokens[index])
        if self.path_end == count:
            self._end_path(tokens[count - 1])
        return out

    def _end_path(self, last: Token) -> None:
        self.out.append(Token("PATTERN_END", "", last.end_pos, last.end_pos))
        self.context, self.path_end = Context.EXPRESSION, -1

    def _backticked(self, index: int, token: Token) -> int:
        return self.emit_name(index)

    def _unread(self, index: int, token: Token) -> int:
        """Take a character that the scanner can't read: in a pattern it may be drawn like one of an arrow."""
        kind = _IN_PATTERNS.get(token.value) if self.context is Context.PATTERN else None
        return self.emit(kind or "ERROR", index)

    # ------------------------------------------------------------------------------------------------- brackets

    def _open_parenthesis(self, index: int, token: Token) -> int:
        out = self.out
        if self.context is Context.EXPRESSION and not self.after_operand() and self.previous() != "SHORTEST_PATH":
            end = self.paths.end(index)
            if end > 0:
                out.append(Token("PATTERN_BEGIN", "", token.start_pos, token.start_pos))
                self.context, self.path_end = Context.PATTERN, end
        inside = Context.EXPRESSION
        if self.context is Context.PATTERN and (behind := self._plain(index)):
            return behind
        if self.previous() == "SHORTEST_PATH":
            inside = Context.PATTERN
        elif self.context is Context.PATTERN:
            inside = Context.PATTERN if self.paths.is_parenthesized(index) else Context.NODE
        out.append(token)
        self.push(inside)
        index += 1
        if inside is Context.PATTERN:
            return self.path_name(index)
        if inside is Context.NODE and self.is_name(index) and self._is_element_name(index, _AFTER_NODE_NAME):
            return self.emit_name(index)
        return index

    def _open_square(self, index: int, token: Token) -> int:
        out = self.out
        if self.context is Context.PATTERN:
            if behind := self._plain(index):
                return behind
            out.append(token)
            self.push(Context.RELATIONSHIP)
            if self.is_name(index + 1) and self._is_element_name(index + 1, _AFTER_RELATIONSHIP_NAME):
                return self.emit_name(index + 1)
            return index + 1
        if self.after_operand():
            out.append(token)
            self.push(Context.EXPRESSION)
            return index + 1
        comprehends = self.is_name(index + 1) and self.word(index + 2) == "IN" and self.word(index + 1) != "NOT"
        if comprehends and index not in self.brackets.commas:
            self.emit("LIST_COMPREHENSION", index)
            self.push(Context.EXPRESSION, divider=self.paths.divider(index))
            return self.emit_name(index + 1)
        start = index + 3 if self.is_name(index + 1) and self.kind(index + 2) == "EQ" else index + 1
        end = self.paths.end(start) if self.kind(start) == "LPAR" else -1
        if end > 0 and (self.kind(end) == "BAR" or self.word(end) == "WHERE"):
            self.emit("PATTERN_COMPREHENSION", index)
            self.push(Context.EXPRESSION, divider=self.paths.divider(index))
            return self.path_name(index + 1)
        out.append(token)
        self.push(Context.EXPRESSION)
        return index + 1

    def _plain(self, index: int) -> int:
        """Take a node or relationship whole, if it is a plain one; return the index behind it, 0 if it isn't."""
        closing = self.brackets.partner[index]
        if closing - index > _LONGEST_PLAIN + 1 or tuple(self.kinds[index + 1 : closing]) not in _PLAIN:
            return 0
        self.out += self.tokens[index : closing + 1]
        return closing + 1

    def _open_brace(self, index: int, token: Token) -> int:
        opens_query = self.previous() == "SUBQUERY" or index in self.query_braces
        if not opens_query and self._is_parameter(index):
            name = self.tokens[index + 1].value
            self.out.append(Token("PARAMETER", f"${name}", token.start_pos, self.tokens[index + 2].end_pos))
            return index + 3
        self.out.append(token)
        if opens_query:
            begins_clause = self.kind(index + 2) != "EQ" and self.word(index + 1) in QUERY_WORDS
            self.push(Context.EXPRESSION if begins_clause else Context.PATTERN, is_query=True)
            return index + 1 if begins_clause else self.pattern_prefix(index + 1)
        if self.context is Context.PATTERN:  # the bounds of a quantifier
            self.push(Context.PATTERN)
            return index + 1
        self.push(Context.EXPRESSION, is_map=True)
        return self._map_key(index + 1)

    def _is_parameter(self, index: int) -> bool:
        """Tell whether ``{name}``, a parameter as Neo4j 3 writes it, stands where a value or properties may."""
        if not (self.is_name(index + 1) and self.kind(index + 2) == "RBRACE"):
            return False
        if self.context is Context.EXPRESSION:
            return not self.after_operand()  # behind a name it projects: n {name}
        return self.context is not Context.PATTERN

    def _close(self, index: int, token: Token) -> int:
        self.out.append(token)
        self.pop()
        index += 1
        return self.more_labels(index) if self.label_ends and index - 1 in self.label_ends else index

    def _comma(self, index: int, token: Token) -> int:
        self.out.append(token)
        if self.is_map:
            return self._map_key(index + 1)
        if self.context is Context.PATTERN:
            return self.pattern_prefix(index + 1)
        return index + 1

    def _map_key(self, index: int) -> int:
        if not self.is_name(index):
            return index
        index = self.emit_name(index)
        if self.kind(index) == "COLON":
            return self.emit("COLON", index)
        return index

    def _bar(self, index: int, token: Token) -> int:
        return self.emit("DIVIDER" if index == self.divider else "BAR", index)

    def _colon(self, index: int, token: Token) -> int:
        self.out.append(token)
        return self.labels(index + 1)

    def _double_colon(self, index: int, token: Token) -> int:
        if self.after_operand() and type_end(self.tokens, index + 1) > index + 1:
            return self.type_test(index, index + 1, negated=False)
        self.out.append(token)
        return index + 1

    def _is_element_name(self, index: int, followers: frozenset[str]) -> bool:
        """Tell whether the word at the start of a node or relationship is its name: what follows says so."""
        if self.kind(index + 1) in followers:
            return self.kind(index + 1) not in ("PARAMETER", "LBRACE") or self.word(index) != "WHERE"
        here, after = self.word(index), self.word(index + 1)
        if here in ("IS", "WHERE") and self.is_name(index + 1):  # (is IS A), but (IS A) and (WHERE is.x)
            return after in ("IS", "WHERE") and self.kind(index + 2) in ("NAME", BACKTICKED, "LPAR", "BANG", "PERCENT")
        return after in ("IS", "WHERE")


_HANDLERS = {
    "NAME": _Classifier.keyword,
    BACKTICKED: _Classifier._backticked,
    "ERROR": _Classifier._unread,
    "LPAR": _Classifier._open_parenthesis,
    "LSQB": _Classifier._open_square,
    "LBRACE": _Classifier._open_brace,
    "RPAR": _Classifier._close,
    "RSQB": _Classifier._close,
    "RBRACE": _Classifier._close,
    "COMMA": _Classifier._comma,
    "COLON": _Classifier._colon,
    "COLON_COLON": _Classifier._double_colon,
    "BAR": _Classifier._bar,
}
