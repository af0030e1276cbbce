"""Vertex signatures: 512 bits that say which kinds of neighbours a vertex has (``kernels/include/qe/signature.h``)."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from qengine import _native
from qengine._cached import cached_property
from qengine._frozen import frozen
from qengine.plan.pattern import Direction
from qengine.storage import kernels
from qengine.storage.adjacency import Adjacency, PcsrStruct
from qengine.storage.arrays import Array

SIGNATURE_WORDS = 16
ANY_LABEL = 0xFFFFFFFF
_WAYS = {Direction.OUT: 0, Direction.IN: 1, Direction.BOTH: 2}


SignatureInput = _native.struct(
    "qe::SignatureInput",
    "u4 n_vertices n_groups; p group_ends label_begins labels lists list_numbers; u4 n_lists unused",
)


@frozen
class PatternSignature:
    """What a vertex of a pattern demands of its matches: uint32[16], no bit where nothing is known."""

    words: Array = field(default_factory=lambda: np.zeros(SIGNATURE_WORDS, np.uint32))

    def add_label(self, number: int) -> None:
        """Demand a label."""
        self.words[0] |= np.uint32(1 << number % 32)

    def add_neighbours(self, type_index: int, direction: Direction, label: int, several: bool) -> None:
        """Demand one neighbour (or ``several`` different ones) with a label, or ``ANY_LABEL``."""
        group = kernels.signature_group(_number(type_index, direction), label)
        word, shift = 1 + group // 16, group % 16 * 2
        present = int(self.words[word]) >> shift & 1
        self.words[word] |= np.uint32((3 if several or present else 1) << shift)


class Signatures:
    """The signatures of all vertices of a graph.

    What they are made from: ``n_vertices``; ``arrays``, in the order of ``SignatureInput``: ends of groups, begins of
    their labels, labels, numbers of lists; ``lists``: the adjacencies.

    Parameters
    ----------
    group_ends
        uint32: one more than the last id of each group of vertices with the same labels.
    group_labels
        For each group the numbers of its labels.
    adjacencies
        For each type its stored adjacencies. An undirected type counts in BOTH, others in OUT and IN.

    Source: GSI §III-A.
    """

    def __init__(
        self,
        group_ends: Array,
        group_labels: Sequence[Sequence[int]],
        adjacencies: Sequence[Mapping[Direction, Adjacency]],
    ) -> None:
        ends = np.ascontiguousarray(group_ends, np.uint32)
        begins = np.cumsum([0, *map(len, group_labels)]).astype(np.uint32)
        labels = np.array([label for group in group_labels for label in group], np.uint32)
        chosen = [
            (index, way)
            for index, stored in enumerate(adjacencies)
            for way in ((Direction.BOTH,) if Direction.BOTH in stored else (Direction.OUT, Direction.IN))
        ]
        self.lists = tuple(adjacencies[index][way] for index, way in chosen)
        numbers = np.array([_number(index, way) for index, way in chosen], np.uint32)
        self.arrays = ends, begins, labels, numbers
        self.n_vertices = int(ends[-1]) if len(ends) else 0

    @cached_property
    def table(self) -> Array:
        """uint32[16, vertices], column-first; made when first asked for."""
        table = np.empty((SIGNATURE_WORDS, self.n_vertices), np.uint32)
        structs = _native.array_of(PcsrStruct, len(self.lists))(*(each.as_struct() for each in self.lists))
        ends, begins, labels, numbers = (each.ctypes.data for each in self.arrays)
        kernels.build_signatures(self.input(ends, begins, labels, ctypes.addressof(structs), numbers), table)
        return table

    @property
    def has_table(self) -> bool:
        """Whether the table was made already."""
        return "table" in self.__dict__

    def input(self, ends: int, begins: int, labels: int, lists: int, numbers: int) -> ctypes.Structure:
        """Return what the kernels take, for arrays and ``qe::Pcsr`` records at these addresses."""
        n_groups = len(self.arrays[0])
        return SignatureInput(self.n_vertices, n_groups, ends, begins, labels, lists, numbers, len(self.lists))

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""
        return 4 * SIGNATURE_WORDS * self.n_vertices


def _number(type_index: int, direction: Direction) -> int:
    """Return the number that stands for an adjacency."""
    return 3 * type_index + _WAYS[direction]
