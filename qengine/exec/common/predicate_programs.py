"""Programs of truth values, made of predicates of one node or relationship, for the host or a GPU.

Numbers, dates and, on the host, codes of strings are compared with constants as they are. What is said otherwise of a
property with few different values is asked once for each of them, whatever it is: a table by the property's codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine import _native
from qengine._frozen import frozen
from qengine.errors import ExecutionError
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import ArrowColumn, concatenate, null_column
from qengine.exec.common.element_columns import Elements, integer_extent
from qengine.exec.common.expressions.compiler import compile_expression, compile_predicate
from qengine.exec.common.expressions.operand import COMPARE, MIRRORED
from qengine.exec.common.match_plan import COLUMN, COMPARISONS, ColumnKind
from qengine.exec.common.property_texts import Codes, TextProperty
from qengine.exec.common.runtime import Runtime
from qengine.exec.common.zones import Zones, zones_of
from qengine.plan.expr import Call, Comparison, Expr, Literal, Logical, Property, Variable
from qengine.plan.traverse import free_variables, is_repeatable, preorder, substitute
from qengine.storage.normal import is_string
from qengine.temporal import arrow_numbers
from qengine.types import BOOLEAN

STEP = _native.record("COLUMN column; u8 table zones; i8 low integer; f8 real; i4 kind op codes whole", COLUMN=COLUMN)
"""Mirror of ``qe::PredicateStep``."""

_TABLE, _COMPARE, _LACKS, _AND, _OR, _XOR, _NOT = range(7)
_JOINS = {"AND": _AND, "OR": _OR, "XOR": _XOR}
_NULL, _TRUE, _FALSE = range(3)
_OF_INT64, _OF_INT32, _OF_CODES, _OF_BITS = range(4)
_TYPES: dict[Any, tuple[int, Any, ColumnKind]] = {
    pa.int64(): (_OF_INT64, np.int64, ColumnKind.INT64),
    pa.float64(): (_OF_INT64, np.float64, ColumnKind.FLOAT64),
    pa.date32(): (_OF_INT32, np.int32, ColumnKind.INT32),
    pa.bool_(): (_OF_BITS, None, ColumnKind.INT64),
}
"""By the type of a property: how it is coded, as which numbers, and what these are; moments are as int64."""
_MOST_STEPS = 31
"""Of a program: what the GPU's kernel has room for truth values of."""
_LISTED = 8
"""Constants of a list that are compared one after the other."""
_FEW, _REPEATED = 1 << 16, 8
"""Different values that are worth a table: so many, or where each comes so often in the mean."""
_TABLED = 1 << 15
"""Elements from which on the host makes tables, which takes some 0.2 ms each."""
_VALUE = "#value"
_NO_CODE = -1
"""Unequal to the codes of all strings that there are."""


@frozen
class Source:
    """A stored property as a program reads it: its values from id ``begin`` on, Arrow's and as numbers on the host.

    ``codes``: which of them number the places of a table; ``kind``: what they are compared as; ``known``: what codes
    stand for.
    """

    begin: int
    array: Any
    numbers: npt.NDArray[Any]
    validity: npt.NDArray[np.uint8] | None = None
    offset: int = 0
    codes: int = _OF_INT64
    kind: ColumnKind = ColumnKind.INT64
    known: Codes | None = None


@frozen
class Step:
    """One step of a program, as ``STEP`` has it."""

    kind: int
    source: Source | None = None
    table: npt.NDArray[np.uint8] | None = None
    low: int = 0
    op: int = 0
    constant: float = 0
    zones: Zones | None = None

    def record(self, values: int, validity: int, table: int, zones: int = 0) -> tuple[Any, ...]:
        """Return it as a ``STEP``, whose arrays are at some addresses, 0 for none."""
        source, column = self.source, (0,) * len(COLUMN.names or ())
        if source is not None:
            end = source.begin + len(source.array)
            column = source.begin, end, values, validity, source.offset, source.kind, 0
        whole = isinstance(self.constant, int)
        numbers = (self.constant, 0.0) if whole else (0, self.constant)
        return (
            column,
            table,
            zones,
            self.low,
            *numbers,
            self.kind,
            self.op,
            0 if source is None else source.codes,
            whole,
        )


class NoProgram(Exception):
    """There is no program for a predicate."""


@frozen
class Predicates:
    """Makes programs of predicates on one variable: nodes, or relationships of a type; ``on_host``: to be run there."""

    runtime: Runtime
    name: str
    type_index: int | None
    on_host: bool = False

    def program(self, predicates: Iterable[Expr], elements: Elements) -> list[Step]:
        """Return a program that is true where all predicates are; no steps for none.

        Raises
        ------
        NoProgram
            Where one has none.
        """
        steps = all_of([self._steps(each, elements) for each in predicates])
        if len(steps) > _MOST_STEPS:
            raise NoProgram
        return steps

    def _steps(self, expr: Expr, elements: Elements) -> list[Step]:
        if not is_repeatable(expr):
            raise NoProgram
        try:
            steps = self._by_parts(expr, elements)
        except NoProgram:
            try:
                return [self._tabled(expr, elements)]
            except NoProgram:
                return self._listed(expr)
        return steps if len(steps) <= _MOST_STEPS else [self._tabled(expr, elements)]

    def _by_parts(self, expr: Expr, elements: Elements) -> list[Step]:
        """Return steps for comparisons with constants, tests for null, and what joins these."""
        if isinstance(expr, Logical):
            return _joined([self._steps(arg, elements) for arg in expr.args], _JOINS[expr.op])
        if isinstance(expr, Call) and expr.name == "NOT":
            return [*self._steps(expr.args[0], elements), Step(_NOT)]
        if isinstance(expr, Call) and expr.name in ("IS NULL", "IS NOT NULL"):
            source = self._property(expr.args[0])
            if not self.on_host and source.codes in (_OF_CODES, _OF_BITS):
                raise NoProgram
            return [Step(_LACKS, source), *([] if expr.name == "IS NULL" else [Step(_NOT)])]
        if isinstance(expr, Comparison):
            pairs = zip(expr.ops, pairwise(expr.args), strict=True)
            return _joined([[self._compared(op, *each)] for op, each in pairs], _AND)
        source = self._property(expr)
        if source.codes != _OF_BITS:
            raise NoProgram
        return [Step(_TABLE, source, np.array([_NULL, _FALSE, _TRUE], np.uint8))]

    def _listed(self, expr: Expr) -> list[Step]:
        """Return steps that compare a property with each of a few constants in a list."""
        if not isinstance(expr, Call) or expr.name != "IN" or free_variables(expr.args[1]):
            raise NoProgram
        listed = self._constant(expr.args[1])
        if type(listed) is not list or not 0 < len(listed) <= _LISTED:
            raise NoProgram
        return _joined([[self._compared("=", expr.args[0], Literal(each))] for each in listed], _OR)

    def _compared(self, op: str, left: Expr, right: Expr) -> Step:
        """Return the step that compares a property with a constant."""
        if op not in COMPARISONS:
            raise NoProgram
        if not free_variables(left):
            op, left, right = MIRRORED[op], right, left
        if free_variables(right):
            raise NoProgram
        source = self._property(left)
        constant = self._constant(right)
        if source.codes == _OF_BITS and type(constant) is bool:
            table = [_NULL, *(_TRUE if COMPARE[op](each, constant) else _FALSE for each in (False, True))]
            return Step(_TABLE, source, np.array(table, np.uint8))
        if source.known is not None and self.on_host and type(constant) is str:
            place, found = source.known.place(constant)
            if not found:
                op, place = (op, _NO_CODE) if op in ("=", "<>") else ("<" if op[0] == "<" else ">=", place)
            return Step(_COMPARE, source, op=int(COMPARISONS[op]), constant=place)
        if pa.types.is_temporal(source.array.type):
            beside = arrow_numbers.number_beside(op, source.array.type, constant)
            held = np.iinfo(source.numbers.dtype)
            if not isinstance(beside, tuple) or not held.min <= beside[1] <= held.max:
                raise NoProgram
            return self._number_compared(source, left, beside[0], beside[1])
        if type(constant) not in (int, float) or source.codes != _OF_INT64:
            raise NoProgram
        if source.kind == ColumnKind.FLOAT64 and float(constant) == constant:
            constant = float(constant)
        return self._number_compared(source, left, op, constant)

    def _number_compared(self, source: Source, of: Expr, op: str, constant: float) -> Step:
        assert isinstance(of, Property)
        key = (of.key,) if self.type_index is None else (self.type_index, of.key)
        zones = zones_of(key, source.numbers, self.runtime) if self.on_host else None
        return Step(_COMPARE, source, op=int(COMPARISONS[op]), constant=constant, zones=zones)

    def _constant(self, expr: Expr) -> Any:
        if isinstance(expr, Literal):
            return expr.value
        return compile_expression(expr, self.runtime)(Batch(1, {})).values()[0]

    def _tabled(self, expr: Expr, elements: Elements) -> Step:
        """Return the step that looks an expression of one property up, where that has few values."""
        if self.on_host and elements.end - elements.begin < _TABLED:
            raise NoProgram
        read = {part for part in preorder(expr) if isinstance(part, Property) and isinstance(part.subject, Variable)}
        if len(read) != 1:
            raise NoProgram
        (of,) = read
        given = substitute(expr, lambda part: Variable(_VALUE, type=of.type) if part == of else None)
        if free_variables(given) != {_VALUE}:
            raise NoProgram
        source = self._property(of)
        low, values = self._domain(of, source, elements)
        batch = Batch(len(values) + 1, {_VALUE: concatenate([null_column(1), ArrowColumn(values)])})
        try:
            true, false = (
                compile_predicate(each, self.runtime)(batch) for each in (given, Call("NOT", (given,), type=BOOLEAN))
            )
        except ExecutionError:
            raise NoProgram from None
        table = np.where(true, _TRUE, np.where(false, _FALSE, _NULL)).astype(np.uint8)
        return Step(_TABLE, source, table, low)

    def _domain(self, of: Property, source: Source, elements: Elements) -> tuple[int, Any]:
        """Return the number of the first of a property's different values, and these, an Arrow array by codes."""
        if source.codes == _OF_BITS:
            return 0, pa.array([False, True])
        most = len(source.array) // _REPEATED
        if source.known is not None:
            if len(source.known.texts) > (most if self.on_host else max(_FEW, most)):
                raise NoProgram
            return 0, source.known.texts
        array = source.array
        if array.type not in (pa.int64(), pa.date32()) or self.runtime.memory.limit is not None:
            raise NoProgram
        whole = ArrowColumn(array if pa.types.is_int64(array.type) else array.view(pa.int32()))
        low, high = integer_extent(of, whole, elements, self.runtime)
        if low is None or high - low >= (min(_FEW, most) if self.on_host else _FEW):
            raise NoProgram
        return low, pa.array(np.arange(low, high + 1, dtype=source.numbers.dtype), type=array.type)

    def _property(self, of: Expr) -> Source:
        """Return where a property's numbers are; none where all is null, or values are of other types."""
        if not isinstance(of, Property) or not isinstance(of.subject, Variable) or of.subject.name != self.name:
            raise NoProgram
        store = self.runtime.store
        if self.type_index is None:
            column, base = store.node_property(of.key), 0
            key: tuple[int | str, ...] = (of.key,)
        else:
            column, base = store.relationship_property(self.type_index, of.key), store.types[self.type_index].base
            key = (self.type_index, of.key)
        if column is None or not len(column.array):
            raise NoProgram
        array, begin = column.array, base + column.begin
        if is_string(array.type):
            if (known := TextProperty(store, column, key).codes(len(array))) is None:
                raise NoProgram
            return Source(begin, array, known.codes[:-1], codes=_OF_CODES, known=known)
        if arrow_numbers.kind_of(array.type) is not None and array.type.bit_width == 64:
            codes, dtype, kind = _TYPES[pa.int64()]
        elif array.type in _TYPES:
            codes, dtype, kind = _TYPES[array.type]
        else:
            raise NoProgram
        validity, values = array.buffers()
        valid = None if validity is None or not array.null_count else np.frombuffer(validity, np.uint8)
        if dtype is None:
            return Source(begin, array, np.frombuffer(values, np.uint8), valid, array.offset, codes, kind)
        numbers = np.frombuffer(values, dtype, len(array), np.dtype(dtype).itemsize * array.offset)
        return Source(begin, array, numbers, valid, array.offset, codes, kind)


def all_of(programs: Sequence[list[Step]]) -> list[Step]:
    """Return a program that is true where all are."""
    return _joined(programs, _AND)


def _joined(parts: Sequence[list[Step]], join: int) -> list[Step]:
    steps: list[Step] = []
    for place, part in enumerate(parts):
        steps += [*part, Step(join)] if place else part
    return steps
