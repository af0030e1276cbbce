"""The records that the kernels of ``kernels/cuda/walk/reach.cu`` read, as ``reach_job.cuh`` lays them out."""

from __future__ import annotations

from qengine import _native
from qengine.exec.common.match_plan import PCSR

LAYER = _native.record("PCSR lists out; u8 allowed; i4 is_out unused", PCSR=PCSR)
FOUND = _native.record("u4 size unused; u8 push_cost completed")
STATE = _native.record(
    "u4 arrived stopped size unused; i8 depth; u8 push_cost pull_cost entries; FOUND[3] found", FOUND=FOUND
)
JOB = _native.record(
    "u8 stop state forward backward through seen; u8[2] bits lists; u8 before sums lanes; i8 maximum; "
    "u4 n_layers n_vertices levels unused"
)
ENDS = _native.record("u4 lo hi; u8 bits")
