"""Expressions of one node or relationship, evaluated for each element once: columns by id that native folds read.

Rows of a pattern are folded into groups without making any of them (``exec.host.folds``) where every key and argument
is such a column: a row is then but an id for each variable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from qengine._frozen import frozen
from qengine.errors import ExecutionError
from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import by_parts
from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    IntArray,
    NodeColumn,
    RelationshipColumn,
    boolean_column,
    concatenate,
    integer_column,
    null_column,
)
from qengine.exec.common.dealing import computed, packed, taken
from qengine.exec.common.expressions import temporal
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.expressions.entities import property_of, within
from qengine.exec.common.grouping import group_rows
from qengine.exec.common.ordering import is_of_numbers, ranks
from qengine.exec.common.property_texts import Codes, PropertyTexts
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.plan.expr import Expr, HasLabels, Property, Variable
from qengine.plan.physical import EdgeLevel, Level, VertexLevel
from qengine.plan.traverse import free_variables, is_repeatable, only_variable, preorder, substitute
from qengine.storage.arrays import MANY_RANGES
from qengine.types import Kind

IDS, INTEGERS, FLOATS, CODES = range(4)
"""Kinds of numbers, as ``qe::fold::Kind``."""

_RANGE = 1 << 19  # elements that are evaluated at a time
_STORED = 32  # elements whose stored values are read in the time of evaluating an expression for one
_GREATEST = 2**63 - 1
_VALUE = "#value"
_MOST_READ = 3  # properties of an expression that is evaluated once for each combination of their values
_TOLD_APART = (Kind.INTEGER, Kind.STRING, Kind.BOOLEAN)  # of which equal values are the same
_FEWER, _REPEATED = 4096, 8  # elements; of which each value has so many in the mean, or more
_BETWEEN_MANY = 16  # times the elements of many ranges that are read as one, at most
_WIDEST = 2**40  # a range of integers that are codes as they are
_LEAST = -(2**63)  # beside which null has no code


@frozen
class Elements:
    """The ids that a variable may have: ``ranges`` ``(begin, end)``, ascending, of each label set or type."""

    name: str
    of_nodes: bool
    ranges: tuple[tuple[int, int], ...]

    @property
    def begin(self) -> int:
        """The least id."""
        return self.ranges[0][0]

    @property
    def end(self) -> int:
        """One more than the greatest id."""
        return self.ranges[-1][1]


@frozen
class Numbers:
    """A number for each element with an id in ``[base, base + len(values))``, where ``validity`` has its bit.

    ``values``: int64, float64 or (codes, below 0 for null) int32; None for ids themselves. ``whole``: neither place nor
    bit need be looked at. ``nullable``: an element may have null. ``keep``: what the addresses point into.
    ``stored``: that is the graph's own, and the same for every query.
    """

    kind: int
    values: Any
    base: int
    whole: bool = True
    nullable: bool = False
    validity: int = 0
    offset: int = 0
    keep: Any = None
    stored: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes that were made for it."""
        return 0 if self.keep is not None or self.values is None else int(self.values.nbytes)


@frozen
class Borne:
    """What each vertex of variable ``bearer`` carries, from the one with id ``begin`` on: int64 ids, -1 for none."""

    bearer: str
    begin: int
    ids: IntArray


@frozen
class Keyed:
    """A group key: its code is 0 for null, else the number less ``low``, plus 1, below ``places``.

    ``decode`` returns the values of codes.
    """

    numbers: Numbers
    low: int
    places: int
    decode: Callable[[IntArray], Column]


def elements_of(level: Level, runtime: Runtime) -> Elements | None:
    """Return what a level may bind, None for nothing at all."""
    store = runtime.store
    if isinstance(level, VertexLevel):
        ranges = [(low, high) for low, high in store.label_ranges(level.labels).tolist()]
    else:
        assert isinstance(level, EdgeLevel)
        named = (store.type_index(name) for name in dict.fromkeys(level.types))
        chosen = range(len(store.types)) if not level.types else sorted(each for each in named if each is not None)
        ranges = [(info.base, info.base + info.count) for info in (store.types[k] for k in chosen) if info.count]
    return Elements(level.name, isinstance(level, VertexLevel), tuple(ranges)) if ranges else None


def evaluations(expr: Expr, elements: Elements, stored_share: int = _STORED) -> int:
    """Return for how many elements an expression is evaluated.

    ``stored_share``: how many elements count as one where it only reads what is stored.
    """
    stored = isinstance(expr, Variable) or (isinstance(expr, Property) and isinstance(expr.subject, Variable))
    return (elements.end - elements.begin) // (stored_share if stored else 1)


def evaluated(expr: Expr, elements: Elements, runtime: Runtime) -> Column | None:
    """Return the values of an expression from the least id of some elements to the greatest; None if one fails.

    Ids between their ranges have null, or what is stored of those.
    """
    if (known := _by_value(expr, elements, runtime)) is not None:
        values, of = known
        places: Any = np.where(of.codes < 0, len(values) - 1, of.codes) if of.nullable else of.codes
        return taken(values, places, runtime.context)
    kind = NodeColumn if elements.of_nodes else RelationshipColumn
    whole = isinstance(expr, Property) and isinstance(expr.subject, Variable)  # a slice of what is stored
    if whole and runtime.memory.limit is None and _is_slice(expr, elements, runtime):
        runtime.context.check()
        found = property_of(runtime.store, kind(None, (elements.begin, elements.end)), expr.key)  # type: ignore[attr-defined]
        return found.expanded() if isinstance(found, ConstantColumn) else found
    evaluate = compile_expression(expr, runtime)
    parts: list[Column] = []
    place = elements.begin
    try:
        for begin, end in elements.ranges if _reads_properties(expr) else joined(elements.ranges):
            if begin > place:
                parts.append(null_column(begin - place))
            for start in range(begin, end, end - begin if whole else _RANGE):
                runtime.context.check()
                stop = end if whole else min(start + _RANGE, end)
                batch = Batch(stop - start, {elements.name: kind(None, (start, stop))})
                parts += (found for _, found in by_parts(batch, evaluate, runtime.memory))
            place = end
    except ExecutionError:
        return None
    column = concatenate(parts)
    return column.expanded() if isinstance(column, ConstantColumn) else column


def _reads_properties(expr: Expr) -> bool:
    """Tell whether an expression reads properties, which lie by type."""
    return any(isinstance(part, Property) for part in preorder(expr))


def joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ascending ranges ``(begin, end)`` with those that follow upon each other as one."""
    found: list[tuple[int, int]] = []
    for begin, end in ranges:
        if found and found[-1][1] == begin:
            begin, _ = found.pop()
        found.append((begin, end))
    return found


def _is_slice(expr: Any, elements: Elements, runtime: Runtime) -> bool:
    """Tell whether a property's values are a slice of what is stored: few, and of one kind, between ranges of nodes."""
    if len(elements.ranges) == 1:
        return True
    if not elements.of_nodes:
        return False
    column = runtime.store.node_property(expr.key)
    inside = sum(end - begin for begin, end in elements.ranges)
    if column is None or not is_of_numbers(column.arrow_type):
        return False
    most = _BETWEEN_MANY if len(elements.ranges) > MANY_RANGES else 2
    return elements.end - elements.begin <= most * inside


def keyed(expr: Expr, elements: Elements, runtime: Runtime, column: Column | None = None) -> Keyed | None:
    """Return an expression as a group key, None if it fails for an element. ``column``: its values, where known."""
    if isinstance(expr, Variable):
        kind = NodeColumn if elements.of_nodes else RelationshipColumn
        low = elements.begin
        return Keyed(Numbers(IDS, None, 0), low, elements.end - low + 1, lambda codes: kind(codes + np.int64(low - 1)))
    if isinstance(expr, HasLabels) and isinstance(expr.subject, Variable) and elements.of_nodes:
        codes = within(elements.begin, elements.end, runtime.store.label_ranges(expr.labels), np.dtype(np.int32))
        return Keyed(Numbers(CODES, codes, elements.begin), 0, 3, _truth_values)
    if column is None and (key := _of_values(expr, elements, runtime)) is not None:
        return key
    column = evaluated(expr, elements, runtime) if column is None else column
    if column is None:
        return None
    if isinstance(column, PropertyTexts) and (coded := _text_codes(column, elements)) is not None:
        numbers, known = coded
        return Keyed(numbers, 0, len(known.texts) + 1, lambda codes: known.decoded(codes - 1))
    if (key := _small_integers(expr, column, elements, runtime)) is not None:
        return key
    if isinstance(column, ArrowColumn) and pa.types.is_boolean(column.type):
        nullable = bool(column.array.null_count)
        codes = column.array.cast(pa.int32())
        codes = (codes.fill_null(-1) if nullable else codes).to_numpy()
        return Keyed(Numbers(CODES, codes, elements.begin, nullable=nullable), 0, 3, _truth_values)
    made = _coded("groups", expr, column, elements, runtime)
    firsts = made.values
    return Keyed(made.numbers(elements), 0, len(firsts) + 1, lambda found: _taken(firsts, found - 1, runtime))


def _of_values(expr: Expr, elements: Elements, runtime: Runtime) -> Keyed | None:
    """Return an expression of one property as a key by what ``_by_value`` gives; None where that's nothing."""
    known = _by_value(expr, elements, runtime)
    if known is None:
        return None
    found, of = known
    results = _code("groups", found)
    codes = computed(
        len(of.codes), np.int32, lambda part: results.codes.take(of.codes[part], mode="wrap"), runtime.context
    )
    numbers = Numbers(CODES, codes, elements.begin, nullable=results.nullable)
    return Keyed(numbers, 0, len(results.values) + 1, lambda codes: _taken(results.values, codes - 1, runtime))


def _by_value(expr: Expr, elements: Elements, runtime: Runtime) -> tuple[Column, _Coded] | None:
    """Return an expression of one property, or of few among strings, evaluated once for all elements that have the same
    few different values there, those with null behind them; and the codes of each element's: -1 is the last.

    Of dates and times, of which only fields of their days are read, days are the values. None for others, and where it
    fails for one of them, or for null.
    """
    if runtime.memory.limit is not None or (isinstance(expr, Property | Variable) and not _is_day_field(expr)):
        return None
    if elements.end - elements.begin < _FEWER or not is_repeatable(expr):
        return None
    parts = list(preorder(expr))
    of_days = Counter(part.subject for part in parts if _is_day_field(part))
    read = list(dict.fromkeys(part for part in parts if isinstance(part, Property) and not _is_day_field(part)))
    most = _MOST_READ if any(part.type.kind is Kind.STRING for part in parts) else 1
    if not 1 <= len(read) <= most:
        return None
    if any(parts.count(of) > of_days[of] and (of in of_days or of.type.kind not in _TOLD_APART) for of in read):
        return None
    names: dict[Expr, Variable] = {of: Variable(f"{_VALUE}{k}", type=of.type) for k, of in enumerate(read)}
    given = substitute(expr, names.get)
    if free_variables(given) != {each.name for each in names.values()}:
        return None
    every: list[_Coded] = []
    combinations = 1
    for of in read:
        column = evaluated(of, elements, runtime)
        if column is None:
            return None
        if of in of_days:
            coded = _coded_days(of, column, elements, runtime)
        else:
            coded = _coded("groups", of, column, elements, runtime) if _are_few(of, column, elements, runtime) else None
        if coded is None:
            return None
        combinations *= len(coded.values) + 1
        if (combinations - 1) * _REPEATED > len(coded.codes):
            return None
        every.append(coded)
    values, step = {}, 1
    for coded, each in zip(every, names.values(), strict=True):
        places = np.arange(combinations) // step % (len(coded.values) + 1)
        values[each.name] = concatenate([coded.values, null_column(1)]).take(places)
        step *= len(coded.values) + 1
    try:
        found = compile_expression(given, runtime)(Batch(combinations, values))
    except ExecutionError:
        return None
    return found.expanded() if isinstance(found, ConstantColumn) else found, _combined(every, runtime)


def _is_day_field(expr: Expr) -> TypeGuard[Property]:
    """Tell whether an expression is a field, such as ``year``, of the day of what a property holds."""
    if not isinstance(expr, Property) or not isinstance(expr.subject, Property) or not temporal.is_day_field(expr.key):
        return False
    return isinstance(expr.subject.subject, Variable)


def _coded_days(of: Expr, column: Column, elements: Elements, runtime: Runtime) -> _Coded | None:
    """Return codes of the days of a property's dates and times, and a moment of each; None where they aren't few."""
    if not isinstance(column, ArrowColumn) or not temporal.has_days(column.type):
        return None
    first, last = extent(of, elements, runtime, partial(temporal.first_and_last_day, column))
    if first is None or (last - first + 1) * _REPEATED > len(column):
        return None
    values = temporal.each_day(first, last, column.type)
    if values is None:
        return None
    return _coded("days", of, column, elements, runtime, partial(_of_days, column, first, values))


def _of_days(column: ArrowColumn, first: int, values: Column) -> _Coded:
    return _Coded(temporal.days_from(first, column), values, nullable=column.array.null_count > 0)


def _combined(every: Sequence[_Coded], runtime: Runtime) -> _Coded:
    """Return codes of combinations of values, the first's varying most: those of one as they are."""
    first, *more = every
    if not more:
        return first
    codes = np.where(first.codes < 0, len(first.values), first.codes)
    step = len(first.values) + 1
    for coded in more:
        runtime.context.check()
        codes += np.where(coded.codes < 0, len(coded.values), coded.codes) * np.int32(step)
        step *= len(coded.values) + 1
    return _Coded(codes, null_column(0), nullable=False)


def _are_few(of: Expr, column: Column, elements: Elements, runtime: Runtime) -> bool:
    """Tell whether a property's values may be few: integers far apart aren't looked at."""
    if not isinstance(column, ArrowColumn) or not pa.types.is_int64(column.type):
        return True
    least, greatest = integer_extent(of, column, elements, runtime)
    return least is None or (greatest - least) * _REPEATED <= len(column)


@frozen
class _Extent:
    """What ``extent`` keeps."""

    least: Any
    greatest: Any
    nbytes: int = 64


def extent(
    expr: Expr, elements: Elements, runtime: Runtime, measured: Callable[[], tuple[Any, Any]]
) -> tuple[Any, Any]:
    """Return the bounds of an expression's numbers, as ``measured`` finds them; the graph keeps those of a property."""
    if not isinstance(expr, Property) or not isinstance(expr.subject, Variable) or runtime.memory.limit is not None:
        return measured()
    key = ("extent", expr.key, elements.of_nodes, elements.ranges)
    found: _Extent = runtime.store.derived.get(key, lambda: _Extent(*measured()))
    return found.least, found.greatest


def integer_extent(expr: Expr, column: ArrowColumn, elements: Elements, runtime: Runtime) -> tuple[Any, Any]:
    """Return the least and the greatest of an expression's integers, None where there are none."""

    def measured() -> tuple[Any, Any]:
        found = pc.min_max(column.array)
        return found["min"].as_py(), found["max"].as_py()

    return extent(expr, elements, runtime, measured)


def _small_integers(expr: Expr, column: Column, elements: Elements, runtime: Runtime) -> Keyed | None:
    if not isinstance(column, ArrowColumn) or not pa.types.is_int64(column.type) or not len(column):
        return None
    numbers = numbers_of(expr, column, elements, runtime)
    low, high = integer_extent(expr, column, elements, runtime)
    if numbers is None or low is None or high - low >= _WIDEST or low == _LEAST:
        return None

    def decode(codes: IntArray) -> Column:
        values = computed(len(codes), np.int64, lambda part: codes[part] + np.int64(low - 1), runtime.context)
        null = None if not len(codes) or codes.min() else codes == 0
        return integer_column(values, null)

    return Keyed(numbers, low, high - low + 2, decode)


def _truth_values(codes: IntArray) -> Column:
    """Return the values of codes: 0 null, 1 false, 2 true."""
    return boolean_column(codes == 2, codes == 0)


def _taken(values: Column, places: IntArray, runtime: Runtime) -> Column:
    """Return values at places, null where they are below 0."""
    if not (places < 0).any():
        return taken(values, places, runtime.context)
    given = np.where(places < 0, len(values), places)
    return taken(concatenate([values, null_column(1)]), given, runtime.context)


def _text_codes(column: PropertyTexts, elements: Elements) -> tuple[Numbers, Codes] | None:
    """Return the codes of strings that are stored, and what they stand for."""
    found = column.of.codes(len(column))
    if found is None or column.bounds is None:
        return None
    source = column.of.column
    begin, end = column.bounds
    inside = source.begin <= begin and end <= source.end
    base = elements.begin - begin + source.begin
    nullable = not inside or source.array.null_count > 0
    return Numbers(CODES, found.codes[:-1], base, inside, nullable, keep=found, stored=True), found


def numbers_of(expr: Expr, column: Column, elements: Elements, runtime: Runtime) -> Numbers | None:
    """Return the numbers of an expression's values, from the least id of the elements on; None of other values."""
    if not isinstance(column, ArrowColumn) or isinstance(column, PropertyTexts):
        return None
    array = column.array
    if not (pa.types.is_int64(array.type) or pa.types.is_float64(array.type)) or not len(array):
        return None
    integers = pa.types.is_int64(array.type)
    validity, buffer = array.buffers()
    values = np.frombuffer(buffer, np.int64 if integers else np.float64, len(array), 8 * array.offset)
    nulls = array.null_count > 0
    return Numbers(
        INTEGERS if integers else FLOATS, values, elements.begin, not nulls, nulls, validity.address if nulls else 0,
        array.offset, array, _is_stored(expr, buffer.address, elements, runtime),
    )  # fmt: skip


def _is_stored(expr: Expr, address: int, elements: Elements, runtime: Runtime) -> bool:
    """Tell whether values at an address are the graph's own."""
    if not isinstance(expr, Property) or not isinstance(expr.subject, Variable):
        return False
    store = runtime.store
    if elements.of_nodes:
        source = store.node_property(expr.key)
    else:
        (index,) = (info.index for info in store.types if info.base == elements.begin and info.count)
        source = store.relationship_property(index, expr.key)
    buffer = None if source is None else source.array.buffers()[-1]
    return buffer is not None and bool(buffer.address == address)


def carried_numbers(numbers: Numbers, borne: Borne, context: ExecutionContext) -> Numbers:
    """Return the numbers of other elements for the vertices that carry these, null for none."""
    ids = borne.ids
    if numbers.kind == IDS:
        return Numbers(INTEGERS, ids, borne.begin)
    null = numbers.keep.is_null().to_numpy(zero_copy_only=False) if numbers.validity else None
    present = np.empty(len(ids), np.bool_)

    def carried(part: slice) -> Any:
        at = ids[part] - numbers.base
        inside = (at >= 0) & (at < len(numbers.values)) & (ids[part] >= 0)
        at[~inside] = 0
        present[part] = inside if null is None else inside & ~null[at]
        values = numbers.values[at]
        if numbers.kind == CODES:
            values[~inside] = -1
        return values

    values = computed(len(ids), numbers.values.dtype, carried, context)
    if numbers.kind == CODES:
        return Numbers(CODES, values, borne.begin, nullable=True)
    bits = packed(present, context)
    return Numbers(numbers.kind, values, borne.begin, False, True, bits.ctypes.data, 0, bits)


def compared_numbers(
    left: Expr, right: Expr, elements: Mapping[str, Elements], runtime: Runtime
) -> tuple[tuple[str, Numbers], tuple[str, Numbers]] | None:
    """Return numbers that compare as the values of two expressions, each of one variable, do; with these variables.

    Elements themselves are the same, or differ, as their ids do. None where an expression fails, or where its values
    are neither numbers nor the other's strings.
    """
    names = [name for each in (left, right) if (name := only_variable(each)) is not None and name in elements]
    if len(names) < 2:
        return None
    if isinstance(left, Variable) and isinstance(right, Variable):
        alike = elements[names[0]].of_nodes == elements[names[1]].of_nodes
        return ((names[0], Numbers(IDS, None, 0)), (names[1], Numbers(IDS, None, 0))) if alike else None
    one, other = (evaluated(each, elements[name], runtime) for each, name in zip((left, right), names, strict=True))
    if one is None or other is None:
        return None
    ends = [(left, one, elements[names[0]]), (right, other, elements[names[1]])]
    if isinstance(one, PropertyTexts) and isinstance(other, PropertyTexts) and one.of.column is other.of.column:
        first, second = (_text_numbers(column, of) for _, column, of in ends)
    else:
        first, second = (numbers_of(expr, column, of, runtime) for expr, column, of in ends)
    return None if first is None or second is None else ((names[0], first), (names[1], second))


def _text_numbers(column: Column, elements: Elements) -> Numbers | None:
    coded = _text_codes(column, elements) if isinstance(column, PropertyTexts) else None
    return None if coded is None else coded[0]


def ranked(
    expr: Expr, column: Column, elements: Elements, runtime: Runtime
) -> tuple[Numbers, int, Callable[[IntArray], Column]]:
    """Return codes of values in their order, equal for those that tie, how many, and what gives the values of codes."""
    if isinstance(column, PropertyTexts) and (coded := _text_codes(column, elements)) is not None:
        numbers, known = coded
        return numbers, len(known.texts), known.decoded
    made = _coded("ranks", expr, column, elements, runtime)
    return made.numbers(elements), len(made.values), made.values.take


def coded(expr: Expr, elements: Elements, runtime: Runtime) -> tuple[NDArray[np.int32], Column] | None:
    """Return a code for each element from the least id on, below 0 for null, and the values of codes.

    None where the expression fails for one.
    """
    column = evaluated(expr, elements, runtime)
    if column is None:
        return None
    made = _coded("groups", expr, column, elements, runtime)
    return made.codes, made.values


def ordered_numbers(expr: Expr, elements: Elements, runtime: Runtime) -> Numbers | None:
    """Return numbers in the order of an expression's values, equal for those that tie; None where there are none.

    Null has no number, and would tie with none.
    """
    column = evaluated(expr, elements, runtime)
    if column is None or isinstance(column, NodeColumn | RelationshipColumn):
        return None
    if isinstance(column, ArrowColumn) and pa.types.is_temporal(column.type) and column.type.bit_width == 64:
        column = ArrowColumn(column.array.view(pa.int64()))
    numbers = numbers_of(expr, column, elements, runtime)
    if numbers is None:
        return ranked(expr, column, elements, runtime)[0]
    if numbers.kind == INTEGERS and numbers.nullable:
        assert isinstance(column, ArrowColumn)
        if integer_extent(expr, column, elements, runtime)[1] == _GREATEST:  # which null stands for
            return None
    return numbers


class _Coded:
    """Codes of values, int32, below 0 for null, and the value that each stands for; the graph's where ``kept``."""

    __slots__ = ("codes", "kept", "nullable", "values")

    def __init__(self, codes: NDArray[np.int32], values: Column, nullable: bool) -> None:
        self.codes = codes
        self.values = values
        self.nullable = nullable
        self.kept = False

    @property
    def nbytes(self) -> int:
        return int(self.codes.nbytes) + self.values.nbytes

    def numbers(self, elements: Elements) -> Numbers:
        """Return the codes as numbers of elements."""
        keep = self if self.kept else None
        return Numbers(CODES, self.codes, elements.begin, nullable=self.nullable, keep=keep, stored=self.kept)


def _coded(
    form: str,
    expr: Expr,
    column: Column,
    elements: Elements,
    runtime: Runtime,
    make: Callable[[], _Coded] | None = None,
) -> _Coded:
    """Return codes of a column's values: of their "groups", of their "ranks" in their order, or as ``make`` does.

    The graph keeps those of properties, which are the same for every query; a query whose memory is limited takes what
    is kept, and makes its own where there are none.
    """

    def made() -> _Coded:
        return runtime.context.aside(make or partial(_code, form, column), len(column))

    def to_keep() -> _Coded:
        coded = made()
        coded.kept = True
        return coded

    if not isinstance(expr, Property) or not isinstance(expr.subject, Variable):
        return made()
    cached, key = runtime.store.derived, ("element codes", form, expr.key, elements.of_nodes, elements.ranges)
    found: _Coded | None = cached.find(key) if runtime.memory.limit is not None else cached.get(key, to_keep)
    return made() if found is None else found


def _code(form: str, column: Column) -> _Coded:
    if isinstance(column, PropertyTexts) and (known := column.places()) is not None:
        found, of = known
        return _Coded(found, of.decoded(np.arange(len(of.texts))), nullable=bool((found < 0).any()))
    null = column.is_null()
    kept = np.flatnonzero(~null)
    codes = np.full(len(column), -1, np.int32)
    if not len(kept):
        return _Coded(codes, null_column(0), nullable=bool(len(column)))
    some = column.take(kept)
    if form == "groups":
        groups = group_rows([some], len(some))
        codes[kept] = groups.codes
        values = groups.firsts(some)
    else:
        _, first, classes = np.unique(ranks(some), return_index=True, return_inverse=True)
        codes[kept] = classes
        values = some.take(first)
    return _Coded(codes, values, nullable=bool(null.any()))
