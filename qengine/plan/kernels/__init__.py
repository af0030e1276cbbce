"""The kernel table: every way of computing the steps of an elimination, a row each.

The optimizer chooses among the rows that match, by cost (``optimizer/elimination/calls.py``); the plan names them
(``plan/schedule.py``); executors look the names up and run them (``exec/host/kernels.py``, ``exec/gpu/kernels.py``).
"""

from __future__ import annotations

from qengine.plan.kernels.gpu import GPU_KERNELS
from qengine.plan.kernels.host import HOST_KERNELS
from qengine.plan.kernels.row import Facts, Group, Kernel

__all__ = ["DEVICES", "KERNELS", "KERNEL_NAMES", "Facts", "Group", "Kernel", "kernel"]

KERNELS = {"cpu": HOST_KERNELS, "gpu": GPU_KERNELS}
"""The rows of each device, in the order in which they are preferred at the same cost."""

DEVICES = tuple(KERNELS)

_BY_NAME = {(row.device, row.name): row for rows in KERNELS.values() for row in rows}

KERNEL_NAMES = tuple(dict.fromkeys(name for _, name in _BY_NAME))
"""The names of all rows; rows of one name on two devices compute the same."""


def kernel(device: str, name: str) -> Kernel:
    """Return a row."""
    return _BY_NAME[device, name]
