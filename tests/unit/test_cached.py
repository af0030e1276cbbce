"""Properties that are found once, by any number of threads."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import qengine
from qengine._cached import cached_property


class _One:
    def __init__(self, other: _One | None = None, begun: threading.Barrier | None = None) -> None:
        self._other, self._begun = other, begun

    @cached_property
    def value(self) -> object:
        """A value that may need that of an object of another class."""
        if self._begun is not None:
            self._begun.wait()
        return object() if self._other is None else self._other.value


class _Other(_One):
    @cached_property
    def value(self) -> object:
        """A value of another class."""
        if self._begun is not None:
            self._begun.wait()
        return object() if self._other is None else self._other.value


def test_it_is_found_once() -> None:
    one = _One()
    assert one.value is one.value
    assert one.__dict__["value"] is one.value
    assert _One.value.__doc__ == "A value that may need that of an object of another class."


def test_two_classes_may_need_each_other() -> None:
    """Each thread is in a property of one class when it asks an object of the other class for its own."""
    begun = threading.Barrier(2, timeout=60)
    both = _One(_Other(), begun), _Other(_One(), begun)
    threads = [threading.Thread(target=lambda each=each: each.value, daemon=True) for each in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


def test_all_threads_get_the_same() -> None:
    begun = threading.Barrier(4, timeout=60)
    one, found = _One(begun=begun), []
    threads = [threading.Thread(target=lambda: found.append(one.value), daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(found) == 4
    assert len(set(map(id, found))) == 1


def test_no_module_has_the_one_of_functools() -> None:
    """It would bring the lock back."""
    modules = Path(qengine.__file__).parent.rglob("*.py")
    other = re.compile(r"from functools import [^\n]*cached_property|functools\.cached_property")
    assert [str(path) for path in modules if other.search(path.read_text(encoding="utf-8"))] == []
