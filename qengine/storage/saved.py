"""Saved graphs: a directory with ``manifest.json`` and Arrow IPC files, mapped and read without a copy.

A save writes the files into a new folder inside the directory and then renames the manifest over the old one: a
crash at any time leaves the old graph or the new one (``directory.py``). Opening believes nothing: the manifest is
compared with its schema, what frames the files with what qengine writes, and each array is checked when it is first
read (``blocks.py``, ``saved_lists.py``, ``saved_columns.py``).
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa

from qengine._system import Folder, opened
from qengine.errors import StorageError
from qengine.storage import manifest as manifests
from qengine.storage.arrays import Array
from qengine.storage.arrowfiles import read_adjacencies, read_properties, write_adjacencies, write_properties
from qengine.storage.blocks import BLOCK, DAMAGED, BlockFile, block_checksums, reason
from qengine.storage.directory import MANIFEST, SaveFolder, read_bounded
from qengine.storage.disk import DISK, Disk
from qengine.storage.kernels import Checksum
from qengine.storage.numbers_file import read_numbers, write_numbers
from qengine.storage.progress import Progress
from qengine.storage.statistics_file import read_statistics, write_statistics
from qengine.storage.store import GraphStore
from qengine.storage.writer_lock import WRITER, WriterLock

Verify = Literal["lazy", "full", "never"]
Publishing = Callable[[str], contextlib.AbstractContextManager[object]]

_ATTEMPTS = 5
_NEW_MANIFEST = f"{MANIFEST}.new"
_UNLOGGED = 3  # the last format of graphs that no log continues
_FILES: dict[str, Callable[[GraphStore, BinaryIO], None]] = {
    manifests.ADJACENCY: write_adjacencies,
    manifests.PROPERTIES: write_properties,
    manifests.STATISTICS: lambda store, file: write_statistics(store.statistics, file),
}


def save(store: GraphStore, path: str | PathLike[str]) -> None:
    """Save a graph as a directory, crash-safe, as ``Graph.save`` says."""
    directory = Path(path)
    with _saving(directory):
        if directory.exists() and not directory.is_dir():
            raise StorageError(f"{directory}: there is something else there", hint="Choose a new or empty directory.")
        _make(directory, DISK)
        with opened(directory, locked=True) as handle:
            lock = WriterLock(directory, handle) if os.path.lexists(directory / WRITER) else None
            try:
                _save(store, directory, handle, DISK)
            finally:
                if lock is not None:
                    lock.release()


def save_new(store: GraphStore, path: Path, disk: Disk) -> None:
    """Save a graph in a folder that isn't there, or that is empty; one that is saved there already is left as it is.

    Raises
    ------
    StorageError
        As ``save``.
    """
    with _saving(path):
        if path.exists() and not path.is_dir():
            raise StorageError(f"{path}: there is something else there", hint="Choose a new or empty directory.")
        _make(path, disk)
        with opened(path, locked=True) as handle:
            if not os.path.lexists(path / MANIFEST):  # no other process was faster
                _save(store, path, handle, disk)


def _make(path: Path, disk: Disk) -> None:
    """Make a folder and those above it, where they aren't there, so that a crash of the machine leaves them."""
    if path.is_dir():
        return
    _make(path.parent, disk)
    with opened(path.parent) as handle:
        with contextlib.suppress(FileExistsError):
            disk.make_folder(path.name, handle)
        disk.sync_folder(handle)


def save_version(store: GraphStore, path: Path, disk: Disk, publishing: Publishing) -> None:
    """Save a graph that a log continues over the one in a directory, whose writer's lock the caller holds.

    ``publishing`` gets the new version's name (``saved_version``); the manifest is renamed inside the context that it
    returns.

    Raises
    ------
    StorageError
        As ``save``, and what ``publishing`` raises.
    """
    with _saving(path), opened(path, locked=True) as handle:
        _save(store, path, handle, disk, publishing)


class SavedVersion(NamedTuple):
    """A version that is saved: its name, which each save gives anew, and whether a log continues it."""

    name: str
    has_log: bool


def saved_version(path: Path) -> SavedVersion:
    """Return which version is saved in a directory.

    Raises
    ------
    StorageError
        If there is none, or its manifest is damaged.
    """
    try:
        with opened(path) as handle:
            return _version(_read_manifest(path, handle))
    except (FileNotFoundError, NotADirectoryError):
        raise _nothing_saved(path) from None
    except OSError as error:
        raise StorageError(f"{path}: it can't be read: {reason(error)}") from None


def open_saved(path: str | PathLike[str], verify: Verify = "lazy") -> GraphStore:
    """Open the graph that is saved in a directory, without its log; errors as for ``Graph.open``."""
    return open_version(path, verify)[0]


def open_version(path: str | PathLike[str], verify: Verify = "lazy") -> tuple[GraphStore, SavedVersion]:
    """Do as ``open_saved``, and tell which version it is."""
    if not isinstance(verify, str) or verify not in get_args(Verify):
        raise StorageError(f'`verify` is "lazy", "full" or "never", not {verify!r}.')
    directory = Path(path)
    before = None
    for _ in range(_ATTEMPTS):
        try:
            with opened(directory) as handle:
                found = _read_manifest(directory, handle)
                store = _open(directory, handle, found, trusted=verify == "never")
        except (FileNotFoundError, NotADirectoryError):
            raise _nothing_saved(directory) from None
        except _Gone as error:  # another process has replaced the graph since: then the manifest is new
            if found == before:
                raise StorageError(f"{error.path}: the file is missing", hint=DAMAGED) from None
            before = found
            continue
        except OSError as error:
            raise StorageError(f"{directory}: it can't be read: {reason(error)}") from None
        except (pa.ArrowException, KeyError, IndexError, TypeError, ValueError) as error:
            raise StorageError(f"{directory}: its files don't fit together: {error}", hint=DAMAGED) from None
        if verify == "full":
            with Progress("Checking", store.nbytes) as progress:
                store.check(progress.advance)
        return store, _version(found)
    raise StorageError(f"{directory}: it is replaced all the time", hint="Try again later.")


class _Gone(Exception):
    def __init__(self, path: Path) -> None:
        self.path = path


@contextlib.contextmanager
def _saving(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{path}: the graph can't be saved: {reason(error)}", hint="What was saved there is kept."
        ) from None


def renew_first_format(path: Path, handle: Folder, disk: Disk) -> None:
    """Save a graph of format 1 anew, which no log can continue; parameters and errors as for ``announce_log``."""
    if _read_manifest(path, handle)["format"] == 1:
        _save(open_saved(path), path, handle, disk)


def announce_log(path: Path, handle: Folder, disk: Disk) -> None:
    """Note in the manifest that a log continues the graph, so that versions that know of no logs refuse to open it.

    Parameters
    ----------
    path, handle
        The directory, where the log is, and a descriptor of it, locked; its writer's lock is the caller's.
    disk
        What writes.

    Raises
    ------
    StorageError
        If the manifest is damaged.
    OSError
        If it can't be written.
    """
    manifest = _read_manifest(path, handle)
    if manifest["format"] > _UNLOGGED:
        return
    with contextlib.suppress(FileNotFoundError):  # a crash has left it
        disk.remove(_NEW_MANIFEST, handle)
    with disk.create(_NEW_MANIFEST, handle) as file:
        file.write(manifests.encode({**manifest, "format": manifests.FORMAT}))
        disk.sync(file)
    disk.rename(_NEW_MANIFEST, handle, MANIFEST, handle)
    disk.sync_folder(handle)


def _save(store: GraphStore, path: Path, handle: Folder, disk: Disk, publishing: Publishing | None = None) -> None:
    with SaveFolder(path, handle, disk) as folder:
        manifest = _write(store, folder, logged=publishing is not None)
        with contextlib.nullcontext() if publishing is None else publishing(folder.name):
            folder.publish(manifest)


def _write(store: GraphStore, folder: SaveFolder, *, logged: bool) -> bytes:
    """Write the files with a graph's arrays; return the manifest's text, as ``manifests.describe``."""
    store.statistics.gather_all()
    files: dict[str, dict[str, Any]] = {}
    checksums: dict[str, Array] = {}
    numbered = {manifests.NUMBERS: write_numbers} if manifests.needs_numbers(store) else {}
    with Progress("Saving", store.nbytes) as progress:
        for name, write in (_FILES | numbered).items():
            with folder.create(name) as file:
                write(store, file)
                folder.flush(file)
            mapped = _mapped(folder.open(name))
            checksums[name] = block_checksums(mapped)
            files[f"{folder.name}/{name}"] = {"bytes": len(mapped), "checksum": _checksum(checksums[name])}
            progress.advance(len(mapped))
    together = np.concatenate([checksums[name] for name in sorted(checksums)])
    with folder.create(manifests.CHECKSUMS) as file:
        file.write(together.astype("<u8").tobytes())
        folder.flush(file)
    files[f"{folder.name}/{manifests.CHECKSUMS}"] = {"bytes": together.nbytes, "checksum": _checksum(together)}
    return manifests.encode(manifests.describe(store, files, logged=logged))


def _open(directory: Path, handle: Folder, manifest: Mapping[str, Any], *, trusted: bool) -> GraphStore:
    files = _map_files(directory, handle, manifest, trusted=trusted)
    types, groups = manifests.types(manifest), manifests.groups(manifest)
    vertices = groups[-1].end if groups else 0
    adjacencies = read_adjacencies(files[manifests.ADJACENCY], types, vertices, manifests.digests(manifest))
    properties = read_properties(files[manifests.PROPERTIES], types, vertices)
    identity = None
    if manifests.NUMBERS in files:
        identity = read_numbers(files[manifests.NUMBERS], vertices, types, manifest["numbers"])
    store = GraphStore(groups, manifest["labels"], types, adjacencies, *properties, identity, manifests.rules(manifest))
    store.sparing = trusted
    for name, counts in manifests.statistics(manifest).items():
        store.statistics.know(name, counts)
    if manifests.STATISTICS in files:  # graphs saved by older versions have none
        read_statistics(files[manifests.STATISTICS], store)
    return store


def _map_files(directory: Path, handle: Folder, manifest: Mapping[str, Any], *, trusted: bool) -> dict[str, BlockFile]:
    """Map the files that a manifest lists, by their names, with the checksums of their blocks."""
    facts = {path.partition("/")[2]: one for path, one in manifest["files"].items()}
    folder = _folder(manifest)
    try:
        inside = handle.inside(folder)
    except FileNotFoundError:
        raise _Gone(directory / folder) from None
    except OSError as error:
        raise StorageError(f"{directory / folder}: it can't be read: {reason(error)}", hint=DAMAGED) from None
    try:
        known = _block_checksums(directory / folder, inside, facts) if manifests.CHECKSUMS in facts else {}
        names = [name for name in facts if name != manifests.CHECKSUMS]
        files = {
            name: _map_file(directory / folder / name, inside, facts[name]["bytes"], known.get(name), trusted=trusted)
            for name in names
        }
    finally:
        inside.close()
    if not (known or trusted):
        _check_whole(files, facts)
    return files


def _map_file(path: Path, folder: Folder, size: int, checksums: Array | None, *, trusted: bool = False) -> BlockFile:
    try:
        handle = folder.open_file(path.name)
    except FileNotFoundError:
        raise _Gone(path) from None
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: it can't be read: {reason(error)}", hint=DAMAGED) from None
    try:
        return BlockFile(path, handle, size, checksums, trusted=trusted)
    finally:
        os.close(handle)


def _block_checksums(path: Path, folder: Folder, facts: Mapping[str, Mapping[str, Any]]) -> dict[str, Array]:
    """Return the checksums of each file's blocks, compared with the manifest's."""
    names = sorted(name for name in facts if name != manifests.CHECKSUMS)
    counts = [-(-facts[name]["bytes"] // BLOCK) for name in names]
    size = facts[manifests.CHECKSUMS]["bytes"]
    file = _map_file(path / manifests.CHECKSUMS, folder, size, None)
    if size != 8 * sum(counts):
        raise file.damaged(f"it has {size:,} bytes for {sum(counts):,} blocks")
    together = np.frombuffer(file.buffer, "<u8").astype(np.uint64)
    if _checksum(together) != facts[manifests.CHECKSUMS]["checksum"]:
        raise file.damaged("its checksum is wrong")
    found = dict(zip(names, np.split(together, np.cumsum(counts)[:-1]), strict=True))
    for name in names:
        if _checksum(found[name]) != facts[name]["checksum"]:
            raise file.damaged(f"the checksums of {name} aren't those that the manifest means")
    return found


def _check_whole(files: Mapping[str, BlockFile], facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Compare the checksums of files of format 1, which has one a file."""
    with Progress("Checking", sum(file.size for file in files.values())) as progress:
        for name, file in files.items():
            if _checksum(file.buffer, progress.advance) != facts[name]["checksum"]:
                raise file.damaged("its checksum is wrong")


def _nothing_saved(directory: Path) -> StorageError:
    """Return the error that there is no graph, with how to load what is there."""
    hint = "Save one with Graph.save, load files with Graph.from_…, or begin one with qengine.open(path, create=True)."
    for kind in ("csv", "parquet"):
        if next(directory.glob(f"nodes_*.{kind}"), None) is not None:
            hint = f"Load its files with Graph.from_{kind}."
    return StorageError(f"{directory}: there is no saved graph", hint=hint)


def _version(manifest: Mapping[str, Any]) -> SavedVersion:
    return SavedVersion(_folder(manifest), manifest["format"] > _UNLOGGED)


def _folder(manifest: Mapping[str, Any]) -> str:
    """Return the folder with a manifest's files."""
    return str(next(iter(manifest["files"])).partition("/")[0])


def _read_manifest(directory: Path, handle: Folder) -> dict[str, Any]:
    path = directory / MANIFEST
    try:
        manifest = manifests.decode(read_bounded(MANIFEST, handle, manifests.MOST_BYTES))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageError(f"{path}: it can't be read: {reason(error)}", hint=DAMAGED) from None
    except ValueError as error:
        raise StorageError(f"{path}: it can't be understood: {error}", hint=DAMAGED) from None
    if manifest["format"] > manifests.FORMAT:
        raise StorageError(
            f"{path}: it has format {manifest['format']}; this version of qengine reads formats up to "
            f"{manifests.FORMAT}",
            hint="Install a newer qengine, or save the graph again with this one.",
        )
    return manifest


def _mapped(handle: int) -> Any:
    """Return the bytes of a file, mapped; closes the descriptor."""
    try:
        return memoryview(mmap.mmap(handle, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(handle)


def _checksum(data: Any, advance: Callable[[float], None] = lambda steps: None) -> str:
    """Return the checksum of some bytes, in hexadecimal."""
    checksum, view = Checksum(), memoryview(data).cast("B")
    for begin in range(0, len(view), BLOCK):
        part = view[begin : begin + BLOCK]
        checksum.update(part)
        advance(len(part))
    return f"{checksum.value:016x}"
