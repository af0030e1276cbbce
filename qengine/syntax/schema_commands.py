"""Reads CREATE and DROP of indexes and constraints, each a whole statement that the classifier takes as one token."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from qengine.errors import Span
from qengine.syntax import ast
from qengine.syntax.literals import parameter_of
from qengine.syntax.scanner import Token, scan
from qengine.syntax.schema_types import property_type
from qengine.syntax.token_reader import TokenReader

_INDEX_KINDS = ("RANGE", "TEXT", "LOOKUP", "POINT", "FULLTEXT", "VECTOR", "BTREE")
Remark = Callable[[str, ast.Ast], None]
_INDEX_HINT = "Write CREATE INDEX name FOR (n:Label) ON (n.property), or FOR ()-[r:TYPE]-() ON (r.property)."
_CONSTRAINT_HINT = "Write CREATE CONSTRAINT name FOR (n:Label) REQUIRE n.property IS UNIQUE."
_REQUIRED_HINT = "Write IS UNIQUE, IS NODE KEY, IS RELATIONSHIP KEY, IS NOT NULL or IS :: TYPE."


def read_schema_command(text: str, span: Span, remark: Remark) -> ast.SchemaClause | None:
    """Return what is written at a place of a text; None for other commands of administration.

    ``remark`` is called for what is written as in Neo4j 3 and 4, with its kind and where it stands.

    Raises
    ------
    QuerySyntaxError
        For one about an index or a constraint that isn't written as it should be.
    """
    tokens = [token for token in scan(text) if span.start <= token.start_pos < span.end]
    reader = _Reader([token for token in tokens if token.type != "HINT"], text, span)
    reader.remark = remark
    drops = reader.take("CREATE", "DROP") == "DROP"
    if reader.take("CONSTRAINT"):
        return reader.constraint(drops)
    kind = reader.take(*_INDEX_KINDS)
    if reader.take("INDEX"):
        return reader.index(drops, kind or "RANGE")
    return None


def _analyzer(options: Sequence[Token]) -> ast.Literal | None:
    """Return the analyzer that the options of a FULLTEXT index name."""
    for key, colon, value in zip(options, options[1:], options[2:], strict=False):
        if key.value.strip("`'\"").lower() == "fulltext.analyzer" and (colon.type, value.type) == ("COLON", "STRING"):
            return ast.Literal(value.value[1:-1], span=Span(value.start_pos, value.end_pos))
    return None


class _Reader(TokenReader):
    """Reads one command from its second word on."""

    remark: Remark

    # ------------------------------------------------------------ statements

    def index(self, drops: bool, kind: str) -> ast.SchemaClause:
        self.hint = "Write DROP INDEX name." if drops else _INDEX_HINT
        if kind == "BTREE":
            self.remark("btree", ast.Ast(span=self.span))
            kind = "RANGE"
        if self.word() == "ON" and self.kind(1) == "COLON":
            self.remark("index on", ast.Ast(span=self.span))
            return self._old_index(drops)
        if drops:
            return self._dropped(constraint=False)
        name, lenient, given = self._name_and_condition("FOR")
        self.expect_word("FOR")
        variable, entity, labels = self._pattern(labelled=kind != "LOOKUP", several=kind == "FULLTEXT")
        label = labels[0] if labels else ""
        self.expect_word("ON")
        if kind == "LOOKUP":
            self.take("EACH")
            self.expect_word("LABELS" if entity == "NODE" else "TYPE")
            self.expect("LPAR")
            self._same(variable)
            self.expect("RPAR")
            keys: tuple[str, ...] = ()
        elif kind == "FULLTEXT":
            self.expect_word("EACH")
            self.expect("LSQB")
            keys = self._listed(variable)
            self.expect("RSQB")
        else:
            keys = self._keys(variable)
        options = self._options()
        type = json.dumps(labels) if len(labels) > 1 else ""
        if kind == "VECTOR" and any(token.value[1:-1].upper() == "EUCLIDEAN" for token in options):
            type = "EUCLIDEAN"
        analyzer = _analyzer(options) if kind == "FULLTEXT" else None
        return self._made(
            ast.SchemaClause(
                False, False, name, lenient, kind, entity, label, keys, type, given, analyzer, span=self.span
            )
        )

    def constraint(self, drops: bool) -> ast.SchemaClause:
        self.hint = "Write DROP CONSTRAINT name." if drops else _CONSTRAINT_HINT
        name, lenient, given = "", False, None
        if drops and not (self.word() == "ON" and self.kind(1) == "LPAR"):
            return self._dropped(constraint=True)
        if not drops:
            name, lenient, given = self._name_and_condition("FOR", "ON")
        self.expect_word("FOR", "ON")
        variable, entity, (label,) = self._pattern()
        if self.expect_word("REQUIRE", "ASSERT") == "ASSERT":
            self.remark("assert", ast.Ast(span=self.span))
        exists = self.word() == "EXISTS" and self.kind(1) == "LPAR"
        if exists:
            self.at += 1
        keys = self._keys(variable)
        kind, type = ("PROPERTY_EXISTENCE", "") if exists else self._required(entity)
        if len(keys) > 1 and kind.startswith("PROPERTY"):
            self.fail("A constraint of this kind is about one property.")
        self._options()
        return self._made(
            ast.SchemaClause(drops, True, name, lenient, kind, entity, label, keys, type, given, span=self.span)
        )

    def _old_index(self, drops: bool) -> ast.SchemaClause:
        """Read ``ON :Label(property, …)``."""
        self.at += 2
        label = self.name()
        self.expect("LPAR")
        keys = [self.name()]
        while self.take_sign("COMMA"):
            keys.append(self.name())
        self.expect("RPAR")
        found = ast.SchemaClause(drops, False, "", False, "RANGE", "NODE", label, tuple(keys), span=self.span)
        return self._made(found)

    def _dropped(self, *, constraint: bool) -> ast.SchemaClause:
        name, given = self._name()
        lenient = self.take("IF") is not None
        if lenient:
            self.expect_word("EXISTS")
        return self._made(ast.SchemaClause(True, constraint, name, lenient, given=given, span=self.span))

    def _made(self, clause: ast.SchemaClause) -> ast.SchemaClause:
        if self.kind():
            self.unexpected()
        if len(set(clause.keys)) < len(clause.keys):
            self.fail("A property is named twice.", self.span)
        return clause

    # ------------------------------------------------------------ parts

    def _name(self) -> tuple[str, ast.Parameter | None]:
        """Read a name, or the parameter that gives it."""
        if self.kind() != "PARAMETER":
            return self.name(), None
        token = self.tokens[self.at]
        self.at += 1
        return "", parameter_of(token, Span(token.start_pos, token.end_pos))

    def _name_and_condition(self, *followers: str) -> tuple[str, bool, ast.Parameter | None]:
        """Read ``[name] [IF NOT EXISTS]``."""
        unnamed = (self.word() in followers and self.kind(1) == "LPAR") or (
            self.word() == "IF" and self.word(1) == "NOT"
        )
        name, given = ("", None) if unnamed else self._name()
        lenient = self.take("IF") is not None
        if lenient:
            self.expect_word("NOT")
            self.expect_word("EXISTS")
        return name, lenient, given

    def _pattern(self, *, labelled: bool = True, several: bool = False) -> tuple[str, str, list[str]]:
        """Read ``(n:Label)`` or ``()-[r:TYPE]-()``; return the variable, what it is, and its labels or types."""
        self.expect("LPAR")
        if not self.take_sign("RPAR"):
            variable, labels = self._element(labelled, several)
            self.expect("RPAR")
            return variable, "NODE", labels
        self.take_sign("LT")
        self.expect("MINUS")
        self.expect("LSQB")
        variable, labels = self._element(labelled, several)
        self.expect("RSQB")
        self.expect("MINUS")
        self.take_sign("GT")
        self.expect("LPAR")
        self.expect("RPAR")
        return variable, "RELATIONSHIP", labels

    def _element(self, labelled: bool, several: bool) -> tuple[str, list[str]]:
        variable = self.name()
        if not labelled:
            return variable, []
        self.expect("COLON")
        labels = [self.name()]
        while several and self.take_sign("BAR"):
            labels.append(self.name())
        return variable, labels

    def _keys(self, variable: str) -> tuple[str, ...]:
        """Read ``n.a``, ``n.a, n.b``, or either in parentheses."""
        closes = self.take_sign("LPAR")
        keys = self._listed(variable)
        if closes:
            self.expect("RPAR")
        return keys

    def _listed(self, variable: str) -> tuple[str, ...]:
        keys = [self._key(variable)]
        while self.take_sign("COMMA"):
            keys.append(self._key(variable))
        return tuple(keys)

    def _key(self, variable: str) -> str:
        self._same(variable)
        self.expect("DOT")
        return self.name()

    def _same(self, variable: str) -> None:
        place = self.place()
        found = self.name()
        if found != variable:
            self.fail(f"There is no variable `{found}`; the pattern has `{variable}`.", place)

    def _required(self, entity: str) -> tuple[str, str]:
        """Read what stands behind the properties; return the kind of constraint, and a type."""
        self.hint = _REQUIRED_HINT
        if not self.take("IS") and self.kind() != "COLON_COLON":
            self.unexpected()
        if self.take_sign("COLON_COLON") or self.take("TYPED"):
            return "PROPERTY_TYPE", property_type(self)
        if self.take("NOT"):
            self.expect_word("NULL")
            return "PROPERTY_EXISTENCE", ""
        place = self.place()
        about = self.take("NODE", "RELATIONSHIP", "REL")
        if about and (about == "NODE") != (entity == "NODE"):
            self.fail(f"The pattern is of a {entity.lower()}, so this can't be {about}.", place)
        return ("UNIQUENESS" if self.expect_word("UNIQUE", "KEY") == "UNIQUE" else "KEY"), ""

    def _options(self) -> list[Token]:
        """Read ``OPTIONS { … }``, and return the tokens inside: how vectors are compared, and an analyzer, matter."""
        if not self.take("OPTIONS"):
            return []
        if self.kind() == "PARAMETER":
            self.at += 1
            return []
        depth = 0
        self.expect("LBRACE")
        begin = self.at
        while depth >= 0:
            if not self.kind():
                self.unexpected()
            depth += (self.kind() == "LBRACE") - (self.kind() == "RBRACE")
            self.at += 1
        return list(self.tokens[begin : self.at])
