"""Builds the tree of clauses, queries and statements."""
# ruff: noqa: D102 (the rule of the same name in grammar/cypher.lark says what a method builds)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qengine._frozen import replace
from qengine.errors import Span
from qengine.syntax import ast
from qengine.syntax.build_commands import CommandBuilder, shown
from qengine.syntax.build_expressions import between, span_of
from qengine.syntax.build_updates import one_by_one
from qengine.syntax.checks import check_call, check_query, check_subquery
from qengine.syntax.conditional import conditional
from qengine.syntax.next import joined_by_next
from qengine.syntax.old_procedures import RENAMED, command_of
from qengine.syntax.otherwise import otherwise
from qengine.syntax.scanner import Token

_SETTERS = frozenset(("db.create.setnodevectorproperty", "db.create.setrelationshipvectorproperty"))
"""Procedures of Neo4j that are SET n[key] = vector."""


class AstBuilder(CommandBuilder):
    """Rules of statements; with the rules that it inherits, the builder that the automaton calls."""

    # ---------------------------------------------------------------------------------------------- statements

    def statement(self, c: Sequence[Any], span: Span) -> ast.Statement:
        options, explain, steps, body = c
        word = None if explain is None else "explain steps" if steps else "explain"
        return self._statement(body, word, options, explain)

    def profile(self, c: Sequence[Any], span: Span) -> ast.Statement:
        options, word, body = c
        return self._statement(body, "profile", options, word)

    def _statement(
        self, parts: list[Any], explain: str | None, options: Token | None, word: Token | None
    ) -> ast.Statement:
        body = self._query(parts)
        check_query(body, self.text)
        self._check_loose()
        if options is None and word is None and not self.remarks:
            return ast.Statement(body, span=body.span)
        if options is not None:
            self.remark("options", options)
        starts = (token.start_pos for token in (options, word) if token is not None)
        span = Span(min((body.span.start, *self._use_starts, *starts)), body.span.end)
        return ast.Statement(body, explain, remarks=tuple(self.remarks), span=span)

    def _check_loose(self) -> None:
        for predicate in self.loose_patterns.values():
            hint = "As a value, count its matches with COUNT { … } or collect them with [pattern | value]."
            message = "A path pattern can only stand where a condition is expected."
            raise self.fail(message, predicate.span, hint)
        for parameter in self.loose_parameters.values():
            hint = f"Name the keys, {{key: ${parameter.name}.key}}, or compare in WHERE."
            message = "A parameter can't stand for all properties of a pattern."
            raise self.fail(message, parameter.span, hint, "InvalidParameterUse")
        for literal in self.loose_integers.values():
            hint = "The largest is 9223372036854775807. With a dot it is a float."
            message = f"{literal.value} does not fit a 64-bit integer."
            raise self.fail(message, literal.span, hint, "IntegerOverflow")

    def query_first(self, c: Sequence[Any], span: Span) -> list[Any]:
        return [self._single(c[0])]

    def query_union(self, c: Sequence[Any], span: Span) -> list[Any]:
        parts, word, quantifier, clauses = c
        joined = word.type, quantifier is not None and quantifier.type == "ALL"
        if len(parts) > 1 and parts[-2] != joined:
            before, here = (f"{name} ALL" if every else name for name, every in (parts[-2], joined))
            plain, every = sorted((before, here))
            hint = "Write UNION ALL everywhere or nowhere, or nest one part in a subquery."
            if parts[-2][0] != word.type:
                hint = "Nest one part in a subquery: CALL () { … }."
            raise self.fail(f"{plain} and {every} can't be mixed.", span_of(word), hint, "InvalidClauseComposition")
        parts += (joined, self._single(clauses))
        return parts  # type: ignore[no-any-return]

    def query_otherwise(self, c: Sequence[Any], span: Span) -> list[Any]:
        before, word, clauses = c
        return otherwise(self._query(before), word, self._single(clauses), self.fail)

    def query_conditional(self, c: Sequence[Any], span: Span) -> list[Any]:
        whens, otherwise = c
        return [conditional(whens, otherwise, self.fail)]

    def when_branch(self, c: Sequence[Any], span: Span) -> tuple[ast.Expression, ast.Query | ast.UnionQuery]:
        return self.condition(c[0]), c[1]

    def branch(self, c: Sequence[Any], span: Span) -> ast.Query:
        return self._single(c[0])

    def branch_in_braces(self, c: Sequence[Any], span: Span) -> ast.Query | ast.UnionQuery:
        return self._query(c[0])

    def query_next(self, c: Sequence[Any], span: Span) -> list[Any]:
        before, word, items, following = c
        return joined_by_next(self._query(before), word, items, following, self.fail)

    def _single(self, clauses: list[Any]) -> ast.Query:
        if list in map(type, clauses):
            clauses = one_by_one(clauses)
        if isinstance(clauses[-1], ast.ShowClause):
            clauses.append(shown(clauses[-1]))
        if self._use_starts:
            self._leave_out_use(clauses)
        return ast.Query(tuple(clauses), span=between(clauses[0], clauses[-1]))

    def _leave_out_use(self, clauses: list[ast.Clause]) -> None:
        if isinstance(clauses[0], ast.UseClause):
            use = clauses.pop(0)
            if not clauses:
                raise self.fail("USE needs a query behind it.", use.span, "Write USE graph MATCH (n) RETURN n.")
        for clause in clauses:
            if isinstance(clause, ast.UseClause):
                raise self.fail("USE can only begin a query.", clause.span)

    def _query(self, parts: list[Any]) -> ast.Query | ast.UnionQuery:
        if len(parts) == 1:
            return parts[0]  # type: ignore[no-any-return]
        every = tuple(each for _, each in parts[1::2])
        return ast.UnionQuery(tuple(parts[::2]), every, parts[1][0], span=between(parts[0], parts[-1]))

    # ------------------------------------------------------------------------------------------------- clauses

    def match(self, c: Sequence[Any], span: Span) -> ast.MatchClause:
        optional, mode, patterns, keep, hints, search, where = c
        if optional is not None and search is not None:
            raise self.fail(
                "OPTIONAL MATCH can't SEARCH.", search.span, "Write OPTIONAL CALL (*) { MATCH … RETURN … }."
            )
        for hint in hints or ():
            self.remark("planner", hint)
        if keep is not None:
            patterns = [self._kept(pattern, *keep) for pattern in patterns]
        asked = None if search is None else self._searched(search, patterns)
        words = mode.value if mode else None
        return ast.MatchClause(tuple(patterns), where, optional is not None, words, asked, span=span)

    def keep(self, c: Sequence[Any], span: Span) -> tuple[str | None, str | None]:
        return c[1]  # type: ignore[no-any-return]

    def _kept(self, pattern: ast.PathPattern, selector: str | None, mode: str | None) -> ast.PathPattern:
        """Return a path with what KEEP puts in front of each."""
        if pattern.selector is not None or pattern.path_mode is not None:
            hint = "Leave out KEEP, or what stands in front of the path."
            raise self.fail("KEEP is for paths that have no selector and no mode of their own.", pattern.span, hint)
        return replace(pattern, selector=selector, path_mode=mode)

    def optional_block(self, c: Sequence[Any], span: Span) -> ast.Clause:
        _, brace, matches = c
        if len(matches) == 1 and matches[0].search is None:
            alone: ast.MatchClause = matches[0]
            return replace(alone, optional=True, span=span)
        nothing = ast.ReturnClause(ast.Projection((), span=span), span=span)
        query = ast.Query((*matches, nothing), span=Span(brace.start_pos, span.end))
        return ast.CallClause(ast.Statement(query, span=query.span), None, True, True, gives_names=True, span=span)

    def search(self, c: Sequence[Any], span: Span) -> ast.ProcedureCallClause:
        name, index, vector, count, score = c
        named: ast.Expression = ast.Literal(index.value, span=span_of(index))
        if index.type == "PARAMETER":
            named = self.parameter([index], span_of(index))
        items = [ast.YieldItem("node", name.value, span=span_of(name))]
        items += [] if score is None else [ast.YieldItem("score", score.value, span=span_of(score))]
        return ast.ProcedureCallClause(
            "db.index.vector.queryNodes", (named, count, vector), tuple(items), span=span, name_span=span_of(index)
        )

    def _searched(
        self, search: ast.ProcedureCallClause, patterns: Sequence[ast.PathPattern]
    ) -> ast.ProcedureCallClause:
        """Return the call that a SEARCH stands for: of nodes or relationships, as its name says in the pattern."""
        assert search.items is not None
        found, *score = search.items
        for element in (element for pattern in patterns for element in pattern.elements):
            if isinstance(element, (ast.NodePattern, ast.RelationshipPattern)) and element.name == found.name:
                if isinstance(element, ast.NodePattern):
                    return search
                items = (replace(found, output="relationship"), *score)
                return replace(search, name="db.index.vector.queryRelationships", items=items)
        raise self.fail(f"The pattern has no `{found.name}` to search.", found.span, "Name a node of it.")

    def unwind(self, c: Sequence[Any], span: Span) -> ast.UnwindClause:
        return ast.UnwindClause(c[0], c[1].value, span=span)

    def with_clause(self, c: Sequence[Any], span: Span) -> ast.WithClause:
        return ast.WithClause(*c, span=span)

    def return_clause(self, c: Sequence[Any], span: Span) -> ast.ReturnClause:
        return ast.ReturnClause(c[0], span=span)

    def finish(self, c: Sequence[Any], span: Span) -> ast.ReturnClause:
        return ast.ReturnClause(ast.Projection((), span=span), span=span)

    def where(self, c: Sequence[Any], span: Span) -> ast.Expression:
        return self.condition(c[0])  # type: ignore[no-any-return]

    def let_clause(self, c: Sequence[Any], span: Span) -> ast.WithClause:
        _, items = c
        return self._of_all(ast.Projection(tuple(items), True, span=between(items[0], items[-1])), span)

    def let_item(self, c: Sequence[Any], span: Span) -> ast.ReturnItem:
        name, expression = c
        text = self.text[expression.span.start : expression.span.end]
        return ast.ReturnItem(expression, name.value, text, span=span)

    def for_clause(self, c: Sequence[Any], span: Span) -> ast.UnwindClause:
        name, source, position, counted = c
        if position is None:
            return ast.UnwindClause(source, name.value, span=span)
        return ast.UnwindClause(source, name.value, counted.value, int(position.value == "ORDINALITY"), span=span)

    def filter_clause(self, c: Sequence[Any], span: Span) -> ast.WithClause:
        _, condition = c
        self.condition(condition)
        return self._of_all(ast.Projection((), True, span=condition.span), span, condition)

    def rows_clause(self, c: Sequence[Any], span: Span) -> ast.WithClause:
        _, order, skip, limit = c
        return self._of_all(ast.Projection((), True, False, tuple(order or ()), skip, limit, span=span), span)

    def _of_all(self, projection: ast.Projection, span: Span, where: ast.Expression | None = None) -> ast.WithClause:
        """Return a clause that hands on all columns."""
        word = self.text[span.start :].split(maxsplit=1)[0].upper()
        return ast.WithClause(projection, where, word, span=span)

    def use(self, c: Sequence[Any], span: Span) -> ast.UseClause:
        clause = ast.UseClause(span=span)
        self._use_starts.append(clause.span.start)
        self.remark("graph", clause)
        return clause

    def projection_body(self, c: Sequence[Any], span: Span) -> ast.Projection:
        distinct, items, groups, order, skip, limit = c
        star = isinstance(items[0], Token)
        return ast.Projection(
            tuple(items[1:] if star else items),
            star,
            distinct is not None,
            tuple(order or ()),
            skip,
            limit,
            tuple(groups or ()),
            span=span,
        )

    def projection_item(self, c: Sequence[Any], span: Span) -> ast.ReturnItem:
        expression, alias = c
        text = self.text[expression.span.start : expression.span.end]
        return ast.ReturnItem(expression, None if alias is None else alias.value, text, span=span)

    def sort_item(self, c: Sequence[Any], span: Span) -> ast.SortItem:
        expression, direction, nulls = c
        ascending = direction is None or direction.type == "ASC"
        nulls_first = None if nulls is None else nulls.value == "FIRST"
        return ast.SortItem(expression, ascending, nulls_first, span=span)

    # ------------------------------------------------------------------------------------- procedures and LOAD CSV

    def procedure_call(self, c: Sequence[Any], span: Span) -> ast.Clause:
        optional, start, names, arguments, items, where = c
        called = ".".join(each.value for each in names)
        if called.lower() in _SETTERS and arguments is not None and len(arguments) == 3 and not (items or optional):
            entity, key, vector = arguments
            target = ast.Index(entity, key, span=between(entity, key))
            return ast.SetClause((ast.SetItem(target, vector, span=span),), span=span)
        if items is not None:
            items = () if isinstance(items[0], Token) else tuple(items)
        if not (optional or where) and (found := command_of(called, arguments or (), items, span)) is not None:
            self.remark("procedure", found)
            return found
        if called.lower() in RENAMED:
            self.remark(called.lower(), start)
            called = RENAMED[called.lower()]
        return ast.ProcedureCallClause(
            called,
            arguments,
            items,
            where,
            optional is not None,
            span=span,
            name_span=between(names[0], names[-1]),
        )

    def procedure_arguments(self, c: Sequence[Any], span: Span) -> tuple[ast.Expression, ...]:
        return tuple(c[0] or ())

    def yield_item(self, c: Sequence[Any], span: Span) -> ast.YieldItem:
        output, name = c
        return ast.YieldItem(output.value, (name or output).value, span=span)

    def load_csv(self, c: Sequence[Any], span: Span) -> ast.LoadCsvClause:
        periodic, start, url, name, _, terminator = c
        separator = ","
        if terminator is not None:
            separator = self.string([terminator], span_of(terminator)).value
            if len(separator) != 1 or separator in '"\r\n':
                hint = "Write FIELDTERMINATOR ';' or '\\t'."
                raise self.fail("A field terminator is one character, and no quote.", span_of(terminator), hint)
        headers = start.value.split()[2:3] == ["WITH"]
        return ast.LoadCsvClause(url, name.value, headers, separator, periodic and span_of(periodic), span=span)

    # ---------------------------------------------------------------------------------------------- subqueries

    def call(self, c: Sequence[Any], span: Span) -> ast.CallClause:
        optional, _, scope, brace, parts, end, transactions = c
        body = self._query(parts)
        check_call(body, self.text)
        variables, star = scope or (None, False)
        return ast.CallClause(
            ast.Statement(body, span=between(brace, end)),
            variables,
            star,
            optional is not None,
            transactions,
            span=span,
        )

    def call_scope(self, c: Sequence[Any], span: Span) -> tuple[tuple[ast.Variable, ...], bool]:
        (named,) = c
        if named is None:
            return (), False
        if isinstance(named, Token):
            return (), True
        for each in named:
            if type(each) is not ast.Variable:
                hint = "Compute it before: WITH *, expression AS name."
                raise self.fail("CALL (…) takes names of variables.", each.span, hint)
        return tuple(named), False

    def transactions(self, c: Sequence[Any], span: Span) -> ast.Transactions:
        if "CONCURRENT" in c[0].value:
            self.remark("concurrent", c[0])
        return ast.Transactions(span=span)

    def transactions_rows(self, c: Sequence[Any], span: Span) -> ast.Transactions:
        found, _, count, _ = c
        read = self.parameter if count.type == "PARAMETER" else self.integer
        return replace(found, batch=read([count], span_of(count)), span=span)  # type: ignore[no-any-return]

    def transactions_error(self, c: Sequence[Any], span: Span) -> ast.Transactions:
        found, word = c
        if "RETRY" in self.text[word.start_pos : word.end_pos].upper():
            self.remark("retry", word)
        return replace(found, on_error=word.value, span=span)  # type: ignore[no-any-return]

    def transactions_report(self, c: Sequence[Any], span: Span) -> ast.Transactions:
        found, *_, name = c
        return replace(found, report=name.value, span=span)  # type: ignore[no-any-return]

    def subquery_query(self, c: Sequence[Any], span: Span) -> ast.SubqueryExpression:
        word, brace, parts = c
        body = self._query(parts)
        check_subquery(word, body, self.text)
        return self._subquery(word, body, brace, span)

    def subquery_pattern(self, c: Sequence[Any], span: Span) -> ast.SubqueryExpression:
        word, brace, patterns, where = c
        if word.value.upper() == "COLLECT":
            hint = "Write COLLECT { MATCH … RETURN value }."
            place = Span(brace.start_pos, span.end)
            raise self.fail("COLLECT needs a query that returns what to collect.", place, hint)
        clause = ast.MatchClause(tuple(patterns), where, span=between(patterns[0], where or patterns[-1]))
        return self._subquery(word, self._single([clause]), brace, span)

    def _subquery(
        self, word: Token, body: ast.Query | ast.UnionQuery, brace: Token, span: Span
    ) -> ast.SubqueryExpression:
        statement = ast.Statement(body, span=Span(brace.start_pos, span.end))
        return ast.SubqueryExpression(word.value.lower(), statement, span=span)
