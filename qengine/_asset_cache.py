"""A cache, in the user's cache directory, of JSON values that take long to compute from the project's text assets.

The checksum of the asset names the file, so that a changed asset has another. A file that is absent, damaged,
unwritable or that others can write (``_cache``) only costs the time to compute anew.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qengine import _cache


def cached_json(name: str, source: Path, compute: Callable[[], Any]) -> Any:
    """Return what ``compute`` returns, from the cache where that has it.

    Parameters
    ----------
    name
        What the file's name begins with: what is computed, and the version of its form.
    source
        The asset that all is computed of.
    compute
        Returns JSON's types only.
    """
    path = _file(name, source)
    if path is None:
        return compute()
    try:
        checksum, _, text = (_cache.read(path) or b"").partition(b"\n")
        if int(checksum) == zlib.crc32(text):
            return json.loads(text)
    except ValueError:
        pass
    found = compute()
    text = json.dumps(found, separators=(",", ":")).encode()
    _cache.write(path, b"%d\n%b" % (zlib.crc32(text), text))
    return found


def toml(source: Path) -> dict[str, Any]:
    """Return what a TOML asset without dates holds; as JSON it is read in a twentieth of the time."""

    def read() -> dict[str, Any]:
        import tomllib

        return tomllib.loads(source.read_text(encoding="utf-8"))

    found: dict[str, Any] = cached_json(source.stem, source, read)
    return found


def _file(name: str, source: Path) -> Path | None:
    """Return where it is kept, or None where there is no place for it."""
    folder = _cache.cache_folder()
    if folder is None:
        return None
    content = source.read_bytes()
    return folder / f"{name}-{len(content):x}-{zlib.crc32(content):08x}.json"
