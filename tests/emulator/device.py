"""A device that runs CUDA kernels on the host (``warps.h``): its memory is the host's."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.memory import DeviceMemory

CHECKOUT = Path(__file__).resolve().parents[2]
WARPS = 4


class Full(Exception):
    """The emulated device has no memory left."""


class Block:
    """A block of memory, filled with what nobody should read."""

    def __init__(self, pool: Pool, n_bytes: int) -> None:
        self.pool = pool
        self.bytes = np.full(n_bytes, 0xA5, np.uint8)
        self.ptr = self.bytes.ctypes.data
        pool.used += n_bytes

    def __del__(self) -> None:
        self.pool.used -= len(self.bytes)

    def memset_async(self, value: int, n_bytes: int, stream: object) -> None:
        self.bytes[:n_bytes] = value


class Pool:
    """Stands in for ``cupy.cuda.MemoryPool``."""

    def __init__(self, size: int | None = None) -> None:
        self.size = size
        self.used = 0

    def malloc(self, n_bytes: int) -> Block:
        if self.size is not None and self.used + n_bytes > self.size:
            raise Full
        return Block(self, n_bytes)

    def used_bytes(self) -> int:
        return self.used

    def free_all_blocks(self) -> None:
        pass


KERNELS = {
    "search": (
        'extern "C" void search_on_host(unsigned blocks, unsigned threads, const uint64_t* given) {\n'
        "  const auto* job = reinterpret_cast<const qe::SearchJob*>(given[0]);\n"
        "  emulator::run(blocks, threads, [&] { search(job, static_cast<uint32_t>(given[1])); });\n}\n"
    ),
    "count_tree": (
        'extern "C" void tree_slices_on_host(unsigned blocks, unsigned threads, const uint64_t* given) {\n'
        "  const auto* plan = reinterpret_cast<const qe::MatchPlan*>(given[0]);\n"
        "  const auto* tree = reinterpret_cast<const qe::TreePlan*>(given[1]);\n"
        "  emulator::run(blocks, threads, [&] { tree_slices(plan, tree); });\n}\n"
        'extern "C" void count_tree_on_host(unsigned blocks, unsigned threads, const uint64_t* given) {\n'
        "  const auto* tree = reinterpret_cast<const qe::TreePlan*>(given[0]);\n"
        "  auto* state = reinterpret_cast<qe::TreeState*>(given[1]);\n"
        "  auto* memos = reinterpret_cast<qe::TreeMemo*>(given[2]);\n"
        "  const auto* stop = reinterpret_cast<const int32_t*>(given[3]);\n"
        "  const auto bytes = static_cast<uint32_t>(given[4]);\n"
        "  emulator::run(blocks, threads, [&] { count_tree(tree, state, memos, stop, bytes); });\n}\n"
    ),
}
"""For each family what calls its kernels with arguments of 64 bits each."""


@functools.cache
def library(family: str, macros: tuple[tuple[str, int], ...]) -> ctypes.CDLL:
    """Compile a family for the host."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "emulated.cpp"
        source.write_text(f'#include "{CHECKOUT}/tests/emulator/warps.h"\n#include "{family}.cu"\n{KERNELS[family]}')
        target = Path(folder) / "emulated.so"
        include = [f"-I{CHECKOUT}/kernels/{folder}" for folder in ("include", "cuda")]
        given = [f"-D{name}={value}" for name, value in (*macros, ("QE_LOOK_EVERY", 1))]  # share work at every step
        command = ["g++", "-std=c++17", "-O2", "-shared", "-fPIC", "-pthread", *given, *include, "-o", target, source]
        subprocess.run(command, check=True, capture_output=True)
        return ctypes.CDLL(str(target))


class EmulatedRun:
    """Stands in for ``DeviceRun``."""

    def __init__(self, context: ExecutionContext, memory: DeviceMemory) -> None:
        self.context = context
        self.memory = memory
        self.flag = np.zeros(1, np.int32)
        self.device = SimpleNamespace(
            shared_bytes=1 << 18, kernel=self.kernel, resident_blocks=lambda *_: 1, capability=90
        )

    @property
    def stop_flag(self) -> int:
        return self.flag.ctypes.data

    def kernel(self, family: str, name: str, macros: Mapping[str, int] | None = None, shared_bytes: int = 0) -> Any:
        return getattr(library(family, tuple((macros or {}).items())), f"{name}_on_host")

    def allocate(self, n_bytes: int, what: str) -> Block:
        return self.memory.allocate(n_bytes, self.context.gpu_memory_limit, what)

    def zeroed(self, n_bytes: int, what: str) -> Block:
        block = self.allocate(n_bytes, what)
        self.clear(block, n_bytes)
        return block

    def clear(self, block: Block, n_bytes: int) -> None:
        block.memset_async(0, n_bytes, None)

    def upload(self, host: Any, what: str) -> Block:
        block = self.allocate(host.nbytes, what)
        self.write(block, host)
        return block

    def write(self, block: Block, host: Any) -> None:
        assert host.nbytes <= len(block.bytes)
        ctypes.memmove(block.ptr, host.ctypes.data, host.nbytes)

    def publish(self) -> None:
        pass

    def read(self, address: int, host: Any) -> None:
        ctypes.memmove(host.ctypes.data, address, host.nbytes)

    def launch(self, kernel: Any, blocks: int, threads: int, arguments: Sequence[Any], shared_bytes: int = 0) -> None:
        kernel(ctypes.c_uint(blocks), ctypes.c_uint(threads), np.array(arguments, np.uint64).ctypes)

    def wait(self) -> None:
        self.context.check()


@contextmanager
def emulated_run(context: ExecutionContext, memory: DeviceMemory) -> Iterator[EmulatedRun]:
    yield EmulatedRun(context, memory)
