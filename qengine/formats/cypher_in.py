"""Runs a script that makes a graph: as a stream, and statements that differ in literals alone many at a time.

A statement is cut at its literals (``cypher_pieces``). What may be done with those of equal skeletons is told by the
tree of the first (``cypher_shapes``, ``cypher_bodies``); the others are not parsed. They become rows of
``UNWIND $rows AS row …`` with ``row.p0``, ``row.p1`` … instead of their literals, clause by clause, or in their order
as bodies of a ``CALL``. What can't be carried out so is run as it is written.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from qengine._frozen import record
from qengine._gc import gc_paused
from qengine.errors import QengineError, QuerySyntaxError, SemanticError, StorageError, Unsupported
from qengine.formats.cypher_bodies import body_of, sets_of
from qengine.formats.cypher_creates import Elements, elements_of
from qengine.formats.cypher_order import Access, Turns, access_of, may_mix
from qengine.formats.cypher_out import UNDIRECTED
from qengine.formats.cypher_pieces import Piece, leading_list, literal_column, pieces
from qengine.formats.cypher_shapes import ALONE, CREATES, IN_ORDER, LINKS, ONCE, TOGETHER, shape_of
from qengine.storage.given import given_path
from qengine.syntax import ast
from qengine.write.batch_changes import PATCHED

_ROW = "`row of the script`"
_ROWS = 1 << 14  # statements that are carried out together
_ELEMENTS = 1 << 16  # of statements that aren't alike
_FAMILIES = 4096
_OFTEN = 64  # statements of a text that are worth a family
_MIXED = 64  # families whose statements may wait for each other's
_LEAST = 4  # statements that are worth a table
_SHOWN = 60


class Target(Protocol):
    """What a script makes: a graph."""

    @property
    def node_count(self) -> int:
        """Number of nodes."""

    def query(self, text: str, params: Mapping[str, Any] | None = None) -> Any:
        """Carry out a statement."""


@record
class _Family:
    """Statements with equal skeletons: how they may be run, the texts for many, and those that wait with their rows.

    ``different``: the literals that must differ between statements that are carried out together; (): none. ``sets``:
    properties; None for any. ``met``: how many statements were like this one.
    """

    shape: str
    many: tuple[str, ...]
    access: Access | None = None
    turns: Turns | None = None
    different: tuple[str, ...] = ()
    sets: frozenset[str] | None = frozenset()
    met: int = 0
    waiting: list[Piece] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)


def open_script(source: str | PathLike[str]) -> io.TextIOBase:
    """Return a script to read: a file, perhaps packed, or the text itself.

    Raises
    ------
    StorageError
        For a file that there isn't.
    """
    if isinstance(source, str) and ("\n" in source or "(" in source or not source.strip()):
        return io.StringIO(source)
    path = given_path(source, "Give a file, or the text of statements.")
    if not path.is_file():
        raise StorageError(f"{path}: there is no such file", hint="Give a file, or the text of statements.")
    return io.TextIOWrapper(pa.input_stream(str(path)), encoding="utf-8-sig", newline="")


def undirected_types(source: str | PathLike[str]) -> list[str]:
    """Return the types that a script's first line tells to have no direction."""
    import json

    try:
        with open_script(source) as file:
            first = file.readline()
        found = json.loads(first.removeprefix(UNDIRECTED)) if first.startswith(UNDIRECTED) else []
    except ValueError:  # no JSON, or no UTF-8, which the statements tell
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def run_script(graph: Target, source: str | PathLike[str]) -> None:
    """Carry out the statements of a script.

    Raises
    ------
    QengineError
        What a statement raises, with a note that tells which it is; those before it stay carried out.
    """
    name = str(source) if isinstance(source, Path) else "the script"
    with open_script(source) as file:
        runner = _Runner(graph)

        def read(size: int) -> str:
            try:
                return file.read(size)
            except UnicodeDecodeError as error:
                raise StorageError(f"{name}: it is no UTF-8 text: {error}", hint="Save it as UTF-8.") from None

        with gc_paused():
            for piece in pieces(read):
                runner.add(piece)
            runner.flush()


class _Runner:
    """Carries out statements; those that may change places or be run together wait for others like them."""

    def __init__(self, graph: Target) -> None:
        self._graph = graph
        self._families: dict[tuple[str, ...], _Family] = {}
        self._lists: dict[str, _Family] = {}
        self._waiting: list[_Family] = []
        self._created = _Family(CREATES, ())  # what has no family, and waits as elements
        self._elements = Elements()
        self._made: dict[tuple[str, ...], Elements] = {}  # what statements create, by their skeletons
        self._count = 0
        self._shape = ""  # of all that waits, if it is one
        self._many_changed = False
        self._constrained: frozenset[str] | None = None  # properties that constraints name, once they are asked for

    def add(self, piece: Piece) -> None:
        """Take a statement, which is carried out now or later."""
        family = self._families.get(piece.skeleton)
        if family is None and piece.skeleton not in self._made:
            if self._run_list(piece):
                return
            if len(self._families) + len(self._made) >= _FAMILIES:
                self.flush()
                self._families.clear()
                self._made.clear()
            found = elements_of(piece)
            if found is None:
                family = self._families[piece.skeleton] = _family(piece)
            else:
                self._made[piece.skeleton] = found
        if family is None:
            self._create(piece)
            return
        if family.shape == ALONE or self._is_alone(family):
            self.flush()
            self._made_store()
            self._run(piece)
            return
        self._wait(family, piece, ())

    def _is_alone(self, family: _Family) -> bool:
        """Tell whether a statement goes by itself: the first body, which tells what is wrong with such texts.

        And one that could satisfy a constraint again that one before it has violated.
        """
        family.met += 1
        if family.shape == IN_ORDER and family.met == 1:
            return True
        if family.sets is not None and not family.sets:
            return False
        constrained = self._constrained_properties()
        return bool(constrained) and (family.sets is None or not family.sets.isdisjoint(constrained))

    def _constrained_properties(self) -> frozenset[str]:
        if self._constrained is None:
            rows = self._graph.query("SHOW CONSTRAINTS YIELD properties")
            self._constrained = frozenset(key for (keys,) in rows for key in keys)
        return self._constrained

    def _create(self, piece: Piece) -> None:
        """Let the elements wait that a statement creates; one that comes often is of a family, which takes less."""
        found = self._made[piece.skeleton]
        found.met += 1
        if found.met == _OFTEN and (family := _family(piece)).shape not in (ALONE, IN_ORDER):
            del self._made[piece.skeleton]
            self._families[piece.skeleton] = family
            self._wait(family, piece, ())
            return
        self._wait(self._created, piece, (), found)

    def _wait(self, family: _Family, piece: Piece, rows: Sequence[Any], elements: Elements | None = None) -> None:
        """Let a statement wait, once those before it are carried out that it may not change places with."""
        if self._waiting and not self._may_wait(family, piece):
            self.flush()
        if not family.waiting:
            self._shape = family.shape if not self._waiting or self._shape == family.shape else ""
            self._waiting.append(family)
            told = family.access is not None and not rows and len(self._waiting) <= _MIXED
            family.turns = Turns(family.access) if told and family.access is not None else None
            for each in self._waiting[:-1]:
                if family.turns is not None and each.turns is not None:
                    family.turns.watch(each.turns, ())
                    each.turns.watch_own(family.turns, each.waiting)
        family.waiting.append(piece)
        if elements is not None:
            self._elements.take(elements, piece.literals)
            self._count += elements.count
        if family.turns is not None:
            family.turns.note(piece)
        family.rows += rows
        self._count += len(rows) or 1
        if self._count >= (_ELEMENTS if family is self._created else _ROWS):
            self.flush()

    def _may_wait(self, family: _Family, piece: Piece) -> bool:
        """Tell whether a statement may be carried out with those of its text, before others that wait."""
        if family.shape in (CREATES, LINKS) and family.shape == self._shape:
            return True
        if not family.waiting:
            others = [each.access if each.turns is not None else None for each in self._waiting]
            own = family.access
            return own is not None and all(each is not None and may_mix(own, each) for each in others)
        turns = family.turns
        for each in reversed(self._waiting):
            if each is family:
                return True
            if turns is None or each.turns is None or each.turns.hinders(turns, piece):
                return False
        return True

    def flush(self) -> None:
        """Carry out what waits."""
        for family in self._waiting:
            waiting, family.waiting, family.turns = family.waiting, [], None
            if family is self._created:
                self._run_created(waiting)
                continue
            rows, family.rows = family.rows, []
            if not rows and len(waiting) >= _LEAST:
                rows = _rows(waiting, alike=family.shape == IN_ORDER) or []
            self._run_many(family, waiting, rows)
        self._waiting.clear()
        self._count = 0

    def _run_created(self, waiting: Sequence[Piece]) -> None:
        elements, self._elements = self._elements, Elements()
        made = len(waiting) > 1 or elements.count >= _LEAST
        if not (made and elements.run(self._graph.query, lambda: self._graph.node_count)):
            for piece in waiting:
                self._run(piece)

    def _run_many(self, family: _Family, waiting: Sequence[Piece], rows: list[Any]) -> None:
        if rows:
            for begin, end in _runs(rows, family.different):
                if not self._run_table(family, rows[begin:end]):
                    for piece in waiting[begin:end] if family.different else waiting:
                        self._run(piece)
            return
        for piece in waiting:
            self._run(piece)

    def _run_table(self, family: _Family, rows: list[Any]) -> bool:
        """Carry out statements as one, and tell whether that did; else nothing of it stays."""
        try:
            for text in family.many:
                sets = family.shape in (ONCE, TOGETHER, IN_ORDER) and len(rows) >= PATCHED
                if sets or text is not family.many[0]:
                    self._made_store()
                self._graph.query(text, {"rows": rows})
                self._many_changed = True
        except (SemanticError, Unsupported):
            family.shape = ALONE  # a literal has to stand where it is written
            return False
        except QengineError:
            return False  # one by one, the statement that fails tells why
        return True

    def _run_list(self, piece: Piece) -> bool:
        """Run a statement that begins with a list of maps, as a parameter; tell whether it was one."""
        found = leading_list(piece)
        if found is None:
            return False
        rows, rest = found
        family = self._lists.get(rest)
        if family is None:
            if len(self._lists) >= _FAMILIES:
                self.flush()
                self._lists.clear()
            family = self._lists[rest] = _list_family(rest)
        self._wait(family, piece, rows)
        if family.shape == ALONE:
            self.flush()
        return True

    def _run(self, piece: Piece) -> None:
        if "CONSTRAINT" in piece.text.upper():
            self._constrained = None
        self._told(piece, lambda: self._graph.query(piece.text))

    def _made_store(self) -> None:
        """Let a store be made of what many rows have changed: many elements are found in it, and changed, together."""
        if self._many_changed:
            _ = self._graph.node_count
            self._many_changed = False

    def _told(self, piece: Piece, run: Callable[[], Any]) -> None:
        try:
            run().close()
        except QengineError as error:
            text = " ".join(piece.text.split())
            shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
            error.add_note(f"in statement {piece.number:,} of the script: {shown}")
            raise


def _family(piece: Piece) -> _Family:
    """Return a family of the first statement of its kind."""
    from qengine.syntax import parse

    if not piece.literals:
        return _Family(ALONE, ())
    try:
        (statement,) = parse(piece.text)
        shape = shape_of(statement)
        parts = [f"UNWIND $rows AS {_ROW} {piece.skeleton[0]}"]
        for number, text in enumerate(piece.skeleton[1:]):
            parts += (f"{_ROW}.p{number}", text)
        many = "".join(parts)
        access = access_of(statement, piece) if shape != ALONE else None
        different = () if shape != ONCE or access is None else tuple(f"p{place}" for _, place in access.nodes[0].keys)
        if shape == ONCE and not different:
            shape = ALONE
        if shape != ALONE:
            sets = sets_of(statement) if shape in (ONCE, TOGETHER) else frozenset()
            return _Family(shape, _parted(many, parse(many)[0]), access, different=different, sets=sets)
        if body := body_of(statement, piece, _ROW):
            texts = (f"UNWIND $rows AS {_ROW} {body}",)
            return _Family(IN_ORDER, texts, access_of(statement, piece), sets=sets_of(statement))
    except (QuerySyntaxError, ValueError):  # running it tells
        return _Family(ALONE, ())
    return _Family(shape, ())


def _parted(text: str, statement: ast.Statement) -> tuple[str, ...]:
    """Return the texts of ``MERGE (n …) SET …`` as two: nodes that there are before are changed many at a time."""
    assert isinstance(statement.body, ast.Query)
    _, merge, *sets = statement.body.clauses
    if not isinstance(merge, ast.MergeClause) or len(merge.pattern.elements) > 1 or merge.on_create or merge.on_match:
        return (text,)
    if not sets or not all(isinstance(each, ast.SetClause) for each in sets):
        return (text,)
    unwind, node = text[: merge.span.start], text[merge.pattern.span.start : merge.pattern.span.end]
    return (text[: merge.span.end], f"{unwind} MATCH {node} {text[merge.span.end :]}")


def _list_family(rest: str) -> _Family:
    """Return a family of statements that begin with lists and go on with the same text."""
    from qengine.syntax import parse

    many = f"UNWIND $rows {rest}"
    try:
        (statement,) = parse(many)
    except (QuerySyntaxError, ValueError):
        return _Family(ALONE, (many,))
    return _Family(shape_of(statement), (many,))


def _runs(rows: Sequence[Mapping[str, Any]], different: Sequence[str]) -> list[tuple[int, int]]:
    """Return where each run of rows begins and ends in which no two have equal values in some columns."""
    if not different:
        return [(0, len(rows))]
    bounds, seen = [0], set[tuple[Any, ...]]()
    for place, row in enumerate(rows):
        key = tuple([repr(value) if isinstance(value, list | dict) else value for value in map(row.get, different)])
        if key in seen:
            bounds.append(place)
            seen.clear()
        seen.add(key)
    return list(pairwise([*bounds, len(rows)]))


def _rows(waiting: Sequence[Piece], *, alike: bool = False) -> list[dict[str, Any]] | None:
    """Return the literals of statements as rows; None where one has no value, or not all of a column are ``alike``."""
    columns: list[Iterable[Any]] = []
    for literals in zip(*(piece.literals for piece in waiting), strict=True):
        column = literal_column(literals)
        if column is None or (alike and len(set(map(type, column))) > 1):
            return None
        columns.append(column)
    names = [f"p{number}" for number in range(len(columns))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
