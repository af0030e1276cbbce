"""Random transactions: statements of all clauses that change a graph, over a few labels, types and keys."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qengine._frozen import replace
from qengine.spatial import Point
from qengine.temporal import Date, Duration, LocalTime
from qengine.testing.updates import statements as st

_LABELS = ("A", "B", "C")
_TYPES = ("R", "S")
_KEYS = ("i", "j", "s", "l")
_NODE, _EDGE, _SCALAR, _LIST, _MAP, _PATH, _STATUS, _GONE = (
    "node", "relationship", "scalar", "list", "map", "path", "reported", "deleted",
)  # fmt: skip
_UPDATES = st.Create | st.Merge | st.Set | st.Delete | st.Foreach | st.Call
_RULES = (
    st.Rule(True, "A", "i", "UNIQUENESS"), st.Rule(True, "B", "s", "UNIQUENESS"), st.Rule(True, "C", "i", "KEY"),
    st.Rule(True, "A", "j", "PROPERTY_TYPE"), st.Rule(True, "B", "i", "PROPERTY_EXISTENCE"),
    st.Rule(False, "R", "i", "UNIQUENESS"), st.Rule(False, "S", "j", "PROPERTY_TYPE"),
    st.Rule(True, "A", "i", "RANGE"), st.Rule(True, "B", "s", "RANGE"), st.Rule(False, "R", "i", "RANGE"),
)  # fmt: skip
_RARE: tuple[Any, ...] = (
    Date(2020, 1, 2), Date(2020, 1, 3), Duration(days=1), LocalTime(12, 30), Point(1.0, 2.0), [Date(2020, 1, 2)], 1.5,
    "A",
)  # fmt: skip


@dataclass(frozen=True)
class Transaction:
    """Statements that are committed together, or taken back; ``alone``: one statement without a transaction."""

    statements: tuple[st.Statement | st.Append, ...]
    alone: bool
    rollback: bool = False

    def __str__(self) -> str:
        if self.alone:
            return f"{self.statements[0]};"
        end = "ROLLBACK" if self.rollback else "COMMIT"
        return "\n".join(["BEGIN;", *(f"  {each};" for each in self.statements), f"{end};"])


def random_session(seed: int | str) -> list[Transaction]:
    """Return one to three transactions, the same for the same seed."""
    chance = random.Random(f"updates {seed}")
    found = []
    for _ in range(chance.choice([1, 1, 2, 3])):
        if chance.random() < 0.6:
            found.append(Transaction((_statement(chance, alone=True),), alone=True))
        else:
            statements = tuple(_statement(chance, alone=False) for _ in range(chance.choice([1, 2, 2, 3, 5])))
            found.append(Transaction(statements, alone=False, rollback=chance.random() < 0.3))
    return found


def _statement(chance: random.Random, *, alone: bool) -> st.Statement | st.Append:
    draw = chance.random()
    if draw < 0.07:
        name, rule = chance.choice(("u", "v", "w")), chance.choice(_RULES)
        if chance.random() < 0.25:
            return st.Statement((st.Drop(name, chance.random() < 0.7, chance.random() < 0.6),))
        return st.Statement((st.Declare(name, rule, chance.random() < 0.3),))
    if draw < 0.1:
        keys = [chance.choice((0, 1, 2, 3, 5, 6, 7, None)) for _ in range(chance.randint(0, 3))]
        rows = tuple({"i": key, "s": chance.choice(("a", "b", None))} for key in keys)
        links = [
            (chance.choice(keys), chance.choice((*keys, 1))) for _ in range(chance.choice((0, 0, 1, 2)) if keys else 0)
        ]
        whole = tuple((start, end) for start, end in links if start is not None and end is not None)
        return st.Append(chance.choice(_LABELS), rows, whole, chance.random() < 0.7)
    return _Generator(chance, alone).statement()


class _Generator:
    """``alone``: the statement is a transaction of its own, in which others may be."""

    def __init__(self, chance: random.Random, alone: bool) -> None:
        self.chance = chance
        self.alone = alone
        self._spelling = random.Random(sum(chance.getstate()[1]))
        self.count = 0
        self.inside_foreach = False  # where paths have no names
        self.making = False  # a path: which of its elements are there when one's properties are evaluated isn't defined
        self.scope: dict[str, str] = {}
        self.along: dict[str, list[str]] = {}  # the names of a path's elements
        self.parameters: dict[str, object] = {}

    # ------------------------------------------------------------ names and values

    def often(self, share: float) -> bool:
        return self.chance.random() < share

    def spelled(self) -> bool:
        """Tell whether names are to be written as expressions, which changes nothing else."""
        return self._spelling.random() < 0.15

    def new(self, kind: str) -> str:
        self.count += 1
        name = f"{kind[0]}{self.count}"
        self.scope[name] = kind
        return name

    def of(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.scope.items() if kind in kinds]

    def literal(self) -> st.Expression:
        value = self.chance.choice([0, 1, 1, 2, 2, 3, -1, "a", "b", True, None, [1, 2], [1, None]])
        if self.often(0.15):
            value = self.chance.choice(_RARE)
        return self.given(value) if self.often(0.2) else st.Literal(value)

    def given(self, value: object) -> st.Parameter:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return st.Parameter(name, value)

    def map(self) -> dict[str, object]:
        keys = self.chance.sample(_KEYS, self.chance.randint(1, 2))
        values = [0, 1, 2, 2, "a", "B", None, [1], *((_RARE[0], {"i": 1}, [1, None]) if self.often(0.15) else ())]
        return {key: self.chance.choice(values) for key in keys}

    def name(self, *usual: str) -> st.Expression:
        """Return what gives the name of a label, a type or a property, or hardly ever none."""
        draw = self.chance.random()
        subjects = self.of(_NODE, _EDGE, _MAP)
        if subjects and draw < 0.3:
            return st.Property(self.chance.choice(subjects), "s")
        if draw < 0.36:
            return self.given(self.chance.choice([None, 1]))
        value = self.chance.choice(usual)
        return self.given(value) if self.often(0.5) else st.Literal(value)

    def number(self) -> st.Expression:
        """Return an expression that is mostly an integer."""
        subjects, scalars = self.of(_NODE, _EDGE, _MAP), self.of(_SCALAR)
        draw = self.chance.random()
        if subjects and draw < 0.5:
            return st.Property(self.chance.choice(subjects), self.chance.choice(("i", "i", "j")))
        if scalars and draw < 0.8:
            return st.Variable(self.chance.choice(scalars))
        if subjects and draw > 0.97:
            return st.Coalesce(st.Property(self.chance.choice(subjects), "j"), st.Literal(0))
        if subjects and draw > 0.95:
            return st.Keyed(self.chance.choice(subjects), self.given(self.chance.choice(("i", "j", None))))
        nodes = self.of(_NODE)
        if nodes and draw > 0.93 and not self.making:
            return st.CountPaths(self.path(1, known=self.chance.choice(nodes), only_known=True))
        return st.Literal(self.chance.choice([0, 1, 1, 2, 3]))

    def value(self) -> st.Expression:
        draw = self.chance.random()
        subjects = self.of(_NODE, _EDGE)
        if draw < 0.3:
            return self.literal()
        if draw < 0.4 and subjects:
            return st.Property(self.chance.choice(subjects), self.chance.choice(_KEYS))
        if draw < 0.5:
            return st.Operation("-", self.number(), self.number())
        if draw < 0.54:
            return st.Operation("/", st.Literal(6), self.number())
        if draw < 0.58:
            return st.ListOf((self.number(), self.number()))
        if draw < 0.595 and subjects:
            return st.Variable(self.chance.choice(subjects))
        if draw < 0.61:
            return st.MapOf((("i", self.number()),))
        if draw < 0.66 and not self.making:
            return st.Case(self.condition(), self.number(), self.literal())
        return self.number()

    def entries(self, most: int, *, sure: bool = False) -> st.Items:
        keys = self.chance.sample(_KEYS, self.chance.randint(0, most))
        return tuple((key, self.settled(key) if sure else self.value()) for key in keys)

    def settled(self, key: str) -> st.Expression:
        """Return a value that elements are found by."""
        if key in ("s", "l") and self.often(0.3):
            value = self.chance.choice(("a", "b", *_RARE))
            return self.given(value) if self.often(0.3) else st.Literal(value)
        return self.number()

    def condition(self) -> st.Expression:
        nodes = self.of(_NODE)
        draw = self.chance.random()
        if nodes and draw < 0.25:
            return st.HasLabel(self.chance.choice(nodes), self.chance.choice(_LABELS))
        if nodes and draw < 0.45:
            return st.Exists(self.path(1, known=self.chance.choice(nodes), only_known=True))
        if draw < 0.55:
            return st.IsNull(self.number())
        if draw < 0.65:
            return st.Not(self.condition())
        return st.Compare(self.chance.choice("=<"), self.number(), self.number())

    # ------------------------------------------------------------ patterns

    def labels(self, most: int) -> tuple[str, ...]:
        return tuple(self.chance.sample(_LABELS, self.chance.randint(0, most)))

    def path(
        self, hops: int, *, new: bool = False, known: str | None = None, only_known: bool = False, merge: bool = False
    ) -> st.Path:
        """Return a path to find, or to make where ``new``; names it makes are in scope behind it."""
        before = dict(self.scope)
        outside, self.making = self.making, self.making or new
        made: dict[str, str] = {}
        makes = not (only_known or known)

        def node(at: int) -> st.NodePattern:
            names = [name for name in self.of(_NODE) if name in before]
            if known is not None and at == 0:
                return st.NodePattern(known)
            if names and self.often(0.6 if new else 0.3) and not (new and hops == 0):
                return st.NodePattern(self.chance.choice(names))
            own = [name for name, kind in made.items() if kind == _NODE]
            if own and self.often(0.1):
                return st.NodePattern(self.chance.choice(own))
            properties = self.entries(2 if new else 1, sure=not new or merge) if self.often(0.6 if new else 0.1) else ()
            labels = self.labels(2) if new else self.labels(1) if self.often(0.6) else ()
            if only_known or (not new and self.often(0.2)):
                return st.NodePattern("", labels, properties)
            self.count += 1
            name = f"n{self.count}"
            made[name] = _NODE
            given = self.name("A", "D") if new and self.often(0.06) else None
            if not new and self.often(0.03):
                given = self.given(self.chance.choice(("A", "B", ["A", "B"], [])))
            return st.NodePattern(name, labels, properties, new and self.spelled(), given)

        nodes = tuple(node(at) for at in range(hops + 1))
        edges = []
        for _ in range(hops):
            kind = self.chance.choice(_TYPES) if new or self.often(0.4) else None
            arrow = self.chance.choice("><" if new and not merge else ("<", ">", ""))
            properties = self.entries(1, sure=not new or merge) if self.often(0.3 if new else 0.1) else ()
            name = ""
            if not only_known and self.often(0.6):
                self.count += 1
                name = f"r{self.count}"
                made[name] = _EDGE
            edge = st.RelationshipPattern(name, kind, arrow, properties, new and self.spelled())
            if new and self.often(0.06):
                edge = replace(edge, type=None, given=self.name("R", "S", "T"))
            edges.append(edge)
        self.scope.update(made)
        self.making = outside
        if not makes or self.inside_foreach or not self.often(0.12):
            return st.Path(nodes, tuple(edges))
        found = st.Path(nodes, tuple(edges), self.new(_PATH))
        self.along[found.name] = [*(each.name for each in nodes), *(each.name for each in edges)]
        return found

    # ------------------------------------------------------------ clauses

    def statement(self) -> st.Statement:
        clauses: list[st.Clause] = [self.reading()] if self.often(0.8) else []
        clauses += [self.reading() for _ in range(self.chance.choice([0, 0, 0, 1]))]
        for _ in range(self.chance.choice([1, 1, 2, 3])):
            self.add_update(clauses, 2)
            if self.often(0.25):
                clauses += self.between()
        last = clauses[-1]
        returns = isinstance(last, st.Call) and isinstance(last.clauses[-1], st.Return)
        if self.often(0.5) or returns:
            clauses.append(self.returned() if self.often(0.94) else st.Finish())
        elif not isinstance(last, _UPDATES):
            self.add_update(clauses, 0)
        return st.Statement(tuple(clauses), self.parameters)

    def add_update(self, clauses: list[st.Clause], depth: int) -> None:
        """Add a clause that changes the graph; with WITH before it where it begins with what reads."""
        before = [name for name, kind in self.scope.items() if kind != _GONE]
        clause = self.updating(depth)
        if clauses and isinstance(clause, st.Call) and isinstance(clauses[-1], _UPDATES):
            clauses.append(st.With(tuple((name, st.Variable(name)) for name in before) or (("one", st.Literal(1)),)))
            self.scope = {name: kind for name, kind in self.scope.items() if kind != _GONE}
        clauses.append(clause)

    def between(self) -> list[st.Clause]:
        """Return a WITH, and mostly what reads behind it."""
        return [self.with_(), *([self.reading()] if self.often(0.6) else [])]

    def reading(self) -> st.Clause:
        if self.often(0.25):
            return self.unwind()
        optional = self.often(0.15)
        paths = [self.path(self.chance.choice([0, 0, 0, 1, 1, 2]))]
        if len(paths[0].nodes) == 1 and self.often(0.4):
            paths.append(self.path(self.chance.choice([0, 0, 1])))
        return st.Match(tuple(paths), self.condition() if self.often(0.3) else None, optional)

    def unwind(self) -> st.Clause:
        lists = self.of(_LIST)
        items: st.Expression
        if lists and self.often(0.5):
            name = self.chance.choice(lists)
            return st.Unwind(st.Variable(name), self.new(_NODE), self.spelled())
        if self.of(_PATH) and self.often(0.4):
            return st.Unwind(*self.elements())
        items = st.ListOf(tuple(self.number() for _ in range(self.chance.randint(0, 3))))
        if self.often(0.3):
            count = self.chance.randint(1, 3) if self.often(0.9) else 20
            rows = [None if self.often(0.06) else self.map() for _ in range(count)]
            return st.Unwind(self.given(rows) if self.often(0.7) else st.Literal(rows), self.new(_MAP), self.spelled())
        if self.often(0.2):
            items = st.Literal(self.chance.choice([None, [1, None, 2], [0, "a"], []]))
        return st.Unwind(items, self.new(_SCALAR), self.spelled())

    def elements(self) -> tuple[st.Expression, str]:
        """Return the nodes or relationships of a path, and a name for one of them."""
        kind, name = self.chance.choice((("nodes", _NODE), ("relationships", _EDGE)))
        return st.Elements(kind, self.chance.choice(self.of(_PATH))), self.new(name)

    def with_(self) -> st.Clause:
        outer = dict(self.scope)
        kept = [name for name in outer if self.often(0.7)]
        items: list[tuple[str, st.Expression]] = [(name, st.Variable(name)) for name in kept]
        draw = self.chance.random()
        nodes = [name for name in self.of(_NODE) if name not in kept]
        if draw < 0.3 and nodes:
            items.append((self.new(_LIST), st.Collect(st.Variable(self.chance.choice(nodes)))))
        elif draw < 0.5:
            items.append((self.new(_SCALAR), st.Count()))
        elif draw < 0.7 or not items:
            value = self.number()
            items.append((self.new(_SCALAR), value))
        self.scope = {name: self.scope[name] for name, _ in items}
        distinct = self.often(0.2) and not any(isinstance(value, st.Collect) for _, value in items)
        order: list[tuple[st.Expression, bool]] = []
        if self.often(0.2):
            order = [(st.Variable(name), self.often(0.5)) for name in self.of(_SCALAR)]
            order += [(st.Property(name, "i"), self.often(0.5)) for name in self.of(_NODE)]
        limit = self.limit() if not order else self.chance.choice([1, 2, None])
        return st.With(tuple(items), distinct, limit, self.condition() if self.often(0.2) else None, tuple(order))

    def limit(self) -> int | None:
        return self.chance.choice([0, 1, 3]) if self.often(0.06) else None

    def returned(self) -> st.Clause:
        hidden = (_LIST, _MAP, _STATUS)
        names = [name for name in self.scope if self.scope[name] not in hidden and self.often(0.6)]
        items: list[tuple[str, st.Expression]] = [(name, st.Variable(name)) for name in names]
        items += [
            (f"{name}_{key}", st.Property(name, key)) for name in self.of(_STATUS) for key in ("started", "committed")
        ]
        if self.often(0.3):
            items.append(("v", self.number()))
        if self.often(0.2) or not items:
            items.append(("c", st.Count()))
        return st.Return(tuple(items), self.limit())

    def updating(self, depth: int) -> st.Clause:
        makers: list[Callable[[], st.Clause]] = [self.create] * 3 + [self.merge] * 3 + [self.set] * 3
        makers += [self.remove, self.delete]
        if depth:
            makers += [lambda: self.foreach(depth - 1), lambda: self.call(depth - 1)]
        return self.chance.choice(makers)()

    def create(self) -> st.Clause:
        paths = [self.path(self.chance.choice([0, 1, 1, 2]), new=True)]
        if self.often(0.2):
            paths.append(self.path(self.chance.choice([0, 1]), new=True))
        return st.Create(tuple(paths), self.spelled())

    def merge(self) -> st.Clause:
        path = self.path(self.chance.choice([0, 0, 1, 1, 1, 2, 2, 3]), new=True, merge=True)
        created = self.set() if self.often(0.3) else None
        matched = self.set() if self.often(0.3) else None
        return st.Merge(
            path,
            created if isinstance(created, st.Set) else None,
            matched if isinstance(matched, st.Set) else None,
        )

    def set(self) -> st.Clause:
        if not self.of(_NODE, _EDGE):
            return self.create()
        return st.Set(tuple(self.change() for _ in range(self.chance.choice([1, 1, 1, 2, 3]))))

    def change(self) -> st.Change:
        elements = self.of(_NODE, _EDGE)
        subject = self.chance.choice(elements)
        draw = self.chance.random()
        if draw < 0.55:
            return st.SetProperty(subject, self.chance.choice(_KEYS), self.value())
        if draw < 0.6:
            return st.SetProperty(subject, self.name("i", "j", "k"), self.value())
        if draw < 0.68:
            return st.SetMap(subject, self.entries(2), self.often(0.5))
        if draw < 0.77:
            other = st.Variable(self.chance.choice(self.of(_NODE, _EDGE, _MAP)))
            return st.SetMap(subject, other, self.often(0.5), self.often(0.2))
        if draw < 0.82:
            value = self.map() if self.often(0.9) else self.chance.choice([None, 5])
            return st.SetMap(subject, self.given(value), self.often(0.3))
        nodes = self.of(_NODE)
        if not nodes:
            return st.SetProperty(subject, "i", self.value())
        return self.labelled(st.SetLabels, nodes)

    def labelled(self, change: type[st.SetLabels], nodes: list[str]) -> st.Change:
        given = self.name("A", "B", "D") if self.often(0.15) else None
        return change(self.chance.choice(nodes), self.labels(2) or ("A",), self.spelled(), given)

    def remove(self) -> st.Clause:
        elements, nodes = self.of(_NODE, _EDGE), self.of(_NODE)
        if not elements:
            return self.create()
        if nodes and self.often(0.5):
            return st.Set((self.labelled(st.RemoveLabels, nodes),))
        key = self.chance.choice(_KEYS) if self.often(0.8) else self.name("i", "s")
        return st.Set((st.RemoveProperty(self.chance.choice(elements), key),))

    def delete(self) -> st.Clause:
        elements = self.of(_NODE, _EDGE, _LIST, _PATH)
        if not elements:
            return self.create()
        names = tuple(self.chance.sample(elements, min(len(elements), self.chance.choice([1, 1, 2]))))
        lists = self.of(_LIST)
        values = tuple(
            st.Item(name, self.chance.randint(0, 1)) if name in lists else st.Variable(name) for name in names
        )
        if self.often(0.9):  # what is deleted is hardly ever asked for
            self.scope.update(dict.fromkeys(names, _GONE))
            for name in names:
                self.scope.update({each: _GONE for each in self.along.get(name, ()) if each in self.scope})
        return st.Delete(values, self.often(0.6))

    def foreach(self, depth: int) -> st.Clause:
        lists, outer = self.of(_LIST), dict(self.scope)
        items: st.Expression
        if lists and self.often(0.8):
            items, kind = st.Variable(self.chance.choice(lists)), _NODE
        elif self.of(_PATH) and self.often(0.6):
            items, name = self.elements()
            kind = ""
        elif self.often(0.15):
            items, kind = st.Literal([self.map() for _ in range(2)]), _MAP
        else:
            items, kind = st.ListOf(tuple(self.number() for _ in range(self.chance.randint(0, 3)))), _SCALAR
            if self.often(0.1):
                items = st.Literal(self.chance.choice([None, [1, 2], [1, 1]]))
        name = self.new(kind) if kind else name
        count = self.chance.choice([1, 1, 2])
        outside, self.inside_foreach = self.inside_foreach, True
        clauses = tuple(self.foreach(0) if depth and self.often(0.2) else self.updating(0) for _ in range(count))
        self.inside_foreach = outside
        self.scope = {each: outer[each] for each in outer}
        return st.Foreach(name, items, clauses)

    def call(self, depth: int) -> st.Clause:
        outer = dict(self.scope)
        scope = self.chance.choice(("names", "names", "names", "with", "all"))
        imports = tuple(
            name for name in outer if outer[name] not in (_GONE, _STATUS) and (scope == "all" or self.often(0.7))
        )
        self.scope = {name: outer[name] for name in imports}
        clauses: list[st.Clause] = [self.reading()] if self.often(0.5) else []
        for _ in range(self.chance.choice([1, 1, 2])):
            self.add_update(clauses, depth)
        inside, self.scope = self.scope, dict(outer)
        names = [name for name in inside if name not in outer and inside[name] in (_NODE, _EDGE, _SCALAR)]
        last = clauses[-1]
        returns = isinstance(last, st.Call) and isinstance(last.clauses[-1], st.Return)
        if returns and not names:
            clauses.append(st.Create((st.Path((st.NodePattern(""),)),)))
        if names and (returns or self.often(0.6)):
            found = self.chance.choice(names)
            alias = self.new(inside[found])
            clauses.append(st.Return(((alias, st.Variable(found)),)))
        batches = None
        if depth == 1 and self.often(0.3 if self.alone else 0.03):
            rows = st.Literal(self.chance.choice([1, 1, 2, 3]))
            on_error = self.chance.choice(("", "FAIL", "CONTINUE", "CONTINUE", "BREAK"))
            reports = on_error in ("CONTINUE", "BREAK") and self.often(0.5)
            batches = st.Batches(rows, on_error, self.new(_STATUS) if reports else "")
        return st.Call(imports, tuple(clauses), self.often(0.2), batches, scope)
