"""The native hash join against nested loops: arrays and hash tables, nulls, tests, pieces of any size."""

from __future__ import annotations

from itertools import repeat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine.errors import QueryInterrupted
from qengine.exec.context import ExecutionContext
from qengine.exec.host import hash_join
from qengine.exec.host.hash_join import JoinTable, Operand
from tests.examples import examples

IDS = st.sampled_from([-1, 0, 1, 2, 3, 7, 2**31, 2**40])
FAR = 10**12  # ids that are too far apart for an array


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the columns of both sides, and how many of them are keys."""
    n_keys, width = draw(st.integers(1, 3)), 4
    sides = [
        draw(st.lists(st.lists(IDS, min_size=width, max_size=width), max_size=12).map(lambda rows: rows or [[5] * 4]))
        for _ in range(2)
    ]
    return *(np.array(side, np.int64).T.copy() for side in sides), n_keys


@st.composite
def operands(draw: st.DrawFn, sides: tuple[np.ndarray, np.ndarray]) -> Operand:
    built = draw(st.booleans())
    return Operand(sides[built][draw(st.integers(0, 3))], built)


@settings(max_examples=examples(300))
@given(tables(), st.data())
def test_pairs_are_those_of_nested_loops(found: tuple[np.ndarray, np.ndarray, int], data: st.DataObject) -> None:
    probing, built, n_keys = found
    sides = (probing, built)
    tests = data.draw(
        st.lists(st.lists(st.tuples(operands(sides), operands(sides)), min_size=1, max_size=2), max_size=2)
    )
    once, room = data.draw(st.booleans()), data.draw(st.sampled_from([1, 2, 5, 1000]))
    expected = []
    for i in range(probing.shape[1]):
        partners = [
            j
            for j in range(built.shape[1])
            if (probing[:n_keys, i] == built[:n_keys, j]).all()
            and (probing[:n_keys, i] >= 0).all()
            and not any(
                all(left.ids[(i, j)[left.built]] == right.ids[(i, j)[right.built]] for left, right in test)
                for test in tests
            )
        ]
        expected += [(i, j) for j in partners[: 1 if once else None]]
    table = JoinTable(list(built[:n_keys]), ExecutionContext())
    chunks = list(table.pairs(list(probing[:n_keys]), tests, once, repeat(room)))
    assert all(0 < len(here) <= room for here, _ in chunks)
    assert [(i, j) for here, there in chunks for i, j in zip(here.tolist(), there.tolist(), strict=True)] == expected


@pytest.mark.parametrize("spread", [1, FAR])
def test_many_rows(spread: int) -> None:
    chance = np.random.default_rng(spread)
    built, probing = chance.integers(0, 5000, 20_000) * spread, chance.integers(0, 6000, 30_000) * spread
    assert (hash_join._dense([built])[1] > 0) == (spread == 1)
    found = list(JoinTable([built], ExecutionContext()).pairs([probing], [], False, repeat(4096)))
    here, there = (np.concatenate(parts) for parts in zip(*found, strict=True))
    assert (probing[here] == built[there]).all()
    counts = dict(zip(*np.unique(built, return_counts=True), strict=True))
    assert len(here) == sum(counts.get(key, 0) for key in probing)
    assert len(set(zip(here.tolist(), there.tolist(), strict=True))) == len(here)


def test_it_can_be_interrupted() -> None:
    context = ExecutionContext()
    keys = np.zeros(1000, np.int64)
    table = JoinTable([keys], context)
    context.interrupt()
    with pytest.raises(QueryInterrupted):
        for _ in table.pairs([keys], [], False, repeat(100_000)):
            pass
    with pytest.raises(QueryInterrupted):
        JoinTable([keys], context)
