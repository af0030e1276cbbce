"""Saved graphs: a directory with ``manifest.json`` and Arrow IPC files, mapped and read without a copy.

A save writes the files into a new folder inside the directory and then renames the manifest over the old one: a
crash at any time leaves the old graph or the new one. Each file's checksum stands in the manifest, and the
manifest's own beside it; ``open_saved`` compares all before it believes anything.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from qengine.errors import StorageError
from qengine.storage.arrowfiles import read_adjacencies, read_properties, write_adjacencies, write_properties
from qengine.storage.kernels import Checksum
from qengine.storage.manifest import FORMAT, decode, describe, encode, restore
from qengine.storage.progress import Progress
from qengine.storage.statistics_file import read_statistics, write_statistics
from qengine.storage.store import GraphStore

_MANIFEST = "manifest.json"
_DATA = "data-"
_CHUNK = 1 << 22  # bytes, a multiple of the 64 that Checksum asks for
_ATTEMPTS = 5
_FILES: dict[str, Callable[[GraphStore, BinaryIO], None]] = {
    "adjacency.arrow": write_adjacencies,
    "properties.arrow": write_properties,
    "statistics.arrow": lambda store, file: write_statistics(store.statistics, file),
}
_DAMAGED = "It is damaged: save the graph again from its source, or restore the directory from a backup."


def save(store: GraphStore, path: str | PathLike[str]) -> None:
    """Save a graph as a directory, crash-safe, as ``Graph.save`` says."""
    directory = Path(path)
    try:
        if directory.exists() and not _may_hold_a_graph(directory):
            raise StorageError(f"{directory}: there is something else there", hint="Choose a new or empty directory.")
        directory.mkdir(parents=True, exist_ok=True)
        with _locked(directory):
            _write(store, directory)
    except OSError as error:
        raise StorageError(
            f"{directory}: the graph can't be saved: {error.strerror or error}", hint="What was saved there is kept."
        ) from None


def open_saved(path: str | PathLike[str]) -> GraphStore:
    """Open a saved graph, as ``Graph.open`` says."""
    directory = Path(path)
    before = None
    for _ in range(_ATTEMPTS):
        found = _read_manifest(directory)
        try:
            return _open(directory, found)
        except _Gone as error:  # another process has replaced the graph since: then the manifest is new
            if found == before:
                raise StorageError(f"{error.path}: the file is missing", hint=_DAMAGED) from None
            before = found
    raise StorageError(f"{directory}: it is replaced all the time", hint="Try again later.")


class _Gone(Exception):
    def __init__(self, path: Path) -> None:
        self.path = path


def _write(store: GraphStore, directory: Path) -> None:
    folder = directory / f"{_DATA}{uuid.uuid4().hex}"
    temporary = directory / f"{folder.name}.tmp"
    folder.mkdir()
    store.statistics.gather_all()
    try:
        files: dict[str, dict[str, Any]] = {}
        for name, write in _FILES.items():
            with (folder / name).open("wb") as file:
                write(store, file)
                _flush(file)
            size, checksum = _measure(folder / name)
            files[f"{folder.name}/{name}"] = {"bytes": size, "checksum": checksum}
        _flush_directory(folder)
        with temporary.open("wb") as file:
            file.write(encode(describe(store, files)))
            _flush(file)
        temporary.replace(directory / _MANIFEST)
    except BaseException:
        temporary.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _flush_directory(directory)
    for old in directory.glob(f"{_DATA}*"):  # the graph before this one, and what crashes have left
        if old.name.endswith(".tmp"):
            old.unlink()
        elif old != folder:
            shutil.rmtree(old, ignore_errors=True)


def _open(directory: Path, manifest: Mapping[str, Any]) -> GraphStore:
    paths = {Path(name).name: directory / name for name in manifest["files"]}
    with Progress("Checking", sum(one["bytes"] for one in manifest["files"].values())) as progress:
        checks = [(directory / name, facts, progress) for name, facts in manifest["files"].items()]
        with ThreadPoolExecutor(len(checks)) as pool:
            list(pool.map(_check, checks))
    try:
        mapped = {name: pa.ipc.open_file(pa.memory_map(str(path))) for name, path in paths.items()}
        adjacencies = read_adjacencies(mapped["adjacency.arrow"])
        store = restore(manifest, adjacencies, *read_properties(mapped["properties.arrow"], len(manifest["types"])))
        if "statistics.arrow" in mapped:  # graphs saved by older versions have none
            read_statistics(mapped["statistics.arrow"], store.statistics)
        return store
    except (pa.ArrowException, OSError, KeyError, IndexError, ValueError) as error:
        raise StorageError(f"{directory}: its files don't fit together: {error}", hint=_DAMAGED) from None


def _check(item: tuple[Path, Mapping[str, Any], Progress]) -> None:
    path, facts, progress = item
    try:
        size = path.stat().st_size
        if size == facts["bytes"]:
            size, checksum = _measure(path, progress)
    except FileNotFoundError:
        raise _Gone(path) from None
    except OSError as error:
        raise StorageError(f"{path}: it can't be read: {error.strerror}") from None
    if size != facts["bytes"]:
        raise StorageError(f"{path}: it has {size:,} bytes instead of {facts['bytes']:,}", hint=_DAMAGED)
    if checksum != facts["checksum"]:
        raise StorageError(f"{path}: its checksum is wrong", hint=_DAMAGED)


def _other_way(directory: Path) -> str:
    """Return how to load what is there."""
    for kind in ("csv", "parquet"):
        if next(directory.glob(f"nodes_*.{kind}"), None) is not None:
            return f"Load its files with Graph.from_{kind}."
    return "Save one with Graph.save, or load files with Graph.from_…."


def _read_manifest(directory: Path) -> dict[str, Any]:
    path = directory / _MANIFEST
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise StorageError(f"{directory}: there is no saved graph", hint=_other_way(directory)) from None
    except OSError as error:
        raise StorageError(f"{path}: it can't be read: {error.strerror}") from None
    try:
        manifest = decode(text)
    except ValueError as error:
        raise StorageError(f"{path}: it can't be understood: {error}", hint=_DAMAGED) from None
    if manifest["format"] > FORMAT:
        raise StorageError(
            f"{path}: it has format {manifest['format']}; this version of qengine reads formats up to {FORMAT}",
            hint="Install a newer qengine, or save the graph again with this one.",
        )
    return manifest


def _measure(path: Path, progress: Progress | None = None) -> tuple[int, str]:
    """Return a file's size and checksum."""
    checksum, size = Checksum(), 0
    chunk = memoryview(bytearray(_CHUNK))
    with path.open("rb", buffering=0) as file:
        while length := _fill(file, chunk):
            checksum.update(chunk[:length])
            size += length
            if progress is not None:
                progress.advance(length)
    return size, f"{checksum.value:016x}"


def _fill(file: Any, chunk: memoryview[Any]) -> int:
    """Read until the chunk is full or the file ends; return how many bytes came."""
    length = 0
    while length < len(chunk) and (more := file.readinto(chunk[length:])):
        length += more
    return length


def _may_hold_a_graph(directory: Path) -> bool:
    """Tell whether a save may write here: a directory with nothing in it but a graph or the rest of a save."""
    return directory.is_dir() and all(
        entry.name == _MANIFEST or entry.name.startswith(_DATA) for entry in directory.iterdir()
    )


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Let one process at a time save here."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _flush(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _flush_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
