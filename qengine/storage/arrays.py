"""The type of NumPy arrays in signatures, and sums that plans may depend on."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def dot(numbers: Array, weights: Array) -> float:
    """Return the sum of products, added up in the same order on every machine.

    NumPy's own product of two vectors is BLAS's, which adds up as many parts as there are cores.
    """
    return float((numbers * weights).sum())
