"""Readers and writers in many threads: sums over accounts hold in every version that anybody sees."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Literal

import pytest

import qengine
from qengine import Graph
from qengine.testing.bank import TOTAL, Bank, together


def _run(bank: Bank, *, changes: int, writers: int, readers: int) -> None:
    """Let writers make so many changes each, and readers check until they have ended."""
    left = threading.Semaphore(0)
    ended = threading.Event()

    def write(seed: int) -> None:
        chance = random.Random(seed)
        try:
            for _ in range(changes):
                bank.change(chance)
        finally:
            left.release()

    def read() -> None:
        while not ended.is_set():
            bank.check()

    def wait() -> None:
        for _ in range(writers):
            left.acquire()
        ended.set()

    together([*(lambda seed=seed: write(seed) for seed in range(writers)), *[read] * readers, wait])
    bank.check()
    assert sum(count for what, count in bank.done.items() if what != "check") == changes * writers


def test_sums_hold_in_every_version() -> None:
    bank = Bank(Graph(), 40)
    _run(bank, changes=60, writers=2, readers=2)
    assert bank.done["pay"] and bank.done["failing"] and bank.done["exchange"] and bank.done["check"]


@pytest.mark.nets
@pytest.mark.parametrize("durability", ["batched", "full"])
def test_sums_hold_in_an_opened_graph(tmp_path: Path, durability: Literal["full", "batched"]) -> None:
    folder = tmp_path / "graph"
    Graph().save(folder)
    with qengine.open(folder, durability=durability) as graph:
        bank = Bank(graph, 60)
        _run(bank, changes=250, writers=3, readers=3)
        graph.checkpoint()
        _run_more(bank)
        expected = graph.query(TOTAL).fetchall()
    with qengine.open(folder, read_only=True) as graph:
        assert graph.query(TOTAL).fetchall() == expected
        bank.graph = graph
        bank.check()


def _run_more(bank: Bank) -> None:
    chance = random.Random(7)
    for _ in range(20):
        bank.change(chance)
    bank.check()


def test_no_reader_waits_for_a_writer() -> None:
    """A transaction stays open with changes of all kinds until the readers in other threads have their rows."""
    graph = Graph()
    bank = Bank(graph, 10)
    with graph.transaction() as t:
        t.query("MATCH (a:Account) SET a.balance = 0 CREATE (a)-[:PAID {amount: 1}]->(a)")
        t.query("MATCH (a:Account {id: 1}) DETACH DELETE a")
        together([bank.check] * 4)
        t.rollback()
    bank.check()
