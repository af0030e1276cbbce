"""The longest rows of a matrix as bits, on the device (``eliminate_bit_rows`` of ``masked_product.cu``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine.exec.gpu.eliminate_matrix import MATRIX, DeviceMatrix
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import Resident
from qengine.exec.view import ExecView

BIT_ROWS = _native.record("u8 bits of words")
"""As ``BitRows`` of ``masked_product.cu``."""

SIDE = _native.record("MATRIX of; BIT_ROWS rows", MATRIX=MATRIX, BIT_ROWS=BIT_ROWS)
"""As ``Side``: a matrix and its rows of bits."""

_LEAST = 48
"""A shorter row is searched in less time than its bits take."""

_MOST_BYTES = 1 << 28
"""Of rows of bits."""

_SHARE = 8
"""No more than so much of the free memory."""

_MOST_TIMES = 32
"""The bytes of the matrix's ids: what is made of a small matrix is small."""

_WHAT = "rows of bits"
_THREADS = 128


def side_of(matrix: DeviceMatrix, store: ExecView, run: DeviceRun, held: list[Resident], blocks: list[Any]) -> Any:
    """Return a matrix with the bits of its longest rows, none where it has numbers or repeats; one ``SIDE``.

    Parameters
    ----------
    held
        Gets what is resident, pinned: the bits stay on the device unless conditions decide what the matrix is.
    blocks
        Gets what kernels may use until they are waited for.
    """
    side = np.zeros((), SIDE)
    side["of"] = matrix.record
    if matrix.record["values"] or matrix.record["rows"] or matrix.offsets is None or matrix.repeats:
        return side
    words = -(-int(store.vertex_count) // 32)
    key = None if matrix.key is None else (*matrix.key, _WHAT, _LEAST, _MOST_TIMES)
    if key is not None and (resident := run.memory.pin(key)) is not None:
        held.append(resident)
        return _with_rows(side, resident.block, words)
    made, n_bytes = _made(matrix, words, run, blocks)
    if key is None:
        blocks.append(made)
    else:
        run.publish()
        held.append(run.memory.add(key, made, n_bytes, made))
        run.memory.follow(store)
    return _with_rows(side, made, words)


def _made(matrix: DeviceMatrix, words: int, run: DeviceRun, blocks: list[Any]) -> tuple[tuple[Any, ...], int]:
    """Return the blocks of bits and of the row of each vertex, none where no row is long, and their bytes."""
    assert matrix.offsets is not None
    most = min(_MOST_BYTES, run.free_bytes() // _SHARE, _MOST_TIMES * 4 * matrix.entries)
    hubs = _longest(matrix.offsets, most // (4 * words))
    if not len(hubs):
        return (), 0
    of = np.full(matrix.rows, -1, dtype=np.int32)
    of[hubs] = np.arange(len(hubs), dtype=np.int32)
    made = run.zeroed(4 * words * len(hubs), _WHAT), run.upload(of, _WHAT)
    ids = run.upload((hubs + int(matrix.record["lo"])).astype(np.uint32), _WHAT)
    kernel = run.kernel("masked_product", "eliminate_bit_rows", {"QE_WIDE": 0})
    given = matrix.record, np.uint64(ids.ptr), np.uint64(len(hubs)), np.uint64(made[0].ptr), np.uint64(words)
    run.launch(kernel, len(hubs), _THREADS, given)
    blocks.append(ids)
    return made, 4 * words * len(hubs) + of.nbytes


def _with_rows(side: Any, blocks: tuple[Any, ...], words: int) -> Any:
    if blocks:
        side["rows"] = (*(block.ptr for block in blocks), words)
    return side


def _longest(offsets: npt.NDArray[np.uint64], most: int) -> npt.NDArray[np.int64]:
    """Return up to ``most`` places of the longest rows, ascending, those of no less than ``_LEAST`` entries."""
    lengths = np.diff(offsets).astype(np.int64)
    hubs = np.flatnonzero(lengths >= _LEAST)
    if len(hubs) > most:
        hubs = np.sort(hubs[np.argpartition(lengths[hubs], len(hubs) - most)[len(hubs) - most :]]) if most else hubs[:0]
    return hubs
