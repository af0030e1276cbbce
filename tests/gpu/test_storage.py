"""What is stored is built on the device as on the host, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.launch import device_run
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.pcsr_build import symmetric_lists
from qengine.exec.gpu.signatures import resident_signatures
from qengine.plan.pattern import Direction
from qengine.storage import from_records
from qengine.storage.adjacency import Form
from qengine.storage.pcsr_build import build_type
from qengine.testing.generate import rmat, to_csr
from tests.property.test_gpu_storage import check

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("spread", [1, 97])
def test_symmetric_lists_are_the_hosts(form: Form, spread: int) -> None:
    start, end = (np.uint32(spread) * each.astype(np.uint32) for each in to_csr(rmat(12, 16, 3)).edges())
    with device_run(ExecutionContext()) as run:
        for out in Form:
            given = build_type(start, end, undirected=True, form=out).adjacencies[Direction.OUT]
            expected = build_type(start, end, undirected=True, form=form).adjacencies[Direction.BOTH]
            check(run, symmetric_lists(run, given, 0, form), expected)


def test_signatures_are_the_hosts() -> None:
    generator = np.random.default_rng(4)
    nodes = [{"id": k, "labels": [f"L{k % 7}", f"M{k % 3}"]} for k in range(2_000)]
    ends = (2_000 * generator.random((12_000, 2)) ** 2).astype(int).tolist()
    relationships = [{"type": f"R{k % 5}", "start": a, "end": b} for k, (a, b) in enumerate(ends)]
    store: Any = from_records(nodes, relationships, undirected=["R1"])
    held: list[Resident] = []
    with device_run(ExecutionContext()) as run:
        address = resident_signatures(store, store.signatures, run, held)
        found = np.empty((16, store.vertex_count), np.uint32)
        run.read(address, found)
        for resident in held:
            run.memory.unpin(resident)
    assert np.array_equal(found, store.signatures.table)
