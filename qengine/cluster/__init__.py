"""A saved graph that several processes query together: each maps its files, takes parts of the roots, and answers.

>>> from qengine import cluster
>>> with cluster.open("graphs/social", workers=8) as graph:  # doctest: +SKIP
...     graph.query("MATCH (a)-[:KNOWS]-(b)-[:KNOWS]-(c)-[:KNOWS]-(a) RETURN count(*)").value()
"""

from __future__ import annotations

import os
from os import PathLike

from qengine.cluster.cluster import Cluster
from qengine.cluster.engine import Engine
from qengine.errors import SemanticError, Unsupported
from qengine.exec.limits import number_of_threads
from qengine.remote.places import place_of

__all__ = ["Cluster", "Engine", "open"]


def open(
    path: str | PathLike[str], engine: str | Engine = "processes", workers: int | None = None, threads: int = 1
) -> Cluster:
    """Open a saved graph to be queried by several processes.

    Parameters
    ----------
    path
        The directory that ``Graph.save`` wrote, at a place that all workers see: a shared folder, or an address as for
        ``qengine.open``, from where each machine downloads it once. Nobody may change the graph while the cluster is
        open; workers that find another version refuse.
    engine
        "processes": worker processes of this machine; a script that opens such a cluster must do so below
        ``if __name__ == "__main__":``. "ray": actors on the Ray cluster that this process is connected to, or one of
        this machine (``pip install '.[ray]'``). Or an ``Engine`` of yours.
    workers
        How many; by default as many as leave each worker its threads: of this machine's CPUs, or of Ray's.
    threads
        Of each worker.

    Raises
    ------
    StorageError
        As ``qengine.open``.
    SemanticError
        ``InvalidArgumentValue`` for another engine or number.
    Unsupported
        Where the engine's package isn't installed.
    """
    each = number_of_threads("threads", threads) or 1
    count = None if workers is None else number_of_threads("workers", workers)
    folder = str(path) if place_of(path) is not None else os.path.abspath(path)
    if not isinstance(engine, str):
        return Cluster(folder, engine, each)
    if engine == "processes":
        from qengine.cluster.processes import Processes

        return Cluster(folder, Processes(folder, count or max(1, len(os.sched_getaffinity(0)) // each)), each)
    if engine == "ray":
        try:
            from qengine.cluster.on_ray import RayActors
        except ImportError:
            raise Unsupported(
                "Ray isn't installed.",
                hint='Install it with: pip install ray; or take engine="processes".',
            ) from None
        return Cluster(folder, RayActors(folder, count, each), each)
    raise SemanticError(
        f"There is no engine {engine!r}.", hint='Use "processes" or "ray".', code="InvalidArgumentValue"
    )
