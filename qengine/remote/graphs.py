"""Saved graphs on other filesystems: downloaded to be mapped, saved here and then uploaded."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from qengine._cache import cache_folder
from qengine._system import opened, user_number
from qengine.errors import StorageError
from qengine.remote.places import RemotePath
from qengine.storage.blocks import DAMAGED
from qengine.storage.directory import MANIFEST
from qengine.storage.manifest import FORMAT, MOST_BYTES, decode
from qengine.storage.progress import Progress

_ATTEMPTS = 5
_LOGGED = 4  # the first format of graphs that a log continues
_GRAPHS = "graphs"


def downloaded(place: RemotePath) -> Path:
    """Return a folder of this machine that holds the graph that is saved at a place.

    It is in the user's cache (``QENGINE_CACHE_DIR``), one for each place, and is used again until another version is
    saved there. What graphs that are open have mapped stays theirs when it is replaced.

    Raises
    ------
    StorageError
        If there is no graph, or it can't be read, kept here, or isn't one that was saved and never written to.
    """
    cache = cache_folder() or Path(tempfile.gettempdir()) / f"qengine-{user_number()}"
    folder = cache / _GRAPHS / hashlib.sha256(str(place).encode()).hexdigest()[:32]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != user_number():
            raise StorageError(f"{folder}: it is another user's", hint="Set QENGINE_CACHE_DIR to a folder of yours.")
        with opened(folder, locked=True):
            for _ in range(_ATTEMPTS):
                if _bring(place, folder):
                    return folder
    except OSError as error:
        raise StorageError(
            f"{place}: it can't be kept in {folder}: {error.strerror or error}",
            hint="Set QENGINE_CACHE_DIR to a folder with room for the graph.",
        ) from None
    raise StorageError(f"{place}: it is replaced all the time, or files are missing", hint="Try again later.")


def uploaded(place: RemotePath, save: Callable[[Path], None]) -> None:
    """Save a graph at a place, over the one that is there.

    It is saved on this machine first. The manifest comes last, by one write, so that the old graph stands until then;
    its files are deleted after that.

    Parameters
    ----------
    save
        Saves the graph in a folder.

    Raises
    ------
    StorageError
        If there is something else than a graph, or the place can't be written.
    """
    replaced = _replaced(place)
    with tempfile.TemporaryDirectory(prefix="qengine-save-") as name:
        folder = Path(name) / "graph"
        save(folder)
        text = (folder / MANIFEST).read_bytes()
        files = decode(text)["files"]
        new = _folder_of(files)
        with Progress("Uploading", sum(each["bytes"] for each in files.values())) as progress:
            place.below(new).make_folder()
            try:
                for path in files:
                    with open(folder / path, "rb") as file:
                        place.below(path).write(file, progress.advance)
                with open(folder / MANIFEST, "rb") as file:
                    place.below(MANIFEST).write(file, lambda done: None)
            except BaseException:
                if _listed(place) != new:
                    place.below(new).delete()
                raise
    if replaced is not None:
        place.below(replaced).delete()


def _bring(place: RemotePath, folder: Path) -> bool:
    """Make a folder hold the graph that is saved at a place now; False where files of it are gone by then."""
    text, manifest = _manifest(place)
    if manifest["format"] == _LOGGED:
        raise StorageError(
            f"{place}: changes were written to this graph, which are in its log",
            hint="Open it where it was written to, and save it here with Graph.save.",
        )
    files: Mapping[str, Any] = manifest["files"] if manifest["format"] <= FORMAT else {}
    known = folder / MANIFEST
    if (
        known.is_file()
        and known.read_bytes() == text
        and all(_has(folder / each, files[each]["bytes"]) for each in files)
    ):
        return True
    kept = _folder_of(files) if files else ""
    with Progress(f"Downloading {place}", sum(each["bytes"] for each in files.values())) as progress:
        for path, facts in files.items():
            (folder / path).parent.mkdir(mode=0o700, exist_ok=True)
            if _has(folder / path, facts["bytes"]):
                progress.advance(facts["bytes"])
                continue
            try:
                _download(place.below(path), folder / path, progress.advance)
            except FileNotFoundError:  # a save has replaced the graph meanwhile
                return False
            if not _has(folder / path, facts["bytes"]):
                raise StorageError(f"{place.below(path)}: it hasn't {facts['bytes']:,} bytes", hint=DAMAGED)
    _download_text(text, known)
    for other in folder.glob("data-*"):
        if other.name != kept:
            shutil.rmtree(other, ignore_errors=True)
    return True


def _manifest(place: RemotePath) -> tuple[bytes, dict[str, Any]]:
    try:
        text = place.below(MANIFEST).read(MOST_BYTES)
    except FileNotFoundError:
        raise StorageError(f"{place}: there is no saved graph", hint="Save one with Graph.save.") from None
    try:
        return text, decode(text)
    except ValueError as error:
        raise StorageError(f"{place}: its manifest can't be understood: {error}", hint=DAMAGED) from None


def _replaced(place: RemotePath) -> str | None:
    """Return the folder with the files of the graph that is saved at a place; None where nothing is."""
    try:
        files = decode(place.below(MANIFEST).read(MOST_BYTES))["files"]
    except FileNotFoundError:
        if place.files():
            raise StorageError(
                f"{place}: there is something else there", hint="Choose a new or empty directory."
            ) from None
        return None
    except (ValueError, KeyError):
        raise StorageError(f"{place}: there is something else there: {MANIFEST} is no graph's") from None
    return _folder_of(files)


def _listed(place: RemotePath) -> str | None:
    """Return the folder that the manifest at a place lists; None where that can't be told."""
    try:
        return _folder_of(decode(place.below(MANIFEST).read(MOST_BYTES))["files"])
    except (OSError, StorageError, ValueError, KeyError):
        return None


def _folder_of(files: Mapping[str, Any]) -> str:
    return str(next(iter(files)).partition("/")[0])


def _has(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def _download(place: RemotePath, path: Path, advance: Callable[[float], None]) -> None:
    part = path.with_name(f"{path.name}.part")
    with open(part, "wb") as file:
        for piece in place.pieces():
            file.write(piece)
            advance(len(piece))
    os.replace(part, path)


def _download_text(text: bytes, path: Path) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(text)
    os.replace(part, path)
