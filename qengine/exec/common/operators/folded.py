"""Aggregates whose keys and arguments are each of one variable, folded natively from rows of ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from copy import copy
from dataclasses import field
from math import frexp, isfinite
from typing import TYPE_CHECKING, Any, Protocol
from weakref import proxy

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen, replace
from qengine.exec.common.aggregates import State
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    NodeColumn,
    ObjectColumn,
    RelationshipColumn,
    concatenate,
    integer_column,
    null_column,
)
from qengine.exec.common.dealing import computed
from qengine.exec.common.element_columns import (
    CODES,
    IDS,
    INTEGERS,
    Borne,
    Elements,
    Keyed,
    Numbers,
    carried_numbers,
    evaluated,
    extent,
    integer_extent,
    keyed,
    numbers_of,
    ranked,
)
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.fold_plan import COUNT, DISTINCT, GATHER, GREATEST, LEAST, SUM, Task
from qengine.exec.common.operators.single_rows import is_unique
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.memory import Holding
from qengine.exec.view import MaskProvider
from qengine.plan.expr import AggregateCall, Expr, Variable
from qengine.plan.folding import GATHERED, variable_of
from qengine.plan.logical import Aggregate
from qengine.types import NODE

if TYPE_CHECKING:
    from qengine.exec.host.folds import Fold

_SUMMED_BITS = 62
_MANTISSA, _EXACT = 52, 42  # bits of a digit of floats at most; of the least amount that must be added up
_MOST_DIGITS, _MOST_EXPONENT = 8, 900
_SURE = 2**62
_SMALL_BYTES, _A_ROW = 1 << 20, 16  # of bits of different values: so many in any case, or a row

Columns = list[list[IntArray]]
_StateOf = Callable[[Columns, Sequence[IntArray]], State]


class FoldMaker(Protocol):
    """Makes folds on the host or on a device."""

    @property
    def distinct_bytes(self) -> int:
        """Bytes that the bits of different values may take in a table."""

    @property
    def make(self) -> Callable[..., Any]:
        """What makes a fold; parameters as of ``exec.host.folds.Fold``, which says what it can do."""

    def masks(self, masks: MaskProvider) -> MaskProvider:
        """Return what evaluates predicates where folds are, given what does so on the host."""


@frozen
class FoldedGroups:
    """Groups, in the order of their keys' codes: their keys and the state of each aggregate."""

    length: int
    keys: list[Column]
    states: list[State]


@frozen
class Bindings:
    """What rows that are folded bind to variables.

    Attributes
    ----------
    elements
        Of each variable that rows have an id of.
    carried
        Of variables that rows have no id of: what they follow from. Rows have none without one.
    once
        Variables whose elements come in one row at most, which counts once.
    """

    elements: Mapping[str, Elements]
    carried: Mapping[str, Borne] = field(default_factory=dict)
    once: Set[str] = frozenset()


class Folded:
    """An aggregate as it is folded.

    Parameters
    ----------
    operator
        One of which ``plan.folding.folded_variables`` names the variables.
    bindings
        What each of these may bind.
    runtime
        Evaluates expressions; all that is made is charged to ``holding``.
    rows
        How many rows are expected.
    weight_bits
        Weights of rows add up to less than 2 to the power of this.
    maker
        Makes the folds; None for the host's.
    given
        Columns of expressions that are known already, as ``evaluated`` would return them.
    """

    def __init__(
        self,
        operator: Aggregate,
        bindings: Bindings,
        runtime: Runtime,
        rows: int,
        weight_bits: int,
        maker: FoldMaker | None = None,
        given: Mapping[Expr, Column | None] | None = None,
    ) -> None:
        from qengine.exec.host.folds import HostFolds

        self._on_host = maker is None
        self._maker = maker or HostFolds(runtime.context)
        elements, self._carried, self._once = bindings.elements, bindings.carried, bindings.once
        bearers = {each.bearer for each in self._carried.values()}
        self.names = sorted(bearers.union(elements).difference(self._carried))
        self._elements = elements
        self._runtime = runtime
        self._keys = [expr for _, expr in operator.keys]
        self._grouped = self._told_by_elements()
        self._calls = [call for _, call in operator.aggregates]
        self._rows = rows
        self._weight_bits = weight_bits
        self._columns: dict[Expr, Column | None] = dict(given or {})
        self._tasks: dict[tuple[int, Expr | None], tuple[int, Task]] = {}
        self._by: list[tuple[str, Keyed]] = []
        self._apart: list[tuple[str, Keyed]] = []  # different values that are counted as groups of their own
        self._states: list[_StateOf] = []
        self._folds: list[Fold] = []

    def beside(self, calls: Sequence[AggregateCall]) -> Folded:
        """Return what folds rows by the same keys, which have the same codes, for other aggregates."""
        other = copy(self)
        other._calls = list(calls)
        other._columns, other._tasks, other._by = dict(self._columns), {}, list(self._by)
        other._apart, other._states, other._folds = [], [], []
        return other

    def open(self, holding: Holding) -> bool:
        """Evaluate all expressions; False where one fails, or has values that can't be folded."""
        from qengine.exec.host.folds import Fold

        self._tasks[COUNT, None] = (0, Task(COUNT))
        for expr in self._grouped[len(self._by) :]:
            name = variable_of(expr)
            key = keyed(expr, self._elements[name], self._runtime, self._columns.get(expr))
            if key is None:
                return False
            holding.add(key.numbers.nbytes)
            self._by.append(self._borne(name, key))
        if any(self._column(key, holding) is None for key in self._keys if key not in self._grouped):
            return False
        for call in self._calls:
            state = self._state_of(call, holding)
            if state is None:
                return False
            self._states.append(state)
        keys = [key for _, key in self._by]
        if not all(Fold.takes(self.names, [*keys, *more]) for more in ([], *([key] for _, key in self._apart))):
            return False
        most, context = 2**self._weight_bits, self._runtime.context
        tasks = [task for _, task in self._tasks.values()]
        make = self._maker.make
        self._folds.append(make(self.names, self._by, tasks, most, self._rows, context))
        for each in self._apart:
            self._folds.append(make(self.names, [*self._by, each], [Task(COUNT)], most, self._rows, context))
        return True

    @property
    def folds(self) -> Sequence[Fold]:
        """What rows are to be given to, all of them to each."""
        return self._folds

    def close(self) -> None:
        """Free the groups."""
        for fold in self._folds:
            fold.close()

    @property
    def codes(self) -> IntArray:
        """The code of each group that ``groups`` has returned, of all its keys, ascending."""
        return self._folds[0].whole_codes(self._codes).astype(np.int64)

    def groups(self) -> FoldedGroups:
        """Return what was folded."""
        codes, columns = self._folds[0].groups()
        self._codes = codes
        length = len(columns[0][0])
        apart = [fold.different(self._folds[0]) for fold in self._folds[1:]]
        decoded = (key.decode(code) for (_, key), code in zip(self._by, codes, strict=True))
        found = dict(zip(self._grouped, decoded, strict=True))
        keys = [found[key] if key in found else self._of_element(key, found) for key in self._keys]
        return FoldedGroups(length, keys, [state(columns, apart) for state in self._states])

    def _told_by_elements(self) -> list[Expr]:
        """Return the keys that rows are grouped by: of an element that one of its keys tells from others itself."""
        by_name: dict[str, list[Expr]] = {}
        for key in self._keys:
            by_name.setdefault(variable_of(key), []).append(key)
        instead: list[Expr] = []
        for name, keys in by_name.items():
            told = len(keys) > 1 and name not in self._carried and self._elements[name].of_nodes
            told = told and any(self._tells_apart(key, name) for key in keys)
            instead += [Variable(name, type=NODE)] if told else keys
        return instead

    def _of_element(self, key: Expr, found: Mapping[Expr, Column]) -> Column:
        """Return a key of the groups' elements."""
        name = variable_of(key)
        nodes, column = found[Variable(name, type=NODE)], self._columns[key]
        assert isinstance(nodes, NodeColumn)
        assert column is not None
        return column.take(nodes.ids - self._elements[name].begin)

    # ------------------------------------------------------------ aggregates

    def _column(self, expr: Expr, holding: Holding) -> Column | None:
        if expr not in self._columns:
            column = evaluated(expr, self._elements[variable_of(expr)], self._runtime)
            self._columns[expr] = column
            if column is not None and isinstance(column, ArrowColumn | ObjectColumn):
                holding.add(0 if type(column) is not ArrowColumn else column.nbytes)
        return self._columns[expr]

    def _task(self, task: Task, expr: Expr) -> int:
        """Add a task, once; return its place among all."""
        if task.variable in self._carried and task.numbers is not None:
            borne = self._carried[task.variable]
            numbers = carried_numbers(task.numbers, borne, self._runtime.context)
            task = replace(task, variable=borne.bearer, numbers=numbers)
        return self._tasks.setdefault((task.operation, expr), (len(self._tasks), task))[0]

    def _borne(self, name: str, key: Keyed) -> tuple[str, Keyed]:
        """Return a key by a variable that rows have."""
        if name not in self._carried:
            return name, key
        borne = self._carried[name]
        return borne.bearer, replace(key, numbers=carried_numbers(key.numbers, borne, self._runtime.context))

    def _state_of(self, call: AggregateCall, holding: Holding) -> _StateOf | None:
        """Add the tasks of an aggregate, and return what makes its state; None where its values can't be folded."""
        if not call.args:
            return lambda columns, apart: [integer_column(columns[0][0])]
        if call.name in GATHERED:
            return self._gathered(call, holding) if self._on_host else None
        (expr,) = call.args
        if call.distinct and call.name == "count":
            return self._distinct(expr, holding)
        if isinstance(expr, Variable):
            return (lambda columns, apart: [integer_column(columns[0][0])]) if call.name == "count" else None
        column = self._column(expr, holding)
        if column is None:
            return None
        if call.name == "count":
            present = self._count(expr, column)
            return lambda columns, apart: [integer_column(columns[present][0])]
        if call.name in ("sum", "avg"):
            return self._sum(expr, column)
        return self._extreme(expr, column, call.name == "max", holding)

    def _count(self, expr: Expr, column: Column) -> int:
        """Return the place of the task that counts values but null."""
        name = variable_of(expr)
        elements = self._elements[name]
        numbers = numbers_of(expr, column, elements, self._runtime)
        if numbers is None:
            null = column.is_null()
            codes = np.where(null, -1, 0).astype(np.int32)
            numbers = Numbers(CODES, codes, elements.begin, nullable=bool(null.any()))
        return self._task(Task(COUNT, name, numbers), expr) if numbers.nullable else 0

    def _sum(self, expr: Expr, column: Column) -> _StateOf | None:

        name = variable_of(expr)
        numbers = numbers_of(expr, column, self._elements[name], self._runtime)
        if numbers is None:
            if not column.is_null().all():
                return None
            return lambda columns, apart: _no_numbers(len(columns[0][0]))
        room = _SUMMED_BITS - self._weight_bits
        present = self._count(expr, column)
        if numbers.kind == INTEGERS:
            assert isinstance(column, ArrowColumn)
            least, greatest = integer_extent(expr, column, self._elements[name], self._runtime)
            most = max(abs(least or 0), abs(greatest or 0)).bit_length()
            digits = max(1, -(-most // room))
            place = self._task(Task(SUM, name, numbers, digits, room), expr)
            return lambda columns, apart: [
                _whole(columns[place], room),
                ArrowColumn(pa.nulls(len(columns[0][0]), pa.float64())),
                integer_column(columns[present][0]),
            ]
        room = min(room, _MANTISSA)
        scaled = self._scaled(expr, numbers, room)
        if scaled is None:
            return None
        digits, top = scaled
        place = self._task(Task(SUM, name, numbers, digits, room, 2.0 ** (room - top)), expr)

        def state(columns: Columns, apart: Sequence[IntArray]) -> State:
            count = columns[present][0]
            total = np.zeros(len(count))
            for k in reversed(range(digits)):
                total += np.ldexp(columns[place][k].astype(np.float64), top - room * (k + 1))
            floats = pa.array(total, pa.float64(), mask=count == 0)
            return [integer_column(np.zeros(len(count), np.int64)), ArrowColumn(floats), integer_column(count)]

        return state

    def _scaled(self, expr: Expr, numbers: Numbers, room: int) -> tuple[int, int] | None:
        """Return how many digits floats take, and the power of two that all are below."""
        from qengine.exec.host.folds import float_range

        elements, context = self._elements[variable_of(expr)], self._runtime.context
        least, greatest = extent(expr, elements, self._runtime, lambda: float_range(numbers, context))
        if not isfinite(greatest):
            return None
        top, low = frexp(greatest)[1], frexp(least)[1]
        digits = max(1, -(-(top - low + _EXACT) // room))
        return (digits, top) if digits <= _MOST_DIGITS and abs(top) < _MOST_EXPONENT else None

    def _tells_apart(self, key: Expr, name: str) -> bool:
        """Tell whether a key is another value for each element that a variable may be."""
        if variable_of(key) != name:
            return False
        elements = self._elements[name]
        return isinstance(key, Variable) or (elements.of_nodes and is_unique(key, elements.ranges, self._runtime))

    def _extreme(self, expr: Expr, column: Column, greatest: bool, holding: Holding) -> _StateOf | None:

        name = variable_of(expr)
        elements = self._elements[name]
        operation = GREATEST if greatest else LEAST
        if isinstance(column, NodeColumn | RelationshipColumn) or _has_ties(column):
            return None
        if (numbers := numbers_of(expr, column, elements, self._runtime)) is not None:
            place, present = self._task(Task(operation, name, numbers), expr), self._count(expr, column)
            decode: Callable[[IntArray], Column] = integer_column if numbers.kind == INTEGERS else _floats
        else:
            numbers, _, decode = ranked(expr, column, elements, self._runtime)
            holding.add(numbers.nbytes)
            place = self._task(Task(operation, name, numbers), expr)
            present = self._task(Task(0, name, numbers), expr) if numbers.nullable else 0

        def state(columns: Columns, apart: Sequence[IntArray]) -> State:
            none = columns[present][0] == 0
            if not none.any():
                return [decode(columns[place][0])]
            if none.all():
                return [null_column(len(none))]
            values = decode(columns[place][0][~none])
            places = np.where(none, len(values), np.cumsum(~none) - 1)
            return [concatenate([values, null_column(1)]).take(places)]

        return state

    def _gathered(self, call: AggregateCall, holding: Holding) -> _StateOf | None:
        """Keep the values of each group, as lists in any order, which is the state of a percentile."""
        expr, share = call.args
        column = None if isinstance(expr, Variable) else self._column(expr, holding)
        if column is None or _has_ties(column):
            return None
        name = variable_of(expr)
        elements = self._elements[name]
        given = compile_expression(share, self._runtime)(Batch(1, {}))
        decode: Callable[[IntArray], Column]
        if (numbers := numbers_of(expr, column, elements, self._runtime)) is not None:
            decode = integer_column if numbers.kind == INTEGERS else _bits_of_floats
        elif call.name == "percentilecont":  # needs numbers: what is wrong is told in the order of the rows
            return None
        else:
            numbers, _, decode = ranked(expr, column, elements, self._runtime)
            holding.add(numbers.nbytes)
        place = self._task(Task(GATHER, name, numbers), expr)
        own: Folded = proxy(self)  # which has the state

        def state(columns: Columns, apart: Sequence[IntArray]) -> State:
            lengths = columns[place][0]
            found, times = own._folds[0].gathered(place, own._codes, lengths, holding)
            offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
            often = ConstantColumn(1, len(found)) if times is None else integer_column(times)
            shares = given.take(np.zeros(len(lengths), np.int64))
            return [ListColumn(offsets, decode(found)), ListColumn(offsets, often), shares]

        return state

    def _distinct(self, expr: Expr, holding: Holding) -> _StateOf | None:
        """Count different values: by a bit each where few are possible, else as groups.

        A group has one at most where they are a key's or a key tells the element from others, and one for each row
        where each row has an element of its own and that another value.
        """
        name = variable_of(expr)
        if name in self._once and self._tells_apart(expr, name):
            return lambda columns, apart: [integer_column(columns[0][0])]
        if expr in self._keys or any(self._tells_apart(key, name) for key in self._keys):
            column = None if isinstance(expr, Variable) else self._column(expr, holding)
            if column is None and not isinstance(expr, Variable):
                return None
            present = 0 if column is None else self._count(expr, column)
            return lambda columns, apart: [integer_column((columns[present][0] > 0).astype(np.int64))]
        key = keyed(expr, self._elements[name], self._runtime, self._columns.get(expr))
        if key is None:
            return None
        holding.add(key.numbers.nbytes)
        words = key.places // 64 + 1
        places = 1
        for _, each in self._by:
            places *= each.places
        size = 8 * words * places
        if size <= self._maker.distinct_bytes and size <= max(_SMALL_BYTES, _A_ROW * self._rows):
            numbers = _bit_numbers(key, self._elements[name], self._runtime.context)
            place = self._task(Task(DISTINCT, name, numbers, words), expr)
            return lambda columns, apart: [integer_column(columns[place][0])]
        number = len(self._apart)
        self._apart.append(self._borne(name, key))
        return lambda columns, apart: [integer_column(apart[number])]


def _bit_numbers(key: Keyed, elements: Elements, context: ExecutionContext) -> Numbers:
    """Return the codes of a key, below 0 for null."""
    numbers = key.numbers
    if numbers.kind == CODES:
        return numbers
    if numbers.kind == IDS:
        n = elements.end - elements.begin
        codes = computed(n, np.int32, lambda part: np.arange(part.start, part.stop, dtype=np.int32), context)
        return Numbers(CODES, codes, elements.begin)

    def of(part: slice) -> IntArray:
        found: IntArray = numbers.values[part] - key.low
        if numbers.nullable:
            found[numbers.keep[part].is_null().to_numpy(zero_copy_only=False)] = -1
        return found

    codes = computed(len(numbers.values), np.int32, of, context)
    return Numbers(CODES, codes, numbers.base, nullable=numbers.nullable)


def _has_ties(column: Column) -> bool:
    """Tell whether different values may compare as equal, as 0 and 0.0 do: codes don't tell them apart."""
    return isinstance(column, ObjectColumn) and {int, float} <= set(map(type, column.objects))


def _whole(digits: list[IntArray], bits: int) -> Column:
    """Return sums of integers of their digits, the highest first, exactly."""
    total: Any = digits[0]
    for more in digits[1:]:
        if total.dtype != object and int(np.abs(total).max(initial=0)) << bits >= _SURE:
            total = total.astype(object)
        total = (total << bits) + more
    if total.dtype == object:
        return ObjectColumn(total.tolist())
    return integer_column(total)


def _floats(numbers: IntArray) -> Column:
    """Return floats of the integers of the same order that stand for them."""
    bits = np.where(numbers < 0, numbers ^ np.int64(2**63 - 1), numbers)
    return ArrowColumn(pa.array(bits.view(np.float64), pa.float64()))


def _bits_of_floats(numbers: IntArray) -> Column:
    return ArrowColumn(pa.array(numbers.view(np.float64), pa.float64()))


def _no_numbers(length: int) -> State:
    zeros = integer_column(np.zeros(length, np.int64))
    return [zeros, ArrowColumn(pa.nulls(length, pa.float64())), zeros]
