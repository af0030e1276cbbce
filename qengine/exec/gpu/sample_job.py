"""The structs of ``kernels/cuda/sample/sample.cuh`` and ``sample_packed.cuh`` in NumPy."""

from __future__ import annotations

import numpy as np

from qengine.plan.physical import MAX_DEVICE_LEVELS

MOST_WARPS = 32
PACKED_LEVELS = 16
PACKED_SOURCES = 64

TOTALS = np.dtype([("weight", "<f8"), ("square", "<f8"), ("reached", "<u8"), ("work", "<u8")])
WORK = np.dtype([("walk", "<i4"), ("place", "<i4")])
JOB = np.dtype(
    [("seed", "<u8"), ("first", "<u8"), ("samples", "<u8"), ("totals", "<u8"), ("rows", "<u8"), ("weights", "<u8"),
     ("stop", "<u8"), ("depth", "<i4"), ("inheritance", "<i4"), ("streaming", "<i4"), ("least", "<i4"),
     ("guide", "<u8"), ("work", WORK, MAX_DEVICE_LEVELS)]
)  # fmt: skip
GUIDE = np.dtype([("ways", "<u8"), ("running", "<u8"), ("lo", "<u4"), ("unused", "<u4")])
PACKED_GRAPH = np.dtype(
    [("words", "<u8"), ("n_words", "<u4"), ("ids", "<u4"), ("lo", "<u4", PACKED_LEVELS),
     ("roots", "<u4", PACKED_LEVELS), ("n_roots", "<u4", PACKED_LEVELS), ("offsets", "<u4", PACKED_SOURCES),
     ("entries", "<u4", PACKED_SOURCES)]
)  # fmt: skip
