"""Decides for each word that can be a keyword whether it is one here."""

from __future__ import annotations

from qengine.syntax.classifier_state import CLOSING, OPENING, ClassifierState, Context
from qengine.syntax.scanner import BACKTICKED, Token
from qengine.syntax.type_words import type_end
from qengine.syntax.words import (
    CLAUSES,
    MATCH_MODES,
    NORMAL_FORMS,
    OPERATOR_WORDS,
    PATTERN_PREFIX,
    QUERY_WORDS,
    SCHEMA_WORDS,
    SET_OPERATORS,
    SHOWN,
)

_ROW_PARTS = {"ORDER": 1, "SKIP": 2, "OFFSET": 2, "LIMIT": 3}
_BODIES = frozenset((
    "MATCH", "WHERE", "UNWIND", "CREATE", "MERGE", "ON_SET", "SET", "REMOVE", "DELETE", "FOREACH", "CALL", "YIELD",
    "LOAD_CSV", "LET", "FOR", "FILTER", "WITH", "ROWS_CLAUSE", "NEXT", *SET_OPERATORS,
))  # fmt: skip
"""What stands before the body of a clause."""
_TELLING = OPENING | CLOSING | _BODIES | _ROW_PARTS.keys() | {"RETURN", "CASE", "THEN", "ELSE", "END"}
"""What tells to which clause a part of it belongs."""
_OPERAND_START = frozenset(("NAME", BACKTICKED, "PARAMETER", "INTEGER", "FLOAT", "STRING", "LSQB", "LBRACE"))
_LISTING = frozenset((
    "COMMA", "WITH", "RETURN", "DISTINCT", "LPAR", "DELETE", "PLUS", "MINUS", "STAR", "SLASH", "EQ", "NE", "LT",
    "GT", "LE", "GE",
))  # fmt: skip
_LIST_ENDS = frozenset(("", "COMMA", "RPAR", "PLUS", "STAR", "SLASH", "EQ", "NE", "LT", "GT", "LE", "GE"))
_ENDS_NAMES = CLAUSES | {"AS", "WHERE", "ORDER", "SKIP", "LIMIT"}
_DIRECTIONS = {"ASC": "ASC", "ASCENDING": "ASC", "DESC": "DESC", "DESCENDING": "DESC"}


class WordRules(ClassifierState):
    """One method a kind of word. ``after_operand`` says that no operand can begin here."""

    def keyword(self, index: int, token: Token) -> int:
        """Take a word that may be a keyword."""
        upper = token.value.upper()
        if self.previous() in ("DOT", "AS", "YIELD"):
            self.out.append(token)
            return index + 1
        after_operand = self.after_operand()
        if not after_operand and (self.kind(index + 1) == "DOT" or (upper in OPERATOR_WORDS and self._alone(index))):
            self.out.append(token)
            return index + 1
        handler = _WORDS.get(upper)
        return handler(self, index, upper, after_operand) if handler is not None else self.emit(upper, index)

    def _alone(self, index: int) -> bool:
        """Tell whether a word that joins operands has none beside it, so that it can only be a name."""
        following = self.kind(index + 1) in _LIST_ENDS or self.word(index + 1) in _ENDS_NAMES
        return following and self.previous() in _LISTING

    def statement_prefix(self) -> int:
        """Take EXPLAIN, EXPLAIN STEPS or PROFILE at the start, and the options of CYPHER before or behind."""
        index = self._cypher_options(0)
        first = self.word(index)
        if first not in ("EXPLAIN", "PROFILE"):
            return index
        index = self.emit(first, index)
        if first == "EXPLAIN" and self.word(index) == "STEPS":
            index = self.emit("STEPS", index)
        return self._cypher_options(index)

    def _cypher_options(self, index: int) -> int:
        """Take ``CYPHER 5 runtime=slotted …`` as one token, which comes first."""
        if self.word(index) != "CYPHER" or any(token.type == "CYPHER_OPTIONS" for token in self.out):
            return index
        last = index
        if self.kind(last + 1) in ("INTEGER", "FLOAT"):
            last += 1
        while self.is_name(last + 1) and self.kind(last + 2) == "EQ":
            last += 3
        last = min(last, len(self.tokens) - 1)
        token = Token("CYPHER_OPTIONS", "CYPHER", self.tokens[index].start_pos, self.tokens[last].end_pos)
        self.out.insert(0, token)
        return last + 1

    # ------------------------------------------------------------------------------------------------- clauses

    def _clause(self, index: int, upper: str, after_operand: bool) -> int:
        if upper == "WITH" and self._positions(index):
            return self.emit_joined("FOR_POSITION", self.word(index + 1), index, index + 1)
        if upper != "WITH" or self.previous() not in ("STARTS", "ENDS"):
            self.context = Context.EXPRESSION
        index = self.emit(upper, index)
        if upper == "UNION" and self.word(index) == "ALL":
            return self.emit("ALL", index)
        return index

    def _positions(self, index: int) -> bool:
        """Tell whether WITH ORDINALITY or WITH OFFSET, and a name, end a FOR here."""
        if self.word(index + 1) not in ("ORDINALITY", "OFFSET") or not self.is_name(index + 2):
            return False
        depth = 0
        for token in reversed(self.out):
            depth += (token.type in CLOSING) - (token.type in OPENING)
            if depth < 0 or (not depth and token.type in _BODIES):
                return depth == 0 and token.type == "FOR" and self.word(index + 2) not in _ENDS_NAMES
        return False

    def _set_operator(self, index: int, upper: str, after_operand: bool) -> int:
        """EXCEPT, INTERSECT and OTHERWISE between two queries."""
        behind = index + (2 if self.word(index + 1) in ("ALL", "DISTINCT") and upper != "OTHERWISE" else 1)
        if not (after_operand and self.is_query and self.word(behind) in QUERY_WORDS):
            return self.emit("NAME", index)
        self.context = Context.EXPRESSION
        index = self.emit(upper, index)
        return self.emit("ALL", index) if self.word(index) == "ALL" else index

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
        if is_keyword and self.kind(index + 1) == "LBRACE":
            self.context = Context.EXPRESSION
            self.query_braces.add(index + 1)
        return self.emit("OPTIONAL" if is_keyword else "NAME", index)

    def _order(self, index: int, upper: str, after_operand: bool) -> int:
        if self.word(index + 1) == "BY":
            self._rows_clause(index)
            self.emit("ORDER", index)
            return self.emit("BY", index + 1)
        return self.emit("ORDER" if after_operand else "NAME", index)

    def _group(self, index: int, upper: str, after_operand: bool) -> int:
        if after_operand and self.is_query and self.word(index + 1) == "BY":
            return self.emit_joined("GROUP_BY", "GROUP BY", index, index + 1)
        return self.emit("NAME", index)

    def _row_limit(self, index: int, upper: str, after_operand: bool) -> int:
        is_keyword = after_operand or self.kind(index + 1) in ("INTEGER", "PARAMETER")
        if not is_keyword:
            return self.emit("NAME", index)
        if after_operand:
            self._rows_clause(index)
        return self.emit("LIMIT" if upper == "LIMIT" else "SKIP", index)

    def _rows_clause(self, index: int) -> None:
        """Write ROWS_CLAUSE where ORDER BY, SKIP or LIMIT at an index is not part of a WITH or RETURN before it."""
        if not self.is_query:
            return
        token = self.tokens[index]
        place = _ROW_PARTS[self.word(index)]
        earlier = depth = cases = 0
        for at in range(len(self.out) - 1, -1, -1):
            kind = self.out[at].type
            if kind not in _TELLING:
                continue
            depth += (kind in CLOSING) - (kind in OPENING)
            if depth < 0:
                break
            if depth or (kind == "WITH" and at and self.out[at - 1].type in ("STARTS", "ENDS")):
                continue
            cases += (kind == "END") - (kind == "CASE")
            if kind in _ROW_PARTS:
                earlier = max(earlier, _ROW_PARTS[kind])
            elif kind == "RETURN" or (self._takes_rows(at) and earlier < place):
                return  # behind RETURN the parser says what is wrong
            elif kind in _BODIES or (kind in ("THEN", "ELSE") and not cases):
                break
        self.out.append(Token("ROWS_CLAUSE", "", token.start_pos, token.start_pos))

    def _takes_rows(self, at: int) -> bool:
        """Tell whether ORDER BY, SKIP and LIMIT belong to the clause whose word was written at an index."""
        kind = self.out[at].type
        return kind in ("WITH", "ROWS_CLAUSE") or (kind == "YIELD" and self.out[at - 1].type == "SHOW")

    def _direction(self, index: int, upper: str, after_operand: bool) -> int:
        return self.emit(_DIRECTIONS[upper] if after_operand else "NAME", index)

    def _nulls(self, index: int, upper: str, after_operand: bool) -> int:
        """NULLS FIRST and NULLS LAST behind a sort key."""
        if after_operand and self.word(index + 1) in ("FIRST", "LAST"):
            return self.emit_joined("NULLS_ORDER", self.word(index + 1), index, index + 1)
        return self.emit("NAME", index)

    def _finish(self, index: int, upper: str, after_operand: bool) -> int:
        return self.emit("FINISH" if self.begins_clause() else "NAME", index)

    def _keep(self, index: int, upper: str, after_operand: bool) -> int:
        """KEEP and what each path of the pattern before it has in front of it."""
        if not (self.context is Context.PATTERN and after_operand and self.word(index + 1) in PATTERN_PREFIX):
            return self.emit("NAME", index)
        index = self.pattern_prefix(self.emit("KEEP", index))
        self.kept = len(self.out)
        return index

    def _search(self, index: int, upper: str, after_operand: bool) -> int:
        """SEARCH name IN (VECTOR INDEX name FOR … LIMIT …) behind a pattern."""
        words = (self.word(index + 2), self.word(index + 4), self.word(index + 5))
        begins = self.context is Context.PATTERN and words == ("IN", "VECTOR", "INDEX")
        if not begins or self.kind(index + 3) != "LPAR":
            return self.emit("NAME", index)
        self.emit("SEARCH", index)
        self.emit_name(index + 1)
        self.emit("IN", index + 2)
        self.out.append(self.tokens[index + 3])
        self.search_ends.add(self.brackets.partner[index + 3])
        self.push(Context.EXPRESSION)
        index = self.emit_joined("VECTOR_INDEX", "VECTOR INDEX", index + 4, index + 5)
        index = self.emit_name(index)
        return self.emit("FOR", index) if self.word(index) == "FOR" else index

    def _score(self, index: int, upper: str, after_operand: bool) -> int:
        return self.emit("SCORE" if index - 1 in self.search_ends else "NAME", index)

    # --------------------------------------------------------------------------------- clauses that change the graph

    def _create(self, index: int, upper: str, after_operand: bool) -> int:
        if upper == "CREATE" and self.word(index + 1) == "UNIQUE" and self._begins_path(index + 2):
            self.context = Context.PATTERN
            return self.path_name(self.emit_joined("CREATE", "CREATE UNIQUE", index, index + 1))
        if self.word(index + 1) in SCHEMA_WORDS:
            return self._command(index, upper, after_operand)
        if upper == "INSERT" and not (self.begins_clause() and self._begins_path(index + 1)):
            return self.emit("NAME", index)
        self.context = Context.PATTERN
        return self.path_name(self.emit("MERGE" if upper == "MERGE" else "CREATE", index))

    def _begins_path(self, index: int) -> bool:
        return self.kind(index + 2 if self.is_name(index) and self.kind(index + 1) == "EQ" else index) == "LPAR"

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
                case "ON", "ERROR" if self.word(index + 2) == "RETRY":
                    index = self._retry(index)
                case "REPORT", "STATUS" if self.word(index + 2) == "AS" and self.is_name(index + 3):
                    index = self.emit_joined("REPORT", "REPORT STATUS", index, index + 1)
                    index = self.emit_name(self.emit("AS", index))
                case _:
                    return index

    def _retry(self, index: int) -> int:
        """Take ``ON ERROR RETRY [FOR n SECONDS] [THEN FAIL | BREAK | CONTINUE]`` as one token."""
        last, action = index + 2, "FAIL"
        if self.word(last + 1) == "FOR" and self.kind(last + 2) in ("INTEGER", "FLOAT", "PARAMETER"):
            last += 2
            last += self.word(last + 1) in ("SEC", "SECS", "SECOND", "SECONDS")
        if self.word(last + 1) == "THEN" and self.word(last + 2) in ("FAIL", "BREAK", "CONTINUE"):
            last, action = last + 2, self.word(last + 2)
        return self.emit_joined("ON_ERROR", action.lower(), index, last)

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
        if upper == "FILTER" and not self.begins_clause():
            return self._old_comprehension(index, upper, after_operand)
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

    def _next(self, index: int, upper: str, after_operand: bool) -> int:
        """NEXT between two queries, with the YIELD that may follow it."""
        if not (after_operand and self.is_query):
            return self.emit("NAME", index)
        self.context = Context.EXPRESSION
        index = self.emit("NEXT", index)
        return self.emit("YIELD", index) if self.word(index) == "YIELD" else index

    def _command(self, index: int, upper: str, after_operand: bool) -> int:
        """Join a command of administration, which is a whole statement, into one token."""
        if not self._begins_statement() or not self.is_name(index + 1):
            return self.emit("NAME" if upper != "CREATE" else "CREATE", index)
        return self.emit_joined("COMMAND", upper, index, len(self.tokens) - 1)

    def _begins_statement(self) -> bool:
        return all(token.type in ("CYPHER_OPTIONS", "EXPLAIN", "STEPS", "PROFILE") for token in self.out)

    def _show(self, index: int, upper: str, after_operand: bool) -> int:
        """Join SHOW, or TERMINATE, what it lists and the words round that into one token."""
        last = index
        while self._is_shown(last + 1):
            last += 1
        wanted = SHOWN if upper == "SHOW" else ("TRANSACTION", "TRANSACTIONS")
        first = self._begins_statement() or (self.is_command and self.begins_clause())
        if not first or not any(self.word(each) in wanted for each in range(index + 1, last + 1)):
            return self._command(index, upper, after_operand) if upper == "SHOW" else self.emit("NAME", index)
        self.is_command = True
        return self.emit_joined("SHOW", upper, index, last)

    def _is_shown(self, index: int) -> bool:
        """Tell whether a token belongs to what SHOW lists: words, names in quotes, parameters, commas."""
        if self.is_name(index):
            return self.word(index) not in ("YIELD", "WHERE", "RETURN", "SHOW", "TERMINATE")
        return self.kind(index) in ("STRING", "PARAMETER", "COMMA", "DOT")

    def _using(self, index: int, upper: str, after_operand: bool) -> int:
        """Join USING PERIODIC COMMIT and the number behind it, or a hint for the planner, into one token."""
        if (self.word(index + 1), self.word(index + 2)) == ("PERIODIC", "COMMIT") and self.begins_clause():
            last = index + 3 if self.kind(index + 3) == "INTEGER" else index + 2
            return self.emit_joined("PERIODIC_COMMIT", "USING PERIODIC COMMIT", index, last)
        last = self._planner_hint(index + 1) if self.context is Context.PATTERN and after_operand else index
        return self.emit_joined("PLANNER_HINT", "USING", index, last) if last > index else self.emit("NAME", index)

    def _planner_hint(self, index: int) -> int:
        """Return where ``INDEX n:L(key)``, ``SCAN n:L`` or ``JOIN ON a, b`` ends, 0 for what is none of them."""
        index += self.word(index) in ("BTREE", "POINT", "RANGE", "TEXT")
        kind = self.word(index)
        index += 1
        if kind == "JOIN" and self.word(index) == "ON" and self.is_name(index + 1):
            index += 1
            while self.kind(index + 1) == "COMMA" and self.is_name(index + 2):
                index += 2
            return index
        index += kind == "INDEX" and self.word(index) == "SEEK"
        named = self.is_name(index) and self.kind(index + 1) == "COLON" and self.is_name(index + 2)
        if kind == "SCAN" and named:
            return index + 2
        if kind == "INDEX" and named and self.kind(index + 3) == "LPAR":
            return self.brackets.partner[index + 3]
        return 0

    # --------------------------------------------------------------------------------------- words of expressions

    def _is(self, index: int, upper: str, after_operand: bool) -> int:
        if (after_operand or self.previous() in ("WHEN", "COMMA")) and (behind := self._tested(index)):
            return behind
        if after_operand and (behind := self._labeled(index)):
            return behind
        index = self.emit("IS", index)
        return index if self.word(index) in ("NULL", "NOT") else self.labels(index)

    def _labeled(self, index: int) -> int:
        """Take ``IS [NOT] LABELED`` and the labels behind it; return 0 where something else stands."""
        negated = self.word(index + 1) == "NOT"
        at = index + 1 + negated
        if self.word(at) != "LABELED" or not (self.is_name(at + 1) or self.kind(at + 1) in ("BANG", "LPAR", "PERCENT")):
            return 0
        behind = self.emit_joined("IS", "IS", index, at)
        if not negated:
            return self.labels(behind)
        place = self.tokens[at].end_pos
        self.out += (Token("BANG", "!", place, place), Token("LPAR", "(", place, place))
        behind = self.labels(behind)
        place = self.tokens[behind - 1].end_pos
        self.out.append(Token("RPAR", ")", place, place))
        return behind

    def _tested(self, index: int) -> int:
        """Take ``IS [NOT] :: TYPE`` or ``IS [NOT] NORMALIZED`` as one token; return 0 where neither stands."""
        at = index + 1
        negated = self.word(at) == "NOT"
        at += negated
        if self.kind(at) == "COLON_COLON" or (self.word(at) == "TYPED" and type_end(self.tokens, at + 1) > at + 1):
            return self.type_test(index, at + 1, negated=negated)
        form = self.word(at) if self.word(at) in NORMAL_FORMS else ""
        at += bool(form)
        if self.context is Context.EXPRESSION and self.word(at) == "NORMALIZED":
            return self.emit_joined("NORMALIZED", f"{'NOT ' if negated else ''}{form or 'NFC'}", index, at)
        return 0

    def type_test(self, index: int, type: int, *, negated: bool) -> int:
        """Take what tests a type, from an index on, as one token; the type begins at ``type``."""
        last = max(type_end(self.tokens, type), type + self.is_name(type)) - 1
        return self.emit_joined("NOT_TYPE_TEST" if negated else "TYPE_TEST", "::", index, last)

    def _branch(self, index: int, upper: str, after_operand: bool) -> int:
        """Take THEN or ELSE, and note where a query in braces follows."""
        braces = index + 1
        if self.kind(braces) == "LBRACE" and self.word(braces + 1) in QUERY_WORDS and self.kind(braces + 2) != "COLON":
            self.query_braces.add(braces)
        return self.emit(upper, index)

    def _end(self, index: int, upper: str, after_operand: bool) -> int:
        return self.emit("END" if after_operand else "NAME", index)

    def _quantifier(self, index: int, upper: str, after_operand: bool) -> int:
        if self.kind(index + 1) == "LPAR" and self.is_name(index + 2) and self.word(index + 3) == "IN":
            self.emit("QUANTIFIER", index)
            return self._scoped_name(index, divided=False)
        if upper == "ALL" and self.previous() == "LPAR" and self.kind(index + 1) in _OPERAND_START:  # count(ALL x)
            return self.emit("ALL", index)
        return self.emit("NAME", index)

    def _old_comprehension(self, index: int, upper: str, after_operand: bool) -> int:
        """Take ``extract(x IN list | …)`` and ``filter(x IN list WHERE …)``, list comprehensions of Neo4j 3."""
        named = self.kind(index + 1) == "LPAR" and self.is_name(index + 2) and self.word(index + 3) == "IN"
        if not named:
            return self.emit("NAME", index)
        end = self.brackets.partner[index + 1]
        divider = self.paths.divider(index + 1)
        if divider < 0 and not any(self.word(at) == "WHERE" for at in range(index + 4, end)):
            return self.emit("NAME", index)
        self.emit_joined("LIST_COMPREHENSION", upper.lower(), index, index + 1)
        self.tokens[end].type = "RSQB"
        self.push(Context.EXPRESSION, divider=divider)
        return self.emit_name(index + 2)

    def _all_reduce(self, index: int, upper: str, after_operand: bool) -> int:
        if self.kind(index + 1) == "LPAR" and self.is_name(index + 2) and self.kind(index + 3) == "EQ":
            self.emit("ALL_REDUCE", index)
            return self._scoped_name(index)
        return self.emit("NAME", index)

    def _as(self, index: int, upper: str, after_operand: bool) -> int:
        last = self.cast_types.get(index)
        return self.emit("AS", index) if last is None else self.emit_joined("CAST_TYPE", "AS", index, last)

    def _cast(self, index: int, upper: str, after_operand: bool) -> int:
        """CAST before ``(expression AS type)``."""
        if self.kind(index + 1) != "LPAR":
            return self.emit("NAME", index)
        end, depth = self.brackets.partner[index + 1], 0
        for at in range(index + 2, end):
            kind = self.kind(at)
            depth += (kind in OPENING) - (kind in CLOSING)
            if not depth and self.word(at) == "AS" and self.kind(at - 1) != "DOT":
                self.cast_types[at] = end - 1
                return self.emit("CAST", index)
        return self.emit("NAME", index)

    def _value(self, index: int, upper: str, after_operand: bool) -> int:
        """VALUE before a query in braces."""
        begins = self.kind(index + 1) == "LBRACE" and self.word(index + 2) in QUERY_WORDS
        opens = begins and self.kind(index + 3) not in ("COLON", "COMMA", "RBRACE")
        return self.emit("SUBQUERY" if opens else "NAME", index)

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

    def _trim(self, index: int, upper: str, after_operand: bool) -> int:
        """Take ``trim([BOTH | LEADING | TRAILING] [characters] FROM text)``, whose words are no keywords elsewhere."""
        if self.kind(index + 1) != "LPAR":
            return self.emit("NAME", index)
        depth = 0
        for at in range(index + 2, self.brackets.partner[index + 1]):
            kind = self.kind(at)
            depth += (kind in OPENING) - (kind in CLOSING)
            follows = self.kind(at + 1) in _OPERAND_START
            if not depth and self.word(at) == "FROM" and self.kind(at - 1) != "DOT" and follows:
                self.tokens[at].type = "FROM"
                if self.word(index + 2) in ("BOTH", "LEADING", "TRAILING"):
                    self.tokens[index + 2].type = "TRIM_SIDE"
                return self.emit("TRIM", index)
        return self.emit("NAME", index)

    def _shortest_path(self, index: int, upper: str, after_operand: bool) -> int:
        return self.emit("SHORTEST_PATH" if self.kind(index + 1) == "LPAR" else "NAME", index)


_WORDS = {
    **dict.fromkeys(("WHERE", "WITH", "RETURN", "UNWIND", "UNION"), WordRules._clause),
    **dict.fromkeys(("EXCEPT", "INTERSECT", "OTHERWISE"), WordRules._set_operator),
    "MATCH": WordRules._match,
    "OPTIONAL": WordRules._optional,
    "GROUP": WordRules._group,
    "ORDER": WordRules._order,
    **dict.fromkeys(("SKIP", "OFFSET", "LIMIT"), WordRules._row_limit),
    **dict.fromkeys(_DIRECTIONS, WordRules._direction),
    "NULLS": WordRules._nulls,
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
    "NEXT": WordRules._next,
    **dict.fromkeys(("ALTER", "DROP"), WordRules._command),
    **dict.fromkeys(("SHOW", "TERMINATE"), WordRules._show),
    "USING": WordRules._using,
    "IS": WordRules._is,
    "END": WordRules._end,
    **dict.fromkeys(("THEN", "ELSE"), WordRules._branch),
    **dict.fromkeys(("ALL", "ANY", "NONE", "SINGLE"), WordRules._quantifier),
    "REDUCE": WordRules._reduce,
    "EXTRACT": WordRules._old_comprehension,
    "KEEP": WordRules._keep,
    "SEARCH": WordRules._search,
    "SCORE": WordRules._score,
    "ALLREDUCE": WordRules._all_reduce,
    "AS": WordRules._as,
    "CAST": WordRules._cast,
    "VALUE": WordRules._value,
    "TRIM": WordRules._trim,
    **dict.fromkeys(("EXISTS", "COUNT", "COLLECT"), WordRules._subquery),
    **dict.fromkeys(("SHORTESTPATH", "ALLSHORTESTPATHS"), WordRules._shortest_path),
}
