"""Masks as bits and as places, and arrays that are filled, in parts by several threads: what NumPy gives at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from qengine.errors import QueryInterrupted
from qengine.exec.common import dealing
from qengine.exec.common.columns import ArrowColumn
from qengine.exec.common.dealing import assign, computed, packed, taken
from qengine.exec.context import ExecutionContext
from qengine.exec.host.predicates import places


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_LEAST", "_MOST"):
        monkeypatch.setattr(dealing, name, 128)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 128, 1000, 100_003])
def test_bits_and_places_of_a_mask(n: int) -> None:
    mask, context = np.random.default_rng(n).random(n) < 0.4, ExecutionContext(threads=3)
    bits = packed(mask, context)
    assert len(bits) % 8 == 0 and len(bits) >= 8
    assert (np.unpackbits(bits, bitorder="little")[:n] == mask).all()
    assert not np.unpackbits(bits, bitorder="little")[n:].any()
    for kind in (np.uint32, np.int64):
        found = places(mask, 7, kind, context)
        assert found.dtype == kind and (found == np.flatnonzero(mask) + 7).all()


@pytest.mark.parametrize("n", [0, 5, 300])
def test_assigned_numbers(n: int) -> None:
    context, values = ExecutionContext(threads=3), np.arange(n, dtype=np.uint16)
    wide = np.empty((n, 2), np.uint64)
    assign(wide[:, 0], values, context)
    assign(wide[:, 1], np.uint64(3), context)
    assert (wide[:, 0] == values).all() and (wide[:, 1] == 3).all()


@pytest.mark.parametrize("n", [0, 5, 1_000])
def test_computed_numbers_and_values_that_are_taken(n: int) -> None:
    context, places = ExecutionContext(threads=3), np.random.default_rng(n).integers(0, 7, n)
    assert (computed(n, np.int64, lambda part: places[part] * 2, context) == 2 * places).all()
    texts = pa.array(["a", "bc", None, "", "d", "e", "f"])
    found = taken(ArrowColumn(texts), places, context)
    assert found.values() == texts.take(pa.array(places)).to_pylist()


def test_an_interrupt_ends_them() -> None:
    context = ExecutionContext(threads=2)
    context.interrupt()
    for begun in (
        lambda: packed(np.ones(500, np.bool_), context),
        lambda: places(np.ones(500, np.bool_), 0, np.uint32, context),
    ):
        with pytest.raises(QueryInterrupted):
            begun()
