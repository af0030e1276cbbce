"""Values as text and texts as numbers, by Arrow where it writes and reads as the language does, else one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.exec.common.columns import BoolArray
from qengine.exec.common.expressions.operand import Operand, numpy_values
from qengine.exec.scalar.text import number_text, scalar_text


def mended(array: Any, wrong: BoolArray, values: Any, one: Callable[[Any], Any]) -> Any:
    """Return ``array`` with ``one(value)`` in the rows that are ``wrong``; nulls aren't asked."""
    places = np.flatnonzero(wrong)
    if not len(places):
        return array
    found = [None if value is None else one(value) for value in values.take(pa.array(places)).to_pylist()]
    return pc.replace_with_mask(array, pa.array(wrong), pa.array(found, array.type))


def texts(a: Operand) -> Any:
    """Return an operand of strings, numbers or truth values as ``toString`` writes it: a scalar or an array."""
    if a.constant:
        return pa.scalar(scalar_text(a.datum.as_py()))
    if a.kind == "float":
        return _floats(a)
    return a.datum if a.kind == "string" else a.datum.cast(pa.string())


def _floats(a: Operand) -> Any:
    """Return floats as text: both write the fewest digits, but the language never leaves out the fraction."""
    numbers = numpy_values(a)
    size = np.abs(numbers)
    plain = (size < 1e7) & ((size >= 1e-3) | (numbers == 0))
    written = a.datum.cast(pa.string())
    whole = pa.array(plain & (numbers == np.trunc(numbers)))
    written = pc.if_else(whole, pc.binary_join_element_wise(written, ".0", ""), written)
    return mended(written, ~plain, a.datum, number_text)
