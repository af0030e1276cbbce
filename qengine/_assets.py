"""Finds the project's text assets (grammar, catalogue, kernel sources) and the native library.

In a checkout they stand beside ``pyproject.toml``; in a wheel under ``qengine/_data`` and ``qengine/_native``.
"""

from __future__ import annotations

import hashlib
import os
import sysconfig
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_LIBRARY = "libqengine_host.so"


def checkout() -> Path | None:
    """Return the root of the source checkout that this package runs from, or None in an installed wheel."""
    root = _PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "kernels").is_dir() else None


def asset(*parts: str) -> Path:
    """Return the path of a text asset, for example ``asset("grammar", "cypher.lark")``.

    Raises
    ------
    FileNotFoundError
        If the asset is in neither the checkout nor the wheel.
    """
    root = checkout() or _PACKAGE / "_data"
    path = root.joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"qengine is incomplete: {'/'.join(parts)} is missing from {root}. Reinstall it.")
    return path


def ready_folder() -> Path:
    """Return where binaries for GPUs are that were made beforehand (``qengine.exec.gpu.ready``), if there are any."""
    root = checkout()
    return root / "build" / "ready" if root else _PACKAGE / "_data" / "ready"


def source_hash() -> str | None:
    """Return the SHA-256 that CMake embeds in the library for this checkout's kernels, None in a wheel."""
    root = checkout()
    if root is None:
        return None
    files = [*(root / "kernels/host").glob("*/*.cpp"), *(root / "kernels/host").glob("*/*.h")]
    files += (root / "kernels/include/qe").glob("*.h")
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() + "\n" for path in sorted(files, key=str)]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def library_candidates() -> list[Path]:
    """Return where the native library may be, best first: environment, checkout's ``build/``, install."""
    found: list[Path] = []
    if override := os.environ.get("QENGINE_LIBRARY"):
        return [Path(override)]
    root = checkout()
    if root is not None:
        found += [root / "build" / _LIBRARY, *sorted((root / "build").glob(f"*/{_LIBRARY}"))]
    found.append(_PACKAGE / "_native" / _LIBRARY)
    found.append(Path(sysconfig.get_paths()["platlib"]) / "qengine" / "_native" / _LIBRARY)
    return [path for path in found if path.is_file()]
