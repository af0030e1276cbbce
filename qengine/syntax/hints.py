"""What to do about a mistake: hints for the slips that people make most.

Each rule looks at the token found, at what stands before it, and at what the parser would have taken. The first
rule that knows the slip answers. ``grammar/mistakes.toml`` holds a sample of each with the text that it must give.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from qengine._frozen import frozen
from qengine._nearest import nearest
from qengine.errors import Span
from qengine.syntax.scanner import Token


@frozen
class Mistake:
    """A known slip: its hint, and where they are better than the general ones, its message, place and code."""

    hint: str | None = None
    message: str | None = None
    span: Span | None = None
    code: str | None = None


@frozen
class _Place:
    """Where the parser stopped."""

    token: Token
    tokens: list[Token]
    index: int
    accepts: frozenset[str]

    def before(self, distance: int = 1) -> Token:
        """Return a token before this one, a token of type ``""`` where there is none."""
        index = self.index - distance
        return self.tokens[index] if index >= 0 else _NOTHING

    def kinds(self, count: int) -> tuple[str, ...]:
        """Return the types of the tokens before this one, the nearest first."""
        return tuple(self.before(distance).type for distance in range(1, count + 1))

    def clause(self) -> str:
        """Return the type of the keyword that began the clause this stands in."""
        for token in reversed(self.tokens[: self.index]):
            if token.type in _CLAUSES:
                return token.type
        return ""


_NOTHING = Token("", "", 0, 0)
_CLAUSES = frozenset(("MATCH", "WHERE", "WITH", "RETURN", "UNWIND", "SKIP", "LIMIT", "ORDER"))
_ENDS_OPERAND = frozenset(
    ("NAME", "INTEGER", "FLOAT", "STRING", "PARAMETER", "TRUE", "FALSE", "NULL", "RPAR", "RSQB", "RBRACE", "END")
)

_SIGNS = {
    "BANG_EQ": "Write <> for 'not equal'.",
    "EQ_EQ": "Write = to compare.",
    "EQ_GT": "Write >= for 'at least', and --> or -[…]-> for a relationship.",
    "AMP_AMP": "Write AND.",
    "CONCAT": "Write OR; || joins strings and lists.",
    "BANG": "Write NOT; ! negates labels only.",
    "PLUS_EQ": "+= stands in SET only.",
    "COLON_COLON": "Write one ':' before a label.",
}

_TRANSACTIONS = "Transactions are no statements: with graph.transaction() as t: t.query(…); in the shell :begin."

_FOREIGN_WORDS = {
    "FIND": "Find by MATCH, as in MATCH (n:Person) RETURN n.",
    "GET": "Find by MATCH, as in MATCH (n:Person) RETURN n.",
    "UPDATE": "Change what MATCH finds: MATCH (n:Person {name: 'Ada'}) SET n.age = 36.",
    "SELECT": "This is Cypher, not SQL: begin with MATCH and end with RETURN, as in MATCH (n:Person) RETURN n.name.",
    "FROM": "Name a pattern instead of a table: MATCH (n:Person) RETURN n.",
    "JOIN": "Join by a pattern: MATCH (a)-[:KNOWS]->(b).",
    "HAVING": "Filter groups by WITH …, count(*) AS n WHERE n > 1.",
    "LIKE": "Write CONTAINS, STARTS WITH, ENDS WITH, or =~ with a regular expression.",
    "ILIKE": "Write toLower(x) CONTAINS 'a', or =~ '(?i)…' with a regular expression.",
    "BETWEEN": "Write 1 <= x <= 9.",
    "IF": "Write CASE WHEN … THEN … ELSE … END.",
    "DIV": "Write x / y, which of integers is an integer.",
    "MOD": "Write x % y.",
    "DESCRIBE": "Graph.schema has labels, types and properties; in the shell :schema.",
    "TABLE": "A graph needs no tables: CREATE (:Person {name: 'Ada'}) makes a node, and its label.",
    "COPY": "Graph.from_csv and from_parquet load files; graph.append_arrow and LOAD CSV add to a graph that is there.",
    "LOAD": "Write LOAD CSV WITH HEADERS FROM 'file:///people.csv' AS row.",
    "EXPORT": "Write graph.export(path).",
    "PRAGMA": "SHOW FUNCTIONS, SHOW INDEXES and the like list what there is; Graph.schema has labels and types.",
    "INSERT": "Write CREATE (:Label {key: value}).",
    "BEGIN": _TRANSACTIONS,
    "START": f"START n=node(…) is of Neo4j 3: MATCH (n) WHERE id(n) = …. {_TRANSACTIONS}",
    "COMMIT": _TRANSACTIONS,
    "ROLLBACK": _TRANSACTIONS,
    "FOR": "Write [x IN list WHERE … | …].",
}

# The words that stand for token types, where one was probably meant.
_SPELLED = {
    **{word: word for word in ("MATCH", "OPTIONAL", "WHERE", "WITH", "RETURN", "UNWIND", "UNION", "LIMIT", "SKIP")},
    **{word: word for word in ("DISTINCT", "AND", "OR", "XOR", "NOT", "IN", "IS", "NULL", "CONTAINS", "BY", "AS")},
    **{word: word for word in ("CASE", "WHEN", "THEN", "ELSE", "END", "ASC", "DESC", "EXPLAIN", "PROFILE", "FINISH")},
    "ORDER": "ORDER BY",
    "STARTS": "STARTS WITH",
    "ENDS": "ENDS WITH",
}

_BEFORE_KEYS = ("LBRACE", "COMMA")
_QUOTES = "‘’‚‛“”„‟«»‹›′″´"
_DASHES = "‐‑‒–—―−"


def hint_for(token: Token, tokens: list[Token], accepts: frozenset[str]) -> Mistake:
    """Return what is known about the mistake at a token; an empty ``Mistake`` where nothing is."""
    index = next((index for index, other in enumerate(tokens) if other is token), len(tokens))
    place = _Place(token, tokens, index, accepts)
    for rule in _RULES:
        if (found := rule(place)) is not None:
            return found
    return Mistake()


# ------------------------------------------------------------------------------------------------------ characters


def _unreadable(place: _Place) -> Mistake | None:
    if place.token.type == "EMPTY_NAME":
        return Mistake("Write the name between the backticks.", "A name can't be empty.")
    if place.token.type == "DOLLAR":
        return Mistake("Write $name, or $1; $(…) can only name labels and types.", "A parameter needs a name.")
    if place.token.type != "ERROR":
        return None
    character = place.token.value
    if character in ("'", '"'):
        return _quote_inside(place) or Mistake(_at_its_end(character), "This string is not closed.")
    if character == "`":
        return Mistake("Add ` at its end. Inside a name, a backtick is doubled.", "This name is not closed.")
    if character == "/*":
        return Mistake("Add */ where it ends.", "This comment is not closed.")
    if character == "$":
        return Mistake("Write $name, or $1.", "A parameter needs a name.")
    if character == "?":
        return Mistake("Write CASE WHEN … THEN … ELSE … END; a parameter is $name.", "'?' has no meaning here.")
    if character.isascii():
        shown = f"'{character}'" if character.isprintable() else f"The character U+{ord(character):04X}"
        return Mistake(None, f"{shown} has no meaning here.")
    name = unicodedata.name(character, "no character").lower()
    message = f"The character U+{ord(character):04X} ({name}) has no meaning here."
    return Mistake(_unicode_hint(character), message, code="InvalidUnicodeCharacter")


def _at_its_end(quote: str) -> str:
    return f"Add {quote} at its end. Inside a string, a quote is written \\{quote}."


def _swallowing(place: _Place) -> Mistake | None:
    """Find a string that lacks its end, and so goes on to where the next begins, lines below."""
    before, unclosed = place.before(), place.token.type == "ERROR"
    if not unclosed and (before.type != "STRING" or before.end_pos != place.token.start_pos):
        return None
    quotes = (place.token.value[:1], before.value[:1])
    for index, token in enumerate(place.tokens[: place.index]):
        value = token.value
        if token.type != "STRING" or value[0] not in quotes or "\n" not in value:
            continue
        following = place.tokens[index + 1]
        if following.start_pos != token.end_pos and not (unclosed and ";\n" in value):
            continue
        first = value.partition("\n")[0].rstrip()
        lines = value.count("\n")
        message = f"This string ends only {'a line' if lines == 1 else f'{lines} lines'} below."
        span = Span(token.start_pos, token.start_pos + len(first))
        return Mistake(_at_its_end(value[0]), message, span)
    return None


def _unicode_hint(character: str) -> str | None:
    if character in _QUOTES:
        return "Strings stand between ' and ', or between \" and \"."
    if character in _DASHES:
        return "Write - for minus and for relationships."
    if unicodedata.category(character) in ("Cf", "Zs"):
        return "It can't be seen; delete it."
    return None


def _sign(place: _Place) -> Mistake | None:
    if place.token.type == "AMP" and "AND" in place.accepts:
        return Mistake("Write AND, or + to join strings; & joins labels.")
    words = {"CONTAINS": "CONTAINS", "STARTS": "STARTS WITH", "ENDS": "ENDS WITH"}
    if (word := words.get(place.token.type)) is not None and "LSQB" in place.accepts and "AND" not in place.accepts:
        return Mistake(f"{word} stands between two values: x {word} 'a'.")
    hint = _SIGNS.get(place.token.type)
    if hint is None or (place.token.type == "CONCAT" and place.before().type not in _ENDS_OPERAND):
        return None
    return Mistake(hint)


def _quote_inside(place: _Place) -> Mistake | None:
    """``'it's'`` and ``"say "hi""``: a string ends, and something follows without a space."""
    before = place.before()
    if (
        before.type != "STRING"
        or before.end_pos != place.token.start_pos
        or place.token.type not in (*("NAME", "STRING", "INTEGER", "ERROR"),)
    ):
        return None
    quote = before.value[0]
    other = "'" if quote == '"' else '"'
    hint = f"Inside a string, a quote is written \\{quote}; or put the string between {other} and {other}."
    return Mistake(hint, "The string before ends too early.")


# ---------------------------------------------------------------------------------------------------------- commas


def _trailing_comma(place: _Place) -> Mistake | None:
    comma = place.before()
    if comma.type != "COMMA" or place.token.type in ("COMMA", "NAME") or place.token.value == "":
        ends = comma.type == "COMMA" and place.token.type == "$END"
    else:
        ends = place.token.type in ("RPAR", "RSQB", "RBRACE") or place.token.value[0].isalpha()
    return Mistake(f"Remove the comma before {_named(place.token)}.") if ends else None


def _missing_comma(place: _Place) -> Mistake | None:
    starts = place.token.type in ("NAME", "INTEGER", "FLOAT", "STRING", "PARAMETER", "CASE", "SUBQUERY", "QUANTIFIER")
    if not starts or place.before().type not in _ENDS_OPERAND or not place.accepts & {"COMMA", "AND"}:
        return None
    if place.before().value.upper() == "EXISTS":
        return Mistake("Write x.name IS NOT NULL; EXISTS looks for a pattern: EXISTS { (x)-->() }.")
    if "COMMA" not in place.accepts:
        return Mistake("AS before it is missing." if "AS" in place.accepts else "An operator before it is missing.")
    if "AS" in place.accepts and place.token.type == "NAME":
        return Mistake("A comma before it is missing, or AS if it names the column.")
    return Mistake("A comma or an operator before it is missing.")


# -------------------------------------------------------------------------------------------------------- patterns


def _bare_node(place: _Place) -> Mistake | None:
    name, before = place.token, place.before()
    if before.type == "NAME" and place.before(2).type in ("MATCH", "COMMA") and place.accepts == {"EQ"}:
        span = Span(before.start_pos, before.end_pos)
        return Mistake(f"Write ({before.value}).", "A node stands in parentheses.", span)
    in_pattern = "LPAR" in place.accepts and not place.accepts & {"INTEGER", "RPAR", "AND", "WHERE"}
    if name.type != "NAME" or not in_pattern or before.type in _ENDS_OPERAND:
        return None
    return Mistake(f"Write ({name.value}).", "A node stands in parentheses.")


def _no_match(place: _Place) -> Mistake | None:
    """Recognise a text that begins with a pattern."""
    if place.index == 0 and place.token.type in ("LPAR", "PATTERN_BEGIN"):
        return Mistake("Write MATCH before a pattern.")
    return None


def _node_list(place: _Place) -> Mistake | None:
    if place.token.type != "COMMA" or not {"RPAR", "WHERE"} <= place.accepts or "AND" in place.accepts:
        return None
    return Mistake("Each node has its own parentheses: (a:A), (b:B).")


def _arrow(place: _Place) -> Mistake | None:
    kind, before = place.token.type, place.kinds(2)
    if kind == "GT" and before[0] == "RSQB":
        return Mistake("Write ]-> with a dash.")
    if kind == "LPAR" and before[0] == "RSQB" and "MINUS" in place.accepts and "PLUS" not in place.accepts:
        return Mistake("Write ]-, or ]-> for a direction.")
    if before[0] != "MINUS" or "LSQB" not in place.accepts or "INTEGER" in place.accepts:
        return None
    left = before[1] == "LT"
    if kind == "GT":
        return Mistake("Write -->, or -[:TYPE]-> with a type.")
    if kind == "LPAR":
        return Mistake("Write <--, or <-[:TYPE]- with a type." if left else "Write --, or -[:TYPE]- with a type.")
    if kind in ("COLON", "NAME"):
        arrow = "<-[:TYPE]-" if left else "-[:TYPE]->"
        return Mistake(f"A relationship's name and type stand in square brackets: {arrow}.")
    return None


def _unfinished_path(place: _Place) -> Mistake | None:
    before = place.before()
    if place.token.type == "DOTDOT" and "STAR" in place.accepts:
        return Mistake("Write * before the bounds: -[:TYPE*1..3]->.")
    if place.token.type in ("MINUS", "COMMA") and place.kinds(2) == ("INTEGER", "STAR") and "DOTDOT" in place.accepts:
        return Mistake("Two dots stand between the bounds: *1..3.")
    ends_arrow = before.type in ("MINUS", "GT") and "LPAR" in place.accepts and "INTEGER" not in place.accepts
    if ends_arrow and place.token.type != "NAME":
        return Mistake("A path ends in a node; () stands for any.")
    return None


def _map_equals(place: _Place) -> Mistake | None:
    if place.token.type == "EQ" and "COLON" in place.accepts and place.before().type == "NAME":
        return Mistake("In a map, ':' stands between a key and its value.")
    if place.token.type == "STRING" and {"NAME", "RBRACE"} & place.accepts and place.before().type in _BEFORE_KEYS:
        key = place.token.value[1:-1]
        return Mistake(f"A key stands without quotes: {{{key if key.isidentifier() else f'`{key}`'}: …}}.")
    return None


# --------------------------------------------------------------------------------------------------------- clauses


def _clause_order(place: _Place) -> Mistake | None:
    kind, clause = place.token.type, place.clause()
    if kind == "WHERE" and clause in ("RETURN", "ORDER", "SKIP", "LIMIT"):
        return Mistake("WHERE comes before RETURN. To filter computed values: WITH … WHERE … RETURN ….")
    if kind == "WHERE" and clause == "UNWIND":
        return Mistake("WHERE belongs to MATCH and WITH: add WITH * before it.")
    if kind in ("ORDER", "SKIP", "LIMIT") and clause in ("MATCH", "WHERE", "UNWIND"):
        word = "ORDER BY" if kind == "ORDER" else kind
        return Mistake(f"{word} comes behind what RETURN or WITH lists.")
    if kind in ("ORDER", "SKIP") and clause in ("SKIP", "LIMIT"):
        return Mistake("The order is ORDER BY, SKIP, LIMIT.")
    return None


def _nothing_returned(place: _Place) -> Mistake | None:
    before = place.before()
    if before.type in ("RETURN", "WITH") and place.token.type != "COMMA" and "STAR" in place.accepts:
        return Mistake(f"Say what to return, for example {before.type} *.")
    if place.token.type == "$END" and place.kinds(2) == ("STAR", "NAME") and place.before(2).value.lower() == "count":
        return Mistake("Write count(*).")
    return None


def _unnamed_item(place: _Place) -> Mistake | None:
    if place.token.type == "DOTDOT" and place.before().type == "INTEGER":
        return Mistake("Write range(1, 5) for the numbers from 1 to 5.")
    if place.clause() == "UNWIND" and "AS" in place.accepts and place.token.type != "NAME":
        return Mistake("UNWIND names its items: UNWIND list AS item.")
    return None


def _direction(place: _Place) -> Mistake | None:
    if place.token.type in ("ASC", "DESC") and place.clause() in ("SKIP", "LIMIT"):
        return Mistake(f"{place.token.type} stands behind what ORDER BY sorts by, before SKIP and LIMIT.")
    return None


def _quoted_name(place: _Place) -> Mistake | None:
    if place.token.type == "STRING" and place.before().type == "AS":
        return Mistake(f"Names stand in backticks: `{place.token.value[1:-1]}`.")
    if place.token.type == "STRING" and place.before().type == "DOT":
        return Mistake("Strings are joined by +.")
    return None


def _digit_groups(place: _Place) -> Mistake | None:
    """``1,000,000``."""
    after = place.tokens[place.index + 1] if place.index + 1 < len(place.tokens) else _NOTHING
    before = place.before()
    touching = before.end_pos == place.token.start_pos and after.start_pos == place.token.end_pos
    if place.token.type == "COMMA" and touching and before.type == after.type == "INTEGER" and len(after.value) == 3:
        return Mistake("Numbers are written without commas.")
    return None


def _list_in_parentheses(place: _Place) -> Mistake | None:
    """``IN ('a', 'b')``."""
    if place.token.type == "COMMA" and place.kinds(3)[1:] == ("LPAR", "IN"):
        return Mistake("A list stands in square brackets: [1, 2].")
    return None


def _comma_of_conditions(place: _Place) -> Mistake | None:
    if place.token.type == "COMMA" and place.clause() == "WHERE" and place.accepts & _CLAUSES:
        return Mistake("Conditions are joined by AND.")
    return None


def _unfinished_phrase(place: _Place) -> Mistake | None:
    """Say the rest of a phrase of several words."""
    before = place.before().type
    if before == "WHERE" and place.token.type in ("$END", *_CLAUSES):
        return Mistake("Say the condition, or remove WHERE.")
    called = any(each.type == "CALL" for each in place.tokens[max(0, place.index - 6) : place.index])
    if (
        before == "DOT"
        and not called
        and place.accepts == {"NAME"}
        and place.token.type not in ("INTEGER", "STAR", "STRING")
    ):
        return Mistake("Name the property, as in n.name.")
    if place.kinds(3)[1:] == ("DOT", "NAME") and "PLUS_EQ" in place.accepts and place.token.type in ("$END", *_CLAUSES):
        return Mistake("Write SET n.key = value, or REMOVE n.key.")
    if place.accepts == {"WHEN"} or ("WHEN" in place.accepts and before == "CASE"):
        return Mistake("Write CASE WHEN condition THEN value END.")
    if before == "NOT" and place.accepts == {"NULL"}:
        return Mistake("IS NOT NULL tests for null; other values are compared with <>.")
    if before in ("STARTS", "ENDS"):
        return Mistake(f"Write {before} WITH.")
    if before == "AS" and place.token.type == "$END":
        return Mistake("Behind AS stands the column's name.")
    if before == "ORDER":
        return Mistake("Write ORDER BY.")
    if before == "IS" and place.token.type in ("STRING", "INTEGER", "FLOAT", "TRUE", "FALSE"):
        return Mistake("Write = to compare.")
    if {"WHEN", "END"} <= place.accepts or ("END" in place.accepts and place.token.type in ("$END", *_CLAUSES)):
        return Mistake("CASE ends with END.")
    if (
        before != "LBRACE"
        and place.token.type == "INTEGER"
        and "NAME" in place.accepts
        and "INTEGER" not in place.accepts
    ):
        return Mistake(f"A name that starts with a digit needs backticks: `{place.token.value}`.")
    return None


def _negated_operator(place: _Place) -> Mistake | None:
    if place.token.type == "NOT" and "AND" in place.accepts:
        return Mistake("NOT stands before the whole comparison: NOT x IN list, NOT x CONTAINS 'a'.")
    return None


# ----------------------------------------------------------------------------------------------------------- words


def _foreign_form(place: _Place) -> Mistake | None:
    """``2 ** 3``, ``n.*``, ``count DISTINCT n``, ``-[:R{1,3}]->``, ``reduce(x IN list | x)``."""
    kind, before = place.token.type, place.before()
    if kind == "BAR" and any(each.value.lower() == "reduce" for each in place.tokens[: place.index]):
        return Mistake("Write reduce(total = 0, x IN list | total + x).")
    if place.accepts == {"DIVIDER"} and kind in ("CREATE", "MERGE", "SET", "DELETE", "DETACH", "REMOVE"):
        return Mistake("A '|' stands before what is done: FOREACH (x IN list | CREATE (…)).")
    if kind == "STAR" and before.type == "STAR":
        return Mistake("Write x ^ y for a power.")
    if kind == "STAR" and before.type == "COMMA" and "LSQB" in place.accepts:
        return Mistake("* stands first: RETURN *, x.")
    if kind in ("PLUS", "MINUS", "STAR", "SLASH") and "PLUS_EQ" in place.accepts and place.kinds(2) == ("NAME", "DOT"):
        key = f"{place.before(3).value}.{before.value}"
        return Mistake(f"Write SET {key} = {key} {place.token.value} ….")
    if kind == "STAR" and before.type == "DOT":
        return Mistake("Write n {.*} or properties(n) for all properties.")
    if kind == "DISTINCT" and before.type == "NAME":
        return Mistake(f"Write {before.value}(DISTINCT x).")
    if kind == "INTEGER" and before.type == "LBRACE":
        return Mistake("A key is a name: {key: value}. A quantifier stands behind the arrow: -[:TYPE]->{1,3}.")
    return None


def _foreign_parameter(place: _Place) -> Mistake | None:
    """``%s`` and ``:name``, the parameters of DB-API, and lines such as ``:param x => 1``, which shells take."""
    after = place.tokens[place.index + 1] if place.index + 1 < len(place.tokens) else _NOTHING
    touching = after.type == "NAME" and after.start_pos == place.token.end_pos
    if place.token.type == "COLON" and touching and place.index == 0:
        return Mistake("Lines that begin with ':' are commands of a shell; parameters are passed: params={…}.")
    if place.token.type in ("COLON", "PERCENT") and touching and "PARAMETER" in place.accepts:
        name = after.value if place.token.type == "COLON" else "name"
        return Mistake(f"A parameter is written ${name}, and passed as params={{{name!r}: …}}.")
    return None


def _foreign_word(place: _Place) -> Mistake | None:
    hint = _FOREIGN_WORDS.get(place.token.value.upper()) if place.token.type == "NAME" else None
    return Mistake(hint) if hint else None


def _misspelled(place: _Place) -> Mistake | None:
    """Look for a name that is almost a keyword: the token found, or the one before."""
    if place.token.type == "NAME":
        fitting = {word: said for word, said in _SPELLED.items() if word in place.accepts}
        if (found := nearest(place.token.value, fitting)) is not None:
            return Mistake(f"Did you mean {fitting[found]}?")
    before = place.before()
    if before.type == "NAME" and before.value.upper() not in _SPELLED and place.before(2).type != "DOT":
        found = nearest(before.value, _SPELLED)
        if found is not None and len(before.value) > 3:
            return Mistake(f"Did you mean {_SPELLED[found]} instead of {before.value}?")
    return None


def _keyword_as_name(place: _Place) -> Mistake | None:
    token = place.token
    after = place.tokens[place.index + 1].type if place.index + 1 < len(place.tokens) else "$END"
    if (
        "NAME" in place.accepts
        and token.value.isalpha()
        and token.type != "NAME"
        and after in ("$END", "COMMA", "AS", "EQ", "RPAR", "RSQB", "DOT", "IN")
    ):
        return Mistake(f"{token.value} is a keyword. As a name it stands in backticks: `{token.value}`.")
    return None


def _named(token: Token) -> str:
    if token.type == "$END":
        return "the end"
    return token.value.upper() if token.value.isalpha() else f"'{token.value}'"


_RULES: tuple[Callable[[_Place], Mistake | None], ...] = (
    _swallowing,
    _quote_inside,  # before _unreadable: the string after it is unclosed because this one closed too early
    _unreadable,
    _sign,
    _arrow,
    _no_match,
    _bare_node,
    _node_list,
    _unfinished_path,
    _keyword_as_name,
    _trailing_comma,
    _clause_order,
    _nothing_returned,
    _unnamed_item,
    _direction,
    _quoted_name,
    _digit_groups,
    _list_in_parentheses,
    _comma_of_conditions,
    _unfinished_phrase,
    _negated_operator,
    _map_equals,
    _foreign_form,
    _foreign_parameter,
    _foreign_word,
    _misspelled,
    _missing_comma,
)
