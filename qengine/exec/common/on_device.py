"""Arrays that an executor has made in a device's memory for one execution."""

from __future__ import annotations

from typing import Any

from qengine._frozen import frozen

DEVICE_ELEMENTS = 1 << 23
"""Of so many on a device evaluates conditions: what these admit of fewer is remembered (``common.resolve``)."""


@frozen
class OnDevice:
    """An array of n numbers of so many bytes each, in a ``block`` of a device's memory that it keeps."""

    block: Any
    n: int
    width: int

    def __len__(self) -> int:
        return self.n

    @property
    def address(self) -> int:
        """Where it is on the device."""
        return int(self.block.ptr)

    @property
    def nbytes(self) -> int:
        """Bytes of the device's memory."""
        return self.n * self.width
