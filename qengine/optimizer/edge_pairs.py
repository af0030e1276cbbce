"""A set of pairs of relationships that is kept as bit masks: dense patterns compare very many of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import reduce
from itertools import compress
from operator import itemgetter, or_

from qengine.optimizer.order_problem import each_of

_BITS = bytes.maketrans(b"01", b"\0\1")


class EdgePairs(Set[frozenset[str]]):
    """Unordered pairs of different relationships, by name.

    Parameters
    ----------
    names
        Of relationships, all different.
    beside
        For each of them the set of those that it makes a pair with, as a bit mask of places in ``names``; symmetric.
    """

    __slots__ = ("_beside", "_names", "_place")

    def __init__(self, names: Sequence[str] = (), beside: Sequence[int] = ()) -> None:
        self._names = list(names)
        self._beside = list(beside)
        self._place = {name: place for place, name in enumerate(self._names)}

    def add(self, pair: Iterable[str]) -> None:
        """Add a pair; its relationships may be new."""
        one, other = (self._placed(name) for name in pair)
        self._beside[one] |= 1 << other
        self._beside[other] |= 1 << one

    def content(self) -> object:
        """Return what two are the same by; they may be the same by others, too."""
        return tuple(self._names), tuple(self._beside)

    def members(self) -> set[str]:
        """Return the relationships that make a pair with some other."""
        return {name for name, others in zip(self._names, self._beside, strict=True) if others}

    def partners(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each relationship that makes a pair, with those that it makes one with, sorted by name."""
        order = sorted(range(len(self._names)), key=self._names.__getitem__)
        names = [self._names[place] for place in order]
        for name, bits in self._rows():
            yield name, list(compress(names, itemgetter(*order)(bits)))

    def gathered(self, masks: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Yield each relationship that makes a pair, with the union of the masks of those that it makes one with.

        ``masks``: one for each relationship, in the order of ``names``.
        """
        for name, bits in self._rows():
            yield name, reduce(or_, compress(masks, bits))

    @property
    def names(self) -> Sequence[str]:
        """The relationships of which pairs are made, and perhaps others."""
        return self._names

    def __contains__(self, pair: object) -> bool:
        if not isinstance(pair, Set) or len(pair) != 2:
            return False
        one, other = (self._place.get(name) for name in pair)
        return one is not None and other is not None and self._beside[one] >> other & 1 == 1

    def __iter__(self) -> Iterator[frozenset[str]]:
        for place, others in enumerate(self._beside):
            for other in each_of(others & -1 << place + 1):
                yield frozenset((self._names[place], self._names[other]))

    def __len__(self) -> int:
        return sum(others.bit_count() for others in self._beside) // 2

    def _placed(self, name: str) -> int:
        place = self._place.setdefault(name, len(self._names))
        if place == len(self._names):
            self._names.append(name)
            self._beside.append(0)
        return place

    def _rows(self) -> Iterator[tuple[str, bytes]]:
        """Yield each relationship that makes a pair, with a byte for each relationship: 1 for those of its pairs."""
        count = len(self._names)
        for name, others in zip(self._names, self._beside, strict=True):
            if others:
                yield name, f"{others:0{count}b}"[::-1].encode().translate(_BITS)
