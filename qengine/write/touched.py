"""Which touched elements have a value of a property, for the keys that were asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from qengine.storage.states import NodeState, RelationshipState
from qengine.write.block_table import place_of

_Bucket = dict[int, None]
_Touched: TypeAlias = Mapping[int, NodeState | None] | Mapping[int, RelationshipState | None]
_NOTHING: Mapping[str, Any] = {}


class TouchedValues:
    """By key and value the numbers of elements; a key's values are gathered when it is first asked for.

    ``changes``: those of the overlay, which are taken back to a mark, as are those of the sets among them. So what was
    gathered before a mark is right again afterwards.
    """

    def __init__(self, changes: Sequence[object]) -> None:
        self._changes = changes
        self._by_key: dict[str, dict[Any, _Bucket]] = {}
        self._gathered: dict[str, int] = {}  # at which mark each was

    def taken_back(self, mark: int) -> None:
        """Forget what was gathered since a mark: it is of what was taken back."""
        for key in [key for key, gathered in self._gathered.items() if gathered > mark]:
            del self._gathered[key], self._by_key[key]

    def committed(self) -> None:
        """Take note that marks begin anew."""
        self._gathered = dict.fromkeys(self._gathered, 0)

    def find(self, wanted: Mapping[str, Any], touched: _Touched) -> list[int]:
        """Return the ``touched`` elements whose properties equal some values, in no given order; perhaps others."""
        buckets: list[_Bucket] = [self.having(key, value, touched) for key, value in wanted.items()]
        fewest = min(buckets, key=len)
        return list(fewest)

    def having(self, key: str, value: Any, touched: _Touched) -> _Bucket:
        """Return the ``touched`` elements that have a value of one property."""
        return self.by_value(key, touched).get(place_of(value), {})

    def by_value(self, key: str, touched: _Touched) -> Mapping[Any, _Bucket]:
        """Return by ``place_of`` each value of a key the ``touched`` elements that have it."""
        values = self._by_key.get(key)
        if values is None:
            values = self._by_key[key] = {}
            self._gathered[key] = len(self._changes)
            for number, state in touched.items():
                if state is not None and key in state.properties:
                    values.setdefault(place_of(state.properties[key]), {})[number] = None
        return values

    def places(self, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[tuple[_Bucket, bool]]:
        """Give the sets that an element has to leave (False) or enter (True) where its properties change."""
        old, new = old or _NOTHING, new or _NOTHING
        for key, values in self._by_key.items():
            before, after = old.get(key), new.get(key)
            if before is after:
                continue
            if before is not None and (bucket := values.get(place_of(before))) is not None:
                yield bucket, False
            if after is not None:
                yield values.setdefault(place_of(after), {}), True
