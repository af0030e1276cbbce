"""Which label sets relationships lead from and to, and how many walks go on along them hop by hop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qengine._beside import Beside
from qengine._frozen import replace
from qengine.catalog.view import CatalogView, Incidence, RelationshipTypeInfo
from qengine.optimizer.labels import exactly, satisfying_sets
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


class LabelWays:
    """Pairs of label sets that relationships join. Kept for each catalogue: no query changes it.

    Attributes
    ----------
    ends
        int64[pairs, 2]: places of label sets in the catalogue, where a hop begins and where it ends.
    edges
        float64[pairs]: relationships.
    """

    def __init__(self, catalog: CatalogView, types: Sequence[RelationshipTypeInfo], out: bool, into: bool) -> None:
        self._leaving = Incidence(tuple(info.name for info in types), out, into, None)
        self._sizes = np.array([max(size, 1) for _, size in catalog.label_sets], np.float64)
        self._times: dict[tuple[int, int], float] = {}
        count = len(self._sizes)
        found = [np.zeros((0, 3), np.int64)]
        either = [found[0]]  # those that may be taken either way
        for info in types:
            known = catalog.edges_by_label_sets(info.name)
            turned = known[:, [1, 0, 2]]
            found += [known] * (out or info.undirected) + [turned] * (into and not info.undirected)
            either += [known] * info.undirected + [known, turned] * (out and into and not info.undirected)
        rows, back = np.concatenate(found), np.concatenate(either)
        keys, which = np.unique(rows[:, 0] * count + rows[:, 1], return_inverse=True)
        self.ends = np.stack((keys // count, keys % count), axis=1) if count else np.zeros((0, 2), np.int64)
        self.edges = np.maximum(np.bincount(which, rows[:, 2], len(keys)), 1.0)
        alike = np.bincount(np.searchsorted(keys, back[:, 0] * count + back[:, 1]), back[:, 2], len(keys))
        turned = self.ends[:, 1] * count + self.ends[:, 0]
        self._turned = np.searchsorted(keys, turned) % max(len(keys), 1)
        returning = (alike / self.edges)[self._turned]  # of a hop, how likely the same relationship leads back
        self._returning = np.where(keys[self._turned] == turned, returning, 0.0)

    def between(self, start: LabelExpr | None, end: LabelExpr | None, catalog: CatalogView) -> Any:
        """Return which pairs lead from vertices with some labels to such with others: bool[pairs]."""
        starts, ends = satisfying_sets(catalog, start), satisfying_sets(catalog, end)
        found = [bool(starts >> one & ends >> other & 1) for one, other in self.ends.tolist()]
        return np.array(found, np.bool_)

    def to_each(self, flow: Any) -> Any:
        """Return how many walks of a flow come to each label set: float64."""
        return np.bincount(self.ends[:, 1], flow, len(self._sizes))

    def on(self, flow: Any, catalog: CatalogView) -> Any:
        """Return how many walks there are after one more hop.

        As many go on as relationships lead on from there, more where who is come to has more of them than others, but
        none back over the same one.

        Parameters
        ----------
        flow
            float64[pairs]: walks whose last hop is between two label sets.
        """
        further = (self.to_each(flow) / self._sizes)[self.ends[:, 0]] * self.edges
        found = further - flow[self._turned] * self._returning
        first = np.argsort(-flow, kind="stable")[:_MOST]
        passing = flow[first] / self._sizes[self.ends[first, 1]]
        pairs = np.where(self.ends[first, 1, None] == self.ends[:, 0], passing[:, None] * self.edges, 0.0)
        for each in np.argsort(-pairs, axis=None, kind="stable")[:_MOST].tolist():
            come, leaves = divmod(each, len(self.edges))
            if not pairs[come, leaves]:
                break
            found[leaves] += pairs[come, leaves] * (self._together(int(first[come]), leaves, catalog) - 1.0)
        return np.clip(found, 0.0, MOST_WALKS)

    def leaving(self, place: int, catalog: CatalogView) -> Incidence:
        """Return the kind of relationships by which hops lead to a label set."""
        return replace(self._leaving, labels=named(exactly(catalog, place)))

    def _together(self, come: int, leaves: int, catalog: CatalogView) -> float:
        """Return how many times as many relationships of a pair as others those have who are come to by another one."""
        found = self._times.get((come, leaves))
        if found is None:
            before, place = self.ends[come].tolist()
            kind = self._leaving
            arriving = Incidence(kind.types, kind.into, kind.out, named(exactly(catalog, before)))
            leaving = self.leaving(int(self.ends[leaves, 1]), catalog)
            found = catalog.together(named(exactly(catalog, place)), arriving, leaving)
            self._times[come, leaves] = found
        return found
