"""Mini-batches for graph neural networks: sampled neighbourhoods, where a pattern says who is a neighbour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any

from qengine._arguments import tells_arguments

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qengine.graph import Graph

__all__ = ["Batch", "NeighbourSampler"]


@dataclass(frozen=True, slots=True)
class Batch:
    """A sampled neighbourhood.

    ``nodes``: int64 of shape ``(n,)``, the engine's ``id(n)`` of its nodes, each once, the seeds first.
    ``edges``: int64 of shape ``(2, m)``, the sampled pairs by their places in ``nodes``: from a neighbour (row 0) to
    the node whose neighbour it is (row 1), the direction in which messages are passed, as PyTorch Geometric's
    ``edge_index``. ``seeds``: how many of the nodes are seeds.
    """

    nodes: npt.NDArray[np.int64]
    edges: npt.NDArray[np.int64]
    seeds: int


@tells_arguments
class NeighbourSampler:
    """Samples neighbourhoods hop by hop, as GraphSAGE does (Hamilton et al., NeurIPS 2017), without replacement.

    The pattern is matched once, when the sampler is made; changes of the graph afterwards aren't seen. Samples are
    drawn on the CPU.

    >>> sampler = NeighbourSampler(graph, "MATCH (n:Paper)-[:CITES]-(m)", fanout=(5, 5))  # doctest: +SKIP
    >>> for batch in sampler.batches(seeds, size=512):  # doctest: +SKIP
    ...     data = Data(x=features[batch.nodes], edge_index=torch.from_numpy(batch.edges))
    """

    def __init__(self, graph: Graph, pattern: str, fanout: Sequence[int], *, seed: int = 0, **options: Any) -> None:
        """Match the pattern.

        Parameters
        ----------
        graph
            The graph.
        pattern
            ``MATCH … WHERE …`` in which ``n`` is a node and ``m`` its neighbour.
        fanout
            For each hop how many neighbours a node has at most.
        seed
            The same gives the same samples.
        **options
            ``params``, ``timeout``, ``memory_limit``, ``device`` and the like, as for ``Graph.query``.

        Raises
        ------
        ValueError
            For no hops, or a fanout below 1.
        QengineError
            As ``Graph.query``.
        """
        import numpy as np

        try:
            hops = tuple(map(index, fanout))
        except TypeError:
            hops = ()
        if not hops or min(hops) < 1:
            raise ValueError(f"`fanout` holds a number of neighbours, at least 1, for each hop, not {fanout!r}")
        found = graph.query(f"{pattern} RETURN DISTINCT id(n) AS n, id(m) AS m", **options).to_arrow()
        starts, ends = (found[name].to_numpy().astype(np.int64) for name in ("n", "m"))
        order = np.lexsort((ends, starts))
        self._fanout, self._seed = hops, index(seed)
        self._ends = ends[order]
        self._ids, counts = np.unique(starts, return_counts=True)
        self._first = np.concatenate([[0], np.cumsum(counts)])

    def sample(self, seeds: Sequence[int] | npt.NDArray[np.int64], number: int = 0) -> Batch:
        """Return the sampled neighbourhood of some nodes, by their ``id(n)``; another ``number`` gives another sample.

        A seed that occurs twice is there once; one that the pattern gives no neighbours has none.
        """
        import numpy as np

        rng = np.random.default_rng([self._seed, number])
        frontier = nodes = _unique(seeds)
        count = len(nodes)
        parts: list[npt.NDArray[np.int64]] = []
        for most in self._fanout:
            pairs = self._hop(frontier, most, rng)
            parts.append(pairs)
            frontier = np.setdiff1d(pairs[0], nodes)
            nodes = np.concatenate([nodes, frontier])
        edges = np.concatenate(parts, axis=1)
        order = np.argsort(nodes)
        return Batch(nodes, order[np.searchsorted(nodes[order], edges)], count)

    def batches(self, seeds: Sequence[int] | npt.NDArray[np.int64], size: int, *, epoch: int = 0) -> Iterator[Batch]:
        """Return a batch for each ``size`` of the seeds, in an order by chance that differs from epoch to epoch."""
        import numpy as np

        shuffled = np.random.default_rng([self._seed, epoch, 1]).permutation(_unique(seeds))
        starts, before = range(0, len(shuffled), size), index(epoch) * len(shuffled)
        return (self.sample(shuffled[first : first + size], before + first) for first in starts)

    def _hop(self, frontier: npt.NDArray[np.int64], most: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return pairs of neighbours and the nodes of the frontier: for each node all, or ``most`` drawn by chance."""
        import numpy as np

        place = np.searchsorted(self._ids, frontier)
        known = place < len(self._ids)
        known[known] = self._ids[place[known]] == frontier[known]
        frontier, place = frontier[known], place[known]
        degrees = self._first[place + 1] - self._first[place]
        owner = np.repeat(np.arange(len(frontier)), degrees)
        begins = np.cumsum(degrees) - degrees
        rank = np.arange(len(owner)) - begins[owner]
        ends = self._ends[self._first[place][owner] + rank]
        order = np.lexsort((rng.random(len(owner)), owner))  # within each node by chance, nodes stay in order
        kept = np.sort(order[rank < most])
        return np.stack([ends[kept], frontier[owner[kept]]])


def _unique(seeds: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return each seed once, where it first occurs."""
    import numpy as np

    numbers = np.asarray(seeds)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise TypeError(f"`seeds` are numbers of nodes in a list or an array, not a {type(seeds).__name__}.")
    numbers = numbers.astype(np.int64)
    return numbers[np.sort(np.unique(numbers, return_index=True)[1])]
