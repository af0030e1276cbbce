"""The native hash join: rows of one table by their keys, and the pairs of rows that join."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np

from qengine import _native
from qengine._frozen import frozen
from qengine.errors import OutOfMemory
from qengine.exec.common.columns import IntArray
from qengine.exec.context import ExecutionContext

_DENSE = 8  # an array with up to so many places for each row beats hashing
_MOST_ROWS = 2**32 - 2


@frozen
class Operand:
    """A column of a test: of the rows that the table was ``built`` of, or of the probing ones."""

    ids: IntArray
    built: bool


Test = Sequence[tuple[Operand, Operand]]
"""Equations; a pair of rows for which all of them hold is left out."""


_Table = _native.struct("JoinTable", "i4 n_keys reserved; i8 n; p keys; i8 low places slots; p table begins rows")
_Equation = _native.struct("Equation", "p left right; i4 left_built right_built")
_Test = _native.struct("JoinTest", "i8 count; _Equation[2] equations", _Equation=_Equation)
_Probe = _native.struct(
    "JoinProbe", "p keys; i8 n; p tests; i8 n_tests; i4 once reserved; i8 row place room; p out_probe out_built"
)


class JoinTable:
    """Rows by their keys.

    Parameters
    ----------
    keys
        int64[n] for each key column, one or more: ids, negative for null.
    context
        Stops what takes too long.

    Raises
    ------
    OutOfMemory
        For 2³² rows or more.
    """

    __slots__ = ("_arrays", "_context", "_table", "nbytes")

    def __init__(self, keys: Sequence[IntArray], context: ExecutionContext) -> None:
        self._context = context
        arrays = [np.ascontiguousarray(key, dtype=np.int64) for key in keys]
        n = len(arrays[0])
        if n > _MOST_ROWS:
            raise OutOfMemory(
                f"HashJoin can't hold {n:,} rows of its smaller side.",
                hint="Make the pattern more selective, or write the hint search.",
                code="OutOfMemory",
            )
        low, places = _dense(arrays)
        slots = 0 if places else 1 << max(4, (2 * n - 1).bit_length())
        table, rows = np.empty(slots, np.uint32), np.empty(n, np.uint32)
        begins = np.empty((places or n) + 1, np.uint32)
        addresses = _native.array_of(ctypes.c_void_p, len(arrays))(*(array.ctypes.data for array in arrays))
        self._arrays = (arrays, table, begins, rows, addresses)
        self._table = _Table(
            len(arrays), 0, n, ctypes.addressof(addresses), low, places, slots,
            table.ctypes.data, begins.ctypes.data, rows.ctypes.data,
        )  # fmt: skip
        #: Bytes of the table beside the keys.
        self.nbytes = table.nbytes + begins.nbytes + rows.nbytes
        control = ctypes.byref(context.control)
        context.run(_library().qe_join_build, ctypes.byref(self._table), control)

    @property
    def address(self) -> int:
        """Of the native table, which lives as long as this."""
        return ctypes.addressof(self._table)

    def pairs(
        self, keys: Sequence[IntArray], tests: Sequence[Test], once: bool, room: Iterator[int]
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the pairs of rows with equal keys that no test rules out, in the order of the probing rows.

        Parameters
        ----------
        keys
            int64[m] for each key column of the probing rows; negative: null, which nothing equals.
        once
            Whether one pair for each probing row is enough.
        room
            How many pairs to find next, at most.

        Yields
        ------
        tuple
            int64[k] probing rows, int64[k] rows of the table, k > 0.
        """
        arrays = [np.ascontiguousarray(key, dtype=np.int64) for key in keys]
        addresses = _native.array_of(ctypes.c_void_p, len(arrays))(*(array.ctypes.data for array in arrays))
        native = _native.array_of(_Test, max(1, len(tests)))(*(_native_test(test) for test in tests))
        probe = _Probe(
            ctypes.addressof(addresses), len(arrays[0]), ctypes.addressof(native), len(tests), int(once), 0, 0, 0
        )
        found = ctypes.c_int64()
        control = ctypes.byref(self._context.control)
        function = _library().qe_join_probe
        while probe.row < probe.n:
            size = next(room)
            probing, built = np.empty(size, np.int64), np.empty(size, np.int64)
            probe.room, probe.out_probe, probe.out_built = size, probing.ctypes.data, built.ctypes.data
            self._context.run(function, ctypes.byref(self._table), ctypes.byref(probe), control, ctypes.byref(found))
            if found.value:
                yield probing[: found.value], built[: found.value]


def _dense(keys: Sequence[IntArray]) -> tuple[int, int]:
    """Return the least id and the number of places of an array of groups; no places where hashing is better."""
    if len(keys) > 1 or not len(keys[0]):
        return 0, 0
    low, high = max(0, int(keys[0].min())), int(keys[0].max())
    places = high - low + 1
    return (low, places) if 0 < places <= _DENSE * len(keys[0]) + 1024 else (0, 0)


def _native_test(test: Test) -> ctypes.Structure:
    equations = [
        _Equation(left.ids.ctypes.data, right.ids.ctypes.data, left.built, right.built) for left, right in test
    ]
    return _Test(len(equations), _native.array_of(_Equation, 2)(*equations))


_library = _native.declared("qe_join_build p p; qe_join_probe p p p p")
