"""The order of rows by integer keys, beside NumPy's order of one key after the other."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qengine.exec.common.ordering import sorted_rows

KEYS: dict[str, Callable[[Any, int], Any]] = {
    "few": lambda dice, n: dice.integers(0, 3, n),
    "constant": lambda dice, n: np.full(n, 7),
    "all": lambda dice, n: dice.integers(-(2**63), 2**63 - 1, n),
    "extremes": lambda dice, n: dice.choice([-(2**63), 2**63 - 1, 0], n),
    "floats": lambda dice, n: (dice.random(n) * 100).round(1).view(np.int64),
    "far": lambda dice, n: 2**62 + dice.integers(0, 9, n),
}


@pytest.mark.parametrize("n", [1, 1023, 1024, 1025, 70_000])
def test_rows_are_ordered_by_all_keys_and_ties_by_place(n: int) -> None:
    dice = np.random.default_rng(n)
    names = sorted(KEYS)
    for _ in range(40 if n < 2000 else 15):
        chosen = dice.choice(names, dice.integers(1, 4))
        keys = [KEYS[name](dice, n) for name in chosen]
        expected = np.lexsort(keys[::-1])
        assert (sorted_rows(keys, n) == expected).all(), chosen
        limit = int(dice.integers(0, n + 1))
        assert (sorted_rows(keys, n, limit) == expected[:limit]).all(), chosen
