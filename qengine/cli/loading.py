"""Loads whatever a path names: a saved graph, a folder of tables, an edge list, a graph file."""

from __future__ import annotations

from pathlib import Path

from qengine.errors import StorageError
from qengine.graph import Graph


def load(path: str) -> Graph:
    """Return the graph at ``path``; its form is told by what is there.

    Raises
    ------
    StorageError
        If nothing is there, or nothing that is known.
    """
    try:
        place = Path(path).expanduser()
        there = place.exists()
    except (OSError, RuntimeError):  # no name of a file, as a query has none, or nobody's home
        there = False
    if not there:
        raise StorageError(f"{path}: there is no such file or folder", hint="Give a saved graph, a folder of CSV or "
                           "Parquet files, an edge list (.txt, .gz) or a graph file (.graph).")  # fmt: skip
    if place.is_dir():
        if (place / "manifest.json").is_file():
            return Graph.open(place)
        if any(place.glob("*.parquet")):
            return Graph.from_parquet(place)
        if any(place.glob("*.csv")):
            return Graph.from_csv(place)
        raise StorageError(f"{path}: the folder holds no graph", hint="Put manifest.json (a saved graph) there, "
                           "or nodes_<Label>.csv|parquet and rels_<Src>_<TYPE>_<Dst>.csv|parquet.")  # fmt: skip
    if place.suffix == ".graph":
        return Graph.from_graph_file(place)
    return Graph.from_edge_list(place)
