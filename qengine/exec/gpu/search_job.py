"""The structs of ``kernels/cuda/search/search_job.cuh`` in NumPy."""

from __future__ import annotations

import numpy as np

__all__ = ["FRAME", "JOB", "LANES", "STATE", "donation_bytes", "frame_bytes", "saved_bytes"]

LANES = 32

STATE = np.dtype(
    [("next_task", "<u8"), ("rows", "<u8"), ("total_low", "<u8"), ("total_high", "<u8"), ("working", "<i4"),
     ("served", "<u4"), ("waiting", "<u4"), ("next_saved", "<i4"), ("saved", "<i4"), ("full", "<i4"),
     ("stop", "<i4"), ("status", "<i4")]
)  # fmt: skip
JOB = np.dtype(
    [("plan", "<u8"), ("seeds", "<u8"), ("rows", "<u8"), ("capacity", "<u8"), ("row", "<u8"), ("columns", "<u8"),
     ("counts", "<u8"), ("state", "<u8"), ("donations", "<u8"), ("queue", "<u8"), ("saved_before", "<u8"),
     ("saved", "<u8"), ("stop", "<u8"), ("n_saved_before", "<i4"), ("unused", "<i4")]
)  # fmt: skip
FRAME = np.dtype(
    [("value", "<i8", LANES), ("end", "<u8", LANES), ("begin", "<u8", LANES), ("at", "<u8"), ("total", "<u8"),
     ("pivot", "<i1", LANES), ("parent", "<u1", LANES), ("n", "<i4"), ("unused", "<i4")]
)  # fmt: skip

_SAVED_HEADER = 8
_DONATION_HEADER = 32


def frame_bytes(frames: int) -> int:
    """Return the shared memory of one warp's stack of so many frames, with the places of its rows."""
    return -(-(frames * FRAME.itemsize + 4 * LANES) // 16) * 16


def saved_bytes(frames: int) -> int:
    """Return the bytes of one saved stack."""
    return _SAVED_HEADER + frames * FRAME.itemsize


def donation_bytes(levels: int) -> int:
    """Return the bytes of one donation in the variant for so many levels."""
    return _DONATION_HEADER + (levels + 1) * LANES * 8 + LANES * 4
