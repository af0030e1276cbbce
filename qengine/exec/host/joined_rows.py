"""The native sink that joins a search's rows, and gives the pairs to another sink."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from qengine import _native
from qengine.exec.common.columns import IntArray
from qengine.exec.common.row_sinks import RowSink, SinkSource
from qengine.exec.context import ExecutionContext
from qengine.exec.host.hash_join import JoinTable
from qengine.plan.physical import HashJoin

__all__ = ["JoinedRowsSink"]

COLUMN = np.dtype([("built", "<u8"), ("column", "<i4"), ("unused", "<i4")])
TEST = np.dtype([("count", "<i8"), ("operands", COLUMN, (4,))])
JOINED_ROWS = np.dtype(
    [(name, "<u8") for name in ("table", "keys", "columns", "tests", "control", "to")]
    + [(name, "<i4") for name in ("n_columns", "n_tests", "once", "unused")]
)


class JoinedRowsSink:
    """Joins rows with those of a table.

    Parameters
    ----------
    source
        The rows, which neither have images nor are weighted.
    inner
        Gets the joined rows; it is this one's to end and to close.
    operator
        Says what is looked up, which equations must not all hold for a pair, and whether one partner is enough.
    outputs
        Columns of joined rows: of the source, or of ``built``.
    built
        int64[n] of the table's n rows.
    """

    def __init__(
        self,
        source: SinkSource,
        inner: RowSink,
        operator: HashJoin,
        table: JoinTable,
        outputs: Sequence[str],
        built: Mapping[str, IntArray],
        context: ExecutionContext,
    ) -> None:
        self.inner = inner
        self._library = _library()
        self._handle = ctypes.c_void_p()
        place = {name: k for k, name in enumerate(source.outputs)}

        def column(name: str) -> tuple[int, int, int]:
            return (0, place[name], 0) if name in place else (built[name].ctypes.data, 0, 0)

        looked_up = np.array([place[name] for name in operator.keys], np.int32)
        columns = np.array([column(name) for name in outputs], COLUMN)
        tests = np.zeros(len(operator.apart), TEST)
        for test, equations in zip(tests, operator.apart, strict=True):
            test["count"] = len(equations)
            for k, name in enumerate(name for equation in equations for name in equation):
                test["operands"][k] = column(name)
        addresses = (each.ctypes.data for each in (looked_up, columns, tests))
        record = np.array(
            [
                (table.address, *addresses, ctypes.addressof(context.control), inner.handle.value,
                 len(columns), len(tests), operator.semi, 0)
            ],
            JOINED_ROWS,
        )  # fmt: skip
        self._keep: list[Any] = [table, built, context]
        context.raise_for(self._library.qe_joined_rows_open(record.ctypes.data, ctypes.byref(self._handle)))

    @property
    def handle(self) -> ctypes.c_void_p:
        """The native sink."""
        return self._handle

    def rows(self) -> tuple[int, int, int]:
        """Return how many rows were taken, joined and not: none is left out, or given."""
        found = np.zeros(3, np.uint64)
        self._library.qe_sink_rows(self._handle, found.ctypes.data)
        taken, passed, given = found.tolist()
        return taken, passed, given

    def end(self) -> None:
        """Make use of the joined rows."""
        self.inner.end()

    def close(self) -> None:
        """Free both sinks."""
        if self._handle:
            self._library.qe_sink_close(self._handle)
            self._handle = ctypes.c_void_p()
            self.inner.close()


@cache
def _library() -> ctypes.CDLL:
    library = _native.load()
    pointer = ctypes.c_void_p
    library.qe_joined_rows_open.argtypes = (pointer, pointer)
    library.qe_sink_rows.argtypes = (pointer, pointer)
    library.qe_sink_rows.restype = None
    library.qe_sink_close.argtypes = (pointer,)
    library.qe_sink_close.restype = None
    return library
