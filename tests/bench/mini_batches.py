"""Seeds a second of a neighbour sampler, by one core of the host and on a GPU: ``python -m tests.bench.mini_batches``.

On an R-MAT graph, with and without replacement; beside PyTorch Geometric's own sampler where that is installed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import Graph
from qengine.exec.gpu.device import missing
from qengine.learning import NeighbourSampler
from qengine.testing.generate import rmat, to_csr

_SECONDS = 2.0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.mini_batches", description=__doc__)
    parser.add_argument("--scale", type=int, default=18)
    parser.add_argument("--fanout", default="15,10")
    parser.add_argument("--sizes", default="1024,16384")
    options = parser.parse_args()
    fanout = tuple(map(int, options.fanout.split(",")))
    start, end = (np.asarray(ids, np.int64) for ids in to_csr(rmat(options.scale, 16, seed=1)).edges())
    graph = Graph.from_edge_list((start, end))
    pairs = graph.query("MATCH (n)-->(m) RETURN id(n) AS n, id(m) AS m").to_arrow()
    start, end = (pairs[name].to_numpy() for name in ("n", "m"))
    print(f"R-MAT {options.scale}: {len(start):,} edges, fanout {fanout}")
    print("| drawn by | replacement | seeds a batch | ms a batch | seeds a second |")
    print("|---|---|---|---|---|")
    for size in map(int, options.sizes.split(",")):
        seeds = np.unique(start)
        for device in ("cpu", *(["gpu"] if missing() is None else [])):
            for replace in (False, True):
                sampler = NeighbourSampler(graph, "MATCH (n)-->(m)", fanout, replace=replace, device=device)
                report(device, replace, size, sampler.sample, seeds, sampler_wait(device))
        if (sample := pyg_sample(start, end, graph.node_count, fanout)) is not None:
            report("PyTorch Geometric", False, size, sample, seeds, lambda: None)


def sampler_wait(device: str) -> Callable[[], Any]:
    """Return what waits for a device's work."""
    if device == "cpu":
        return lambda: None
    from qengine.exec.gpu.device import cupy

    return cupy().cuda.Device().synchronize


def pyg_sample(
    start: npt.NDArray[np.int64], end: npt.NDArray[np.int64], n: int, fanout: tuple[int, ...]
) -> Callable[..., Any] | None:
    """Return what samples by PyTorch Geometric, None where it, or its kernels, aren't installed."""
    try:
        import torch
        from torch_geometric.data import Data
        from torch_geometric.loader import NeighborLoader
        from torch_geometric.sampler import NodeSamplerInput

        data = Data(edge_index=torch.from_numpy(np.stack([end, start])), num_nodes=n)
        sampler = NeighborLoader(data, num_neighbors=list(fanout), batch_size=1).node_sampler

        def sample(seeds: npt.NDArray[np.int64], number: int) -> Any:
            return sampler.sample_from_nodes(NodeSamplerInput(None, torch.from_numpy(seeds)))

        sample(start[:1], 0)
    except ImportError:
        return None
    return sample


def report(
    name: str,
    replace: bool,
    size: int,
    sample: Callable[..., Any],
    seeds: npt.NDArray[np.int64],
    wait: Callable[[], Any],
) -> None:
    """Print what drawing batches takes."""
    random = np.random.default_rng(1)
    batches = [random.choice(seeds, min(size, len(seeds)), replace=False) for _ in range(16)]
    sample(batches[0], 0)
    wait()
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < _SECONDS:
        sample(batches[count % len(batches)], count)
        count += 1
    wait()
    each = (time.perf_counter() - begin) / count
    print(
        f"| {name} | {'with' if replace else 'without'} | {size:,} | {each * 1e3:.2f} | {size / each:,.0f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
