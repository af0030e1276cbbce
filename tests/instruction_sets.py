"""Native code as other processors would run it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from qengine import _native


@contextmanager
def forced(isa: int) -> Iterator[None]:
    """Use an instruction set in this block, or the best one below it."""
    force = _native.load().qe_force_isa
    force(isa)
    try:
        yield
    finally:
        force(-1)
