"""Tells which statements may be carried out in their order by one, as the body of a ``CALL`` for a row each.

``UNWIND rows AS row CALL (row) { … }`` means one body after the other, as statements do. What differs is what is
checked when a statement ends: that no deleted node has relationships, and constraints. So a body does nothing that
could mend what a statement before it has left wrong. Its patterns begin at nodes that values find, since bodies are
walked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from qengine.formats.cypher_pieces import Piece
from qengine.syntax import ast
from qengine.syntax.parts import parts_of

_CHANGES = (ast.CreateClause, ast.MergeClause, ast.SetClause, ast.RemoveClause, ast.DeleteClause, ast.ForEachClause)
_READS = (ast.MatchClause, ast.WithClause, ast.UnwindClause)
_ELSEWHERE = (ast.SubqueryExpression, ast.PatternComprehension, ast.PatternPredicate)  # reads what isn't led to


def body_of(statement: ast.Statement, piece: Piece, row: str) -> str | None:
    """Return the text of statements like one as a body, None where that may not mean the same.

    ``row``: the variable that has their literals, as ``p0``, ``p1`` …
    """
    query = statement.body
    if not isinstance(query, ast.Query) or statement.explain is not None or statement.hints:
        return None
    clauses = list(query.clauses)
    end = len(piece.text)
    if isinstance(clauses[-1], ast.ReturnClause):
        returned = clauses.pop()
        if not _is_told(returned, clauses):
            return None
        end = returned.span.start
    if not all(isinstance(each, _CHANGES + _READS) for each in clauses) or not isinstance(clauses[-1], _CHANGES):
        return None
    parts = [part for each in clauses for part in parts_of(each)]
    if any(isinstance(each, _ELSEWHERE) for each in parts) or not (_are_led(clauses) and _leaves_ends(parts)):
        return None
    return _text(piece, end, row)


def _is_told(returned: ast.Clause, clauses: Sequence[ast.Clause]) -> bool:
    """Tell whether nothing of what a statement returns can fail: all that differs without it is that nobody sees it."""
    projection = returned.projection  # type: ignore[attr-defined]
    if projection.order or projection.skip is not None or projection.limit is not None or projection.groups:
        return False
    plain = ast.Projection, ast.ReturnItem, ast.Variable, ast.PropertyAccess, ast.Literal
    parts = list(parts_of(projection))
    deletes = any(isinstance(part, ast.DeleteClause) for each in clauses for part in parts_of(each))
    counts = all(
        each.name.lower() in ("count", "id", "elementid") for each in parts if isinstance(each, ast.FunctionCall)
    )
    return counts and not deletes and all(isinstance(each, (*plain, ast.FunctionCall)) for each in parts)


def _text(piece: Piece, end: int, row: str) -> str:
    """Return the text of a statement as a body, up to a place of it."""
    parts, at = [], 0
    for number, text in enumerate(piece.skeleton):
        parts.append(text[: max(0, end - at)])
        at += len(text)
        if number < len(piece.literals) and at < end:
            parts.append(f"{row}.p{number}")
            at += len(piece.literals[number])
    return f"CALL ({row}) {{ {''.join(parts)} }}"


def _are_led(clauses: Iterable[ast.Clause]) -> bool:
    """Tell whether each pattern has a node that is known before, or that a value finds."""
    known: set[str | None] = set()
    for clause in clauses:
        match clause:
            case ast.MatchClause(patterns=paths, where=where):
                if clause.mode is not None or clause.search is not None:
                    return False
                keyed = set(_keyed(where))
                for path in paths:
                    if not _is_led(path, known, keyed):
                        return False
                    known |= _names(path)
            case ast.MergeClause(pattern=path):
                if not _is_led(path, known, set()):
                    return False
                known |= _names(path)
            case ast.CreateClause(patterns=paths):
                known = known.union(*map(_names, paths))
            case ast.ForEachClause(variable=name, clauses=inside):
                if not _are_led((ast.CreateClause(tuple(_named(known | {name}))), *inside)):
                    return False
    return True


def _named(names: Iterable[str | None]) -> Iterator[ast.PathPattern]:
    return (ast.PathPattern((ast.NodePattern(name),)) for name in names if name is not None)


def _names(path: ast.PathPattern) -> set[str | None]:
    return {path.name, *(getattr(each, "name", None) for each in path.elements)} - {None}


def _is_led(path: ast.PathPattern, known: set[str | None], keyed: set[str]) -> bool:
    if path.selector is not None or path.path_mode is not None:
        return False
    led = False
    for each in path.elements:
        if isinstance(each, ast.NodePattern):
            led |= each.name in known or each.name in keyed or isinstance(each.properties, ast.MapLiteral)
        elif not isinstance(each, ast.RelationshipPattern) or each.hops is not None:
            return False
    return led


def _keyed(condition: ast.Expression | None) -> Iterator[str]:
    """Yield the variables that a condition asks to have values."""
    match condition:
        case ast.Binary(op=op, left=left, right=right) if op.upper() == "AND":
            yield from _keyed(left)
            yield from _keyed(right)
        case (
            ast.Comparison(ops=("=",), operands=(ast.PropertyAccess(subject=ast.Variable(name=name)), _))
            | ast.Binary(op="IN", left=ast.PropertyAccess(subject=ast.Variable(name=name)))
        ):
            yield name


def _leaves_ends(parts: Sequence[ast.Ast]) -> bool:
    """Tell whether no deletion could take relationships of nodes that a statement before it has left without them."""
    deleted = [each for each in parts if isinstance(each, ast.DeleteClause) and not each.detach]
    links = {each.name for each in parts if isinstance(each, ast.RelationshipPattern)}
    alone = not any(isinstance(each, ast.DeleteClause) and each.detach for each in parts) and not links
    return alone or all(
        isinstance(subject, ast.Variable) and subject.name in links for each in deleted for subject in each.expressions
    )


def sets_of(statement: ast.Statement) -> frozenset[str] | None:
    """Return the properties that a statement sets, by which it could satisfy what one before it has violated.

    None where it may do that otherwise: elements, labels or properties go, or maps set any.
    """
    found = set()
    for each in parts_of(statement):
        if isinstance(each, ast.DeleteClause | ast.RemoveClause):
            return None
        if isinstance(each, ast.SetItem):
            if isinstance(each.target, ast.PropertyAccess):
                found.add(each.target.key)
            elif each.adds and isinstance(each.value, ast.MapLiteral):
                found |= {key for key, _ in each.value.entries}
            else:
                return None
    return frozenset(found)
