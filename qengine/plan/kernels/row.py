"""What a row of the kernel table is, and what of a program and a graph it may go by."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Protocol

from qengine._frozen import frozen
from qengine.plan.elimination import MaskedForest, Pairs, Relation, RootedForest, Step

BOTH_WIDTHS = (64, 128)
"""Bits of the numbers that a kernel takes and gives."""


class Facts(Protocol):
    """What rows may ask of a program's steps: what is settled before it is run, and about how large things are.

    Steps are named by their places. Where an answer may be None, only running tells.
    """

    @property
    def steps(self) -> Sequence[Step]:
        """The program."""

    @property
    def take(self) -> Mapping[str, float]:
        """The constants of the device, in nanoseconds: the section ``elimination`` of its file in ``catalog/cost``."""

    @property
    def vertices(self) -> float:
        """How many numbers a vector has: one for each vertex, or for each arc of some relation."""

    @property
    def has_arcs(self) -> bool:
        """Whether vectors have numbers for arcs, too, so that what the graph keeps by vertices isn't taken."""

    def form(self, place: int) -> str:
        """Return how the lists of a matrix are stored: "whole", as an "overlay" above a base, or in "segments"."""

    def readers(self, place: int) -> Collection[int]:
        """Return the steps that read a step."""

    def is_output(self, place: int) -> bool:
        """Tell whether the numbers of a step are asked for, not only their sum."""

    def only_summed(self, place: int) -> bool:
        """Tell whether nothing but the sum of a step's numbers is asked for."""

    def needed(self, given: Mapping[int, Sequence[int]]) -> Collection[int]:
        """Return the steps that are run where some totals are found by reading others than their own steps.

        Parameters
        ----------
        given
            The places of those totals, and for each the steps that finding it reads.
        """

    def is_stored(self, place: int) -> bool:
        """Tell whether a matrix is one of the graph's own, with a row for each vertex."""

    def links_once(self, place: int) -> bool | None:
        """Tell whether a matrix links each pair at most once, and has no numbers but 1."""

    def is_simple(self, place: int) -> bool | None:
        """Tell whether a matrix is that of a simple graph: symmetric, without loops, each pair linked at most once."""

    def is_plain(self, place: int) -> bool | None:
        """Tell whether a matrix links each pair at most once, no vertex with itself, and has no numbers but 1."""

    def symmetric(self, place: int) -> bool:
        """Tell whether a matrix is the same from both ends."""

    def most_entries(self, place: int) -> float:
        """Return how many pairs a matrix of relationships links at the most."""

    # ------------------------------------------------------------ estimates

    def size(self, place: int) -> float:
        """Return how many elements a vector, or a matrix's rows, have numbers of."""

    def entries(self, place: int) -> float:
        """Return about how many pairs a matrix links."""

    def meetings(self, one: int, other: int) -> float:
        """Return about how many pairs of entries meet: (a, b) of one matrix, (b, c) of the other."""

    def share(self, place: int) -> float:
        """Return about which share of a vector's numbers aren't 0, as far as labels say."""

    def relation_entries(self, relation: Relation) -> float:
        """Return how many pairs a relation links, each as often as it does."""

    def has_rows(self, relation: Relation) -> bool:
        """Tell whether all lists of a relation stand in order of the vertices."""

    def lists_with_lengths(self, place: int) -> int | None:
        """Return of how many lists the lengths tell each sum of a matrix's rows; None where lists must be read."""

    def first_rank(self, place: int) -> float:
        """Return the average rank of the first end of a pair of a matrix, where vertices go by degree."""

    def forest(self, forest: RootedForest | MaskedForest | Pairs) -> tuple[float, float, float]:
        """Return how many numbers the nodes of a forest add to sparse vectors, over all roots, and how many are read.

        The third is how many the last node's vectors hold.
        """

    def look_up(self) -> float:
        """Return the nanoseconds that finding a vertex's list takes where it isn't at a known place."""


@frozen
class Group:
    """What one run of a kernel covers (``plan.schedule.KernelCall``)."""

    places: tuple[int, ...]
    reads: tuple[int, ...] = ()
    results: tuple[int, ...] = ()


def always(facts: Facts, place: int) -> bool:
    """Match each step of the form."""
    return True


def never(facts: Facts, group: Group) -> str:
    """Name no condition: the kernel always takes what it matches."""
    return ""


@frozen
class Kernel:
    """One way of computing a step, or of several at once, on one device.

    name
        As hints and plans name it. Its function is under this name in ``exec/host/kernels.py`` or
        ``exec/gpu/kernels.py``.
    device
        "cpu" or "gpu".
    step
        The form of the steps that it gives.
    formula
        What it computes, for readers; A, B, C matrices, x, y vectors.
    cost
        The nanoseconds that a run of it is expected to take.
    matches
        Which steps of the form it takes, each by itself, or may be in its groups.
    groups
        Where it isn't None, what it covers: given the program, which steps one run gives.
    total
        What it gives of a step is the sum of its numbers.
    unless
        What of a group only running tells, and it then can't take; "" where it always can.
    bits
        The widths of the numbers that it takes and gives.
    otherwise
        The row that takes the step whatever comes; "" where that is this one.
    forms
        How the lists may be stored that it reads, as ``Facts.form`` names it.
    far
        How it reads lists that lie in another memory, over a link: "in order", in "segments" that are copied, or the
        first "hubs", whose lists are where it runs. "": at random, which takes so long that its price is infinite.
    """

    name: str
    device: str
    step: type
    formula: str
    cost: Callable[[Facts, Group], float]
    matches: Callable[[Facts, int], bool] = always
    groups: Callable[[Facts, Collection[int]], Iterator[Group]] | None = None
    total: bool = False
    unless: Callable[[Facts, Group], str] = never
    bits: tuple[int, ...] = BOTH_WIDTHS
    otherwise: str = ""
    forms: tuple[str, ...] = ("whole",)
    far: str = ""
