"""The structs of ``kernels/cuda/sample/candidate_graph.cuh`` in NumPy."""

from __future__ import annotations

import numpy as np

from qengine.plan.physical import MAX_DEVICE_LEVELS

FILTER_ROUNDS = 3
ROOT_LANES = 1024

LEVEL = np.dtype([("first", "<u8"), ("lo", "<u4"), ("hi", "<u4"), ("source", "<i4"), ("n_sources", "<i4")])
SOURCE = np.dtype([("row", "<u8"), ("from", "<i4"), ("to", "<i4"), ("source", "<i4"), ("unused", "<i4")])
STEP = np.dtype([("source", "<i4"), ("from_stamp", "<i4"), ("to_stamp", "<i4")])
STATE = np.dtype(
    [("arrived", "<u4", 2), ("stopped", "<u4", 2), ("slots", "<u8"), ("gathered", "<u8"), ("entries", "<u8"),
     ("bound", "<f8"), ("rounds", "<u8"), ("counts", "<u4", (FILTER_ROUNDS + 1, MAX_DEVICE_LEVELS))]
)  # fmt: skip
SIGNATURES = np.dtype([("table", "<u8"), ("wanted", "<u8"), ("n_vertices", "<u4"), ("unused", "<u4")])
JOB = np.dtype(
    [("plan", "<u8"), ("signatures", SIGNATURES)] + [(name, "<u8") for name in (
        "stop", "state", "levels", "sources", "steps", "stamps_after", "sums", "stamps", "starts", "from",
        "to", "places", "ids", "offsets", "roots", "ways", "begins", "n_roots", "n_vertices", "n_rows", "slots",
        "most_entries",
    )] + [("n_levels", "<i4"), ("n_sources", "<i4")]
)  # fmt: skip
RUNNING = np.dtype(
    [("offsets", "<u8"), ("ids", "<u8"), ("ways", "<u8"), ("running", "<u8"), ("n", "<u8"), ("lo", "<u4"),
     ("unused", "<u4")]
)  # fmt: skip
