"""The shapes of counts that have kernels of their own, as plain data.

A shape speaks of views: which part of a vertex's list counts, for every vertex. It says nothing of names or labels:
ranges and order constraints are in the views.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CliqueShape", "CountShape", "EdgeShape", "HouseShape", "StarFactor", "StarShape", "ViewSpec", "WedgeShape"]


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """The members in ``[lo, hi)`` of a vertex's list, less (greater) than the vertex itself if ``below`` (``above``).

    ``list``: index into ``MatchPlan::lists``.
    """

    list: int
    lo: int
    hi: int
    below: bool = False
    above: bool = False


@dataclass(frozen=True, slots=True)
class EdgeShape:
    """For each root u and member v of its outer view: what u's marked and v's streamed view share, t members.

    Counted is C(t, ``taken``) where ``ordered``, else t (t-1) … of ``taken`` factors, times the size of the root's
    outer (marked) view less ``taken_outer`` (``taken_marked``) where that is not None. ``twice``: only one of two
    directions is looked at, and all counts twice.
    """

    outer: ViewSpec
    marked: ViewSpec
    streamed: ViewSpec
    taken: int = 1
    ordered: bool = True
    taken_outer: int | None = None
    taken_marked: int | None = None
    twice: bool = False


@dataclass(frozen=True, slots=True)
class CliqueShape:
    """Chains of ``depth`` members of the root's outer view, each in the streamed views of all before it."""

    outer: ViewSpec
    streamed: ViewSpec
    depth: int


@dataclass(frozen=True, slots=True)
class WedgeShape:
    """Pairs of members of the root's outer view with a common member of their inner views.

    ``pairs``: 0 each pair once, 1 both ways, 2 also a member with itself. ``bound``: the common member is greater than
    the root (1), less (-1), or neither. ``apart``: it is not the root.
    """

    outer: ViewSpec
    inner: ViewSpec
    pairs: int = 0
    bound: int = 0
    apart: bool = False


@dataclass(frozen=True, slots=True)
class StarFactor:
    """C(n, ``taken``) where ``ordered``, else n (n-1) … of ``taken`` factors.

    n is the size of the root's view less ``less``.
    """

    view: ViewSpec
    less: int
    taken: int
    ordered: bool


@dataclass(frozen=True, slots=True)
class StarShape:
    """For each root the product of the factors."""

    factors: tuple[StarFactor, ...]


@dataclass(frozen=True, slots=True)
class HouseShape:
    """For each root a and member b of ``whole``: paths a, d, c, b and a vertex e linked to a and b, all five different.

    ``once``: a and b in one order only. ``whole``: a symmetric list without loops.
    """

    whole: ViewSpec
    once: bool


CountShape = EdgeShape | CliqueShape | WedgeShape | StarShape | HouseShape
