"""Where rows lie that no process holds: Parquet files, Arrow tables, or frames of the engine that moves them.

Of each source three things are looked at: its columns, how many rows it has, and some rows from all over it. The rest
is read by workers, piece by piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from qengine._frozen import frozen
from qengine.errors import StorageError
from qengine.remote.places import RemotePath, place_of
from qengine.storage.files import parquet_files
from qengine.storage.given import arrow_table, first_line

Source = Any
"""A path of Parquet files (a file, a folder of some, a list of files), here or elsewhere, or a table."""

SAMPLE = 1 << 16
"""Rows that are looked at to plan."""
_PLACES = 16  # of a source where rows are taken from
_SETTINGS = 1 << 20  # bytes that a file beside tables may have
_PIECE = 1 << 20  # rows of a file that one task reads, as far as row groups allow


@frozen
class Spread:
    """What was looked at of a source: ``source`` itself, ``schema`` (pyarrow), ``rows``, and ``sample``, a table."""

    source: Source
    schema: Any
    rows: int
    sample: Any


def is_path(source: Source) -> bool:
    """Tell whether a source is given by paths."""
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(each, str | PathLike | RemotePath) for each in source)
    return isinstance(source, str | PathLike | RemotePath)


def look(source: Source, place: str) -> Spread:
    """Look at Parquet files, of which only their ends and a few row groups are read, or at a table.

    Raises
    ------
    StorageError
        For what is neither; ``place`` is what it is called there.
    """
    if not is_path(source):
        table = arrow_table(source, place)
        return Spread(table, table.schema, table.num_rows, _thinned(table))
    dataset = _dataset(source, place)
    groups = [part for fragment in dataset.get_fragments() for part in fragment.split_by_row_group()]
    chosen = [groups[place] for place in sorted({i * len(groups) // _PLACES for i in range(_PLACES)})] if groups else []
    each = SAMPLE // max(1, len(chosen))
    parts = [fragment.scanner(schema=dataset.schema).head(each) for fragment in chosen]
    sample = pa.concat_tables(parts) if parts else dataset.schema.empty_table()
    return Spread(source, dataset.schema, dataset.count_rows(), sample)


def pieces(source: Source, columns: Sequence[str], least: int) -> list[Any]:
    """Return at least so many parts of a source where it is large enough, for ``rows_of`` in any process.

    Parameters
    ----------
    columns
        Those that are wanted.
    """
    names = list(columns)
    if is_path(source):
        dataset = _dataset(source, "")
        groups = [part for fragment in dataset.get_fragments() for part in fragment.split_by_row_group()]
        rows = sum(group.row_groups[0].num_rows for group in groups)
        most = max(1, min(_PIECE, rows // max(1, least)))
        found: list[list[Any]] = []
        size = most
        for group in groups:
            if size >= most:
                found.append([])
                size = 0
            found[-1].append(group)
            size += group.row_groups[0].num_rows
        return [(part, dataset.schema, names) for part in found]
    table = source.select(names)
    step = max(1, min(_PIECE, -(-table.num_rows // max(1, least))))
    return [_bytes(table.slice(offset, step)) for offset in range(0, table.num_rows, step)]


def rows_of(piece: Any) -> Any:
    """Return the rows of a piece as an Arrow table."""
    if isinstance(piece, bytes):
        return pa.ipc.open_stream(piece).read_all()
    groups, schema, names = piece
    return pa.concat_tables([group.to_table(schema=schema, columns=names) for group in groups])


def _bytes(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _thinned(table: Any) -> Any:
    """Return some rows of a table, from all over it."""
    if table.num_rows <= SAMPLE:
        return table
    each = SAMPLE // _PLACES
    starts = (i * (table.num_rows - each) // (_PLACES - 1) for i in range(_PLACES))
    return pa.concat_tables([table.slice(start, each) for start in starts])


def folder_of_files(folder: Any) -> tuple[Mapping[str, Source], list[tuple[str, str, str, Source]], list[str]]:
    """Return what a folder of Parquet files holds, as ``storage.files.parquet_files`` does; also one that is elsewhere.

    Of another filesystem names are listed, and settings read.
    """
    place = place_of(folder)
    if place is None:
        return parquet_files(folder)
    with TemporaryDirectory() as copied:
        for name in place.files():
            small = not name.endswith(".parquet")
            (Path(copied) / name).write_bytes(place.below(name).read(_SETTINGS) if small else b"")
        try:
            nodes, relationships, undirected = parquet_files(copied)
        except StorageError as error:
            raise StorageError(error.message.replace(copied, str(place)), hint=error.hint) from None
    here = {labels: place.below(path.name) for labels, path in nodes.items()}
    return here, [(*names, place.below(path.name)) for *names, path in relationships], undirected  # type: ignore[misc]


def _dataset(source: Source, place: str) -> Any:
    import pyarrow.dataset

    try:
        paths = list(source) if isinstance(source, list | tuple) else [source]
        places = [place_of(fspath(path) if isinstance(path, PathLike) else path) for path in paths]
        filesystem = next((each.store for each in places if each is not None), None)
        names = [_local(path) if there is None else there.path for path, there in zip(paths, places, strict=True)]
        return pyarrow.dataset.dataset(names[0] if len(names) == 1 else names, format="parquet", filesystem=filesystem)
    except (OSError, pa.ArrowException) as error:
        hint = "Give a Parquet file, a folder of some, or a list of files."
        raise StorageError(f"{place}: {first_line(error)}", hint=hint) from None


def _local(path: str | PathLike[str]) -> str:
    name = fspath(path)
    return name if "://" in name else str(Path(name).absolute())
