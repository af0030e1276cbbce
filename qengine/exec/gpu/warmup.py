"""Compiles what queries would otherwise wait for when they first need it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from qengine.exec.gpu import ready
from qengine.exec.gpu.compiled import compile_family, compiled, is_compiled, made_of
from qengine.exec.gpu.device import device
from qengine.exec.gpu.families import FAMILIES

Made = TypeVar("Made")
Macros = Mapping[str, int | str]


def warm_up() -> Iterator[tuple[str, float]]:
    """Compile every variant of every family for the current device, several at a time.

    Yields
    ------
    tuple[str, float]
        What was compiled, and the seconds that it took; 0 where it was there already.

    Raises
    ------
    DeviceError
        If there is no usable device, or no compiler.
    """
    on = device()

    def make(family: str, macros: Macros) -> float:
        macros = {**on.macros, **macros}
        if is_compiled(family, on.capability, macros):
            return 0.0
        begin = time.perf_counter()
        compiled(family, on.capability, macros)
        return time.perf_counter() - begin

    yield from _of_all(make)


def write_package(folder: Path, architectures: Sequence[int] = ready.ARCHITECTURES) -> Iterator[Path]:
    """Compile every variant for each architecture, and write the files that come with a package into a folder.

    Yields
    ------
    Path
        A file that is written.

    Raises
    ------
    DeviceError
        If there is no compiler.
    """
    for architecture in architectures:

        def make(family: str, macros: Macros, architecture: int = architecture) -> bytes:
            return compile_family(family, architecture, macros)

        path = ready.file_of(folder, architecture)
        ready.write(path, made_of(), dict(_of_all(make)))
        yield path


def _of_all(make: Callable[[str, Macros], Made]) -> Iterator[tuple[str, Made]]:
    """Yield the name of each variant, and what is made of it, by as many threads as there are cores."""
    with ThreadPoolExecutor() as threads:
        all_made = {
            ready.variant_name(family, macros): threads.submit(make, family, macros)
            for family, variants in FAMILIES.items()
            for macros in variants
        }
        try:
            for name, each in all_made.items():
                yield name, each.result()
        finally:
            threads.shutdown(cancel_futures=True)
