"""Copies within the host's memory by all threads of an execution: to touch new memory takes longer than to write it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.common.dealing import deal
from qengine.exec.context import ExecutionContext

_SHARE_BYTES = 1 << 22
"""That one thread copies at a time: threads that share a large page would both clear it."""


def copy(to: int, address: int, n_bytes: int, context: ExecutionContext) -> None:
    """Copy bytes from one place of the host's memory to another."""

    def share(begin: int) -> None:
        context.check()
        ctypes.memmove(to + begin, address + begin, min(_SHARE_BYTES, n_bytes - begin))

    deal(share, range(0, n_bytes, _SHARE_BYTES), context)


def widened(given: Sequence[npt.NDArray[Any]], context: ExecutionContext) -> list[npt.NDArray[np.int64]]:
    """Return copies in 64 bits of equally long arrays of uint32 or int64."""
    n = len(given[0]) if given else 0
    made, size = [np.empty(n, np.int64) for _ in given], _SHARE_BYTES // 8
    parts = -(-n // size)

    def widen(place: int) -> None:
        context.check()
        array, part = divmod(place, parts)
        which = slice(part * size, (part + 1) * size)
        made[array][which] = given[array][which]

    deal(widen, range(len(given) * parts), context)
    return made
