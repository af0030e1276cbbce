"""Decides for each word that can be a keyword whether it is one here."""

from __future__ import annotations

from qengine.syntax.classifier_state import ClassifierState, Context
from qengine.syntax.scanner import BACKTICKED, Token
from qengine.syntax.words import KEYWORDS, MATCH_MODES, SCHEMA_WORDS, SHOWN

__all__ = ["WordRules"]

_DIRECTIONS = {"ASC": "ASC", "ASCENDING": "ASC", "DESC": "DESC", "DESCENDING": "DESC"}


class WordRules(ClassifierState):
    """One method a kind of word. ``after_operand`` says that no operand can begin here."""

    def name(self, index: int, token: Token) -> int:
        """Take a word."""
        upper = token.value.upper()
        if upper not in KEYWORDS or self.previous() in ("DOT", "AS", "YIELD"):
            self.out.append(token)
            return index + 1
        after_operand = self.after_operand()
        if not after_operand and self.kind(index + 1) == "DOT":
            self.out.append(token)
            return index + 1
        handler = _WORDS.get(upper)
        return handler(self, index, upper, after_operand) if handler is not None else self.emit(upper, index)

    def statement_prefix(self) -> int:
        """Take EXPLAIN, EXPLAIN STEPS or PROFILE at the start."""
        first = self.word(0)
        if first not in ("EXPLAIN", "PROFILE"):
            return 0
        self.emit(first, 0)
        return self.emit("STEPS", 1) if first == "EXPLAIN" and self.word(1) == "STEPS" else 1

    # ------------------------------------------------------------------------------------------------- clauses

    def _clause(self, index: int, upper: str, after_operand: bool) -> int:
        if upper != "WITH" or self.previous() not in ("STARTS", "ENDS"):
            self.context = Context.EXPRESSION
        index = self.emit(upper, index)
        if upper == "UNION" and self.word(index) == "ALL":
            return self.emit("ALL", index)
        return index

    def _match(self, index: int, upper: str, after_operand: bool) -> int:
        index = self.emit("MATCH", index)
        self.context = Context.PATTERN
        mode = MATCH_MODES.get((self.word(index), self.word(index + 1)))
        if mode is not None:
            has_bindings = self.word(index + 2) in ("BINDING", "BINDINGS")
            index = self.emit_joined("MATCH_MODE", mode, index, index + 1 + has_bindings)
        return self.pattern_prefix(index)

    def _optional(self, index: int, upper: str, after_operand: bool) -> int:
        is_keyword = self.word(index + 1) in ("MATCH", "CALL") or self.begins_clause()
        return self.emit("OPTIONAL" if is_keyword else "NAME", index)

    def _order(self, index: int, upper: str, after_operand: bool) -> int:
        if self.word(index + 1) == "BY":
            self.emit("ORDER", index)
            return self.emit("BY", index + 1)
        return self.emit("ORDER" if after_operand else "NAME", index)

    def _row_limit(self, index: int, upper: str, after_operand: bool) -> int:
        is_keyword = after_operand or self.kind(index + 1) in ("INTEGER", "PARAMETER")
        return self.emit(("LIMIT" if upper == "LIMIT" else "SKIP") if is_keyword else "NAME", index)

    def _direction(self, index: int, upper: str, after_operand: bool) -> int:
        return self.emit(_DIRECTIONS[upper] if after_operand else "NAME", index)

    def _finish(self, index: int, upper: str, after_operand: bool) -> int:
        return self.emit("FINISH" if self.begins_clause() else "NAME", index)

    # --------------------------------------------------------------------------------- clauses that change the graph

    def _create(self, index: int, upper: str, after_operand: bool) -> int:
        if self.word(index + 1) in SCHEMA_WORDS:
            return self._command(index, upper, after_operand)
        if upper == "INSERT" and not (self.begins_clause() and self.kind(index + 1) == "LPAR"):
            return self.emit("NAME", index)
        self.context = Context.PATTERN
        return self.path_name(self.emit("MERGE" if upper == "MERGE" else "CREATE", index))

    def _on(self, index: int, upper: str, after_operand: bool) -> int:
        if self.word(index + 1) in ("CREATE", "MATCH") and self.word(index + 2) == "SET":
            self.context = Context.EXPRESSION
            return self.emit_joined("ON_SET", f"ON {self.word(index + 1)} SET", index, index + 2)
        return self.emit("NAME", index)

    def _update(self, index: int, upper: str, after_operand: bool) -> int:
        self.context = Context.EXPRESSION
        return self.emit("DETACH" if upper == "NODETACH" else upper, index)  # the token keeps its word

    def _foreach(self, index: int, upper: str, after_operand: bool) -> int:
        if self.kind(index + 1) == "LPAR" and self.is_name(index + 2) and self.begins_clause():
            self.emit("FOREACH", index)
            return self._scoped_name(index, is_query=True)
        return self.emit("NAME", index)

    def _call(self, index: int, upper: str, after_operand: bool) -> int:
        self.context = Context.EXPRESSION
        brace = index + 1
        if self.kind(brace) == "LPAR":
            brace = self.brackets.partner[brace] + 1
        if self.kind(brace) == "LBRACE":
            self.query_braces.add(brace)
            self.query_ends.add(self.brackets.partner[brace])
        return self.emit("CALL", index)

    def _in(self, index: int, upper: str, after_operand: bool) -> int:
        if index - 1 not in self.query_ends:
            return self.emit("IN", index)
        last = index
        while self.word(last + 1) == "CONCURRENT" or self.kind(last + 1) in ("INTEGER", "PARAMETER"):
            last += 1
        if self.word(last + 1) != "TRANSACTIONS":
            return self.emit("IN", index)
        concurrent = "CONCURRENT " if last > index else ""
        return self._transactions(self.emit_joined("TRANSACTIONS", f"IN {concurrent}TRANSACTIONS", index, last + 1))

    def _transactions(self, index: int) -> int:
        """Take what may follow IN TRANSACTIONS, in any order."""
        while True:
            match self.word(index), self.word(index + 1):
                case "OF", _ if self.word(index + 2) in ("ROW", "ROWS"):
                    index = self.emit(self.kind(index + 1), self.emit("OF", index))
                    index = self.emit("ROWS", index)
                case "ON", "ERROR" if self.word(index + 2) in ("FAIL", "BREAK", "CONTINUE"):
                    index = self.emit_joined("ON_ERROR", self.word(index + 2).lower(), index, index + 2)
                case "REPORT", "STATUS" if self.word(index + 2) == "AS" and self.is_name(index + 3):
                    index = self.emit_joined("REPORT", "REPORT STATUS", index, index + 1)
                    index = self.emit_name(self.emit("AS", index))
                case _:
                    return index

    def _load(self, index: int, upper: str, after_operand: bool) -> int:
        if not (self.word(index + 1) == "CSV" and self.begins_clause()):
            return self.emit("NAME", index)
        last, value = index + 1, "LOAD CSV"
        while (word := self.word(last + 1)) in ("WITH", "HEADERS", "FROM"):
            last, value = last + 1, f"{value} {word}"
        self.context = Context.EXPRESSION
        return self.emit_joined("LOAD_CSV", value, index, last)

    def _soft_clause(self, index: int, upper: str, after_operand: bool) -> int:
        """LET, FOR, FILTER, USE: names unless a clause may begin here and what follows fits."""
        fits = {
            "LET": self.is_name(index + 1) and self.kind(index + 2) == "EQ",
            "FOR": self.is_name(index + 1) and self.word(index + 2) == "IN",
            "FILTER": True,
            "USE": self.is_name(index + 1),
        }
        if not (fits[upper] and self.begins_clause()):
            return self.emit("NAME", index)
        self.context = Context.EXPRESSION
        return self.emit(upper, index)

    def _trailing_word(self, index: int, upper: str, after_operand: bool) -> int:
        """YIELD and FIELDTERMINATOR: keywords behind an operand of a query."""
        return self.emit(upper if after_operand and self.is_query else "NAME", index)

    def _command(self, index: int, upper: str, after_operand: bool) -> int:
        """Join a command of administration, which is a whole statement, into one token."""
        if not self._begins_statement() or not self.is_name(index + 1):
            return self.emit("NAME" if upper != "CREATE" else "CREATE", index)
        return self.emit_joined("COMMAND", upper, index, len(self.tokens) - 1)

    def _begins_statement(self) -> bool:
        return all(token.type in ("EXPLAIN", "STEPS", "PROFILE") for token in self.out)

    def _show(self, index: int, upper: str, after_operand: bool) -> int:
        """Join SHOW, what it lists and the words round that into one token."""
        last = index
        while self.is_name(last + 1) and self.word(last + 1) not in ("YIELD", "WHERE", "RETURN"):
            last += 1
        if not self._begins_statement() or not any(self.word(each) in SHOWN for each in range(index + 1, last + 1)):
            return self._command(index, upper, after_operand)
        return self.emit_joined("SHOW", upper, index, last)

    def _periodic_commit(self, index: int, upper: str, after_operand: bool) -> int:
        """Join USING PERIODIC COMMIT and the number behind it into one token."""
        if (self.word(index + 1), self.word(index + 2)) != ("PERIODIC", "COMMIT") or not self.begins_clause():
            return self.emit("NAME", index)
        last = index + 3 if self.kind(index + 3) == "INTEGER" else index + 2
        return self.emit_joined("PERIODIC_COMMIT", "USING PERIODIC COMMIT", index, last)

    # --------------------------------------------------------------------------------------- words of expressions

    def _is(self, index: int, upper: str, after_operand: bool) -> int:
        index = self.emit("IS", index)
        return index if self.word(index) in ("NULL", "NOT") else self.labels(index)

    def _end(self, index: int, upper: str, after_operand: bool) -> int:
        return self.emit("END" if after_operand else "NAME", index)

    def _quantifier(self, index: int, upper: str, after_operand: bool) -> int:
        if self.kind(index + 1) == "LPAR" and self.is_name(index + 2) and self.word(index + 3) == "IN":
            self.emit("QUANTIFIER", index)
            return self._scoped_name(index, divided=False)
        return self.emit("NAME", index)

    def _reduce(self, index: int, upper: str, after_operand: bool) -> int:
        if self.kind(index + 1) == "LPAR" and self.is_name(index + 2) and self.kind(index + 3) == "EQ":
            self.emit("REDUCE", index)
            return self._scoped_name(index)
        return self.emit("NAME", index)

    def _scoped_name(self, index: int, *, is_query: bool = False, divided: bool = True) -> int:
        """Take ``(`` and the name after it, behind the word at ``index``; ``divided``: by a ``|`` inside."""
        self.out.append(self.tokens[index + 1])
        self.push(Context.EXPRESSION, is_query=is_query, divider=self.paths.divider(index + 1) if divided else -1)
        return self.emit_name(index + 2)

    def _subquery(self, index: int, upper: str, after_operand: bool) -> int:
        first, second = self.kind(index + 2), self.kind(index + 3)
        is_projection = first in ("DOT", "STAR") or (
            first in ("NAME", BACKTICKED) and second in ("COLON", "COMMA", "RBRACE")
        )
        opens = self.kind(index + 1) == "LBRACE" and not is_projection
        return self.emit("SUBQUERY" if opens else "NAME", index)

    def _shortest_path(self, index: int, upper: str, after_operand: bool) -> int:
        return self.emit("SHORTEST_PATH" if self.kind(index + 1) == "LPAR" else "NAME", index)


_WORDS = {
    **dict.fromkeys(("WHERE", "WITH", "RETURN", "UNWIND", "UNION"), WordRules._clause),
    "MATCH": WordRules._match,
    "OPTIONAL": WordRules._optional,
    "ORDER": WordRules._order,
    **dict.fromkeys(("SKIP", "OFFSET", "LIMIT"), WordRules._row_limit),
    **dict.fromkeys(_DIRECTIONS, WordRules._direction),
    "FINISH": WordRules._finish,
    **dict.fromkeys(("CREATE", "INSERT", "MERGE"), WordRules._create),
    "ON": WordRules._on,
    **dict.fromkeys(("SET", "REMOVE", "DELETE", "DETACH", "NODETACH"), WordRules._update),
    "FOREACH": WordRules._foreach,
    "CALL": WordRules._call,
    "IN": WordRules._in,
    "LOAD": WordRules._load,
    **dict.fromkeys(("LET", "FOR", "FILTER", "USE"), WordRules._soft_clause),
    **dict.fromkeys(("YIELD", "FIELDTERMINATOR"), WordRules._trailing_word),
    **dict.fromkeys(("ALTER", "DROP"), WordRules._command),
    "SHOW": WordRules._show,
    "USING": WordRules._periodic_commit,
    "IS": WordRules._is,
    "END": WordRules._end,
    **dict.fromkeys(("ALL", "ANY", "NONE", "SINGLE"), WordRules._quantifier),
    "REDUCE": WordRules._reduce,
    **dict.fromkeys(("EXISTS", "COUNT", "COLLECT"), WordRules._subquery),
    **dict.fromkeys(("SHORTESTPATH", "ALLSHORTESTPATHS"), WordRules._shortest_path),
}
