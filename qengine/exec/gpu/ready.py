"""Binaries that come with the package, made by ``qengine warmup --package``: a file for each architecture.

A file begins with a line of JSON: of which sources and by which compiler it is made, and where each variant is: the
place of a block in the file, and its own in that. Blocks follow, one for each family, by LZMA: variants are much alike.
"""

from __future__ import annotations

import functools
import json
import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from qengine import _assets

RUN_BY = {86: 80, 89: 80, 103: 100, 121: 120}
"""Compute capabilities of which another one's machine code is run, too (not those of boards: CUDA's rules)."""

ARCHITECTURES = (75, 80, 90, 100, 120)
"""What packages hold binaries for."""

Variant = tuple[str, Mapping[str, int | str]]
"""A family, and its macros."""


def variant_name(family: str, macros: Mapping[str, int | str]) -> str:
    """Return what a variant is called: its family and macros."""
    return " ".join((family, *(f"{key}={value}" for key, value in sorted(macros.items()))))


def is_ready(architecture: int, name: str, made_of: Sequence[Any]) -> bool:
    """Tell whether ``binary`` finds one."""
    header, _ = _opened(architecture)
    return header["made_of"] == list(made_of) and name in header["places"]


def binary(architecture: int, name: str, made_of: Sequence[Any]) -> bytes | None:
    """Return a variant's machine code for a compute capability; None where the package hasn't got it.

    ``made_of``: what it must be made of: the sources' digest, and the compiler's major version.
    """
    if not is_ready(architecture, name, made_of):
        return None
    header, path = _opened(architecture)
    block, begin, end = header["places"][name]
    return _block(path, *block)[begin:end]


def write(path: Path, made_of: Sequence[Any], binaries: Mapping[str, bytes]) -> None:
    """Make an architecture's file of binaries by their variants' names."""
    blocks: dict[str, list[str]] = {}
    for name in binaries:
        blocks.setdefault(name.partition(" ")[0], []).append(name)
    places, content = {}, b""
    for names in blocks.values():
        packed = lzma.compress(b"".join(binaries[name] for name in names))
        at = 0
        for name in names:
            places[name] = ((len(content), len(packed)), at, at + len(binaries[name]))
            at += len(binaries[name])
        content += packed
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(json.dumps({"made_of": made_of, "places": places}).encode() + b"\n" + content)


def file_of(folder: Path, architecture: int) -> Path:
    """Return where the binaries for an architecture are in a folder."""
    return folder / f"sm{architecture}.bin"


@functools.cache
def _opened(architecture: int) -> tuple[dict[str, Any], Path]:
    """Return the header of an architecture's file, and the file: an empty one where there is none."""
    path = file_of(_assets.ready_folder(), RUN_BY.get(architecture, architecture))
    if not path.is_file():
        return {"made_of": None, "places": {}}, path
    with path.open("rb") as file:
        return json.loads(file.readline()), path


@functools.lru_cache(2)
def _block(path: Path, begin: int, size: int) -> bytes:
    with path.open("rb") as file:
        file.readline()
        file.seek(begin, 1)
        return lzma.decompress(file.read(size))
