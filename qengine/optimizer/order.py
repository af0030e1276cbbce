"""The matching order: which vertex is bound next. Chosen by ``kernels/host/order/order_choice.cpp``.

The native library gets a ``Problem`` as the plain data of ``kernels/include/qe/order_problem.h``, mirrored here.
"""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from math import inf
from operator import attrgetter
from typing import Any

from qengine import _native
from qengine._cached import cached_property
from qengine._frozen import frozen, replace
from qengine.catalog.costs import costs
from qengine.errors import OutOfMemory, Unsupported
from qengine.optimizer.order_problem import Problem, mask_of, members

EXACT = 12  # vertices to order up to which every connected order is considered
MOST_VERTICES = 1024  # of one pattern
_SMALL = 64  # vertices up to which a set of them is one word
_REMEMBERED = {"cpu": float(1 << 17), "gpu": inf}  # counts that a table of the search holds; rows are brought together
_RECALLED = {"cpu": float(1 << 16), "gpu": 0.0}  # the same by three vertices
_CHEAP = 2e4  # nanoseconds: looking for a better order would take longer than this one


@frozen
class Ordered:
    """Vertices in the order of binding, and the cost of it in nanoseconds."""

    vertices: tuple[int, ...]
    cost: float


class CostModel:
    """Sizes and costs over the sub-patterns of one problem; remembers what it has worked out.

    Up to ``EXACT`` free vertices the best order is found, up to 64 a good one by looking ahead, beyond that one by
    simple rules. ``device``: "cpu" or "gpu"; costs are nanoseconds of one core, or of the whole GPU. ``all``: the set
    of all vertices.

    Raises
    ------
    Unsupported
        For more vertices than a set holds.
    """

    def __init__(self, problem: Problem, given: _Given | None = None, device: str = "cpu") -> None:
        self.problem = problem
        self.device = device
        self.count = len(problem.candidates)
        if self.count > MOST_VERTICES:
            raise Unsupported(
                f"A pattern of {self.count:,} nodes can't be planned: {MOST_VERTICES:,} are the most.",
                hint="Split the pattern into several MATCH clauses with WITH between them.",
            )
        self.all = (1 << self.count) - 1
        self._given = _Given(problem) if given is None else given
        self._library = _library()
        self._constants = _constants(device)
        self._rows_of_all: float | None = None

    def __del__(self) -> None:
        if handle := self.__dict__.get("_handle"):
            self._library.qe_order_close(handle)

    @cached_property
    def _handle(self) -> ctypes.c_void_p:
        """The library's model, for what is asked several times."""
        handle, byref = ctypes.c_void_p(), ctypes.byref
        _check(self._library.qe_order_open(byref(self._given.struct), byref(self._constants), byref(handle)))
        return handle

    @cached_property
    def adjacent(self) -> list[int]:
        """For each vertex the set of those that it shares an edge with."""
        found = [0] * self.count
        for link in self.problem.links:
            found[link.one] |= 1 << link.other
            found[link.other] |= 1 << link.one
        return found

    def constrained(self, less: Sequence[tuple[int, int]]) -> CostModel:
        """Return the model of the same problem with other pairs (a, b) of which id(a) < id(b)."""
        return CostModel(replace(self.problem, less=less), self._given.with_less(less), self.device)

    def on(self, device: str) -> CostModel:
        """Return the model of the same problem on another device."""
        return CostModel(self.problem, self._given, device)

    def near(self, part: int) -> int:
        """Return the vertices that share an edge with some vertex of a set."""
        found = 0
        for vertex in members(part):
            found |= self.adjacent[vertex]
        return found

    def rows(self, part: int) -> float:
        """Return the expected number of embeddings of the sub-pattern over a set of vertices."""
        if part == self.all and self._rows_of_all is not None:
            return self._rows_of_all
        rows, words = ctypes.c_double(), _words([part], self.count)
        _check(self._library.qe_order_rows(self._handle, words.buffer_info()[0], ctypes.byref(rows)))
        return rows.value

    def best_order(self) -> Ordered:
        """Return the cheapest order of the vertices that aren't bound: exact up to ``EXACT`` of them."""
        free = self.count - self.problem.bound.bit_count()
        order, cost, rows = _native.array_of(ctypes.c_int32, free)(), ctypes.c_double(), ctypes.c_double()
        given, constants, every = self._given.struct, self._constants, _words([self.all], self.count)
        byref = ctypes.byref
        _check(
            self._library.qe_order_solve(
                byref(given), byref(constants), _CHEAP, every.buffer_info()[0], order, byref(cost), byref(rows)
            )
        )
        self._rows_of_all = rows.value
        return Ordered(tuple(order), cost.value)

    def cost(self, order: Sequence[int]) -> float:
        """Return the cost of a given order of the vertices that aren't bound."""
        numbers, cost = _native.array_of(ctypes.c_int32, len(order))(*order), ctypes.c_double()
        given, constants, byref = self._given.struct, self._constants, ctypes.byref
        _check(self._library.qe_order_price(byref(given), byref(constants), numbers, len(order), byref(cost)))
        return cost.value


_Constants = _native.struct(
    "qe::OrderConstants",
    "f8 locate at_hand set_up read bind check test counter look_up row remembered recalled; "
    "i4 tabled wedges overlaps unused",
)
_Struct = _native.struct(
    "qe::OrderProblem",
    "p candidates labelled kinds ends links sorts meetings together different less entangled triangles closures "
    "known factors filtered walked bound wanted; "
    "i4 count n_links n_meetings n_different n_less n_triangles n_known counted words",
)


class _Given:
    """A problem as the library wants it. ``struct`` points into arrays that live as long as this."""

    def __init__(self, problem: Problem) -> None:
        count, links, triangles = len(problem.candidates), problem.links, problem.triangles
        known = (*problem.known, *problem.pairs)
        kinds: dict[object, int] = {}
        doubles: list[float] = [*problem.candidates, *problem.labelled]
        for link in links:
            doubles += (link.probability, *_degrees(link.there), *_degrees(link.back))
        together = len(doubles)
        doubles += problem.together
        closures = len(doubles)
        for _, odds in triangles:
            doubles += odds
        factors = len(doubles)
        doubles += [factor for _, factor in known]
        integers = [kinds.setdefault(kind, len(kinds)) for kind in problem.kinds] or [*range(count)]
        for link in links:
            integers += (link.one, link.other)
        parts = (problem.sorts or [(0, 0)] * len(links), problem.meetings, problem.different, problem.less)
        places = [len(integers)]
        for part in parts:
            for each in part:
                integers += each
            places.append(len(integers))
        for corners, _ in triangles:
            integers += corners
        sets = [*(problem.entangled or [0] * count), *(part for part, _ in known)]
        sets += (mask_of(problem.filtered), mask_of(problem.walked), problem.bound, problem.wanted)
        self._arrays: tuple[array[Any], ...] = array("d", doubles), array("i", integers), _words(sets, count)
        (d, _), (i, _), (q, _) = (each.buffer_info() for each in self._arrays)
        width, wide = _width(count), 8 * _width(count)
        sorts, meetings, different, less, corners_at = (i + 4 * place for place in places)
        last = q + wide * len(sets)
        self.struct = _Struct(
            *(d, d + 8 * count, i, i + 4 * count, d + 16 * count, sorts, meetings, d + 8 * together),
            *(different, less, q, corners_at, d + 8 * closures, q + wide * count, d + 8 * factors),
            *(last - place * wide for place in (4, 3, 2, 1)),
            count,
            len(links),
            len(problem.meetings),
            len(problem.different),
            len(problem.less),
            len(triangles),
            len(known),
            problem.counted,
            width,
        )

    def with_less(self, less: Sequence[tuple[int, int]]) -> _Given:
        """Return the same with other pairs of ``less``; the other arrays are shared."""
        found = _Given.__new__(_Given)
        pairs = array("i", chain.from_iterable(less))
        found._arrays = (*self._arrays, pairs)
        found.struct = _Struct.from_buffer_copy(self.struct)
        found.struct.less, found.struct.n_less = pairs.buffer_info()[0], len(less)
        return found


def _constants(device: str) -> ctypes.Structure:
    """Return what the kernels take on a device; made anew where that has changed."""
    host = device == "cpu"
    found = costs(device, "search" if host else "depth_first")
    last = _last.get(device)
    if last is None or last[0] is not found:
        last = _last[device] = found, _made_constants(device, found)
    return last[1]


_last: dict[str, tuple[Mapping[str, float], ctypes.Structure]] = {}


def _made_constants(device: str, found: Mapping[str, float]) -> ctypes.Structure:
    host = device == "cpu"
    kept = {"remembered": _REMEMBERED[device], "recalled": _RECALLED[device]}
    return _Constants(**found, **kept, tabled=host, wedges=host, overlaps=host)


_degrees = attrgetter("fan_out", "most", "skew", "tail", "lesser", "mixed", "greater")


def _width(count: int) -> int:
    """Return how many words the library takes for a set of ``count`` vertices."""
    return 1 if count <= _SMALL else MOST_VERTICES // 64


def _words(masks: Sequence[int], count: int) -> array[int]:
    """Return sets of ``count`` vertices as words, the least vertices in the first of each set."""
    width = _width(count)
    if width == 1:
        return array("Q", masks)
    words = array("Q", b"".join(mask.to_bytes(8 * width, "little") for mask in masks))
    if sys.byteorder == "big":
        words.byteswap()
    return words


def _check(status: int) -> None:
    if status:
        raise OutOfMemory("There is no memory left to plan the pattern.", hint="Close what else is open.")


_library = _native.declared(
    "qe_order_open p p p; qe_order_close p -> none; qe_order_solve p p f8 p p p p; qe_order_price p p p i4 p; "
    "qe_order_rows p p p"
)
