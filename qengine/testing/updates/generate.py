"""Random transactions: statements of all clauses that change a graph, over a few labels, types and keys."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from qengine.testing.updates import statements as st

_LABELS = ("A", "B", "C")
_TYPES = ("R", "S")
_KEYS = ("i", "j", "s", "l")
_NODE, _EDGE, _SCALAR, _LIST, _MAP, _GONE = (
    "node", "relationship", "scalar", "list", "map", "deleted",
)  # fmt: skip
_UPDATES = st.Create | st.Merge | st.Set | st.Delete | st.Foreach | st.Call


@dataclass(frozen=True)
class Transaction:
    """Statements that are committed together, or taken back; ``alone``: one statement without a transaction."""

    statements: tuple[st.Statement, ...]
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
            found.append(Transaction((_Generator(chance).statement(),), alone=True))
        else:
            statements = tuple(_Generator(chance).statement() for _ in range(chance.choice([1, 2, 2, 3, 5])))
            found.append(Transaction(statements, alone=False, rollback=chance.random() < 0.3))
    return found


class _Generator:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self._spelling = random.Random(sum(chance.getstate()[1]))
        self.count = 0
        self.scope: dict[str, str] = {}
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
        return self.given(value) if self.often(0.2) else st.Literal(value)

    def given(self, value: object) -> st.Parameter:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return st.Parameter(name, value)

    def map(self) -> dict[str, object]:
        keys = self.chance.sample(_KEYS, self.chance.randint(1, 2))
        return {key: self.chance.choice([0, 1, 2, 2, "a", None, [1]]) for key in keys}

    def number(self) -> st.Expression:
        """Return an expression that is mostly an integer."""
        subjects, scalars = self.of(_NODE, _EDGE, _MAP), self.of(_SCALAR)
        draw = self.chance.random()
        if subjects and draw < 0.5:
            return st.Property(self.chance.choice(subjects), self.chance.choice(("i", "i", "j")))
        if scalars and draw < 0.8:
            return st.Variable(self.chance.choice(scalars))
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
        return self.number()

    def entries(self, most: int, *, sure: bool = False) -> st.Items:
        keys = self.chance.sample(_KEYS, self.chance.randint(0, most))
        return tuple((key, self.number() if sure else self.value()) for key in keys)

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
        made: dict[str, str] = {}

        def node(at: int) -> st.NodePattern:
            names = [name for name in self.of(_NODE) if name in before]
            if known is not None and at == 0:
                return st.NodePattern(known)
            if names and self.often(0.6 if new else 0.3) and not (new and hops == 0):
                return st.NodePattern(self.chance.choice(names))
            properties = self.entries(2 if new else 1, sure=not new or merge) if self.often(0.6 if new else 0.2) else ()
            labels = self.labels(2 if new else 1)
            if only_known or (not new and self.often(0.2)):
                return st.NodePattern("", labels, properties)
            self.count += 1
            name = f"n{self.count}"
            made[name] = _NODE
            return st.NodePattern(name, labels, properties, new and self.spelled())

        nodes = tuple(node(at) for at in range(hops + 1))
        edges = []
        for _ in range(hops):
            kind = self.chance.choice(_TYPES) if new or self.often(0.6) else None
            arrow = self.chance.choice("><" if new and not merge else ("<", ">", ""))
            properties = self.entries(1, sure=not new or merge) if self.often(0.3 if new else 0.1) else ()
            name = ""
            if not only_known and self.often(0.6):
                self.count += 1
                name = f"r{self.count}"
                made[name] = _EDGE
            edges.append(st.RelationshipPattern(name, kind, arrow, properties, new and self.spelled()))
        self.scope.update(made)
        return st.Path(nodes, tuple(edges))

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
            clauses.append(self.returned())
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
        paths = [self.path(self.chance.choice([0, 0, 1, 1, 2]))]
        if len(paths[0].nodes) == 1 and self.often(0.4):
            paths.append(self.path(self.chance.choice([0, 0, 1])))
        return st.Match(tuple(paths), self.condition() if self.often(0.3) else None, optional)

    def unwind(self) -> st.Clause:
        lists = self.of(_LIST)
        items: st.Expression
        if lists and self.often(0.5):
            name = self.chance.choice(lists)
            return st.Unwind(st.Variable(name), self.new(_NODE))
        items = st.ListOf(tuple(self.number() for _ in range(self.chance.randint(0, 3))))
        if self.often(0.3):
            rows = [self.map() for _ in range(self.chance.randint(1, 3))]
            return st.Unwind(self.given(rows) if self.often(0.7) else st.Literal(rows), self.new(_MAP))
        if self.often(0.2):
            items = st.Literal(self.chance.choice([None, [1, None, 2], [0, "a"], []]))
        return st.Unwind(items, self.new(_SCALAR))

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
        return st.With(tuple(items), distinct, self.limit(), self.condition() if self.often(0.2) else None)

    def limit(self) -> int | None:
        return self.chance.choice([0, 1, 3]) if self.often(0.06) else None

    def returned(self) -> st.Clause:
        names = [name for name in self.scope if self.scope[name] not in (_LIST, _MAP) and self.often(0.6)]
        items: list[tuple[str, st.Expression]] = [(name, st.Variable(name)) for name in names]
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
        return st.Create(tuple(paths))

    def merge(self) -> st.Clause:
        path = self.path(self.chance.choice([0, 0, 1, 1, 1, 2]), new=True, merge=True)
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
        if draw < 0.6:
            return st.SetProperty(subject, self.chance.choice(_KEYS), self.value())
        if draw < 0.7:
            return st.SetMap(subject, self.entries(2), self.often(0.5))
        if draw < 0.78:
            return st.SetMap(subject, self.chance.choice(self.of(_NODE, _EDGE, _MAP)), self.often(0.5))
        nodes = self.of(_NODE)
        if not nodes:
            return st.SetProperty(subject, "i", self.value())
        return st.SetLabels(self.chance.choice(nodes), self.labels(2) or ("A",), self.spelled())

    def remove(self) -> st.Clause:
        elements, nodes = self.of(_NODE, _EDGE), self.of(_NODE)
        if not elements:
            return self.create()
        if nodes and self.often(0.5):
            return st.Set((st.RemoveLabels(self.chance.choice(nodes), self.labels(2) or ("A",), self.spelled()),))
        return st.Set((st.RemoveProperty(self.chance.choice(elements), self.chance.choice(_KEYS)),))

    def delete(self) -> st.Clause:
        elements = self.of(_NODE, _EDGE)
        if not elements:
            return self.create()
        names = tuple(self.chance.sample(elements, min(len(elements), self.chance.choice([1, 1, 2]))))
        if self.often(0.9):  # what is deleted is hardly ever asked for
            for name in names:
                self.scope[name] = _GONE
        return st.Delete(names, self.often(0.6))

    def foreach(self, depth: int) -> st.Clause:
        lists, outer = self.of(_LIST), dict(self.scope)
        items: st.Expression
        if lists and self.often(0.8):
            items, kind = st.Variable(self.chance.choice(lists)), _NODE
        else:
            items, kind = st.ListOf(tuple(self.number() for _ in range(self.chance.randint(0, 3)))), _SCALAR
            if self.often(0.1):
                items = st.Literal(self.chance.choice([None, [1, 2], [1, 1]]))
        name = self.new(kind)
        count = self.chance.choice([1, 1, 2])
        clauses = tuple(self.foreach(0) if depth and self.often(0.2) else self.updating(0) for _ in range(count))
        self.scope = {each: outer[each] for each in outer}
        return st.Foreach(name, items, clauses)

    def call(self, depth: int) -> st.Clause:
        outer = dict(self.scope)
        imports = tuple(name for name in outer if outer[name] != _GONE and self.often(0.7))
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
        return st.Call(imports, tuple(clauses))
