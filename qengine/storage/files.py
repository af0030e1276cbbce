"""Graphs from folders of Parquet or CSV files: one file a node label, one a relationship type between two labels.

``nodes_<Label>.parquet`` and ``rels_<Start>_<TYPE>_<End>.parquet`` (or ``.csv``); labels and types may hold
underscores. A ``graph.toml`` beside them says what the files can't: ``[relationships.TYPE] undirected = true``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from qengine.errors import StorageError
from qengine.storage.csvfile import first_line, read_csv
from qengine.storage.kernels import threads
from qengine.storage.progress import Progress
from qengine.storage.store import GraphStore
from qengine.storage.tables import from_tables, labels_of

Source = str | PathLike[str]
_SETTINGS = "graph.toml"
_MEANT = re.compile(r"(nodes?|rels?|relations?|relationships?|edges?)[-_ ]", re.IGNORECASE)
"""How names begin that are meant for nodes or relationships."""

_LAYOUT = "Name the files nodes_<Label>.{0} and rels_<Start>_<TYPE>_<End>.{0}."


def from_parquet(
    source: Source | Sequence[Source], *, key: str | None = None, undirected: Iterable[str] = ()
) -> GraphStore:
    """Load Parquet files, as ``Graph.from_parquet`` says."""
    return _load(source, "parquet", _read_parquet, key, undirected)


def from_csv(
    source: Source | Sequence[Source], *, key: str | None = None, undirected: Iterable[str] = ()
) -> GraphStore:
    """Load CSV files, as ``Graph.from_csv`` says."""
    return _load(source, "csv", read_csv, key, undirected)


def _load(
    source: Source | Sequence[Source],
    suffix: str,
    read: Callable[[Path], Any],
    key: str | None,
    undirected: Iterable[str],
) -> GraphStore:
    paths, settings = _files(source, suffix)
    nodes = {path: path.stem.removeprefix("nodes_") for path in paths if path.stem.startswith("nodes_")}
    if not nodes:
        raise StorageError(f"{source}: there is no nodes_<Label>.{suffix}", hint=_LAYOUT.format(suffix))
    edges = {path: _parse(path, set(nodes.values())) for path in paths if path.stem.startswith("rels_")}
    both_ways = {*undirected, *_undirected(settings)}
    known = {name for _, name, _ in edges.values()}
    if unknown := sorted(both_ways - known):
        raise StorageError(f"there is no relationship type {unknown[0]} to be undirected")
    with Progress("Reading", len(nodes) + len(edges)) as progress, ThreadPoolExecutor(threads()) as pool:

        def counted(path: Path) -> Any:
            table = read(path)
            progress.advance()
            return table

        tables = dict(zip((*nodes, *edges), pool.map(counted, (*nodes, *edges)), strict=True))
    return from_tables(
        [(str(path), labels_of(label), tables[path]) for path, label in nodes.items()],
        ((str(path), name, start, end, tables.pop(path)) for path, (start, name, end) in edges.items()),
        key,
        both_ways,
        guessed=suffix == "csv",
    )


def _files(source: Source | Sequence[Source], suffix: str) -> tuple[list[Path], Path | None]:
    if not isinstance(source, (str, PathLike)):
        paths = [Path(one) for one in source]
        missing = [path for path in paths if not path.is_file()]
        if missing:
            raise StorageError(f"{missing[0]}: there is no such file")
        _refuse_misnamed((path for path in paths if not _is_named(path)), suffix)
        return paths, None
    folder = Path(source)
    if not folder.is_dir():
        raise StorageError(f"{folder}: there is no such folder", hint=_LAYOUT.format(suffix))
    settings = folder / _SETTINGS
    paths = sorted(path for path in folder.glob(f"*.{suffix}") if _is_named(path))
    meant = (path for path in sorted(folder.iterdir()) if _MEANT.match(path.name) and _suffixed(path, suffix))
    _refuse_misnamed((path for path in meant if path not in paths), suffix)
    return paths, settings if settings.is_file() else None


def _is_named(path: Path) -> bool:
    """Tell whether a file's name says that it holds nodes or relationships."""
    return path.stem.startswith(("nodes_", "rels_"))


def _suffixed(path: Path, suffix: str) -> bool:
    """Tell whether a file has the suffix, in any case, packed or not."""
    name = path.name.lower()
    return any(name.endswith(f".{suffix}{packed}") for packed in ("", ".gz", ".bz2", ".xz", ".zip", ".zst"))


def _refuse_misnamed(paths: Iterable[Path], suffix: str) -> None:
    """Raise for a file that would be left out though it is meant to be read."""
    for path in paths:
        other = "Or read it yourself and pass the tables to Graph.from_arrow."
        raise StorageError(f"{path}: it would not be read by this name", hint=f"{_LAYOUT.format(suffix)} {other}")


def _parse(path: Path, labels: set[str]) -> tuple[str, str, str]:
    """Split ``rels_<Start>_<TYPE>_<End>`` by the labels that there are; longer labels first."""
    name = path.stem.removeprefix("rels_")
    found = [
        (start, name[len(start) + 1 : -len(end) - 1], end)
        for start in labels
        for end in labels
        if name.startswith(f"{start}_") and name.endswith(f"_{end}") and len(name) > len(start) + len(end) + 2
    ]
    if not found:
        raise StorageError(
            f"{path}: its name isn't rels_<Start>_<TYPE>_<End> with two of the labels {', '.join(sorted(labels))}",
            hint="Add the missing nodes_<Label> file, or rename this one.",
        )
    return max(found, key=lambda one: (len(one[0]) + len(one[2]), one))


def _undirected(settings: Path | None) -> list[str]:
    if settings is None:
        return []
    import tomllib

    try:
        relationships = tomllib.loads(settings.read_text(encoding="utf-8")).get("relationships", {})
        return [name for name, facts in relationships.items() if facts.get("undirected", False)]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError) as error:
        raise StorageError(
            f"{settings}: it can't be understood: {error}", hint="Write [relationships.TYPE] and undirected = true."
        ) from None


def _read_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise StorageError(
            f"{path}: it is no readable Parquet file: {first_line(error)}", hint="It may be damaged or cut off."
        ) from None
