"""Loads whatever a path names: a saved graph, a folder of tables, an edge list, a graph file, a script."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from qengine.cli.terminal import warn
from qengine.errors import LoadingWarning, Notice, StorageError
from qengine.graph import Graph

_FILES = "nodes_<Label>.csv|parquet and rels_<Src>_<TYPE>_<Dst>.csv|parquet"
_LOADERS: Mapping[str, Callable[[Path], Graph]] = {
    ".graph": Graph.from_graph_file,
    ".cypher": Graph.from_cypher,
    ".cql": Graph.from_cypher,
    ".graphml": Graph.from_graphml,
    ".gexf": Graph.from_gexf,
}
_TABLES = (".parquet", ".arrow", ".feather", ".json", ".jsonl")


def load(path: str) -> Graph:
    """Return the graph at ``path``; its form is told by what is there. Warnings go to standard error.

    Raises
    ------
    StorageError
        If nothing is there, or nothing that is known.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LoadingWarning)
        graph = _load(path)
    for each in caught:
        if isinstance(each.message, LoadingWarning):
            warn(Notice("LoadingWarning", each.message.message, hint=each.message.hint), "")
        else:
            warnings.showwarning(each.message, each.category, each.filename, each.lineno)
    return graph


def _load(path: str) -> Graph:
    try:
        place = Path(path).expanduser()
        there = place.exists()
    except (OSError, RuntimeError, ValueError):  # no name of a file, as a query has none, or nobody's home
        there = False
    if not there:
        raise StorageError(f"{path}: there is no such file or folder", hint="Give a saved graph, a folder of CSV or "
                           "Parquet files, an edge list (.txt, .gz) or a graph file (.graph).")  # fmt: skip
    if place.is_dir():
        if (place / "manifest.json").is_file():
            return Graph.open(place)
        if (place / "copy.cypher").is_file():
            return Graph.from_kuzu(place)
        if any(place.glob("*.parquet")):
            return Graph.from_parquet(place)
        if any(place.glob("*.csv")):
            return Graph.from_csv(place)
        raise StorageError(f"{path}: the folder holds no graph", hint="Put manifest.json (a saved graph) there, "
                           f"or {_FILES}.")  # fmt: skip
    if place.suffix in _LOADERS:
        return _LOADERS[place.suffix](place)
    if place.suffix.lower() in _TABLES or place.name.startswith(("nodes_", "rels_")):
        raise StorageError(f"{path}: this is one file of a graph", hint="Give its folder, with manifest.json (a saved "
                           f"graph) or {_FILES}.")  # fmt: skip
    return Graph.from_edge_list(place)
