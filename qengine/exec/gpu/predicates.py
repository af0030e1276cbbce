"""Predicates of one node or relationship, evaluated on the device (``kernels/cuda/filter/predicates.cu``).

Where one of a level's predicates has no program (``common.predicate_programs``), the host evaluates them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.errors import OutOfMemory
from qengine.exec.common.columns import IntArray
from qengine.exec.common.element_columns import Elements
from qengine.exec.common.masks import Masks
from qengine.exec.common.on_device import DEVICE_ELEMENTS, OnDevice
from qengine.exec.common.predicate_programs import STEP, NoProgram, Predicates, Step
from qengine.exec.gpu.arrays import working
from qengine.exec.gpu.launch import DeviceRun, launch_pass
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.upload import resident_array
from qengine.exec.view import MaskProvider
from qengine.plan.expr import Expr
from qengine.plan.fallible import condition_can_fail
from qengine.plan.physical import VertexLevel
from qengine.storage.arrays import MANY_RANGES

_SHARE = 1 << 10
"""Truth values that a warp looks over for those that are true."""
_AN_ELEMENT = 8
"""Bytes of an element that a mask, and a list of what it admits, take at most."""

_FAMILY = "predicates"
_MOST_FETCHED = 1 << 18
"""Places that the host gets: it remembers so many for the next execution, which then asks for none."""

_WHAT = "what conditions admit"


def device_masks(masks: MaskProvider, run: DeviceRun) -> MaskProvider:
    """Return what evaluates predicates as given, those of many elements on the run's device.

    Its masks hold as long as the run.
    """
    return _DeviceMasks(masks, run) if isinstance(masks, Masks) else masks


class _DeviceMasks:
    """Masks on the device: arrays of a byte an element (``OnDevice``), or the host's where it evaluates."""

    def __init__(self, masks: Masks, run: DeviceRun) -> None:
        self._masks = masks
        self._run = run
        self._known: dict[tuple[Any, ...], tuple[tuple[Expr, ...], Any]] = {}
        self._counted: dict[int, Any] = {}  # by a mask's address

    # ------------------------------------------------------------ as ``MaskProvider``

    def vertex_list(self, level: VertexLevel, ranges: Sequence[Sequence[int]]) -> IntArray | None:
        return self._masks.vertex_list(level, ranges)

    def scanned(self, level: VertexLevel) -> None:
        self._masks.scanned(level)

    def vertex_mask(self, name: str, predicates: tuple[Expr, ...], begin: int, end: int) -> Any:
        return self.mask_within(name, predicates, [(begin, end)], begin, end)

    def mask_within(
        self, name: str, predicates: tuple[Expr, ...], ranges: Sequence[Sequence[int]], begin: int, end: int
    ) -> Any:
        def on_host() -> Any:
            return self._masks.mask_within(name, predicates, ranges, begin, end)

        if not predicates or len(ranges) > MANY_RANGES:
            return on_host()
        elements = [Elements(name, True, ((low, high),)) for low, high in ranges]
        return self._found(predicates, elements, (begin, end), Predicates(self._masks.runtime, name, None), on_host)

    def edge_mask(self, name: str, predicates: tuple[Expr, ...], type_index: int, begin: int, end: int) -> Any:
        def on_host() -> Any:
            return self._masks.edge_mask(name, predicates, type_index, begin, end)

        base = self._masks.runtime.store.types[type_index].base
        bounds = base + begin, base + end
        compiler = Predicates(self._masks.runtime, name, type_index)
        return self._found(predicates, [Elements(name, False, (bounds,))], bounds, compiler, on_host)

    def count(self, mask: Any) -> int:
        if not isinstance(mask, OnDevice):
            return self._masks.count(mask)
        if not len(mask):
            return 0
        ends = self._ends(mask)
        return int(self._run.fetched(ends.data.ptr + 8 * (len(ends) - 1), 1, np.int64)[0])

    def bits(self, mask: Any) -> Any:
        if not isinstance(mask, OnDevice):
            return self._masks.bits(mask)
        words = 2 * max(1, -(-len(mask) // 64))
        block = self._run.allocate(4 * words, _WHAT)
        given = np.uint64(mask.address), np.uint64(len(mask)), np.uint64(words), np.uint64(block.ptr)
        launch_pass(self._run, _FAMILY, "predicate_bits", 32 * words, *given)
        return OnDevice(block, words, 4)

    def places(self, mask: Any, first: int) -> Any:
        if not isinstance(mask, OnDevice):
            return self._masks.places(mask, first)
        found = self.count(mask)
        block = self._run.allocate(max(4, 4 * found), _WHAT)
        if found:
            ends = self._ends(mask)
            where = np.uint64(ends.data.ptr), np.uint64(first), np.uint64(block.ptr)
            launch_pass(self._run, _FAMILY, "predicate_places", 32 * len(ends), *_shares(mask), *where)
        if found <= _MOST_FETCHED:
            return self._run.fetched(block.ptr, found, np.uint32).copy()
        return OnDevice(block, found, 4)

    # ------------------------------------------------------------

    def _ends(self, mask: OnDevice) -> Any:
        """Return up to the end of each share of a mask how many are true: ``cupy.ndarray`` of int64."""
        if mask.address not in self._counted:
            with working(self._run, _WHAT) as cp:
                counts = cp.empty(-(-len(mask) // _SHARE), np.int64)
                launch_pass(self._run, _FAMILY, "predicate_counts", 32 * len(counts), *_shares(mask), counts)
                self._counted[mask.address] = cp.cumsum(counts)
        return self._counted[mask.address]

    def _found(
        self,
        predicates: tuple[Expr, ...],
        elements: Sequence[Elements],
        bounds: tuple[int, int],
        compiler: Predicates,
        on_host: Callable[[], Any],
    ) -> Any:
        """Return whether predicates are true of the elements of some ranges, a byte for each id within the bounds.

        The host's, where these are few, where one of them can fail, or where there is no room on the device.
        """
        n = bounds[1] - bounds[0]
        if n < DEVICE_ELEMENTS or _AN_ELEMENT * n > self._run.free_bytes() or any(map(condition_can_fail, predicates)):
            return on_host()
        key = (id(predicates), *bounds, *(each.ranges for each in elements))
        if key in self._known:
            return self._known[key][1]
        try:
            programs = [compiler.program(predicates, each) for each in elements]
        except NoProgram:
            return on_host()
        try:
            mask = self._evaluated(programs, elements, bounds)
        except OutOfMemory as error:
            if error.code != "OutOfDeviceMemory":
                raise
            return on_host()
        self._known[key] = predicates, mask  # the predicates, so that no others can get their identity
        return mask

    def _evaluated(
        self, programs: Sequence[list[Step]], elements: Sequence[Elements], bounds: tuple[int, int]
    ) -> OnDevice:
        n = bounds[1] - bounds[0]
        block = self._run.zeroed(n, _WHAT)
        held: list[Resident] = []
        blocks: list[Any] = []
        try:
            for steps, each in zip(programs, elements, strict=True):
                records = np.array([self._record(step, held, blocks) for step in steps], STEP)
                blocks.append(self._uploaded(records))
                size, to = each.end - each.begin, np.uint64(block.ptr + each.begin - bounds[0])
                program = np.uint64(blocks[-1].ptr), np.int32(len(steps))
                launch_pass(
                    self._run, _FAMILY, "predicate_holds", size, *program, np.int64(each.begin), np.uint64(size), to
                )
            self._run.wait()
        finally:
            for resident in held:
                self._run.memory.unpin(resident)
        return OnDevice(block, n, 1)

    def _record(self, step: Step, held: list[Resident], blocks: list[Any]) -> tuple[Any, ...]:
        """Return a ``STEP``, whose arrays are on the device: the graph's stay there."""
        store, source = self._masks.runtime.store, step.source
        values, validity = (
            0 if each is None else resident_array(store, each, self._run, held, "properties", by_vertex=True)
            for each in ((None, None) if source is None else (source.numbers, source.validity))
        )
        table = 0
        if step.table is not None:
            blocks.append(self._uploaded(step.table))
            table = blocks[-1].ptr
        return step.record(values, validity, table)

    def _uploaded(self, array: npt.NDArray[Any]) -> Any:
        block = self._run.allocate(max(1, array.nbytes), _WHAT)
        self._run.write(block, array)
        return block


def _shares(mask: OnDevice) -> tuple[np.uint64, ...]:
    """Return what kernels are told of a mask in shares."""
    n = len(mask)
    return tuple(np.uint64(each) for each in (mask.address, n, _SHARE, -(-n // _SHARE)))
