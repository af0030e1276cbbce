"""The structs of ``kernels/cuda/sample/sample.cuh`` and ``sample_packed.cuh`` in NumPy."""

from __future__ import annotations

from qengine import _native
from qengine.plan.physical import MAX_DEVICE_LEVELS

MOST_WARPS = 32
PACKED_LEVELS = 16
PACKED_SOURCES = 64

TOTALS = _native.record("f8 weight square; u8 reached work")
WORK = _native.record("i4 walk place")
JOB = _native.record(
    f"u8 seed first samples totals rows weights order stop; i4 depth inheritance streaming least; u8 guide; "
    f"WORK[{MAX_DEVICE_LEVELS}] work",
    WORK=WORK,
)
GUIDE = _native.record("u8 ways running; u4 lo unused")
PACKED_GRAPH = _native.record(
    f"u8 words; u4 n_words ids; u4[{PACKED_LEVELS}] lo roots n_roots; u4[{PACKED_SOURCES}] offsets entries"
)
