"""Runs an ``Eliminate``: its steps one after the other, each a native function over arrays, then its signed terms.

Numbers are of 64 bits; where one overflows, all is computed again with 128. Totals are Python's integers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from math import prod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._control import Status
from qengine._frozen import frozen
from qengine.errors import ResourceError
from qengine.exec.context import ExecutionContext
from qengine.exec.cpu.bound import Bound
from qengine.exec.cpu.kept_vectors import (
    KeptSums,
    VectorKey,
    kept_sums,
    kept_vector,
    not_negative,
    product_sums,
    vector_key,
)
from qengine.exec.cpu.ranked_pairs import RankedPairs
from qengine.exec.cpu.relations import MATRIX, NUMBERS, Lists, Relations, SparseMatrix, numbers, stored
from qengine.exec.cpu.runtime import Runtime
from qengine.exec.cpu.summed_walks import MOST_WALK_ENTRIES, MOST_WALK_WEIGHT, SummedWalks, walk_sums
from qengine.exec.memory import Holding
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.closed_walks import walk_sum
from qengine.plan.elimination import (
    Arm,
    Around,
    Closed,
    Matrix,
    Message,
    Own,
    Pairs,
    Product,
    Step,
    counted_degrees,
    is_labels_alone,
    operands,
)
from qengine.plan.physical import Eliminate

__all__ = ["Counts", "NumberOverflow", "kept_count", "of_vertices", "only_count", "own_numbers", "run_eliminate"]

_MAX_COUNT = 2**63 - 1

_ARM = np.dtype([(name, "<i4") for name in ("start", "vector", "link", "first", "count", "unused")])
_AROUND = np.dtype(
    [("n_arms", "<i4"), ("n_tops", "<i4"), ("arms", "<u8"), ("children", "<u8"), ("tops", "<u8"), ("matrices", "<u8"),
     ("vectors", "<u8"), ("roots", "<u8"), ("n", "<u4"), ("unused", "<u4")]
)  # fmt: skip
_PAIR_TERM = np.dtype([("plan", "<u8"), ("factor_low", "<u8"), ("factor_high", "<i8")])
_PAIR_CHUNK = np.dtype(
    [(name, "<u8") for name in ("first", "next", "most", "capacity", "ends", "counts", "begins", "lengths")]
)

_T = TypeVar("_T")

_PAIRS = 1 << 18
"""Pairs that a worker makes before they are handed on."""

Array = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]
Counts = tuple[tuple[Ids, ...], Ids]
"""For each of the nodes by which is counted their ids, and the counts: without nodes one, or none where it is 0."""


def run_eliminate(operator: Eliminate, runtime: Runtime, masks: MaskProvider) -> Iterator[Counts]:
    """Yield the counts of a pattern: its only one (none where it is 0), or those by vertices.

    Each is a tuple of vertex ids for each node of ``operator.emit``, and the counts. No vertex, or pair of them, comes
    twice.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits, from inside the steps.
    ResourceError
        If a count of pairs exceeds 64 bits, or a number on the way to any 128.
    """
    if (count := kept_count(operator, runtime.store, runtime.context)) is not None:
        yield only_count(count)
        return
    first = 0  # row of pairs that isn't done yet
    for wide in (False, True):
        try:
            for counts, after in _Run(operator, runtime, masks, wide).counts(first):
                yield counts
                first = after
            return
        except NumberOverflow:
            if wide:
                runtime.context.raise_for(Status.OVERFLOW)
                raise


def kept_count(operator: Eliminate, store: ExecView, context: ExecutionContext) -> int | None:
    """Return a count that is sums over vectors which the graph keeps now; None where it takes more than that.

    Then nothing is held; None, too, where the query's memory is limited, so that limits are as strict as ever.

    Raises
    ------
    QueryTimeout, QueryInterrupted, ResourceError
        As ``run_eliminate``.
    """
    if context.memory_limit is not None:
        return None
    sums = _known(store, operator).sums
    return None if sums is None else sums.total(store, context)


def only_count(count: int) -> Counts:
    """Return the only count of a pattern, as Python's integer where it exceeds 64 bits."""
    return (), np.array([not_negative(count)] if count else [], np.int64 if count <= _MAX_COUNT else object)


def of_vertices(counts: Array) -> Counts:
    """Return the counts by vertices, given one for each: int64, or Python's integers where 64 bits may not do."""
    if counts.dtype == object and max(counts, default=0) <= _MAX_COUNT:
        counts = counts.astype(np.int64)
    vertices = np.flatnonzero(counts != 0)  # of truth values: several times as fast as of integers
    return (vertices,), counts[vertices]


@frozen
class _Plan:
    """An ``_AROUND`` record, and the tables that it points to."""

    record: Array
    tables: tuple[Array, ...]

    @property
    def address(self) -> int:
        return self.record.ctypes.data


@frozen
class _Factors:
    """Vectors whose product is only summed: it is not made."""

    arrays: tuple[Array, ...]


class NumberOverflow(Exception):
    """A number doesn't fit."""


def own_numbers(relations: Relations, own: Own) -> npt.NDArray[np.uint64]:
    """Return the vector of an ``Own``."""
    store = relations.store
    held = np.ones(store.vertex_count, np.uint64)
    for name, labels, predicates in own.nodes:
        admitted = np.zeros(store.vertex_count, np.uint64)
        for begin, end in store.label_ranges(labels).tolist():
            mask = relations.masks.vertex_mask(name, predicates, begin, end) if predicates else np.uint64(1)
            admitted[begin:end] = mask
        held *= admitted
    for relation in own.loops:
        held *= relations.loops(relation)
    return held


_Found = Array | SparseMatrix | Lists | _Factors | SummedWalks | None


@frozen
class _Facts:
    """What a program and the graph settle for all executions; steps and totals are told by their places.

    ``matrices``: those that the graph has. ``sent``: matrices that only messages go along; ``counted``: those of which
    the graph keeps what they give. ``vectors``: by what the graph keeps those that follow from it alone. ``unused``:
    for each step what nothing reads after it. ``summed``: steps that terms add up and nothing else reads. ``totals``:
    all that terms add up. ``sums``: the count, where kept vectors are all that it takes.
    """

    matrices: dict[int, SparseMatrix]
    sent: frozenset[int]
    counted: frozenset[int]
    vectors: dict[int, VectorKey]
    unused: tuple[tuple[int, ...], ...]
    summed: frozenset[int]
    totals: tuple[int, ...]
    sums: KeptSums | None


_bound: Bound[_Facts] = Bound()


def _known(store: ExecView, operator: Eliminate) -> _Facts:
    return _bound.get(store, operator, lambda: (_facts(store, operator), True))


class _Run:
    """One execution of the program.

    ``found``: what each step has given, None for a vector of ones. Vectors that the graph keeps may be narrower than
    others: ``_optional`` widens those that kernels read as such.
    """

    def __init__(self, operator: Eliminate, runtime: Runtime, masks: MaskProvider, wide: bool) -> None:
        self.operator = operator
        self.store = runtime.store
        self.facts = _known(self.store, operator)
        self.runtime = runtime
        self.context: ExecutionContext = runtime.context
        self.masks = masks
        self.wide = wide
        self.n = self.store.vertex_count
        self.found: list[_Found] = []
        self.relations = Relations(self.store, masks, self.context, self._charge)
        self.library = _library()
        self.holding: Holding = runtime.memory.holding("Eliminate")
        self.making = 0

    def counts(self, first: int) -> Iterator[tuple[Counts, int]]:
        """Yield counts, and how many rows of pairs are complete with them; of pairs those from row ``first`` on."""
        try:
            matrices, found = self.facts.matrices, self.found
            for place, (step, unused) in enumerate(zip(self.operator.steps, self.facts.unused, strict=True)):
                if place in matrices:
                    found.append(matrices[place])
                    continue
                found.append(self._step(step))
                for each in unused:
                    found[each] = None
                self._charge(0)
                self.context.check()
            if len(self.operator.emit) == 2:
                yield from self._by_pair(first)
            else:
                yield self._by_vertex() if self.operator.emit else self._total(), 0
        finally:
            self._hold(0)

    def _charge(self, more: int) -> None:
        """Hold what has been found and is still wanted, and ``more`` bytes for what is being made.

        Raises
        ------
        OutOfMemory
            Where the limit doesn't allow it.
        """
        self.making = self.making + more if more else 0
        live: dict[int, int] = {}
        for found in self.found:
            if isinstance(found, np.ndarray):
                live[id(found)] = found.nbytes
            elif isinstance(found, SparseMatrix | _Factors | SummedWalks):
                live |= {id(array): array.nbytes for array in found.arrays}
        self._hold(sum(live.values()) + self.making)

    def _hold(self, count: int) -> None:
        """Hold ``count`` bytes in all."""
        self.holding.set(count)

    # ------------------------------------------------------------ terms

    def _total(self) -> Counts:
        sums = self._sums()
        total = sum(term.factor * prod(sums[place] for place in term.totals) for term in self.operator.terms)
        return only_count(total)

    def _by_vertex(self) -> Counts:
        """Add up the terms' vectors: exactly, in Python's integers where 64 bits may not do."""
        sums = self._sums()
        scaled = []
        for term in self.operator.terms:
            factor = term.factor * prod(sums[place] for place in term.totals)
            assert term.output is not None
            if factor:
                scaled.append((factor, self._vector(term.output)))
        counts: Array = np.zeros(self.n, np.int64)
        bound = sum(abs(factor) * self._greatest(vector) for factor, vector in scaled)
        if bound > _MAX_COUNT:
            counts = counts.astype(object)
        for factor, vector in scaled:
            counts += factor * (self._integers(vector) if bound > _MAX_COUNT else vector.astype(np.int64))
        return of_vertices(counts)

    def _by_pair(self, first: int) -> Iterator[tuple[Counts, int]]:
        sums = self._sums()
        plans = []
        records = []
        for term in self.operator.terms:
            factor = term.factor * prod(sums[place] for place in term.totals)
            assert term.output is not None
            step = self.operator.steps[term.output]
            assert isinstance(step, Pairs)
            if abs(factor) >> 127:
                raise NumberOverflow
            plans.append(self._plan(step.arms, [len(step.arms) - 1] if step.arms else [], step.vector))
            records.append((plans[-1].address, factor % 2**64, factor >> 64))
        terms = np.array(records, _PAIR_TERM)
        capacity = max(self.n, _PAIRS)
        rows = min(self.n, _PAIRS)
        threads = self.context.threads
        self._charge(threads * capacity * 12 + rows * 16)
        ends, counts = np.empty(threads * capacity, np.uint32), np.empty(threads * capacity, np.int64)
        begins, lengths = np.empty(rows, np.uint64), np.empty(rows, np.uint64)
        pointers = (each.ctypes.data for each in (ends, counts, begins, lengths))
        chunk = np.array([(first, first, rows, capacity, *pointers)], _PAIR_CHUNK)
        while first < self.n:
            chunk["first"] = first
            self._call("qe_eliminate_pairs", terms.ctypes.data, len(terms), self.n, int(self.wide), chunk.ctypes.data)
            after = int(chunk["next"][0])
            found = lengths[: after - first].astype(np.int64)
            shift = begins[: after - first].astype(np.int64) - (np.cumsum(found) - found)
            places = np.arange(found.sum()) + np.repeat(shift, found)
            starts = np.repeat(np.arange(first, after), found)
            first = after
            yield ((starts, ends[places].astype(np.int64)), counts[places]), first

    def _sums(self) -> dict[int, int]:
        walks = {place: each for place in self.facts.totals if isinstance(each := self.found[place], SummedWalks)}
        known = walk_sums(walks, self._ranked, self.context)
        places = [place for place in self.facts.totals if place not in known]
        if not places:
            return known
        factors: list[Array] = []
        first = [0]
        for place in places:
            found = self.found[place]
            factors += found.arrays if isinstance(found, _Factors) else _given(found)
            first.append(len(factors))
        records = [number for each in factors for number in numbers(each)[:2]]
        starts = (ctypes.c_int32 * len(first))(*first)
        return known | dict(zip(places, _told_apart(product_sums, records, starts, self.n, self.context), strict=True))

    def _greatest(self, vector: Array) -> int:
        if not self.n:
            return 0
        return int(vector.max()) if not self.wide else (int(vector[:, 1].max()) + 1) << 64

    def _integers(self, vector: Array) -> Array:
        high: Array = vector[:, 1].astype(object) << 64 if self.wide else np.zeros(1, object)
        low: Array = (vector[:, 0] if self.wide else vector).astype(object)
        return low + high

    # ------------------------------------------------------------ steps

    def _step(self, step: Step) -> _Found:
        match step:
            case Own():
                return self._own(step)
            case Matrix():
                return self._relation(step)
            case Product(factors=factors):
                return self._product([self.found[place] for place in factors], len(self.found) in self.facts.summed)
            case Message():
                key = None if self.wide else self.facts.vectors.get(len(self.found))
                return self._message(step) if key is None else kept_vector(self.store, key, lambda: self._message(step))
            case Closed():
                return self._closed(step)
            case Around():
                return self._around(step)
            case Pairs():
                return None  # made when all else is

    def _own(self, own: Own) -> Array | None:
        if not own.nodes and not own.loops:
            return None
        if (key := self.facts.vectors.get(len(self.found))) is None:
            return self._widened(own_numbers(self.relations, own))
        return kept_vector(self.store, key, lambda: own_numbers(self.relations, own))

    def _relation(self, step: Matrix) -> SparseMatrix | Lists:
        """Return relationships as a matrix, or as they are stored where only messages go along what nobody keeps."""
        place, relations = len(self.found), self.relations
        seldom = place in self.facts.counted or not relations.is_kept(step.relations[0])
        if place in self.facts.sent and seldom:
            return relations.lists(step.relations[0])
        return relations.kept_matrix(step.relations)

    def _product(self, factors: Sequence[_Found], summed: bool) -> _Found:
        """Return the product: of matrices one with the factors of all, which are multiplied where they are read."""
        matrices = [factor for factor in factors if isinstance(factor, SparseMatrix)]
        if matrices:
            return replace(matrices[0], factors=tuple(chain.from_iterable(each.factors for each in matrices)))
        vectors = [factor for factor in factors if isinstance(factor, np.ndarray)]
        if len(vectors) < 2:
            return vectors[0] if vectors else None
        return _Factors(tuple(vectors)) if summed else self._multiplied(vectors, self.n)

    def _multiplied(self, factors: Sequence[Array], n: int) -> Array:
        out = self._empty(n)
        records = _records(factors)
        where = records.ctypes.data, len(factors), n, int(self.wide), out.ctypes.data
        self._call("qe_eliminate_product", *where, reads=n)
        return out

    def _message(self, step: Message) -> Array:
        matrix, vector = self.found[step.matrix], self._optional(step.vector)
        out = self._empty(self.n)
        if isinstance(matrix, Lists):
            _told_apart(self.relations.message, matrix, vector, self.wide, out)
            return out
        assert isinstance(matrix, SparseMatrix)
        record = np.array([replace(matrix, factors=()).record()], MATRIX)
        factors = _records(matrix.factors)
        self._call(
            "qe_eliminate_message", record.ctypes.data, factors.ctypes.data, len(factors), self.n, _address(vector),
            int(self.wide), out.ctypes.data, reads=self.n + (0 if vector is None else len(matrix.ids)),
        )  # fmt: skip
        return out

    def _closed(self, step: Closed) -> SparseMatrix:
        across = self.found[step.across]
        assert isinstance(across, SparseMatrix)
        vector = self._optional(step.vector)
        if step.across == step.left == step.right and across.pairs and not across.factors:
            out = self._triangles(self.operator.steps[step.across], across, vector)
        else:
            across = replace(across, factors=())
            left, right = self._matrix(step.left), self._matrix(step.right)
            out = self._empty(len(across.ids))
            records = np.array([across.record(), left.record(), right.record()], MATRIX)
            where = [records.ctypes.data + place * MATRIX.itemsize for place in range(3)]
            self._call("qe_eliminate_close", *where, self.n, _address(vector), int(self.wide), out.ctypes.data)
        return replace(across, factors=(out,), pairs=False)

    def _triangles(self, step: Step, matrix: SparseMatrix, vector: Array | None) -> Array:
        """Sum out the third vertices of triangles of one matrix."""
        if vector is None:
            self._charge(4 * len(matrix.ids))
            out: Array = np.empty(len(matrix.ids), np.uint32)
            self._ranked(step, matrix).count_triangles(self.context, out)
            return out
        record = np.array([matrix.record()], MATRIX)
        out = self._empty(len(matrix.ids))
        wide = int(self.wide)
        self._call("qe_eliminate_triangle_sums", record.ctypes.data, vector.ctypes.data, wide, out.ctypes.data)
        return out

    def _ranked(self, step: Step, matrix: SparseMatrix) -> RankedPairs:
        """Return a matrix by descending length of rows; of the graph's own the graph keeps it."""
        if not matrix.kept:
            return RankedPairs(matrix, self.context)
        found: RankedPairs = self.store.derived.get((step, "ranked"), lambda: RankedPairs(matrix, self.context))
        return found

    def _around(self, step: Around) -> Array | SummedWalks:
        """Return what is summed up around each vertex, or what its sum follows from where nothing else is wanted."""
        if len(self.found) in self.facts.summed and (walks := self._summed_walks(step)) is not None:
            return walks
        plan = self._plan(step.arms, step.tops, step.vector)
        out = self._empty(self.n)
        self._call("qe_eliminate_around", plan.address, int(self.wide), out.ctypes.data)
        return out

    def _summed_walks(self, step: Around) -> SummedWalks | None:
        """Return the closed walks that a step's numbers add up to, where they are counted at their first vertices."""
        if (found := walk_sum(step)) is None:
            return None
        matrix, weights = self.found[found.walks.matrix], self._optional(found.weights)
        if not isinstance(matrix, SparseMatrix) or not matrix.pairs or matrix.factors:
            return None
        if len(matrix.ids) > MOST_WALK_ENTRIES and (found.walks.length > 4 or weights is not None):
            return None
        if weights is not None and (self.wide or self._greatest(weights) > MOST_WALK_WEIGHT):
            return None
        return SummedWalks(self.operator.steps[found.walks.matrix], matrix, found.walks.length, weights)

    def _plan(self, steps: Sequence[Arm], tops: Sequence[int], vector: int | None) -> _Plan:
        matrices: dict[int, int] = {}
        vectors: dict[int, int] = {}
        children: list[int] = []
        arms = []
        for arm in steps:
            factor = -1
            if arm.vector is not None and self.found[arm.vector] is not None:
                factor = vectors.setdefault(arm.vector, len(vectors))
            start, link = (
                -1 if place is None else matrices.setdefault(place, len(matrices)) for place in (arm.start, arm.link)
            )
            arms.append((start, factor, link, len(children), len(arm.arms), 0))
            children += arm.arms
        tables = (
            np.array(arms, _ARM),
            np.array([*children, 0], np.int32),
            np.array(tops, np.int32),
            np.array([self._matrix(place).record() for place in matrices], MATRIX),
            np.array([*(_address(self._vector(place)) for place in vectors), 0], np.uint64),
        )
        roots = _address(self._optional(vector))
        record = np.array([(len(arms), len(tops), *(table.ctypes.data for table in tables), roots, self.n, 0)], _AROUND)
        return _Plan(record, tables)

    # ------------------------------------------------------------ numbers

    def _call(self, name: str, *args: Any, reads: int | None = None) -> None:
        function = getattr(self.library, name)
        _told_apart(self.context.run, function, *args, ctypes.byref(self.context.control), reads=reads)

    def _matrix(self, place: int) -> SparseMatrix:
        """Return a matrix with at most one number an entry."""
        found = self.found[place]
        assert isinstance(found, SparseMatrix)
        if len(found.factors) < 2:
            return found
        multiplied = replace(found, factors=(self._multiplied(found.factors, len(found.ids)),))
        self.found[place] = multiplied
        return multiplied

    def _optional(self, place: int | None) -> Array | None:
        found = None if place is None else self.found[place]
        assert not isinstance(found, SparseMatrix | Lists | _Factors | SummedWalks)
        if place is not None and found is not None and (found.itemsize < 8 or found.ndim < 1 + self.wide):
            self._charge(self.n * (16 if self.wide else 8))
            found = self.found[place] = self._widened(found.astype(np.uint64))
        return found

    def _vector(self, place: int) -> Array:
        found = self._optional(place)
        return self._widened(np.ones(self.n, np.uint64)) if found is None else found

    def _widened(self, numbers: Array) -> Array:
        return np.stack((numbers, np.zeros_like(numbers)), axis=1) if self.wide else numbers

    def _empty(self, n: int) -> Array:
        self._charge(n * (16 if self.wide else 8))
        return np.empty((n, 2) if self.wide else n, np.uint64)


def _facts(store: ExecView, operator: Eliminate) -> _Facts:
    steps = operator.steps
    reads = [operands(step) for step in steps]
    matrices: dict[int, SparseMatrix] = {}
    sent = set()
    vectors: dict[int, VectorKey] = {}
    for place, step in enumerate(steps):
        match step:
            case Matrix(relations=(_,) as relations):
                if (matrix := stored(store, relations)) is not None:
                    matrices[place] = matrix
                elif all(isinstance(each, Message) for each, read in zip(steps, reads, strict=True) if place in read):
                    sent.add(place)
            case Message() if (key := counted_degrees(steps, step)) is not None:
                vectors[place] = vector_key(*key)
            case Own(nodes=nodes, loops=loops) if (nodes or loops) and is_labels_alone(step):
                vectors[place] = vector_key(step)
    outputs = {term.output for term in operator.terms}
    totals = {place for term in operator.terms for place in term.totals}
    last_use = _last_uses(operator, reads)
    unused = [
        tuple(each for each in (*read, place) if last_use.get(each, place) <= place) for place, read in enumerate(reads)
    ]
    summed = totals.difference(outputs, *reads)
    ordered = tuple(sorted(totals))
    factors = [_factors(steps, place, vectors) for place in ordered]
    sums = None
    if outputs == {None} and all(each is not None for each in factors):
        sums = kept_sums([each for each in factors if each is not None], ordered, operator.terms)
    along = {place for message, read in enumerate(reads) if message not in vectors for place in read}
    counted = frozenset(sent.difference(along))
    return _Facts(matrices, frozenset(sent), counted, vectors, tuple(unused), frozenset(summed), ordered, sums)


def _factors(steps: Sequence[Step], place: int, vectors: dict[int, VectorKey]) -> tuple[VectorKey, ...] | None:
    """Return the kept vectors whose product a step is, () for ones; None where it takes something else."""
    if place in vectors:
        return (vectors[place],)
    match steps[place]:
        case Own(nodes=(), loops=()):
            return ()
        case Product(factors=factors):
            found = [_factors(steps, each, vectors) for each in factors]
            return None if None in found else tuple(chain.from_iterable(filter(None, found)))
    return None


def _last_uses(operator: Eliminate, reads: Sequence[tuple[int, ...]]) -> dict[int, int]:
    """Return for each step the last one that reads it; what terms and pairs read is read after all.

    ``reads``: the operands of each step.
    """
    found: dict[int, int] = {}
    after = len(operator.steps)
    for place, step in enumerate(operator.steps):
        if not isinstance(step, Pairs):
            found |= dict.fromkeys(reads[place], place)
    for step, read in zip(operator.steps, reads, strict=True):
        if isinstance(step, Pairs):
            found |= dict.fromkeys(read, after)
    for term in operator.terms:
        found |= dict.fromkeys(term.totals if term.output is None else (*term.totals, term.output), after)
    return found


def _told_apart(run: Callable[..., _T], *args: Any, **named: Any) -> _T:
    """Run native functions, and tell overflow from their other errors."""
    try:
        return run(*args, **named)
    except ResourceError as error:
        if error.code == "CountOverflow":
            raise NumberOverflow from error
        raise


def _records(arrays: Sequence[Array]) -> Array:
    return np.array([numbers(array) for array in arrays], NUMBERS)


def _given(found: _Found) -> tuple[Array, ...]:
    assert found is None or isinstance(found, np.ndarray)
    return () if found is None else (found,)


def _address(vector: Array | None) -> int:
    return 0 if vector is None else vector.ctypes.data


@cache
def _library() -> ctypes.CDLL:
    library = _native.load()
    pointer, u64, u32, i32 = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int32
    library.qe_eliminate_message.argtypes = (pointer, pointer, i32, u32, pointer, i32, pointer, pointer)
    library.qe_eliminate_product.argtypes = (pointer, i32, u64, i32, pointer, pointer)
    library.qe_eliminate_close.argtypes = (pointer, pointer, pointer, u32, pointer, i32, pointer, pointer)
    library.qe_eliminate_triangle_sums.argtypes = (pointer, pointer, i32, pointer, pointer)
    library.qe_eliminate_around.argtypes = (pointer, i32, pointer, pointer)
    library.qe_eliminate_pairs.argtypes = (pointer, i32, u32, i32, pointer, pointer)
    return library
