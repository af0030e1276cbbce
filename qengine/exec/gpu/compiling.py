"""Compiles kernels in threads of their own, so that who waits for them can be stopped."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillCompiling
from typing import Any

from qengine.exec.gpu.compiled import compiled, is_compiled

_THREADS = 4
_CHECK_SECONDS = 0.005

_under_way: dict[tuple[Any, ...], Future[bytes]] = {}
_lock = threading.Lock()


def compiled_meanwhile(
    family: str, architecture: int, macros: Mapping[str, int | str], preface: str, check: Callable[[], None]
) -> bytes:
    """Return the binary of a family as ``compiled`` does, and call ``check`` every few milliseconds meanwhile.

    Where ``check`` raises, compiling goes on: the next who asks for the same waits for what is left, or finds it kept.
    Errors as of ``compiled``.
    """
    if is_compiled(family, architecture, macros, preface):
        return compiled(family, architecture, macros, preface)
    key = (family, architecture, *sorted(macros.items()), preface)
    with _lock:
        future = _under_way.get(key)
        if future is None:
            if sys.stderr.isatty():
                print(
                    f"compiling the GPU kernels {family!r} (once; qengine warmup does it beforehand)", file=sys.stderr
                )
            future = _under_way[key] = _compiler().submit(compiled, family, architecture, dict(macros), preface)
            future.add_done_callback(lambda _: _under_way.pop(key, None))
    while True:
        try:
            return future.result(_CHECK_SECONDS)
        except StillCompiling:
            check()


@functools.cache
def _compiler() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, "qengine-nvrtc")
