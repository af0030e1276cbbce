"""Compiles what queries would otherwise wait for when they first need it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from qengine.exec.gpu.compiled import compiled, is_compiled
from qengine.exec.gpu.device import device
from qengine.exec.gpu.families import FAMILIES


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

    def make(family: str, macros: Mapping[str, int | str]) -> tuple[str, float]:
        name = " ".join((family, *(f"{key}={value}" for key, value in macros.items())))
        macros = {**on.macros, **macros}
        if is_compiled(family, on.capability, macros):
            return name, 0.0
        begin = time.perf_counter()
        compiled(family, on.capability, macros)
        return name, time.perf_counter() - begin

    with ThreadPoolExecutor() as threads:
        all_made = [
            threads.submit(make, family, macros) for family, variants in FAMILIES.items() for macros in variants
        ]
        try:
            for each in all_made:
                yield each.result()
        finally:
            threads.shutdown(cancel_futures=True)
