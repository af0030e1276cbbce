"""The matching order: which vertex is bound next. Chosen by ``kernels/host/order_choice.cpp``.

The native library gets a ``Problem`` as the plain data of ``kernels/include/qe/order_problem.h``, mirrored here.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from functools import cache
from itertools import chain

from qengine import _native
from qengine._frozen import frozen
from qengine.errors import OutOfMemory, Unsupported
from qengine.optimizer.cost import Link, Problem, Ties, mask_of

MOST_VERTICES = 64  # of one pattern
_CHEAP = 3e5  # nanoseconds: looking for a better order would take longer than this one


@frozen
class Ordered:
    """Vertices in the order of binding, and the cost of it in nanoseconds."""

    vertices: tuple[int, ...]
    cost: float


def best_order(problem: Problem) -> Ordered:
    """Return the cheapest order of the vertices that aren't bound: exact up to ten of them."""
    given = _Given(problem)
    order, cost = (ctypes.c_int32 * MOST_VERTICES)(), ctypes.c_double()
    _check(_library().qe_order_best(given.struct, given.constants, _CHEAP, order, ctypes.byref(cost)))
    return Ordered(tuple(order[: len(problem.candidates) - problem.bound.bit_count()]), cost.value)


def order_cost(problem: Problem, order: Sequence[int]) -> float:
    """Return the cost of a given order of the vertices that aren't bound."""
    given, cost = _Given(problem), ctypes.c_double()
    numbers = (ctypes.c_int32 * len(order))(*order)
    _check(_library().qe_order_cost(given.struct, given.constants, numbers, len(order), ctypes.byref(cost)))
    return cost.value


def expected_rows(problem: Problem, parts: Sequence[int]) -> list[float]:
    """Return for each set of vertices how many embeddings the sub-pattern over it is expected to have."""
    given, rows = _Given(problem), (ctypes.c_double * len(parts))()
    sets = (ctypes.c_uint64 * len(parts))(*parts)
    _check(_library().qe_order_rows(given.struct, given.constants, sets, len(parts), rows))
    return list(rows)


class _Constants(ctypes.Structure):
    """Mirror of ``qe::OrderConstants``."""

    _fields_ = tuple(
        (name, ctypes.c_double)
        for name in (
            *("locate", "at_hand", "set_up", "read", "bind", "check", "counter", "look_up", "row", "remembered"),
        )
    )


class _Struct(ctypes.Structure):
    """Mirror of ``qe::OrderProblem``."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("candidates", "labelled", "kinds", "ends", "links")),
        *((name, ctypes.c_void_p) for name in ("different", "less", "entangled")),
        *((name, ctypes.c_uint64) for name in ("filtered", "bound", "wanted")),
        *((name, ctypes.c_int32) for name in ("count", "n_links", "n_different", "n_less", "n_entangled", "counted")),
    )


_CONSTANTS = _Constants(20.0, 4.0, 25.0, 0.5, 8.0, 8.0, 1.2, 8.0, 25.0, float(1 << 17))


class _Given:
    """A problem as the library wants it. ``struct`` points into arrays that live as long as this."""

    def __init__(self, problem: Problem) -> None:
        count = len(problem.candidates)
        if count > MOST_VERTICES:
            raise Unsupported(
                f"A pattern of {count} nodes can't be planned: {MOST_VERTICES} are the most.",
                hint="Split the pattern into several MATCH clauses with WITH between them.",
            )
        kinds: dict[object, int] = {}
        numbered = [kinds.setdefault(kind, len(kinds)) for kind in problem.kinds] or range(count)
        self._arrays = (
            array("d", problem.candidates),
            array("d", problem.labelled),
            array("i", numbered),
            array("i", [end for link in problem.links for end in (link.one, link.other)]),
            array("d", chain.from_iterable(map(_numbers, problem.links))),
            array("i", chain.from_iterable(problem.different)),
            array("i", chain.from_iterable(problem.less)),
            array("Q", map(mask_of, problem.entangled)),
        )
        self.constants = _CONSTANTS
        self.struct = _Struct(
            *(each.buffer_info()[0] for each in self._arrays),
            mask_of(problem.filtered),
            problem.bound,
            problem.wanted,
            count,
            len(problem.links),
            len(problem.different),
            len(problem.less),
            len(problem.entangled),
            problem.counted,
        )


def _numbers(link: Link) -> tuple[float, ...]:
    return link.probability, *_degrees(link.there), *_degrees(link.back)


def _degrees(ties: Ties) -> tuple[float, ...]:
    return ties.fan_out, ties.most, ties.skew, ties.tail, ties.lesser, ties.mixed, ties.greater


def _check(status: int) -> None:
    if status:
        raise OutOfMemory("There is no memory left to plan the pattern.", hint="Close what else is open.")


@cache
def _library() -> ctypes.CDLL:
    library = _native.load()
    pointer, i32, i64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
    problem, constants = ctypes.POINTER(_Struct), ctypes.POINTER(_Constants)
    library.qe_order_best.argtypes = (problem, constants, ctypes.c_double, pointer, pointer)
    library.qe_order_cost.argtypes = (problem, constants, pointer, i32, pointer)
    library.qe_order_rows.argtypes = (problem, constants, pointer, i64, pointer)
    return library
