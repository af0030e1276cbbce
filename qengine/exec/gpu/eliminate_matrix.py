"""Relationships as matrices on the device (``kernels/cuda/count/eliminate.cuh``): the host's arrays, copied once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen
from qengine.exec.common.relations import Relations
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import Resident, device_bytes
from qengine.exec.gpu.upload import resident_array
from qengine.plan.elimination import Matrix

MATRIX = _native.record("u8 offsets ids values rows n_entries; u4 lo hi n_rows unused")
"""As ``qe::eliminate::Matrix``."""

WORK_QUEUE = _native.record("u8 next stop; u4 share shares")
"""As ``qe::eliminate::WorkQueue``."""

ALL = (0, 1)
"""The share of a device that does all."""


def work_queue(address: int, stop: int, share: tuple[int, int] = ALL) -> npt.NDArray[Any]:
    """Return a ``WORK_QUEUE``. ``address``: of a uint64 that is 0. ``share``: the device's number, and of how many."""
    return np.array((address, stop, *share), WORK_QUEUE)


@frozen
class DeviceMatrix:
    """A matrix on the device.

    ``record``: its ``MATRIX``. ``pairs``: as ``SparseMatrix.pairs``. ``keep``: blocks that it lies in, residents aside.
    ``key``: what names of residents that are made of it begin with, None where conditions decide what it is.
    ``offsets``: the host's, None where it has none. ``repeats``: as ``SparseMatrix.repeats``.
    """

    record: npt.NDArray[Any]
    pairs: bool
    keep: tuple[Any, ...] = ()
    key: tuple[Any, ...] | None = None
    offsets: npt.NDArray[np.uint64] | None = None
    repeats: bool = True

    @property
    def entries(self) -> int:
        """How many pairs it links."""
        return int(self.record["n_entries"])

    @property
    def rows(self) -> int:
        """How many rows it has, empty ones included."""
        return int(self.record["hi"]) - int(self.record["lo"])

    def with_values(self, values: Any) -> DeviceMatrix:
        """Return a matrix of the same pairs with the numbers of a block."""
        record = self.record.copy()
        record["values"] = values.ptr
        return DeviceMatrix(record, False, (*self.keep, values))


def uploaded(
    known: Relations,
    step: Matrix,
    run: DeviceRun,
    held: list[Resident],
    wide: bool,
) -> DeviceMatrix:
    """Return the product, pair by pair, of relations, on the device.

    The graph's own arrays stay there, and so does what is merged of them, unless conditions decide; ``held`` gets both,
    pinned. ``wide``: numbers have 128 bits.
    """
    merged = (id(known.store), "relations", step, run.memory.placement)
    key = (*merged, wide)
    if (resident := run.memory.pin(key)) is not None:
        held.append(resident)
        made: DeviceMatrix = resident.keep
        return made
    found = known.matrix(step)
    record = np.zeros((), MATRIX)
    record["lo"], record["hi"], record["n_entries"] = found.lo, found.hi, len(found.ids)
    if found.owned:
        for name, array in (("offsets", found.offsets), ("ids", found.ids)):
            record[name] = resident_array(known.store, array, run, held) if array.nbytes else 0
        return DeviceMatrix(record, found.pairs, (), merged, found.offsets, found.repeats)
    arrays = {"offsets": found.offsets, "ids": found.ids}
    for factor in found.factors:
        values = factor.astype(np.uint64)
        arrays["values"] = np.stack((values, np.zeros_like(values)), axis=1) if wide else values
    blocks = {name: _copied(np.ascontiguousarray(array), run) for name, array in arrays.items()}
    for name, block in blocks.items():
        record[name] = block.ptr
    if any(relation.conditions for relation in step.relations):
        return DeviceMatrix(record, found.pairs, tuple(blocks.values()), None, found.offsets, found.repeats)
    matrix = DeviceMatrix(record, found.pairs, (), merged, found.offsets, found.repeats)
    held.append(
        run.memory.add(
            key, blocks, sum(device_bytes(blocks[name], array.nbytes) for name, array in arrays.items()), matrix
        )
    )
    run.memory.follow(known.store)
    return matrix


def _copied(array: npt.NDArray[Any], run: DeviceRun) -> Any:
    return run.copied(run.place(array.nbytes, "the pattern's relationships", by_vertex=False), array)
