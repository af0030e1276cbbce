"""Which label sets relationships lead from and to, and how many walks go on along them hop by hop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qengine._beside import Beside
from qengine._frozen import frozen, replace
from qengine.catalog.view import CatalogView, Incidence, RelationshipTypeInfo
from qengine.optimizer.labels import exactly, sets_of
from qengine.plan.pattern import LabelExpr, named

_MOST = 8  # ways on from label sets, those taken most, of which it is asked how degrees go together
_MOST_KEPT = 256  # kinds of hops of a catalogue
MOST_WALKS = 1e30

_known: Beside[LabelWays] = Beside()


def label_ways(catalog: CatalogView, types: Sequence[RelationshipTypeInfo], out: bool, into: bool) -> LabelWays:
    """Return the ways of hops along relationships of some types, ``out`` of a vertex, ``into`` it, or either way."""
    known = _known.of(catalog)
    key = tuple(info.name for info in types), out, into
    found = known.get(key)
    if found is None:
        if len(known) >= _MOST_KEPT:
            known.clear()
        found = known[key] = LabelWays(catalog, types, out, into)
    return found


@frozen
class _Returns:
    """What is known of going back along a hop, of each pair of label sets of that.

    Attributes
    ----------
    back
        int64: the pair that leads back.
    likely
        float64: how likely a relationship of it is the same one.
    more
        float64: how many more others there are than any node has: 0 where that isn't ``known``, which is bool.
    """

    back: Any
    likely: Any
    more: Any
    known: Any


class LabelWays:
    """Pairs of label sets that relationships join. Kept for each catalogue: no query changes it.

    Attributes
    ----------
    ends
        int64[pairs, 2]: places of label sets in the catalogue, where a hop begins and where it ends, in order.
    edges
        float64[pairs]: relationships.
    """

    def __init__(self, catalog: CatalogView, types: Sequence[RelationshipTypeInfo], out: bool, into: bool) -> None:
        self.types, self.out, self.into = tuple(types), out, into
        self._leaving = Incidence(tuple(info.name for info in types), out, into, None)
        self._sizes = np.array([max(size, 1) for _, size in catalog.label_sets], np.float64)
        self._times: dict[tuple[Incidence, int, int], float] = {}
        self._back: dict[Incidence, _Returns] = {}
        count = len(self._sizes)
        rows = _between_sets(catalog, types, out, into)
        self._keys, which = np.unique(rows[:, 0] * count + rows[:, 1], return_inverse=True)
        self.ends = np.stack((self._keys // max(count, 1), self._keys % max(count, 1)), axis=1)
        self.edges = np.maximum(np.bincount(which, rows[:, 2], len(self._keys)), 1.0)

    def between(self, start: LabelExpr | None, end: LabelExpr | None, catalog: CatalogView) -> Any:
        """Return which pairs lead from vertices with some labels to such with others: bool[pairs]."""
        return sets_of(catalog, start)[self.ends[:, 0]] & sets_of(catalog, end)[self.ends[:, 1]]

    def reached(self, sets: Any, minimum: int, maximum: int | None) -> Any:
        """Return which label sets walks of some lengths from given ones end at: bool[sets], as these are."""
        found = sets.copy() if minimum == 0 else np.zeros(len(sets), np.bool_)
        seen: dict[bytes, int] = {}
        for length in range(1, minimum + len(sets) + 1 if maximum is None else maximum + 1):
            onward = np.zeros(len(sets), np.bool_)
            onward[self.ends[sets[self.ends[:, 0]], 1]] = True
            sets = onward
            if length >= minimum:
                found = found | sets
                if seen.setdefault(sets.tobytes(), length) != length:
                    break
        return found

    def to_each(self, flow: Any) -> Any:
        """Return how many walks of a flow come to each label set: float64."""
        return np.bincount(self.ends[:, 1], flow, len(self._sizes))

    def on(self, flow: Any, catalog: CatalogView) -> Any:
        """Return how many walks along these ways there are after one more hop.

        As many go on as relationships lead on from there, more where who is come to has more of them than others, but
        none back over the same one.

        Parameters
        ----------
        flow
            float64[pairs]: walks whose last hop is between two label sets.
        """
        found = self.onward(self, flow, catalog)
        returns = self._returning(self, catalog)
        first = np.argsort(-flow, kind="stable")[:_MOST]
        passing = flow[first] / self._sizes[self.ends[first, 1]]
        pairs = np.where(self.ends[first, 1, None] == self.ends[:, 0], passing[:, None] * self.edges, 0.0)
        for each in np.argsort(-pairs, axis=None, kind="stable")[:_MOST].tolist():
            place, leaves = divmod(each, len(self.edges))
            come = int(first[place])
            if not pairs[place, leaves]:
                break
            if not (returns.known[come] and returns.back[come] == leaves):
                found[leaves] += pairs[place, leaves] * (self._together(self, come, leaves, catalog) - 1.0)
        return np.clip(found, 0.0, MOST_WALKS)

    def onward(self, came: LabelWays, flow: Any, catalog: CatalogView, *, differ: bool = True) -> Any:
        """Return how many walks there are after a hop along these ways, if nodes of a label set are all alike.

        But who is come to by a relationship has that one, and perhaps more of its kind than others.
        ``came``: the ways of the hop before, whose walks ``flow`` tells. ``differ``: none goes back over the same one.
        """
        further = (came.to_each(flow) / self._sizes)[self.ends[:, 0]] * self.edges
        if not differ or not len(further):
            return further
        returns = self._returning(came, catalog)
        return np.maximum(further + np.bincount(returns.back, flow * returns.more, len(further)), 0.0)

    def back(self, came: LabelWays, flow: Any, catalog: CatalogView) -> Any:
        """Return how many walks would go back over the relationship of their last hop: as for ``onward``."""
        if not len(self.edges):
            return self.edges
        returns = self._returning(came, catalog)
        return np.bincount(returns.back, flow * returns.likely, len(self.edges))

    def leaving(self, place: int, catalog: CatalogView) -> Incidence:
        """Return the kind of relationships by which hops lead to a label set."""
        return replace(self._leaving, labels=named(exactly(catalog, place)))

    def _returning(self, came: LabelWays, catalog: CatalogView) -> _Returns:
        key = came._leaving
        found = self._back.get(key)
        if found is None:
            count = len(self._sizes)
            shared = [info for info in came.types if info in self.types]
            alike = _between_sets(catalog, shared, came.out and self.into, came.into and self.out)
            places = np.searchsorted(came._keys, alike[:, 0] * count + alike[:, 1])
            likely = np.bincount(places, alike[:, 2], len(came._keys)) / came.edges
            turned = came.ends[:, 1] * count + came.ends[:, 0]
            back = np.minimum(np.searchsorted(self._keys, turned), len(self._keys) - 1)
            likely = np.where(self._keys[back] == turned, likely, 0.0)
            more, known = np.zeros(len(likely)), np.zeros(len(likely), np.bool_)
            for come in np.argsort(-likely * came.edges, kind="stable")[:_MOST].tolist():
                if likely[come]:
                    leaves = int(back[come])
                    mean = self.edges[leaves] / self._sizes[self.ends[leaves, 0]]
                    more[come] = (self._together(came, come, leaves, catalog) - 1.0) * mean - likely[come]
                    known[come] = True
            found = self._back[key] = _Returns(back, likely, more, known)
        return found

    def _together(self, came: LabelWays, come: int, leaves: int, catalog: CatalogView) -> float:
        """Return how many times as many relationships of a pair as others those have who are come to by another one."""
        kind = came._leaving
        found = self._times.get((kind, come, leaves))
        if found is None:
            before, place = came.ends[come].tolist()
            arriving = Incidence(kind.types, kind.into, kind.out, named(exactly(catalog, before)))
            leaving = self.leaving(int(self.ends[leaves, 1]), catalog)
            found = catalog.together(named(exactly(catalog, place)), arriving, leaving)
            self._times[kind, come, leaves] = found
        return found


def _between_sets(catalog: CatalogView, types: Sequence[RelationshipTypeInfo], out: bool, into: bool) -> Any:
    """Return int64[pairs, 3]: two label sets, and relationships that lead from one to the other in a direction."""
    found = [np.zeros((0, 3), np.int64)]
    for info in types:
        known = catalog.edges_by_label_sets(info.name)
        found += [known] * (out or info.undirected)
        found += [known[:, [1, 0, 2]]] * (into and not info.undirected)
    return np.concatenate(found)
