"""The native sink that joins a search's rows, and gives the pairs to another sink."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np

from qengine import _native
from qengine.exec.common.columns import IntArray
from qengine.exec.common.row_sinks import RowSink, SinkSource
from qengine.exec.context import ExecutionContext
from qengine.exec.host.hash_join import JoinTable
from qengine.exec.host.row_sinks import NativeSink
from qengine.plan.physical import HashJoin

COLUMN = _native.record("u8 built; i4 column unused")
TEST = _native.record("i8 count; COLUMN[4] operands", COLUMN=COLUMN)
JOINED_ROWS = _native.record("u8 table keys columns tests control to; i4 n_columns n_tests once unused")


class JoinedRowsSink(NativeSink):
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
        super().__init__(table, built, context)
        self.inner = inner
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
        context.raise_for(self._library.qe_joined_rows_open(record.ctypes.data, ctypes.byref(self._handle)))

    def end(self) -> None:
        """Make use of the joined rows."""
        self.inner.end()

    def close(self) -> None:
        """Free both sinks."""
        super().close()
        self.inner.close()
