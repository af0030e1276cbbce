"""Pieces that are dealt to several devices: all are done once, and what fails on one ends the others' work alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from qengine.errors import DeviceError, OutOfMemory, QueryInterrupted, QueryTimeout
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import device as device_module
from qengine.exec.gpu.dealing import deal, each_device, shares_in_words, streamed
from qengine.exec.gpu.device import usable
from tests.emulator.arrays import CudaError, cupy, current_device
from tests.emulator.device import pretended


@pytest.fixture(autouse=True)
def three_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    pretended(monkeypatch, 3)


def context_of(*gpus: int, timeout: float | None = 60.0) -> ExecutionContext:
    context = ExecutionContext(timeout=timeout, gpu_memory_limit=1 << 20)
    context.gpus = gpus
    return context


def patient(inner: ExecutionContext) -> None:
    """Wait until the execution must stop."""
    while True:
        inner.check()
        time.sleep(0.001)


def test_every_piece_is_done_once_by_the_device_that_takes_it() -> None:
    devices: list[int] = []

    def work(piece: int, inner: ExecutionContext) -> int:
        assert inner.gpu_memory_limit == 1 << 20, "the limit is each device's"
        devices.append(current_device())
        return piece * piece

    found, taken = deal(context_of(0, 2), range(20), work)
    assert found == [piece * piece for piece in range(20)]
    assert sum(taken.values()) == 20 and taken.keys() == {0, 2}
    assert {number: devices.count(number) for number in taken} == taken
    assert current_device() == 0, "the caller's device is as before"


def test_a_device_that_is_held_up_takes_fewer_pieces() -> None:
    others_are_done, done = threading.Event(), []

    def work(piece: int, inner: ExecutionContext) -> None:
        if piece == 0:
            others_are_done.wait(10)
        done.append(piece)
        if len(done) == 5:
            others_are_done.set()

    _, taken = deal(context_of(0, 1), range(6), work)
    assert sorted(taken.values()) == [1, 5] and done[-1] == 0


def test_devices_work_on_what_they_take_at_once() -> None:
    found, taken = each_device(context_of(0, 1, 2), range(9), lambda pieces, inner: sum(pieces))
    assert len(found) == 3 and sum(found) == 36 and sum(taken.values()) == 9


def test_a_device_that_fails_ends_the_query_and_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    broken: set[int] = set()

    def synchronize() -> None:
        if current_device() in broken:
            raise CudaError("unspecified launch failure")

    monkeypatch.setattr(cupy.cuda.runtime, "deviceSynchronize", synchronize)
    stopped: list[int] = []

    def work(piece: int, inner: ExecutionContext) -> None:
        if current_device() == 1:
            broken.add(1)
            raise CudaError("unspecified launch failure")
        try:
            patient(inner)
        except QueryInterrupted:
            stopped.append(current_device())
            raise

    with pytest.raises(DeviceError, match="GPU 1 has failed: unspecified launch failure") as caught:
        deal(context_of(0, 1), range(4), work)
    assert caught.value.code == "DeviceFailed" and "other devices" in (caught.value.hint or "")
    assert stopped == [0]
    assert usable() == (0, 2), "it is lost to this process"
    with pytest.raises(DeviceError, match="GPU 1 has failed"):
        usable((1,))
    assert deal(context_of(*usable()), range(4), lambda piece, inner: piece)[0] == [0, 1, 2, 3]


def test_a_failure_that_passes_loses_no_device() -> None:
    def work(piece: int, inner: ExecutionContext) -> None:
        raise CudaError("invalid argument")

    with pytest.raises(DeviceError, match="has failed: invalid argument"):
        deal(context_of(0, 1), range(2), work)
    assert usable() == (0, 1, 2) and not device_module._lost


def test_errors_and_limits_end_all_devices() -> None:
    def out_of_memory(piece: int, inner: ExecutionContext) -> None:
        if piece == 0:
            raise OutOfMemory("no room", code="OutOfDeviceMemory")
        patient(inner)

    with pytest.raises(OutOfMemory):
        deal(context_of(0, 1), range(2), out_of_memory)
    with pytest.raises(QueryTimeout):
        deal(context_of(0, 1, timeout=0.05), range(2), lambda piece, inner: patient(inner))
    context = context_of(0, 1)
    threading.Timer(0.05, context.interrupt).start()
    with pytest.raises(QueryInterrupted):
        deal(context, range(2), lambda piece, inner: patient(inner))


@pytest.mark.parametrize(("raised", "error"), [(KeyboardInterrupt, QueryInterrupted), (TimeoutError, TimeoutError)])
def test_what_a_handler_of_signals_raises_ends_all_devices(
    monkeypatch: pytest.MonkeyPatch, raised: type[BaseException], error: type[Exception]
) -> None:
    join, handled, ended = threading.Thread.join, [], []

    def signalled(thread: threading.Thread) -> None:
        if not handled:
            handled.append(thread)
            raise raised
        join(thread)
        ended.append(thread)

    monkeypatch.setattr(threading.Thread, "join", signalled)
    with pytest.raises(error):
        deal(context_of(0, 1), range(2), lambda piece, inner: patient(inner))
    assert len(ended) == 2


def test_what_is_found_is_streamed_and_ends_with_who_takes_it() -> None:
    told: list[dict[int, int]] = []

    def work(piece: int, inner: ExecutionContext) -> Iterator[tuple[int, int]]:
        for number in range(50):
            yield piece, number

    found = list(streamed(context_of(0, 1), range(4), work, told.append))
    assert sorted(found) == [(piece, number) for piece in range(4) for number in range(50)]
    assert sum(told[0].values()) == 4
    before = threading.active_count()
    rows: Any = streamed(context_of(0, 1), range(4), work, told.append)
    assert next(rows) is not None
    rows.close()
    assert threading.active_count() == before and len(told) == 1


def test_what_devices_did_is_told() -> None:
    assert shares_in_words({1: 3, 0: 5}) == "done in 8 pieces: 5 on GPU 0, 3 on GPU 1"
