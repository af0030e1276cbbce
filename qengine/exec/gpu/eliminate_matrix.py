"""Relationships as matrices on the device (``kernels/cuda/eliminate.cuh``): the host's arrays, copied once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.cpu.relations import Relations
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.upload import resident_array
from qengine.plan.elimination import Relation

__all__ = ["MATRIX", "DeviceMatrix", "uploaded"]

MATRIX = np.dtype(
    [("offsets", "<u8"), ("ids", "<u8"), ("values", "<u8"), ("n_entries", "<u8"), ("lo", "<u4"), ("hi", "<u4")]
)
"""As ``qe::eliminate::Matrix``."""


@dataclass(frozen=True, slots=True)
class DeviceMatrix:
    """A matrix on the device.

    ``record``: its ``MATRIX``. ``pairs``: as ``SparseMatrix.pairs``. ``keep``: blocks that it lies in, residents aside.
    """

    record: npt.NDArray[Any]
    pairs: bool
    keep: tuple[Any, ...] = ()

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
    relations: tuple[Relation, ...],
    run: DeviceRun,
    held: list[Resident],
    wide: bool,
) -> DeviceMatrix:
    """Return the product, pair by pair, of relations, on the device.

    The graph's own arrays stay there; ``held`` gets them, pinned. ``wide``: numbers have 128 bits.

    Raises
    ------
    OutOfMemory
        If it doesn't fit.
    """
    found = known.matrix(relations)
    keep: list[Any] = []

    def placed(array: npt.NDArray[Any], lasting: bool) -> int:
        if lasting and array.nbytes:
            return resident_array(known.store, array, run, held)
        keep.append(run.upload(np.ascontiguousarray(array), "the pattern's relationships"))
        return int(keep[-1].ptr)

    record = np.zeros((), MATRIX)
    record["lo"], record["hi"], record["n_entries"] = found.lo, found.hi, len(found.ids)
    record["offsets"], record["ids"] = placed(found.offsets, found.kept), placed(found.ids, found.kept)
    for factor in found.factors:
        values = factor.astype(np.uint64)
        record["values"] = placed(np.stack((values, np.zeros_like(values)), axis=1) if wide else values, False)
    return DeviceMatrix(record, found.pairs, tuple(keep))
