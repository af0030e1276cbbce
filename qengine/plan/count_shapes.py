"""The shapes of counts that a GPU has kernels for (``kernels/cuda/count/count_*.cu``), as plain data.

A shape speaks of views: which part of a vertex's list counts, for every vertex. In a plan a view names a type and
labels (``View``); on a graph it is a list and a range of ids (``exec.gpu.count_kernels.ViewSpec``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from qengine._frozen import frozen
from qengine.plan.pattern import Direction, LabelExpr

V = TypeVar("V")
W = TypeVar("W")


@frozen
class View:
    """The neighbours of a vertex over a type, those with the labels, and less (greater) than the vertex itself.

    ``type``: "" where there is but one. ``direction``: ``BOTH`` of an undirected type.
    """

    type: str
    direction: Direction
    labels: LabelExpr | None = None
    below: bool = False
    above: bool = False


@frozen
class EdgeShape(Generic[V]):
    """For each root u and member v of its outer view: what u's marked and v's streamed view share, t members.

    Counted is C(t, ``taken``) where ``ordered``, else t (t-1) … of ``taken`` factors. ``twice``: only one of two
    directions is looked at, and all counts twice.
    """

    outer: V
    marked: V
    streamed: V
    taken: int = 1
    ordered: bool = True
    twice: bool = False


@frozen
class CliqueShape(Generic[V]):
    """Chains of ``depth`` members of the root's outer view, each in the streamed views of all before it."""

    outer: V
    streamed: V
    depth: int


@frozen
class WedgeShape(Generic[V]):
    """Pairs of members of the root's outer view with a common member of their inner views.

    ``pairs``: 0 each pair once, 1 both ways, 2 also a member with itself. ``bound``: the common member is greater than
    the root (1), less (-1), or neither. ``apart``: it is not the root.
    """

    outer: V
    inner: V
    pairs: int = 0
    bound: int = 0
    apart: bool = False


@frozen
class HouseShape(Generic[V]):
    """For each root a and member b of ``whole``: paths a, d, c, b and a vertex e linked to a and b, all five different.

    ``once``: a and b in one order only. ``whole``: a symmetric list without loops.
    """

    whole: V
    once: bool


CountShape = EdgeShape[V] | CliqueShape[V] | WedgeShape[V] | HouseShape[V]


@frozen
class Component(Generic[V]):
    """One factor of a count: a shape, and the level whose vertices are its roots."""

    shape: CountShape[V]
    root: int


_KERNELS: dict[type, str] = {
    EdgeShape: "count_edges",
    CliqueShape: "count_cliques",
    WedgeShape: "count_wedges",
    HouseShape: "count_houses",
}


def kernels_of(shapes: Iterable[Component[V]]) -> list[str]:
    """Return the names of the kernels that count shapes."""
    return [_KERNELS[type(each.shape)] for each in shapes]


def with_views(shape: CountShape[V], change: Callable[[V], W]) -> CountShape[W]:
    """Return a shape with other views."""
    if isinstance(shape, HouseShape):
        return HouseShape(change(shape.whole), shape.once)
    if isinstance(shape, WedgeShape):
        return WedgeShape(change(shape.outer), change(shape.inner), shape.pairs, shape.bound, shape.apart)
    if isinstance(shape, CliqueShape):
        return CliqueShape(change(shape.outer), change(shape.streamed), shape.depth)
    return EdgeShape(
        change(shape.outer),
        change(shape.marked),
        change(shape.streamed),
        shape.taken,
        shape.ordered,
        shape.twice,
    )
