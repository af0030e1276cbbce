"""What is kept of what was asked for last."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from qengine._lru import LruCache


def test_the_least_recently_asked_for_goes_first() -> None:
    recent: LruCache[str] = LruCache(2)
    made: list[str] = []

    def ask(key: str) -> str:
        return recent.get(key, lambda: made.append(key) or key)  # type: ignore[func-returns-value]

    for key in "abacab":
        assert ask(key) == key
    assert made == ["a", "b", "c", "b"]
    assert recent.held == 2


def test_sizes_are_added_up_and_the_too_large_is_not_kept() -> None:
    recent: LruCache[bytes] = LruCache(10, len)
    for size in (4, 5, 11, 6):
        assert len(recent.get(size, lambda size=size: bytes(size))) == size  # type: ignore[misc]
    assert recent.held == 6


def test_an_error_is_not_kept() -> None:
    recent: LruCache[int] = LruCache(2)
    with pytest.raises(ZeroDivisionError):
        recent.get("x", lambda: 1 // 0)
    assert recent.get("x", lambda: 7) == 7


def test_threads_get_the_same() -> None:
    recent: LruCache[object] = LruCache(8)
    with ThreadPoolExecutor(8) as pool:
        for key in range(50):
            found = list(pool.map(lambda _, key=key: recent.get(key, object), range(16)))  # type: ignore[misc]
            assert len(set(map(id, found))) == 1
            assert recent.held == min(key + 1, 8)
