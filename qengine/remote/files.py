"""Files on other filesystems: downloaded for as long as they are loaded, exported here and then uploaded."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from qengine.errors import StorageError
from qengine.remote.places import RemotePath, place_of

_Loader = TypeVar("_Loader", bound=Callable[..., Any])


def staged(load: _Loader) -> _Loader:
    """Return a constructor that also takes files, and folders, of other filesystems, as its source and by keywords.

    They are copied to a temporary folder while it runs; errors name the places from where.
    """

    @wraps(load)
    def loaded(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if not any(_is_remote(each) for each in (*args, *kwargs.values())):
            return load(cls, *args, **kwargs)
        with tempfile.TemporaryDirectory(prefix="qengine-load-", dir=kwargs.get("spill_directory")) as name:
            stage = _Stage(Path(name))
            own = [stage.bring(each) for each in args]
            named = {key: stage.bring(each) for key, each in kwargs.items()}
            try:
                return load(cls, *own, **named)
            except StorageError as error:
                raise stage.told(error) from None

    return loaded  # type: ignore[return-value]


def uploaded_files(place: RemotePath, write: Callable[[Path], None]) -> None:
    """Write a file, or a folder of files, at a place.

    Parameters
    ----------
    write
        Writes it on this machine, to a path that has the place's name.

    Raises
    ------
    StorageError
        If the place is a folder that isn't empty, or can't be written.
    """
    with tempfile.TemporaryDirectory(prefix="qengine-export-") as name:
        made = Path(name) / (place.name or "graph")
        write(made)
        if made.is_dir() and place.files():
            raise StorageError(f"{place}: this folder isn't empty", hint="Name a new one, or remove what is in it.")
        paths = sorted(made.iterdir()) if made.is_dir() else [made]
        from qengine.storage.progress import Progress

        with Progress("Uploading", sum(path.stat().st_size for path in paths)) as progress:
            if made.is_dir():
                place.make_folder()
            for path in paths:
                with open(path, "rb") as file:
                    (place.below(path.name) if made.is_dir() else place).write(file, progress.advance)


def _is_remote(source: Any) -> bool:
    if isinstance(source, Mapping):
        return any(map(_is_remote, source.values()))
    if isinstance(source, Iterable) and not isinstance(source, str | bytes):
        return isinstance(source, list | tuple) and any(map(_is_remote, source))
    return place_of(source) is not None


class _Stage:
    """A folder of this machine with copies, and where each is from."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[Path, RemotePath] = {}

    def bring(self, source: Any) -> Any:
        """Return what a loader is given instead: paths of copies for places, all else as it is."""
        if isinstance(source, Mapping):
            return {key: self.bring(each) for key, each in source.items()}
        if isinstance(source, list | tuple):
            return [self.bring(each) for each in source]
        place = place_of(source)
        return source if place is None else self._copied(place)

    def told(self, error: StorageError) -> StorageError:
        """Return an error that names places instead of their copies."""
        for path, place in self._places.items():
            error.message = error.message.replace(str(path), str(place))
            error.hint = error.hint and error.hint.replace(str(path), str(place))
        error.args = (error.message,)
        return error

    def _copied(self, place: RemotePath) -> Path:
        target = self._folder / str(len(self._places)) / (place.name or "files")
        target.parent.mkdir()
        self._places[target] = place
        if place.is_file():
            files = {target: place}
        else:
            target.mkdir()
            files = {target / name: place.below(name) for name in place.files()}
            if not files:
                raise StorageError(f"{place}: there is no such file, and no folder with files")
        from qengine.storage.progress import Progress

        with Progress(f"Downloading {place}", len(files)) as progress:
            for path, each in files.items():
                with open(path, "wb") as file:
                    file.writelines(each.pieces())
                progress.advance()
        return target
