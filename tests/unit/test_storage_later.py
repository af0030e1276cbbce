"""Values that are found when somebody first asks."""

from __future__ import annotations

import gc
import weakref
from threading import Barrier, Thread

from qengine.storage.later import Later


class Held:
    """Something that a finder holds."""


def test_found_once_and_the_finder_let_go() -> None:
    held, calls = Held(), []
    later = Later(lambda held=held: calls.append(held) or [7])
    seen = weakref.ref(held)
    del held
    assert not later.is_known and seen() is not None
    first = later.get()
    assert first == [7] and later.get() is first and later.is_known and len(calls) == 1
    calls.clear()
    gc.collect()
    assert seen() is None


def test_threads_that_ask_at_once_get_equal_values() -> None:
    inside = Barrier(2)

    def find() -> list[int]:
        inside.wait(timeout=60)  # both threads are here before either has found anything
        return [1, 2, 3]

    later, got = Later(find), []
    threads = [Thread(target=lambda: got.append(later.get())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [[1, 2, 3]] * 2 and later.get() == [1, 2, 3]
