"""Shares of the roots of a search: together they are all roots, each once, and no share has much more than its part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine.exec.common.resolve import _share_of
from qengine.plan.shares import guided_shares

PARTS = ((1,), (3, 1), (4, 2, 1, 1))


@given(
    sizes=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), max_size=4),
    takers=st.integers(1, 9),
    parts=st.sampled_from(PARTS),
    listed=st.booleans(),
)
def test_shares_are_all_roots_once(
    sizes: list[tuple[int, int]], takers: int, parts: tuple[int, ...], listed: bool
) -> None:
    ranges, end = [], 0
    for gap, size in sizes:
        ranges.append((end + gap, end + gap + size))
        end += gap + size
    ids = np.array([each for low, high in ranges for each in range(low, high)], np.uint32)
    found = [_share_of(ids if listed else None, ranges, share) for share in guided_shares(takers, parts)]
    assert all((np.diff(each.astype(np.int64)) > 0).all() and each.dtype == np.uint32 for each in found)
    assert sorted(np.concatenate(found).tolist()) == ids.tolist()


@pytest.mark.parametrize("parts", PARTS)
def test_a_taker_gets_the_same_part_of_the_first_roots_as_of_the_last(parts: tuple[int, ...]) -> None:
    shares = guided_shares(4, parts)
    assert [share.taken for share in shares] == [each for each in parts for _ in range(4)]
    for share in shares:
        found = _share_of(None, [(0, 3200)], share)
        assert len(found) == 3200 * share.taken // share.round
        assert np.count_nonzero(found < 1600) == len(found) // 2
