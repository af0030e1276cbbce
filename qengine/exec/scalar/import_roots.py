"""Where LOAD CSV may read: below one folder, and below folders that stand for addresses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from qengine._frozen import frozen
from qengine.errors import ExecutionError, SemanticError


def refused(message: str, hint: str | None = None) -> ExecutionError:
    """Return the error of a file that can't be read."""
    return ExecutionError(message, code="ExternalResourceFailed", hint=hint)


def folder(name: str, path: Any) -> Path:
    """Return an existing folder as an absolute path without links.

    Raises
    ------
    SemanticError
        ``InvalidArgumentValue`` where there is none. ``name`` is what the user has set.
    """
    try:
        found = Path(path).resolve(strict=True)
        is_folder = found.is_dir()
    except (OSError, TypeError, ValueError):
        is_folder = False
    if not is_folder:
        raise SemanticError(f"{name} is a folder that exists, not {path!r}.", code="InvalidArgumentValue")
    return found


def folders_by_prefix(prefixes: Any) -> Mapping[str, Path]:
    """Return folders by prefixes of addresses.

    Raises
    ------
    SemanticError
        ``InvalidArgumentValue`` for a prefix that isn't an address up to a slash, or a folder that doesn't exist.
    """
    found = {}
    if not isinstance(prefixes, Mapping):
        message = f"import_urls are a dict from addresses to folders, not a {type(prefixes).__name__}."
        raise SemanticError(message, code="InvalidArgumentValue")
    for prefix, path in dict(prefixes).items():
        if not (isinstance(prefix, str) and urlsplit(prefix).netloc and prefix.endswith("/")):
            hint = 'Give it like {"https://example.org/data/": "folder"}.'
            message = f"A prefix of import_urls is an address that ends with /, not {prefix!r}."
            raise SemanticError(message, code="InvalidArgumentValue", hint=hint)
        found[prefix] = folder("What import_urls names", path)
    return MappingProxyType(found)


@frozen
class ImportRoots:
    """``directory``: what ``file:///`` and relative paths stand below; ``urls``: folders by prefixes of addresses."""

    directory: Path | None = None
    urls: Mapping[str, Path] = field(default_factory=dict)

    def path_of(self, url: str) -> Path:
        """Return the file that an address stands for. It lies below a root: ``..`` and links don't lead out.

        Raises
        ------
        ExecutionError
            ``ExternalResourceFailed`` for an address that stands for no file below a root.
        """
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ftp", "s3", "gs", "azb"):
            return self._at_prefix(url)
        if parts.scheme == "file" and parts.netloc not in ("", "localhost"):
            raise refused(f"{url!r} names another machine.", "Write file:///path, below the graph's import_directory.")
        if parts.scheme == "file":
            path = unquote(parts.path)
        elif parts.scheme and parts.netloc:
            raise refused(f"LOAD CSV reads no {parts.scheme}:// addresses.", "Write file:///path.")
        else:
            path = url
        if self.directory is None:
            raise refused(
                "LOAD CSV may read no files: the graph has no import directory.",
                'Set graph.import_directory = "folder"; file:///x.csv is then x.csv in it.',
            )
        return _below(self.directory, path, url)

    def _at_prefix(self, url: str) -> Path:
        prefix = max((each for each in self.urls if url.startswith(each)), key=len, default=None)
        if prefix is None:
            raise refused(
                f"LOAD CSV reads local files, not {url!r}.",
                'Download it, and set graph.import_urls = {"https://host/folder/": "folder"}.',
            )
        return _below(self.urls[prefix], unquote(url[len(prefix) :].partition("?")[0].partition("#")[0]), url)


NO_IMPORTS = ImportRoots()


def _below(root: Path, path: str, url: str) -> Path:
    """Return a file below a root, by its path from there."""
    if "\0" in path:
        raise refused(f"{url!r} is no path.")
    found = os.path.realpath(root / path.lstrip("/\\"))
    if os.path.commonpath((root, found)) != str(root):
        raise refused(f"{url!r} leads out of the folder that LOAD CSV may read.")
    if not os.path.isfile(found):
        raise refused(f"There is no file for {url!r} in the folder that LOAD CSV may read.")
    return Path(found)
