"""Predicates of one node or relationship, evaluated on the device (``kernels/cuda/filter/predicates.cu``).

A program of truth values is made of a level's predicates. What is said of one property with few different values is
asked of the host once for each of them, whatever it is: a table, which the device reads by the property's codes.
Numbers are compared with constants as they are. Where one of a level's predicates is neither, the host evaluates them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine import _native
from qengine._frozen import frozen
from qengine.errors import ExecutionError, OutOfMemory
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import ArrowColumn, IntArray, concatenate, null_column
from qengine.exec.common.element_columns import Elements, integer_extent
from qengine.exec.common.expressions.compiler import compile_expression, compile_predicate
from qengine.exec.common.masks import Masks
from qengine.exec.common.match_plan import COLUMN, COMPARISONS, ColumnKind
from qengine.exec.common.on_device import OnDevice
from qengine.exec.common.property_texts import TextProperty
from qengine.exec.common.runtime import Runtime
from qengine.exec.gpu.arrays import working
from qengine.exec.gpu.launch import DeviceRun, launch_pass
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.upload import resident_array
from qengine.exec.view import MaskProvider
from qengine.plan.expr import Call, Comparison, Expr, Logical, Property, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.physical import VertexLevel
from qengine.plan.traverse import free_variables, is_repeatable, preorder, substitute
from qengine.types import BOOLEAN

STEP = _native.record("COLUMN column; u8 table; i8 low integer; f8 real; i4 kind op codes whole", COLUMN=COLUMN)
"""Mirror of ``PredicateStep`` of ``kernels/cuda/filter/predicates.cu``."""

_TABLE, _COMPARE, _LACKS, _AND, _OR, _XOR, _NOT = range(7)
_JOINS = {"AND": _AND, "OR": _OR, "XOR": _XOR}
_FALSE, _TRUE, _NULL = range(3)
_OF_INT64, _OF_INT32, _OF_CODES, _OF_BITS = range(4)
_TYPES: dict[Any, tuple[int, Any, ColumnKind]] = {
    pa.int64(): (_OF_INT64, np.int64, ColumnKind.INT64),
    pa.float64(): (_OF_INT64, np.float64, ColumnKind.FLOAT64),
    pa.date32(): (_OF_INT32, np.int32, ColumnKind.INT64),
    pa.bool_(): (_OF_BITS, None, ColumnKind.INT64),
}
"""By the type of a property: how it is coded, as which numbers, and what these are."""
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SHARE = 1 << 10
"""Truth values that a warp looks over for those that are true."""
_MOST_STEPS = 31
"""Of a program: what the kernel has room for truth values of."""

_LEAST = 1 << 23
"""Elements from which on the device evaluates: what predicates admit of fewer is remembered (``common.resolve``)."""

_AN_ELEMENT = 8
"""Bytes of an element that a mask, and a list of what it admits, take at most."""

_FEW, _REPEATED = 1 << 16, 8
"""Different values that are worth a table: so many, or where each comes so often in the mean."""

_FAMILY = "predicates"
_MOST_FETCHED = 1 << 18
"""Places that the host gets: it remembers so many for the next execution, which then asks for none."""

_WHAT = "what conditions admit"
_VALUE = "#value"


def device_masks(masks: MaskProvider, run: DeviceRun) -> MaskProvider:
    """Return what evaluates predicates as given, those of many elements on the run's device.

    Its masks hold as long as the run.
    """
    return _DeviceMasks(masks, run) if isinstance(masks, Masks) else masks


@frozen
class _Source:
    """A stored property as a program reads it: its values from id ``begin`` on, Arrow's and as numbers on the host.

    ``codes``: which of them number the places of a table; ``kind``: what they are compared as; ``texts``: by code.
    """

    begin: int
    array: Any
    numbers: npt.NDArray[Any]
    validity: npt.NDArray[np.uint8] | None = None
    offset: int = 0
    codes: int = _OF_INT64
    kind: ColumnKind = ColumnKind.INT64
    texts: Any = None


@frozen
class _Step:
    """One step of a program, as ``STEP`` has it."""

    kind: int
    source: _Source | None = None
    table: npt.NDArray[np.uint8] | None = None
    low: int = 0
    op: int = 0
    constant: float = 0


class _DeviceMasks:
    """Masks on the device: arrays of a byte an element (``OnDevice``), or the host's where it evaluates."""

    def __init__(self, masks: Masks, run: DeviceRun) -> None:
        self._masks = masks
        self._run = run
        self._known: dict[tuple[Any, ...], tuple[tuple[Expr, ...], Any]] = {}
        self._counted: dict[int, Any] = {}  # by a mask's address

    # ------------------------------------------------------------ as ``MaskProvider``

    def vertex_list(self, level: VertexLevel, ranges: Sequence[Sequence[int]]) -> IntArray | None:
        return self._masks.vertex_list(level, ranges)

    def scanned(self, level: VertexLevel) -> None:
        self._masks.scanned(level)

    def vertex_mask(self, name: str, predicates: tuple[Expr, ...], begin: int, end: int) -> Any:
        return self.mask_within(name, predicates, [(begin, end)], begin, end)

    def mask_within(
        self, name: str, predicates: tuple[Expr, ...], ranges: Sequence[Sequence[int]], begin: int, end: int
    ) -> Any:
        def on_host() -> Any:
            return self._masks.mask_within(name, predicates, ranges, begin, end)

        elements = [Elements(name, True, ((low, high),)) for low, high in ranges]
        return self._found(predicates, elements, (begin, end), _Compiler(self._masks.runtime, name, None), on_host)

    def edge_mask(self, name: str, predicates: tuple[Expr, ...], type_index: int, begin: int, end: int) -> Any:
        def on_host() -> Any:
            return self._masks.edge_mask(name, predicates, type_index, begin, end)

        base = self._masks.runtime.store.types[type_index].base
        bounds = base + begin, base + end
        compiler = _Compiler(self._masks.runtime, name, type_index)
        return self._found(predicates, [Elements(name, False, (bounds,))], bounds, compiler, on_host)

    def count(self, mask: Any) -> int:
        if not isinstance(mask, OnDevice):
            return self._masks.count(mask)
        if not len(mask):
            return 0
        ends = self._ends(mask)
        return int(self._run.fetched(ends.data.ptr + 8 * (len(ends) - 1), 1, np.int64)[0])

    def bits(self, mask: Any) -> Any:
        if not isinstance(mask, OnDevice):
            return self._masks.bits(mask)
        words = 2 * max(1, -(-len(mask) // 64))
        block = self._run.allocate(4 * words, _WHAT)
        given = np.uint64(mask.address), np.uint64(len(mask)), np.uint64(words), np.uint64(block.ptr)
        launch_pass(self._run, _FAMILY, "predicate_bits", 32 * words, *given)
        return OnDevice(block, words, 4)

    def places(self, mask: Any, first: int) -> Any:
        if not isinstance(mask, OnDevice):
            return self._masks.places(mask, first)
        found = self.count(mask)
        block = self._run.allocate(max(4, 4 * found), _WHAT)
        if found:
            ends = self._ends(mask)
            where = np.uint64(ends.data.ptr), np.uint64(first), np.uint64(block.ptr)
            launch_pass(self._run, _FAMILY, "predicate_places", 32 * len(ends), *_shares(mask), *where)
        if found <= _MOST_FETCHED:
            return self._run.fetched(block.ptr, found, np.uint32).copy()
        return OnDevice(block, found, 4)

    # ------------------------------------------------------------

    def _ends(self, mask: OnDevice) -> Any:
        """Return up to the end of each share of a mask how many are true: ``cupy.ndarray`` of int64."""
        if mask.address not in self._counted:
            with working(self._run, _WHAT) as cp:
                counts = cp.empty(-(-len(mask) // _SHARE), np.int64)
                launch_pass(self._run, _FAMILY, "predicate_counts", 32 * len(counts), *_shares(mask), counts)
                self._counted[mask.address] = cp.cumsum(counts)
        return self._counted[mask.address]

    def _found(
        self,
        predicates: tuple[Expr, ...],
        elements: Sequence[Elements],
        bounds: tuple[int, int],
        compiler: _Compiler,
        on_host: Callable[[], Any],
    ) -> Any:
        """Return whether predicates are true of the elements of some ranges, a byte for each id within the bounds.

        The host's, where these are few, where one of them can fail, or where there is no room on the device.
        """
        n = bounds[1] - bounds[0]
        if n < _LEAST or _AN_ELEMENT * n > self._run.free_bytes() or any(map(condition_can_fail, predicates)):
            return on_host()
        key = (id(predicates), *bounds, *(each.ranges for each in elements))
        if key in self._known:
            return self._known[key][1]
        try:
            programs = [compiler.program(predicates, each) for each in elements]
        except _OnHost:
            return on_host()
        try:
            mask = self._evaluated(programs, elements, bounds)
        except OutOfMemory as error:
            if error.code != "OutOfDeviceMemory":
                raise
            return on_host()
        self._known[key] = predicates, mask  # the predicates, so that no others can get their identity
        return mask

    def _evaluated(
        self, programs: Sequence[list[_Step]], elements: Sequence[Elements], bounds: tuple[int, int]
    ) -> OnDevice:
        n = bounds[1] - bounds[0]
        block = self._run.zeroed(n, _WHAT)
        held: list[Resident] = []
        blocks: list[Any] = []
        try:
            for steps, each in zip(programs, elements, strict=True):
                records = np.array([self._record(step, held, blocks) for step in steps], STEP)
                blocks.append(self._uploaded(records))
                size, to = each.end - each.begin, np.uint64(block.ptr + each.begin - bounds[0])
                program = np.uint64(blocks[-1].ptr), np.int32(len(steps))
                launch_pass(
                    self._run, _FAMILY, "predicate_holds", size, *program, np.int64(each.begin), np.uint64(size), to
                )
            self._run.wait()
        finally:
            for resident in held:
                self._run.memory.unpin(resident)
        return OnDevice(block, n, 1)

    def _record(self, step: _Step, held: list[Resident], blocks: list[Any]) -> tuple[Any, ...]:
        """Return a ``STEP``, whose arrays are on the device: the graph's stay there."""
        source, where = step.source, (0,) * len(COLUMN.names or ())
        if source is not None:
            store, end = self._masks.runtime.store, source.begin + len(source.array)
            values, valid = (
                0 if each is None else resident_array(store, each, self._run, held, "properties", by_vertex=True)
                for each in (source.numbers, source.validity)
            )
            where = source.begin, end, values, valid, source.offset, source.kind, 0
        table = 0
        if step.table is not None:
            blocks.append(self._uploaded(step.table))
            table = blocks[-1].ptr
        whole = isinstance(step.constant, int)
        numbers = (step.constant, 0.0) if whole else (0, step.constant)
        return where, table, step.low, *numbers, step.kind, step.op, 0 if source is None else source.codes, whole

    def _uploaded(self, array: npt.NDArray[Any]) -> Any:
        block = self._run.allocate(max(1, array.nbytes), _WHAT)
        self._run.write(block, array)
        return block


def _shares(mask: OnDevice) -> tuple[np.uint64, ...]:
    """Return what kernels are told of a mask in shares."""
    n = len(mask)
    return tuple(np.uint64(each) for each in (mask.address, n, _SHARE, -(-n // _SHARE)))


# ---------------------------------------------------------------- programs


class _OnHost(Exception):
    """There is no program for the predicates of a level."""


@frozen
class _Compiler:
    """Makes programs of predicates on one variable: nodes, or relationships of a type."""

    runtime: Runtime
    name: str
    type_index: int | None

    def program(self, predicates: Sequence[Expr], elements: Elements) -> list[_Step]:
        """Return a program that is true where all predicates are.

        Raises
        ------
        _OnHost
            Where one can't be evaluated on the device.
        """
        steps: list[_Step] = []
        for place, predicate in enumerate(predicates):
            steps += self._steps(predicate, elements)
            steps += [_Step(_AND)] if place else []
        if len(steps) > _MOST_STEPS:
            raise _OnHost
        return steps

    def _steps(self, expr: Expr, elements: Elements) -> list[_Step]:
        if not is_repeatable(expr):
            raise _OnHost
        read = {part for part in preorder(expr) if isinstance(part, Property) and isinstance(part.subject, Variable)}
        if len(read) == 1:
            (of,) = read
            if (step := self._tabled(expr, of, elements)) is not None:
                return [step]
        if isinstance(expr, Logical):
            return self._joined([self._steps(arg, elements) for arg in expr.args], _JOINS[expr.op])
        if isinstance(expr, Call) and expr.name == "NOT":
            return [*self._steps(expr.args[0], elements), _Step(_NOT)]
        if isinstance(expr, Call) and expr.name in ("IS NULL", "IS NOT NULL"):
            source = self._numbers(expr.args[0])
            return [_Step(_LACKS, source), *([] if expr.name == "IS NULL" else [_Step(_NOT)])]
        if isinstance(expr, Comparison):
            pairs = zip(expr.ops, expr.args, expr.args[1:], strict=False)
            return self._joined([[self._compared(*each)] for each in pairs], _AND)
        raise _OnHost

    @staticmethod
    def _joined(parts: Sequence[list[_Step]], join: int) -> list[_Step]:
        steps = list(parts[0])
        for part in parts[1:]:
            steps += [*part, _Step(join)]
        return steps

    def _compared(self, op: str, left: Expr, right: Expr) -> _Step:
        """Return the step that compares a number with a constant."""
        if not free_variables(left):
            op, left, right = _TURNED.get(op, op), right, left
        if free_variables(right):
            raise _OnHost
        source = self._numbers(left)
        (constant,) = compile_expression(right, self.runtime)(Batch(1, {})).values()
        if type(constant) not in (int, float) or op not in COMPARISONS:
            raise _OnHost
        return _Step(_COMPARE, source, op=int(COMPARISONS[op]), constant=constant)

    def _numbers(self, expr: Expr) -> _Source:
        """Return a property of numbers."""
        source = self._source(expr) if isinstance(expr, Property) else None
        if source is None or source.codes != _OF_INT64:
            raise _OnHost
        return source

    def _tabled(self, expr: Expr, of: Property, elements: Elements) -> _Step | None:
        """Return the step that looks an expression of one property up; None where that has too many values."""
        given = substitute(expr, lambda part: Variable(_VALUE, type=of.type) if part == of else None)
        source = self._source(of)
        if free_variables(given) != {_VALUE} or source is None:
            return None
        domain = self._domain(of, source, elements)
        if domain is None:
            return None
        low, values = domain
        batch = Batch(len(values) + 1, {_VALUE: concatenate([null_column(1), ArrowColumn(values)])})
        try:
            true, false = (
                compile_predicate(each, self.runtime)(batch) for each in (given, Call("NOT", (given,), type=BOOLEAN))
            )
        except ExecutionError:
            return None
        table = np.where(true, _TRUE, np.where(false, _FALSE, _NULL)).astype(np.uint8)
        return _Step(_TABLE, source, table, low)

    def _domain(self, of: Property, source: _Source, elements: Elements) -> tuple[int, Any] | None:
        """Return the different values of a property, an Arrow array by its codes, and the number of the first."""
        if source.codes == _OF_BITS:
            return 0, pa.array([False, True])
        if source.texts is not None:
            most = max(_FEW, len(source.array) // _REPEATED)
            return (0, source.texts) if len(source.texts) <= most else None
        if source.kind == ColumnKind.FLOAT64 or self.runtime.memory.limit is not None:
            return None
        array = source.array
        whole = ArrowColumn(array if pa.types.is_int64(array.type) else array.view(pa.int32()))
        low, high = integer_extent(of, whole, elements, self.runtime)
        if low is None or high - low >= _FEW:
            return None
        return low, pa.array(np.arange(low, high + 1, dtype=source.numbers.dtype), type=array.type)

    def _source(self, of: Property) -> _Source | None:
        """Return where a property's numbers are; None where all is null, or values are of other types."""
        store = self.runtime.store
        if not isinstance(of.subject, Variable) or of.subject.name != self.name:
            raise _OnHost
        if self.type_index is None:
            column, base = store.node_property(of.key), 0
            key: tuple[int | str, ...] = (of.key,)
        else:
            column, base = store.relationship_property(self.type_index, of.key), store.types[self.type_index].base
            key = (self.type_index, of.key)
        if column is None or not len(column.array):
            return None
        array, begin = column.array, base + column.begin
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            found = TextProperty(store, column, key).codes(len(array))
            return (
                None if found is None else _Source(begin, array, found.codes[:-1], codes=_OF_CODES, texts=found.texts)
            )
        if array.type not in _TYPES:
            return None
        codes, dtype, kind = _TYPES[array.type]
        validity, values = array.buffers()
        valid = None if validity is None or not array.null_count else np.frombuffer(validity, np.uint8)
        if dtype is None:
            return _Source(begin, array, np.frombuffer(values, np.uint8), valid, array.offset, codes, kind)
        numbers = np.frombuffer(values, dtype, len(array), np.dtype(dtype).itemsize * array.offset)
        return _Source(begin, array, numbers, valid, array.offset, codes, kind)
