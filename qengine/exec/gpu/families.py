"""The families of CUDA kernels, ``kernels/cuda/<family>.cu`` each, and the variants that are known before a query."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["FAMILIES"]

FAMILIES: Mapping[str, tuple[Mapping[str, int], ...]] = {
    "extend": ({"QE_WINDOW_ROWS": 32},),
    "pcsr": ({},),
}
"""For each family its variants, as macros. ``qengine warmup`` compiles them; a test compiles them without a GPU."""
