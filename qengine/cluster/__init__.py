"""Graphs that several processes query together, and graphs that stay in tables.

``open``: a saved graph, of which each worker maps the files and takes parts of the roots.

>>> from qengine import cluster
>>> with cluster.open("graphs/social", workers=8) as graph:  # doctest: +SKIP
...     graph.query("MATCH (a)-[:KNOWS]-(b)-[:KNOWS]-(c)-[:KNOWS]-(a) RETURN count(*)").value()

``tables``: tables that no worker holds, of which each gets what its part of a pattern needs.

>>> with cluster.tables("folder of Parquet files", engine="spark") as graph:  # doctest: +SKIP
...     graph.query("MATCH (a)-[:KNOWS]-(b)-[:KNOWS]-(c)-[:KNOWS]-(a) RETURN count(*)").value()
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any

from qengine._arguments import tells_arguments
from qengine._system import usable_processors
from qengine.cluster.cluster import Cluster
from qengine.cluster.engine import Engine
from qengine.errors import SemanticError, Unsupported
from qengine.exec.limits import number_of_threads
from qengine.remote.places import RemotePath, place_of

if TYPE_CHECKING:
    from qengine.cluster.hypercube.exchange import Exchange
    from qengine.cluster.hypercube.table_graph import TableGraph

__all__ = ["Cluster", "Engine", "open", "tables"]


@tells_arguments
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

        return Cluster(folder, Processes(folder, count or max(1, usable_processors() // each)), each)
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


@tells_arguments
def tables(
    nodes: Any = (),
    relationships: Any = (),
    *,
    key: str | None = None,
    undirected: Iterable[str] = (),
    engine: str | Exchange = "processes",
    workers: int | None = None,
    threads: int = 1,
    cells: int | None = None,
) -> TableGraph:
    """Open tables as a graph, of which a query moves no more than it needs.

    Parameters
    ----------
    nodes
        ``{labels: source}``, or a list of ``(labels, source)``, each source with a column of keys. Or one folder of
        Parquet files, named as ``Graph.from_parquet`` wants them, which has everything. Left out, nodes are what
        relationships join, with their key as ``id``.
    relationships
        ``(type, start label, end label, source)`` each; labels may be left out, or None, where there is one kind of
        nodes. Columns as for ``Graph.from_arrow``. A source is a Parquet file, a folder of some or a list of them, at
        paths that all workers see or at addresses as for ``qengine.open``; a table (anything with
        ``__arrow_c_stream__``); or a DataFrame of Spark or Dataset of Ray where that is the engine.
    key, undirected
        As for ``Graph.from_arrow``.
    engine
        "processes": worker processes of this machine; a script that opens such tables must do so below
        ``if __name__ == "__main__":``. "ray": Ray Data, on the cluster that this process is connected to, or one of
        this machine (``pip install '.[ray]'``). "spark": the active Spark session, or one of this machine
        (``pip install '.[spark]'``, with Java). Or an ``Exchange`` of yours.
    workers
        How many processes; by default as many as there are CPUs for their threads. Ray and Spark have their own number.
    threads
        Of each cell.
    cells
        The most cells of a query; by default as many as there are workers, and more where one would get over 256 MiB.

    Raises
    ------
    StorageError
        For sources that can't be read, or that lack columns; for ends whose nodes aren't told.
    SemanticError
        ``InvalidArgumentValue`` for another engine or number.
    Unsupported
        Where the engine's package isn't installed.
    """
    from qengine.cluster.hypercube.table_graph import TableGraph
    from qengine.cluster.hypercube.tables import Tables

    each = number_of_threads("threads", threads) or 1
    most = None if cells is None else number_of_threads("cells", cells) or 1
    exchange = _exchange(engine, None if workers is None else number_of_threads("workers", workers), each)
    if isinstance(nodes, str | PathLike | RemotePath):
        from qengine.cluster.hypercube.sources import folder_of_files

        nodes, relationships, both_ways = folder_of_files(nodes)
        undirected = [*undirected, *both_ways]
    return TableGraph(Tables.of(nodes, relationships, exchange.look, key, undirected), exchange, most, each)


def _exchange(engine: str | Exchange, workers: int | None, threads: int) -> Exchange:
    if not isinstance(engine, str):
        return engine
    if engine == "processes":
        from qengine.cluster.hypercube.local import LocalExchange, serve
        from qengine.cluster.processes import Processes

        count = workers or max(1, usable_processors() // threads)
        return LocalExchange(Processes("", count, serve))
    try:
        if engine == "ray":
            from qengine.cluster.hypercube.on_ray_data import RayData

            return RayData(threads)
        if engine == "spark":
            from qengine.cluster.hypercube.on_spark import Spark

            return Spark()
    except ImportError:
        name = {"ray": "Ray", "spark": "Spark"}[engine]
        raise Unsupported(
            f"{name} isn't installed.",
            hint=f"Install it with: pip install '.[{engine}]'; or take engine=\"processes\".",
        ) from None
    raise SemanticError(
        f"There is no engine {engine!r}.", hint='Use "processes", "ray" or "spark".', code="InvalidArgumentValue"
    )
