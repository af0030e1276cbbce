"""What takes long to compute of the project's text assets, kept as JSON in the user's cache directory.

That is ``QENGINE_CACHE_DIR``, else ``qengine`` in ``XDG_CACHE_HOME`` or ``~/.cache``.
The checksum of the asset names the file, so that a changed asset has another. A file that is absent, damaged or
unwritable only costs the time to compute anew.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["kept", "toml"]


def kept(name: str, source: Path, compute: Callable[[], Any]) -> Any:
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
        checksum, _, text = path.read_text(encoding="ascii").partition("\n")
        if int(checksum) == zlib.crc32(text.encode()):
            return json.loads(text)
    except (OSError, ValueError):
        pass
    found = compute()
    _keep(path, json.dumps(found, separators=(",", ":")))
    return found


def toml(source: Path) -> dict[str, Any]:
    """Return what a TOML asset without dates holds; as JSON it is read in a twentieth of the time."""

    def read() -> dict[str, Any]:
        import tomllib

        return tomllib.loads(source.read_text(encoding="utf-8"))

    found: dict[str, Any] = kept(source.stem, source, read)
    return found


def _file(name: str, source: Path) -> Path | None:
    """Return where it is kept, or None where there is no place for it."""
    home = os.environ.get("XDG_CACHE_HOME")
    own = os.environ.get("QENGINE_CACHE_DIR")
    try:
        folder = Path(own) if own else (Path(home) if home else Path.home() / ".cache") / "qengine"
    except RuntimeError:
        return None
    content = source.read_bytes()
    return folder / f"{name}-{len(content):x}-{zlib.crc32(content):08x}.json"


def _keep(path: Path, text: str) -> None:
    """Write the file whole or not at all; that it can't be written does no harm."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(f"{zlib.crc32(text.encode())}\n{text}", encoding="ascii")
        beside.replace(path)
    except OSError:
        return
