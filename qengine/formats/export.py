"""Chooses a format by its name or by a path's ending, and writes it so that no half of it stays."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from qengine._frozen import frozen
from qengine.errors import StorageError
from qengine.formats.cypher_out import write_cypher
from qengine.formats.graphml_out import write_graphml
from qengine.formats.jsonl import write_jsonl
from qengine.formats.options import Source
from qengine.formats.tables_out import write_csv, write_parquet
from qengine.storage.given import given_path
from qengine.storage.store import GraphStore


@frozen
class _Format:
    """What writes a format, whether into a folder, and the endings that mean it."""

    write: Callable[[GraphStore, Path], None]
    folder: bool
    endings: tuple[str, ...]


FORMATS: Mapping[str, _Format] = {
    "parquet": _Format(write_parquet, True, ()),
    "csv": _Format(write_csv, True, ()),
    "cypher": _Format(write_cypher, False, (".cypher", ".cql", ".cyp")),
    "graphml": _Format(write_graphml, False, (".graphml", ".xml")),
    "jsonl": _Format(write_jsonl, False, (".jsonl", ".json", ".ndjson")),
}
"""The formats of ``Graph.export`` by name."""


def export(store: GraphStore, path: Source, format: str | None) -> None:
    """Write a graph to a file or folder, as ``Graph.export`` says."""
    target = given_path(path, "Give a path to write to.")
    found = FORMATS[_format_of(target, format)]
    if found.folder and target.is_dir() and any(target.iterdir()):
        raise StorageError(f"{target}: this folder isn't empty", hint="Name a new one, or remove what is in it.")
    if not found.folder and target.is_dir():
        raise StorageError(f"{target}: this is a folder, not a file", hint="Name a file.")
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.absolute().parent))
    except OSError as error:
        raise StorageError(f"{target}: it can't be written: {error.strerror}", hint="Does its folder exist?") from None
    try:
        made = beside / "graph"
        if found.folder:
            made.mkdir()
        found.write(store, made)
        if found.folder and target.is_dir():
            target.rmdir()
        os.replace(made, target)
    except OSError as error:
        raise StorageError(f"{target}: it can't be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _format_of(path: Path, given: str | None) -> str:
    if given is None:
        given = next((name for name, each in FORMATS.items() if path.suffix.lower() in each.endings), None)
        if given is None:
            raise StorageError(
                f"{path}: its name doesn't tell the format",
                hint=f"Give format=, one of {', '.join(FORMATS)}; parquet and csv are folders of several files.",
            )
    if given not in FORMATS:
        raise StorageError(f"There is no format {given!r}", hint=f"There are {', '.join(FORMATS)}.")
    return given
