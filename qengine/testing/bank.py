"""Accounts that pay each other from many threads, with sums that hold in every version of the graph."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from qengine import Graph
from qengine.errors import ExecutionError

_MOST = 100  # of a payment, in whole units

OPEN = "CREATE (:Account {id: $id, balance: $balance, sent: 0})"
PAY = """
MATCH (a:Account {id: $a}), (b:Account {id: $b})
SET a.balance = a.balance - $amount, a.sent = a.sent + $amount, b.balance = b.balance + $amount
CREATE (a)-[:PAID {amount: $amount}]->(b)"""
FORGET = "MATCH (a:Account {id: $a})-[p:PAID]->() SET a.sent = a.sent - p.amount DELETE p"
CLOSE = """
MATCH (a:Account {id: $a}), (b:Account {id: $b})
SET b.balance = b.balance + a.balance
WITH a OPTIONAL MATCH (x:Account)-[p:PAID]->(a) WHERE x <> a
FOREACH (each IN CASE WHEN x IS NULL THEN [] ELSE [x] END | SET each.sent = each.sent - p.amount)
WITH DISTINCT a DETACH DELETE a"""
FLAG = "MATCH (a:Account {id: $a}) SET a:Flagged"
CLEAR = "MATCH (a:Flagged) REMOVE a:Flagged"

TOTAL = "MATCH (a:Account) RETURN sum(a.balance), count(*), count(DISTINCT a.id)"
UNEQUAL = """
MATCH (a:Account) OPTIONAL MATCH (a)-[p:PAID]->(:Account)
WITH a, sum(p.amount) AS paid WHERE paid <> a.sent RETURN count(*)"""


class Bank:
    """A graph of accounts, what is done to it, and what must hold in every version of it.

    Parameters
    ----------
    graph
        An empty graph, in memory or opened.
    accounts
        How many there are at first; each begins with 1,000 units.
    """

    def __init__(self, graph: Graph, accounts: int) -> None:
        self.graph = graph
        self.total = 1_000 * accounts
        self.done: Counter[str] = Counter()
        self._ids = list(range(accounts))
        self._next = accounts
        self._lock = threading.Lock()  # of the lists here; the graph needs none
        graph.query(
            "UNWIND range(0, $most) AS id CREATE (:Account {id: id, balance: 1000, sent: 0})", {"most": accounts - 1}
        )
        texts = {"pay": PAY, "forget": FORGET, "flag": FLAG, "clear": CLEAR}
        self._prepared = {name: graph.prepare(text) for name, text in texts.items()}

    def change(self, chance: random.Random) -> None:
        """Carry out one random transaction; some of them are rolled back half-way."""
        with self._lock:
            a, b = chance.sample(self._ids, 2)
        amount = chance.randint(1, _MOST)
        what = chance.choices(
            ("pay", "several", "failing", "forget", "exchange", "flag", "clear"), (50, 8, 8, 20, 6, 6, 2)
        )[0]
        if what == "several":
            with self.graph.transaction() as t:
                for each in range(1, 4):
                    t.query(PAY, {"a": a, "b": b, "amount": each})
                    a, b = b, a
        elif what == "failing":
            self._fail(a, b, amount)
        elif what == "exchange":
            self._exchange(a, b)
        else:
            given = {"a": a, "b": b, "amount": amount} if what == "pay" else {"a": a} if what != "clear" else {}
            self._prepared[what].run(given).fetchall()
        with self._lock:
            self.done[what] += 1

    def check(self) -> None:
        """Check the version that there is.

        Raises
        ------
        AssertionError
            Where a sum doesn't hold.
        """
        ((total, count, different),) = self.graph.query(TOTAL).fetchall()
        assert (total, count) == (self.total, different), (total, self.total, count, different)
        ((unequal,),) = self.graph.query(UNEQUAL).fetchall()
        assert unequal == 0, f"{unequal} accounts have sent something else than they paid"
        with self._lock:
            self.done["check"] += 1

    def _fail(self, a: int, b: int, amount: int) -> None:
        try:
            with self.graph.transaction() as t:
                t.query(PAY, {"a": a, "b": b, "amount": amount})
                t.query("MATCH (x:Account) WITH x LIMIT 1 SET x.balance = x.balance - 1 RETURN 1 / 0").fetchall()
        except ExecutionError as error:
            assert error.code == "DivisionByZero", error
            return
        raise AssertionError("a division by zero went unnoticed")

    def _exchange(self, a: int, b: int) -> None:
        """Close one account and open another, together."""
        with self._lock:
            if a not in self._ids:
                return
            self._ids.remove(a)
            new, self._next = self._next, self._next + 1
            if b not in self._ids:
                b = self._ids[0]
        while True:
            with self.graph.transaction() as t:
                moved = t.query("MATCH (b:Account {id: $b}) RETURN count(*)", {"b": b}).fetchall()[0][0]
                if moved:  # else another thread has closed it meanwhile
                    t.query(CLOSE, {"a": a, "b": b}).fetchall()
                    t.query(OPEN, {"id": new, "balance": 0}).fetchall()
                    break
            with self._lock:
                b = self._ids[0]
        with self._lock:
            self._ids.append(new)


def together(tasks: list[Callable[[], Any]]) -> None:
    """Do each task in a thread of its own; raise the first error when all have ended."""
    errors: list[BaseException] = []

    def run(task: Callable[[], Any]) -> None:
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if errors:
        raise errors[0]
