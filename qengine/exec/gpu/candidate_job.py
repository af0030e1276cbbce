"""The structs of ``kernels/cuda/sample/candidate_graph.cuh`` in NumPy."""

from __future__ import annotations

from qengine import _native
from qengine.plan.physical import MAX_DEVICE_LEVELS

FILTER_ROUNDS = 3
ROOT_LANES = 1024

LEVEL = _native.record("u8 first; u4 lo hi; i4 source n_sources")
SOURCE = _native.record("u8 row; i4 from to source unused")
STEP = _native.record("i4 source from_stamp to_stamp")
STATE = _native.record(
    "u4[2] arrived stopped; u8 slots gathered entries; f8 bound; u8 rounds; "
    f"u4[{FILTER_ROUNDS + 1},{MAX_DEVICE_LEVELS}] counts"
)
SIGNATURES = _native.record("u8 table wanted; u4 n_vertices unused")
JOB = _native.record(
    "u8 plan; SIGNATURES signatures; u8 stop state levels sources steps stamps_after sums stamps starts from to "
    "places ids offsets roots ways begins n_roots n_vertices n_rows slots most_entries; i4 n_levels n_sources",
    SIGNATURES=SIGNATURES,
)
RUNNING = _native.record("u8 offsets ids ways running n; u4 lo unused")
