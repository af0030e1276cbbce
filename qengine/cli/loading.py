"""Loads whatever a path names: a saved graph, a folder of tables, an edge list, a script, a file of another tool."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from qengine.cli.arguments import GRAPH_HELP
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
    ".jsonl": Graph.from_jsonl,
    ".json": Graph.from_jsonl,
}
_FOLDERS: Mapping[str, Callable[[Path], Graph]] = {
    "manifest.json": Graph.open,
    "copy.cypher": Graph.from_kuzu,
    "*.parquet": Graph.from_parquet,
    "*.csv": Graph.from_csv,
}
"""What loads a folder that holds such a file, the first that does."""

_TABLES = (".parquet", ".arrow", ".feather")


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
        raise StorageError(f"{path}: there is no such file or folder", hint=f"Give {GRAPH_HELP}.")
    if place.is_dir():
        for name, loader in _FOLDERS.items():
            if any(place.glob(name)):
                return loader(place)
        raise StorageError(f"{path}: the folder holds no graph", hint="Put manifest.json (a saved graph) there, "
                           f"or {_FILES}.")  # fmt: skip
    suffix, is_part = place.suffix.lower(), place.name.startswith(("nodes_", "rels_"))
    if suffix in _LOADERS and not is_part:
        return _LOADERS[suffix](place)
    if suffix in _TABLES or is_part:
        raise StorageError(f"{path}: this is one file of a graph", hint="Give its folder, with manifest.json (a saved "
                           f"graph) or {_FILES}.")  # fmt: skip
    return Graph.from_edge_list(place)
