"""A graph on disk with readers, prepared statements and open results, while statements of all kinds change it."""

from __future__ import annotations

import random
import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import qengine
from qengine import Graph
from qengine.errors import OutOfMemory, QengineError, QueryInterrupted, Unsupported
from qengine.result import Result
from qengine.storage import GraphStore
from qengine.testing.compare import canonical
from qengine.testing.random_graph import random_graph
from qengine.testing.random_query import RandomQuery, random_query
from qengine.testing.updates.generate import random_session
from qengine.testing.updates.statements import Append
from qengine.types import Node
from qengine.types import Path as Walk
from tests.crossings.outcomes import Case, Outcome, case_of, outcome
from tests.limits.looks import watched

_CHANGES = (
    "MATCH (n) SET n.i = toString(n.i)",
    "MATCH (n) WHERE n.k % 2 = 0 SET n.k = n.k + 0.5",
    "MATCH (n) SET n.s = n.m, n.f = n.i",
    "MATCH (n) SET n.m = [n.k, 1] REMOVE n.b",
    "MATCH (n) SET n.f = date('2020-01-01')",
    "MATCH (n) SET n.s = 1",
    "MATCH (n:A) REMOVE n:A SET n:D",
    "MATCH (n:D) REMOVE n:D SET n:A",
    "MATCH (n:B) SET n:C:Unknown, n.l = [1.5, n.i]",
    "MATCH (a)-[r:R]->(b) CREATE (a)-[:S {k: r.k}]->(b) DELETE r",
    "MATCH (a)-[r:S]->(b) WITH a, r, b LIMIT 2 CREATE (b)-[:U {k: r.k, i: r.i}]->(a) DELETE r",
    "MATCH ()-[r]->() SET r.k = toString(r.k), r.i = null",
    "MATCH ()-[r]->() SET r.k = 1.5",
    "MATCH (n {k: 1}) DETACH DELETE n",
    "MATCH (n) WHERE n.k > 90 DETACH DELETE n",
    "CREATE (:B {k: 50, i: 1, s: 'ab'})-[:R {k: 77, i: 2}]->(:C:A {k: 51, f: 1.5})",
    "UNWIND range(100, 130) AS x CREATE (:A {k: x, i: x % 5})-[:R {k: x}]->(:B {k: x + 100, s: 'a'})",
    "MATCH (a {k: 2}), (b) CREATE (a)-[:U {k: 5, i: 1}]->(b)",
    "MERGE (a:A {k: 3}) ON MATCH SET a.i = 9 MERGE (a)-[:R]->(:B {k: 4})",
    "MATCH (n) CALL (n) { SET n.i = coalesce(n.k, 0) } IN TRANSACTIONS OF 2 ROWS",
    "CREATE INDEX ik IF NOT EXISTS FOR (n:A) ON (n.k)",
    "CREATE INDEX IF NOT EXISTS FOR ()-[r:R]-() ON (r.k)",
    "CREATE TEXT INDEX IF NOT EXISTS FOR (n:A) ON (n.s)",
    "DROP INDEX ik IF EXISTS",
    "CREATE CONSTRAINT ck IF NOT EXISTS FOR (n:B) REQUIRE n.k IS UNIQUE",
    "DROP CONSTRAINT ck IF EXISTS",
)
_VALUES: tuple[Any, ...] = (0, 1, 2, 0.0, 0.5, 1.5, "a", "", None, True, [1, 2], [0, None], ["a"], [], -1, {"k": 1})
_STEPS = 16
_MOST_LOOKS = 50_000  # of a generated statement, which may have no end that anybody would wait for
_QUERIES = 5


class History:
    """One history, the same for the same seed."""

    def __init__(self, seed: int | str) -> None:
        self._chance = random.Random(f"history {seed}")
        self._seed = seed
        self._log: list[str] = []
        self._checked = 0
        self._open: list[tuple[Case, Result, str]] = []
        made = random_graph(f"history {seed}")
        # Neither values that tell nodes apart last, nor orders of rows: no query takes the first ones.
        made_of = (random_query(f"{seed} {number}", made) for number in range(1000))
        cut = re.compile("LIMIT|SKIP|head|ANY|SHORTEST [1-9]|collect", re.IGNORECASE)
        asked = [query for query in made_of if len(query.text) < 260 and not cut.search(query.text)]
        self._queries = [RandomQuery(query.text, query.parameters) for query in asked[:_QUERIES]]
        self._store = made.store()

    def run(self) -> int:
        """Go through it, and return how many outcomes were compared.

        Raises
        ------
        AssertionError
            Where one differs, with what was done before.
        """
        folder = Path(tempfile.mkdtemp())
        self._folder = folder / "graph"
        try:
            Graph(self._store).save(self._folder)
            self._begin()
            self._reader = qengine.open(self._folder, read_only=True)
            for _ in range(_STEPS):
                step = self._chance.choice(_EVENTS)
                self._log.append(step.__name__.strip("_"))
                self._allowed(lambda step=step: step(self))
                for _ in range(2):
                    self._ask()
        except Exception as error:
            error.add_note(f"seed {self._seed}: " + "\n  ".join(self._log))
            raise
        finally:
            self._graph.close()
            self._reader.close()
            shutil.rmtree(folder)
        return self._checked

    def _begin(self) -> None:
        self._graph = qengine.open(self._folder, durability="none")
        self._graph.learned.after = 0.0  # learns from everything
        self._prepared: dict[int, Any] = {}
        for number, query in enumerate(self._queries):
            self._allowed(lambda n=number, q=query: self._prepared.update({n: self._graph.prepare(q.text)}))

    def _allowed(self, do: Callable[[], Any]) -> None:
        """Do what may be refused: a statement whose types no longer fit, rows that a constraint forbids."""
        try:
            do()
        except QengineError as error:
            self._log.append(f"→ {type(error).__name__} {error.code}")
            assert type(error).__name__ != "InternalError"

    # ---------------------------------------------------------------- asking

    def _ask(self) -> None:
        number = self._chance.randrange(len(self._queries))
        query, graph = self._queries[number], self._graph
        query = RandomQuery(query.text, self._others(query.parameters))
        way = self._chance.choice(["text", "prepared", "reader", "profile"])
        if (case := case_of(graph._store, query)) is None:
            return
        if way == "prepared" and number in self._prepared:
            found = outcome(lambda: self._prepared[number].run(query.parameters).fetchall())
        elif way == "reader":
            self._reader.refresh()
            found = outcome(lambda: self._reader.query(query.text, query.parameters).fetchall())
        else:
            if way == "profile":
                outcome(lambda: graph.query(f"PROFILE {query.text}", query.parameters).fetchall())
            found = outcome(lambda: graph.query(query.text, query.parameters).fetchall())
        self._check(f"{way} {query.text} {query.parameters}", case, found)

    def _others(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value if self._chance.random() < 0.4 else self._chance.choice(_VALUES)
            for name, value in parameters.items()
        }

    def _compare(self, what: str, query: RandomQuery, store: GraphStore, asked: Callable[..., Result]) -> None:
        """Ask a query whose rows are soon found: others could run for days."""
        if (case := case_of(store, query)) is not None:
            found = outcome(lambda: asked(query.text, query.parameters).fetchall())
            self._check(f"{what}: {query.text}", case, found)

    def _check(self, what: str, case: Case, found: Outcome) -> None:
        if isinstance(found, Unsupported):
            return
        try:
            case.check(found, _unordered)
        except AssertionError as error:
            error.add_note(what)
            raise
        self._checked += 1

    def _content(self) -> list[list[str]]:
        return [
            sorted(repr(canonical([*map(_unordered, row)])) for row in self._graph.query(text).fetchall())
            for text in ("MATCH (n) RETURN n", "MATCH ()-[r]->() RETURN r")
        ]

    # ---------------------------------------------------------------- what happens

    def _change(self) -> None:
        self._log.append(self._chance.choice(_CHANGES))
        self._graph.query(self._log[-1])

    def _generated_change(self) -> None:
        (transaction, *_) = random_session(f"{self._seed} {len(self._log)}")
        statement = transaction.statements[0]
        if isinstance(statement, Append):
            return
        self._log.append(f"{statement} {statement.parameters}")
        with watched(_MOST_LOOKS):
            self._graph.query(str(statement), statement.parameters)

    def _change_without_room(self) -> None:
        self._log.append(self._chance.choice(_CHANGES))
        before = self._content()
        room = self._chance.choice([1, 100, 5000, None])
        try:
            with nullcontext() if room else watched(self._chance.randint(1, 40)):
                self._graph.query(self._log[-1], memory_limit=room)
        except (OutOfMemory, QueryInterrupted):
            assert "IN TRANSACTIONS" in self._log[-1] or self._content() == before

    def _transaction(self) -> None:
        before = self._content()
        kept = self._chance.random() < 0.5
        with self._graph.transaction() as t:
            for text in self._chance.sample(_CHANGES, 2):
                self._log.append(f"  {text}")
                self._allowed(lambda text=text: t.query(text))
                query = self._chance.choice(self._queries)
                self._compare("inside", query, t._view.current().store, t.query)
                self._compare("beside", query, self._graph._store, self._graph.query)
            if not kept:
                t.rollback()
        assert kept or self._content() == before

    def _checkpoint(self) -> None:
        self._graph.checkpoint()

    def _open_again(self) -> None:
        before = self._content()
        self._graph.close()
        self._begin()
        assert self._content() == before

    def _save(self) -> None:
        copy = self._folder.parent / f"copy {len(self._log)}"
        self._graph.save(copy)
        with qengine.open(copy, verify="full") as other:
            self._compare("saved", self._chance.choice(self._queries), self._graph._store, other.query)

    def _begin_to_read(self) -> None:
        query = self._chance.choice(self._queries)
        if (case := case_of(self._graph._store, query)) is not None:
            self._open.append((case, self._graph.query(query.text, query.parameters), query.text))

    def _go_on_reading(self) -> None:
        for case, result, text in self._open:
            self._check(f"begun before: {text}", case, outcome(result.fetchall))
        self._open = []

    def _estimate(self) -> None:
        query = self._chance.choice(self._queries)
        self._graph.estimate(query.text, query.parameters, samples=100)


_EVENTS: tuple[Callable[[History], None], ...] = (
    History._change, History._change, History._change, History._generated_change, History._change_without_room,
    History._transaction, History._transaction, History._checkpoint, History._open_again, History._save,
    History._begin_to_read, History._begin_to_read, History._go_on_reading, History._estimate,
)  # fmt: skip


def _unordered(value: Any) -> Any:
    """Return a value with the labels of nodes in one order: a label that goes and comes may stand elsewhere."""
    match value:
        case Node():
            return {"id": value.id, "labels": sorted(value.labels), **value.properties}
        case Walk():
            return [_unordered(element) for element in value]
        case list():
            return [_unordered(item) for item in value]
        case dict():
            return {key: _unordered(item) for key, item in value.items()}
    return value
