"""Mini-batches for graph neural networks: sampled neighbourhoods, where a pattern says who is a neighbour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index
from typing import TYPE_CHECKING, Any

from qengine._arguments import tells_arguments
from qengine._frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qengine.graph import Graph

__all__ = ["Batch", "NeighbourSampler"]

_WORD = 1 << 64


@frozen(held=True)
class Batch:
    """A sampled neighbourhood.

    ``nodes``: int64 of shape ``(n,)``, the engine's ``id(n)`` of its nodes, each once, the seeds first.
    ``edges``: int64 of shape ``(2, m)``, the sampled pairs by their places in ``nodes``: from a neighbour (row 0) to
    the node whose neighbour it is (row 1), the direction in which messages are passed, as PyTorch Geometric's
    ``edge_index``. ``seeds``: how many of the nodes are seeds. Arrays are NumPy's, or CuPy's of a sampler on a GPU;
    ``torch.as_tensor`` takes both without a copy.
    """

    nodes: npt.NDArray[np.int64]
    edges: npt.NDArray[np.int64]
    seeds: int


@tells_arguments
class NeighbourSampler:
    """Samples neighbourhoods hop by hop, as GraphSAGE does (Hamilton et al., NeurIPS 2017).

    The pattern is matched once, when the sampler is made; changes of the graph afterwards aren't seen. Samples are
    drawn on the CPU, or with ``device="gpu"`` on a GPU, whose memory holds the pairs (4 bytes each, and 8 a node) as
    long as the sampler lives: the same ones.

    >>> sampler = NeighbourSampler(graph, "MATCH (n:Paper)-[:CITES]-(m)", fanout=(5, 5))  # doctest: +SKIP
    >>> for batch in sampler.batches(seeds, size=512):  # doctest: +SKIP
    ...     data = Data(x=features[batch.nodes], edge_index=torch.as_tensor(batch.edges))
    """

    def __init__(
        self,
        graph: Graph,
        pattern: str,
        fanout: Sequence[int],
        *,
        replace: bool = False,
        seed: int = 0,
        **options: Any,
    ) -> None:
        """Match the pattern.

        Parameters
        ----------
        graph
            The graph.
        pattern
            ``MATCH … WHERE …`` in which ``n`` is a node and ``m`` its neighbour.
        fanout
            For each hop how many neighbours a node has at most.
        replace
            Whether a neighbour may be drawn again: then each node that has any has exactly so many.
        seed
            The same gives the same samples, on all devices.
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

        from qengine.exec.common.sampled_neighbours import NeighbourLists
        from qengine.exec.devices import asked_device

        try:
            hops = tuple(map(index, fanout))
        except TypeError:
            hops = ()
        if not hops or min(hops) < 1:
            raise ValueError(f"`fanout` holds a number of neighbours, at least 1, for each hop, not {fanout!r}")
        device, numbers = asked_device(options.get("device") or "auto")
        found = graph.query(f"{pattern} RETURN DISTINCT id(n) AS n, id(m) AS m", **options).to_arrow()
        starts, ends = (found[name].to_numpy().astype(np.int64) for name in ("n", "m"))
        self._fanout, self._replace, self._seed = hops, replace, index(seed)
        if device == "gpu":
            from qengine.exec.gpu.sampled_neighbours import DeviceNeighbourLists

            self._lists: NeighbourLists = DeviceNeighbourLists(starts, ends, numbers, options.get("gpu_memory_limit"))
        else:
            self._lists = NeighbourLists(starts, ends)

    def sample(self, seeds: Sequence[int] | npt.NDArray[np.int64], number: int = 0) -> Batch:
        """Return the sampled neighbourhood of some nodes, by their ``id(n)``; another ``number`` gives another sample.

        A seed that occurs twice is there once; one that the pattern gives no neighbours has none.
        """
        first, stream = _unique(seeds), (self._seed % _WORD, index(number) % _WORD)
        return Batch(*self._lists.sample(first, self._fanout, self._replace, stream), len(first))

    def batches(self, seeds: Sequence[int] | npt.NDArray[np.int64], size: int, *, epoch: int = 0) -> Iterator[Batch]:
        """Return a batch for each ``size`` of the seeds, in an order by chance that differs from epoch to epoch."""
        import numpy as np

        shuffled = np.random.default_rng([self._seed, epoch, 1]).permutation(_unique(seeds))
        starts, before = range(0, len(shuffled), size), index(epoch) * len(shuffled)
        return (self.sample(shuffled[first : first + size], before + first) for first in starts)


def _unique(seeds: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return each seed once, where it first occurs."""
    import numpy as np

    numbers = np.asarray(seeds)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise TypeError(f"`seeds` are numbers of nodes in a list or an array, not a {type(seeds).__name__}.")
    numbers = numbers.astype(np.int64)
    return numbers[np.sort(np.unique(numbers, return_index=True)[1])]
