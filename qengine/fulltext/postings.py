"""An inverted index of some texts: by term the texts that have it, and where in them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine._cached import cached_property
from qengine.fulltext.analyzers import Analyzer

_GAP = 100
"""Positions between two texts of one list, so that no phrase reaches from one into the other."""


class Postings:
    """The postings of one property of up to some hundred thousand elements, here called rows.

    Attributes
    ----------
    terms
        StringArray, ascending by bytes.
    offsets
        int32[n terms + 1]: which part of ``rows`` belongs to each term.
    rows
        int32: for each term the rows that have it, ascending.
    starts
        int32[len(rows) + 1]: which part of ``positions`` belongs to each.
    positions
        int32, ascending for each row of a term.
    lengths
        int32[n rows]: how many terms each row has.
    """

    __slots__ = ("__dict__", "lengths", "offsets", "positions", "rows", "starts", "terms")

    def __init__(self, analyzer: Analyzer, texts: Any, owners: Any, count: int, check: Callable[[], None]) -> None:
        """Make the postings of texts; ``owners`` (int32, ascending): the row of each, ``count``: of so many rows."""
        codes, self.terms, words = analyzer.many(texts)
        check()
        rows = np.repeat(owners, words)
        positions = _positions(owners, words)
        known = codes >= 0
        if not known.all():
            codes, rows, positions = codes[known], rows[known], positions[known]
        self.lengths = np.bincount(rows, minlength=count).astype(np.int32)
        order = _order(codes)
        codes, rows, self.positions = codes[order], rows[order], positions[order]
        check()
        first = np.ones(len(codes), np.bool_)
        first[1:] = (codes[1:] != codes[:-1]) | (rows[1:] != rows[:-1])
        begins = np.flatnonzero(first)
        self.starts = np.append(begins, len(codes)).astype(np.int32)
        self.rows = rows[begins]
        self.offsets = np.searchsorted(codes[begins], np.arange(len(self.terms) + 1)).astype(np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.terms, self.offsets, self.rows, self.starts, self.positions, self.lengths)
        return sum(int(each.nbytes) for each in arrays)

    def place(self, term: str) -> int:
        """Return the place of the first term that isn't less than a text."""
        return bisect_left(self.terms, term, key=pa.StringScalar.as_py)

    def find(self, term: str) -> range:
        """Return the place of a term; empty where no row has it."""
        place = self.place(term)
        there = place < len(self.terms) and self.terms[place].as_py() == term
        return range(place, place + there)

    def between(self, begin: str, end: str | None) -> range:
        """Return the places of the terms from one up to, but without, another; None: up to the last."""
        return range(self.place(begin), len(self.terms) if end is None else self.place(end))

    def beginning(self, prefix: str) -> range:
        """Return the places of the terms that begin with a text."""
        low = self.place(prefix)
        terms = self.terms
        high = bisect_left(range(low, len(terms)), True, key=lambda place: not terms[place].as_py().startswith(prefix))
        return range(low, low + high)

    def of(self, place: int) -> tuple[Any, Any]:
        """Return the rows that have a term (int32, ascending), and how often each has it (int32)."""
        begin, end = int(self.offsets[place]), int(self.offsets[place + 1])
        return self.rows[begin:end], np.diff(self.starts[begin : end + 1])

    def occurrences(self, place: int) -> Any:
        """Return where a term occurs: ``row << 32 | position`` (int64, ascending)."""
        begin, end = int(self.offsets[place]), int(self.offsets[place + 1])
        low, high = int(self.starts[begin]), int(self.starts[end])
        times = np.diff(self.starts[begin : end + 1])
        return (np.repeat(self.rows[begin:end].astype(np.int64), times) << 32) | self.positions[low:high]

    @cached_property
    def letters(self) -> Any:
        """For each term a word whose bits tell which letters it has (uint64): the bit of the code point modulo 64."""
        characters, bounds = self.spelt
        found = np.zeros(len(self.terms), np.uint64)
        if len(characters):
            bits = np.uint64(1) << (characters & 63).astype(np.uint64)
            found[:] = np.bitwise_or.reduceat(bits, bounds[:-1])  # no term is empty
        return found

    @cached_property
    def spelt(self) -> tuple[Any, Any]:
        """The characters of all terms (uint32), and where each begins, with the end of the last (int64)."""
        joined = "".join(self.terms.to_pylist())
        lengths = np.asarray(pc.utf8_length(self.terms)).astype(np.int64)
        return np.frombuffer(joined.encode("utf-32-le"), np.uint32), np.concatenate(([0], np.cumsum(lengths)))


def _positions(owners: Any, words: Any) -> Any:
    """Return the position of each word in its row (int32), with a gap between two texts of a row."""
    ends = np.cumsum(words)
    places = np.arange(int(ends[-1]) if len(ends) else 0)
    if not len(owners):
        return places.astype(np.int32)
    begins = ends - words
    first = np.ones(len(owners), np.bool_)
    first[1:] = owners[1:] != owners[:-1]
    of_row = np.flatnonzero(first)[np.cumsum(first) - 1]  # the first text of each text's row
    shift = begins[of_row] - _GAP * (np.arange(len(owners)) - of_row)
    return (places - np.repeat(shift, words)).astype(np.int32)


def _order(codes: Any) -> Any:
    """Return what sorts codes (int32, none negative), equal ones as they stand: by their halves, which is faster."""
    order = np.argsort((codes & 0xFFFF).astype(np.uint16), kind="stable")
    if len(codes) and int(codes.max()) > 0xFFFF:
        order = order[np.argsort((codes[order] >> 16).astype(np.uint16), kind="stable")]
    return order
