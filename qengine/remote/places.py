"""Places on other filesystems: addresses such as ``s3://bucket/graph``, and paths on a filesystem that is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from qengine._cached import cached_property
from qengine.errors import StorageError, Unsupported

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s]*", re.ASCII)
_LOCAL = "file://"
_PIECE = 1 << 22  # bytes that are copied at a time


@dataclass(frozen=True)
class RemotePath:
    """A path on a filesystem of pyarrow or fsspec; it may stand wherever an address may.

    Parameters
    ----------
    path
        The path, as the filesystem has it: for S3 the bucket and the key.
    filesystem
        A ``pyarrow.fs.FileSystem`` or an ``fsspec`` filesystem, with credentials and whatever else it needs.
    """

    path: str
    filesystem: Any
    address: str = ""

    def __str__(self) -> str:
        return self.address or f"{_kind(self.filesystem)}:{self.path}"

    @cached_property
    def store(self) -> Any:
        """The filesystem as one of pyarrow's.

        Raises
        ------
        StorageError
            If it is none.
        """
        from pyarrow import fs

        if isinstance(self.filesystem, fs.FileSystem):
            return self.filesystem
        if hasattr(self.filesystem, "cat_file"):
            return fs.PyFileSystem(fs.FSSpecHandler(self.filesystem))
        raise StorageError(
            f"{self.path}: a {type(self.filesystem).__name__} is no filesystem",
            hint="Give one of pyarrow.fs or of fsspec.",
        )

    def below(self, *names: str) -> RemotePath:
        """Return the path of something below this one."""
        tail = "/".join(names)
        address = f"{self.address.rstrip('/')}/{tail}" if self.address else ""
        return RemotePath(f"{self.path.rstrip('/')}/{tail}", self.filesystem, address)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rstrip("/").rpartition("/")[2]

    def read(self, most: int) -> bytes:
        """Return what a small file holds.

        Raises
        ------
        FileNotFoundError
            If there is none.
        StorageError
            If it can't be read, or has more than ``most`` bytes.
        """
        with self._told(), self.store.open_input_stream(self.path) as stream:
            found = bytes(stream.read(most + 1))
        if len(found) > most:
            raise StorageError(f"{self}: it has more than {most:,} bytes")
        return found

    def pieces(self) -> Iterator[bytes]:
        """Yield what a file holds, some at a time; errors as for ``read``."""
        with self._told(), self.store.open_input_stream(self.path) as stream:
            while piece := stream.read(_PIECE):
                yield piece

    def write(self, file: BinaryIO, advance: Any) -> None:
        """Write a file; ``advance`` is called with how many bytes of it are done.

        Raises
        ------
        StorageError
            If it can't be written.
        """
        with self._told("written"), self.store.open_output_stream(self.path) as stream:
            while piece := file.read(_PIECE):
                stream.write(piece)
                advance(len(piece))

    def files(self) -> dict[str, int]:
        """Return the files of a folder by name, with their bytes; none where there is no folder.

        Raises
        ------
        StorageError
            If it can't be read.
        """
        from pyarrow import fs

        with self._told():
            found = self.store.get_file_info(fs.FileSelector(self.path.rstrip("/"), allow_not_found=True))
        return {info.base_name: int(info.size or 0) for info in found if info.type == fs.FileType.File}

    def is_file(self) -> bool:
        """Tell whether there is a file here."""
        from pyarrow import fs

        with self._told():
            return bool(self.store.get_file_info(self.path).type == fs.FileType.File)

    def make_folder(self) -> None:
        """Make a folder, where the filesystem has such."""
        with self._told("written"):
            self.store.create_dir(self.path, recursive=True)

    def delete(self) -> None:
        """Delete a folder and all in it, as far as that can be done."""
        try:
            self.store.delete_dir(self.path)
        except Exception:  # what is left is in nobody's way
            return

    @contextmanager
    def _told(self, what: str = "read") -> Iterator[None]:
        """Raise a ``StorageError`` for what a filesystem raises; each has errors of its own."""
        try:
            yield
        except (StorageError, FileNotFoundError, MemoryError):
            raise
        except Exception as error:
            text = str(error).strip().partition("\n")[0] or type(error).__name__
            raise StorageError(f"{self}: it can't be {what}: {text}", hint="Check address and credentials.") from None


def place_of(path: Any) -> RemotePath | None:
    """Return the place that a path on another filesystem names; None for one of this machine.

    Raises
    ------
    StorageError
        For an address that can't be understood.
    Unsupported
        Where its filesystem needs fsspec, or a package of fsspec's, that isn't installed.
    """
    if isinstance(path, RemotePath):
        return path
    if not isinstance(path, str) or path.startswith(_LOCAL) or not _ADDRESS.fullmatch(path):
        return None
    from pyarrow import fs

    try:
        filesystem, inside = fs.FileSystem.from_uri(path)
    except (ValueError, OSError) as error:  # a scheme that pyarrow doesn't know, or an address that it refuses
        return _by_fsspec(path, error)
    return RemotePath(inside, filesystem, path.partition("?")[0])


def _by_fsspec(address: str, refused: Exception) -> RemotePath:
    scheme = address.partition("://")[0]
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise Unsupported(
            f"{address}: {str(refused).partition(chr(10))[0]}",
            hint=f"For {scheme}:// install fsspec and its package, or give a RemotePath with a filesystem.",
        ) from None
    try:
        filesystem, path = url_to_fs(address)
    except ImportError as error:
        raise Unsupported(f"{address}: {error}", hint=f"Install the package of fsspec for {scheme}://.") from None
    except (ValueError, OSError) as error:
        raise StorageError(f"{address}: it can't be understood: {error}") from None
    return RemotePath(path, filesystem, address)


def _kind(filesystem: Any) -> str:
    protocol: Any = getattr(filesystem, "type_name", None) or getattr(filesystem, "protocol", "")
    return protocol if isinstance(protocol, str) else str(protocol[0])
