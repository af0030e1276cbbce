"""The records that the kernels of ``kernels/cuda/walk/reach.cu`` read, as ``reach_job.cuh`` lays them out."""

from __future__ import annotations

import numpy as np

from qengine.exec.common.match_plan import PCSR

LAYER = np.dtype([("lists", PCSR), ("out", PCSR), ("allowed", "<u8"), ("is_out", "<i4"), ("unused", "<i4")])
FOUND = np.dtype([("size", "<u4"), ("unused", "<u4"), ("push_cost", "<u8"), ("completed", "<u8")])
STATE = np.dtype(
    [("arrived", "<u4"), ("stopped", "<u4"), ("size", "<u4"), ("unused", "<u4"), ("depth", "<i8"), ("push_cost", "<u8"),
     ("pull_cost", "<u8"), ("entries", "<u8"), ("found", FOUND, (3,))]
)  # fmt: skip
JOB = np.dtype(
    [("stop", "<u8"), ("state", "<u8"), ("forward", "<u8"), ("backward", "<u8"), ("through", "<u8"), ("seen", "<u8"),
     ("bits", "<u8", (2,)), ("lists", "<u8", (2,)), ("before", "<u8"), ("sums", "<u8"), ("lanes", "<u8"),
     ("maximum", "<i8"), ("n_layers", "<u4"), ("n_vertices", "<u4"), ("levels", "<u4"), ("unused", "<u4")]
)  # fmt: skip
ENDS = np.dtype([("lo", "<u4"), ("hi", "<u4"), ("bits", "<u8")])
