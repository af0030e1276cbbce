"""The signatures of a graph's vertices on the device, built there (``kernels/cuda/load/signature.cu``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from qengine.exec.common.match_plan import PCSR
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.upload import resident_array, resident_lists
from qengine.exec.view import ExecView
from qengine.storage.signatures import Signatures

_THREADS = 128
_WHAT = "the signatures of nodes"


def resident_signatures(store: ExecView, signatures: Signatures, run: DeviceRun, held: list[Resident]) -> int:
    """Return where the table of signatures is on the device; ``held`` gets it, pinned.

    It is built there of the graph's lists, which become resident, too; or copied where the host has made it already.
    """
    if signatures.has_table:
        return resident_array(store, signatures.table, run, held, _WHAT)
    key = (id(store), "signatures", signatures.nbytes)
    resident = run.memory.pin(key)
    if resident is None:
        resident = run.memory.add(key, built_signatures(store, signatures, run), signatures.nbytes, signatures)
        run.memory.follow(store)
    held.append(resident)
    assert resident.address is not None
    return resident.address


def built_signatures(store: ExecView, signatures: Signatures, run: DeviceRun) -> Any:
    """Return a block with the table, built now. Errors as above."""
    lent: list[Resident] = []
    try:
        lists = np.array([resident_lists(store, each, run, lent) for each in signatures.lists], PCSR)
        blocks = [run.upload(each, _WHAT) for each in (*signatures.arrays, lists)]
        ends, begins, labels, numbers, records = (block.ptr for block in blocks)
        given = run.upload(
            np.frombuffer(bytes(signatures.input(ends, begins, labels, records, numbers)), np.uint8), _WHAT
        )
        table = run.allocate(signatures.nbytes, _WHAT)
        kernel = run.kernel("signature", "signature_build")
        blocks_wanted = max(1, -(-signatures.n_vertices // _THREADS))
        run.launch(kernel, blocks_wanted, _THREADS, (np.uint64(given.ptr), np.uint64(table.ptr)))
        run.wait()
        return table
    finally:
        for resident in lent:
            run.memory.unpin(resident)
