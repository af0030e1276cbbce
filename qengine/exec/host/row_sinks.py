"""The native sinks of a search's rows: its threads fold them, or keep the first of an order."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial

import numpy as np

from qengine import _native
from qengine.exec.common.element_columns import Numbers
from qengine.exec.common.fold_plan import COLUMN, Condition, condition_records
from qengine.exec.common.row_sinks import SinkSource
from qengine.exec.context import ExecutionContext
from qengine.exec.host.folds import Fold, column_on_host

SOURCE = _native.record(
    "u8 columns given weights conditions; i8 orbits; i4 n_images n_variables n_given n_conditions weighted unused"
)
ROW_FOLD = _native.record("SOURCE source; u8 folds; i4 n_folds unused", SOURCE=SOURCE)
ORDER_KEY = _native.record("COLUMN column; i4 descending unused", COLUMN=COLUMN)
FIRST_ROWS = _native.record(
    "SOURCE source; u8 keys control; i8 limit; i4 n_keys n_outputs seeded unused", SOURCE=SOURCE
)


class NativeSink:
    """A native sink, once ``handle`` is filled in; ``keep``: what it points into."""

    def __init__(self, *keep: object) -> None:
        self._library = _library()
        self._handle = ctypes.c_void_p()
        self._keep: list[object] = list(keep)

    @property
    def handle(self) -> ctypes.c_void_p:
        """The native sink."""
        return self._handle

    def rows(self) -> tuple[int, int, int]:
        """Return how many rows were taken, for how many conditions held, and how many the search gives after all."""
        found = np.zeros(3, np.uint64)
        self._library.qe_sink_rows(self._handle, found.ctypes.data)
        taken, passed, given = found.tolist()
        return taken, passed, given

    def end(self) -> None:
        """Make use of what was taken."""

    def close(self) -> None:
        """Free it; the search is closed."""
        if self._handle:
            self._library.qe_sink_close(self._handle)
            self._handle = ctypes.c_void_p()


class _Sink(NativeSink):
    """A sink for rows for which all conditions hold.

    Parameters
    ----------
    names
        The variables that are read.
    """

    def __init__(self, source: SinkSource, names: Sequence[str], conditions: Sequence[Condition]) -> None:
        place = {name: k for k, name in enumerate(source.outputs)}
        of_rows = {name: -1 - k for k, name in enumerate(source.given)}
        columns = np.array(
            [
                [of_rows[name] if name in of_rows else place[image[place[name]]] for name in names]
                for image in source.images
            ],
            np.int32,
        )
        given = np.array([ids.ctypes.data for ids in source.given.values()], np.uint64)
        compared = condition_records(conditions, partial(column_on_host, names))
        super().__init__(source, columns, given, compared, conditions)
        self._source = (
            columns.ctypes.data, given.ctypes.data, 0 if source.weights is None else source.weights.ctypes.data,
            compared.ctypes.data, source.orbits, len(columns), len(names), len(given), len(compared),
            source.weighted, 0,
        )  # fmt: skip


class FoldSink(_Sink):
    """Folds rows, each thread by itself.

    Parameters
    ----------
    folds
        All get all rows; they have the variables ``names``.
    """

    def __init__(
        self,
        source: SinkSource,
        names: Sequence[str],
        folds: Sequence[Fold],
        conditions: Sequence[Condition],
        context: ExecutionContext,
    ) -> None:
        super().__init__(source, names, conditions)
        self._context = context
        handles = np.array([fold.handle for fold in folds], np.uint64)
        record = np.array([(self._source, handles.ctypes.data, len(handles), 0)], ROW_FOLD)
        self._keep.append(folds)
        context.raise_for(self._library.qe_row_fold_open(record.ctypes.data, ctypes.byref(self._handle)))

    def end(self) -> None:
        """Make the groups of all threads the folds'."""
        self._context.run(self._library.qe_row_fold_merge, self._handle, ctypes.byref(self._context.control))


class FirstRowsSink(_Sink):
    """Keeps the first rows of an order; the search gives them once it has found all.

    Parameters
    ----------
    keys
        The most significant first: a variable, its numbers, and whether they are descending.
    limit
        How many rows are wanted.
    """

    def __init__(
        self,
        source: SinkSource,
        names: Sequence[str],
        keys: Sequence[tuple[str, Numbers, bool]],
        limit: int,
        conditions: Sequence[Condition],
        context: ExecutionContext,
    ) -> None:
        super().__init__(source, names, conditions)
        ordered = np.array(
            [(column_on_host(names, name, numbers), descending, 0) for name, numbers, descending in keys], ORDER_KEY
        )
        control = ctypes.addressof(context.control)
        record = np.array(
            [(self._source, ordered.ctypes.data, control, limit, len(keys), len(source.outputs), source.seeded, 0)],
            FIRST_ROWS,
        )
        self._keep.append(keys)
        context.raise_for(self._library.qe_first_rows_open(record.ctypes.data, ctypes.byref(self._handle)))


_library = _native.declared(
    "qe_row_fold_open p p; qe_row_fold_merge p p; qe_first_rows_open p p; qe_joined_rows_open p p; "
    "qe_sink_rows p p -> none; qe_sink_close p -> none"
)
