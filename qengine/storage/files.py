"""Graphs from folders of Parquet or CSV files: one file a node label, one a relationship type between two labels.

``nodes_<Label>.parquet`` and ``rels_<Start>_<TYPE>_<End>.parquet`` (or ``.csv``); labels and types may hold
underscores. A ``graph.toml`` beside them says what the files can't: ``[relationships.TYPE] undirected = true``.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from qengine.errors import LoadingWarning, StorageError
from qengine.storage.csvfile import read_csv
from qengine.storage.external.budget import Budget
from qengine.storage.external.scratch import Scratch
from qengine.storage.given import first_line, given_path, labels_of, type_names
from qengine.storage.kernels import threads
from qengine.storage.memory import within_memory
from qengine.storage.progress import Progress
from qengine.storage.store import GraphStore
from qengine.storage.tables import from_tables

Source = str | PathLike[str]
_SETTINGS = "graph.toml"
_MANY_ROWS = 10_000  # of a file, which threads read in less time
_MEANT = re.compile(r"(nodes?|rels?|relations?|relationships?|edges?)[-_ ]", re.IGNORECASE)
"""How names begin that are meant for nodes or relationships."""

_SETTINGS_FORM = "Write [relationships.TYPE] and undirected = true."
_LAYOUT = (
    "Name the files nodes_<Label>.{0} and rels_<Start>_<TYPE>_<End>.{0}, or give those of other names as "
    'Graph.from_{0}(nodes={{"Person": file}}, relationships={{"KNOWS": file}}).'
)


Within = tuple[Budget, Scratch]
"""What may be in memory while a graph is loaded, and where the rest stands."""


def from_parquet(
    source: Source | Sequence[Source],
    *,
    key: str | None = None,
    undirected: Iterable[str] = (),
    within: Within | None = None,
) -> GraphStore:
    """Load Parquet files, as ``Graph.from_parquet`` says; ``within``: None for all in memory."""
    if within is not None:
        return _load_in_pieces(source, "parquet", within, key, undirected)
    return _load(source, "parquet", read_parquet, key, undirected)


def from_csv(
    source: Source | Sequence[Source],
    *,
    key: str | None = None,
    undirected: Iterable[str] = (),
    within: Within | None = None,
) -> GraphStore:
    """Load CSV files, as ``Graph.from_csv`` says; ``within``: None for all in memory."""
    if within is not None:
        return _load_in_pieces(source, "csv", within, key, undirected)
    return _load(source, "csv", read_csv, key, undirected)


@within_memory
def _load(
    source: Source | Sequence[Source],
    suffix: str,
    read: Callable[[Path, list[LoadingWarning]], Any],
    key: str | None,
    undirected: Iterable[str],
) -> GraphStore:
    told: list[LoadingWarning] = []
    nodes, edges, settings = _named_files(source, suffix, told)
    both_ways = type_names(undirected) | set(undirected_types(settings))
    with Progress("Reading", len(nodes) + len(edges)) as progress, ThreadPoolExecutor(threads()) as pool:

        def counted(path: Path) -> Any:
            table = read(path, told)
            progress.advance()
            return table

        tables = dict(zip((*nodes, *edges), pool.map(counted, (*nodes, *edges)), strict=True))
    store = from_tables(
        [(str(path), labels_of(label), tables[path]) for path, label in nodes.items()],
        ((str(path), name, start, end, tables.pop(path)) for path, (start, name, end) in edges.items()),
        key,
        both_ways,
        guessed=suffix == "csv",
    )
    warn_of(told)
    return store


@within_memory
def _load_in_pieces(
    source: Source | Sequence[Source], suffix: str, within: Within, key: str | None, undirected: Iterable[str]
) -> GraphStore:
    from qengine.storage.external import csv_source, from_sources, parquet_source

    told: list[LoadingWarning] = []
    nodes, edges, settings = _named_files(source, suffix, told)
    budget, scratch = within

    def opened(path: Path) -> Any:
        return parquet_source(path) if suffix == "parquet" else csv_source(path, told, scratch)

    with scratch:
        store = from_sources(
            [(labels_of(label), opened(path)) for path, label in nodes.items()],
            [(name, start, end, opened(path)) for path, (start, name, end) in edges.items()],
            key,
            type_names(undirected) | set(undirected_types(settings)),
            budget,
            scratch,
            guessed=suffix == "csv",
        )
    warn_of(told)
    return store


def _named_files(
    source: Source | Sequence[Source], suffix: str, told: list[LoadingWarning]
) -> tuple[dict[Path, str], dict[Path, tuple[str, str, str]], Path | None]:
    """Return files of nodes with their labels, files of relationships with label, type and label, and the settings."""
    paths, settings = _files(source, suffix, told)
    nodes = {path: path.stem.removeprefix("nodes_") for path in paths if path.stem.startswith("nodes_")}
    if not nodes:
        raise StorageError(f"{source}: there is no nodes_<Label>.{suffix}", hint=_LAYOUT.format(suffix))
    edges = {path: _parse(path, set(nodes.values())) for path in paths if path.stem.startswith("rels_")}
    return nodes, edges, settings


def parquet_files(source: Source) -> tuple[dict[str, Path], list[tuple[str, str, str, Path]], list[str]]:
    """Return what a folder of Parquet files holds, unread.

    Returns
    -------
    tuple
        Each labels' file, of each relationship file type, start label, end label and path, and the undirected types.
    """
    told: list[LoadingWarning] = []
    nodes, edges, settings = _named_files(source, "parquet", told)
    warn_of(told)
    relationships = [(name, start, end, path) for path, (start, name, end) in edges.items()]
    return {label: path for path, label in nodes.items()}, relationships, undirected_types(settings)


def warn_of(told: Iterable[LoadingWarning]) -> None:
    """Warn of what was found while files were loaded, at the first line outside of the package."""
    for warning in sorted(told, key=str):
        warnings.warn(warning, stacklevel=_outside())


def _outside() -> int:
    """Return the level for ``warnings.warn`` in the caller of the line that calls the package."""
    frame, level = sys._getframe(2), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("qengine."):
        frame, level = frame.f_back, level + 1
    return level


def _files(
    source: Source | Sequence[Source], suffix: str, told: list[LoadingWarning]
) -> tuple[list[Path], Path | None]:
    layout = _LAYOUT.format(suffix)
    hint = f"Give a folder, or a list of files. {layout}"
    if not isinstance(source, str | PathLike):
        if not isinstance(source, Iterable):
            raise StorageError(f"{suffix} files: a {type(source).__name__} is neither a folder nor a list", hint=hint)
        paths = [given_path(one, hint) for one in source]
        missing = [path for path in paths if not path.is_file()]
        if missing:
            what = "this is a folder" if missing[0].is_dir() else "there is no such file"
            raise StorageError(f"{missing[0]}: {what}", hint="A list holds files; a folder is given by itself.")
        if twice := [path for path, count in Counter(paths).items() if count > 1]:
            raise StorageError(f"{twice[0]}: it is given twice", hint="Give each file once.")
        _refuse_misnamed((path for path in paths if not _is_named(path)), suffix)
        return paths, None
    folder = given_path(source, hint)
    if folder.is_file():
        raise StorageError(
            f"{folder}: this is a file, not a folder",
            hint=f"Give its folder, or a list of files: Graph.from_{suffix}([{str(folder)!r}, …]). {layout}",
        )
    if not folder.is_dir():
        raise StorageError(f"{folder}: there is no such folder", hint=layout)
    settings = folder / _SETTINGS
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        raise StorageError(f"{folder}: it can't be read: {error.strerror}", hint="May you read the folder?") from None
    paths = [path for path in found if path.suffix == f".{suffix}" and _is_named(path)]
    others = [path for path in found if path not in paths and _suffixed(path, suffix)]
    _refuse_misnamed((path for path in others if _MEANT.match(path.name)), suffix)
    if others:
        names = ", ".join([path.name for path in others[:3]] + (["…"] if len(others) > 3 else []))
        told.append(LoadingWarning(f"{folder}: by their names these files are not loaded: {names}", hint=layout))
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


def undirected_types(settings: Path | None) -> list[str]:
    """Return the types that a ``graph.toml`` tells to have no direction."""
    if settings is None:
        return []
    import tomllib

    try:
        found = tomllib.loads(settings.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # ValueError: no TOML, no UTF-8
        raise StorageError(f"{settings}: it can't be understood: {first_line(error)}", hint=_SETTINGS_FORM) from None
    relationships = found.pop("relationships", {})
    for name in found:
        raise StorageError(f"{settings}: {name!r} is no setting", hint=_SETTINGS_FORM)
    if not isinstance(relationships, dict):
        raise StorageError(f"{settings}: relationships isn't a table", hint=_SETTINGS_FORM)
    for name, facts in relationships.items():
        if (
            not isinstance(facts, dict)
            or facts.keys() - {"undirected"}
            or not all(type(each) is bool for each in facts.values())
        ):
            raise StorageError(f"{settings}: relationships.{name} is {facts!r:.80}", hint=_SETTINGS_FORM)
    return [name for name, facts in relationships.items() if facts.get("undirected", False)]


def read_parquet(path: Path, told: list[LoadingWarning]) -> Any:
    """Return a Parquet file as a table."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            table = file.read(use_threads=file.metadata.num_rows > _MANY_ROWS)
        _ = table.column_names  # decoded only now
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise StorageError(
            f"{path}: it is no readable Parquet file: {first_line(error)}", hint="It may be damaged or cut off."
        ) from None
    return table
