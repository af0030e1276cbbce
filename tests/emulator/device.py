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


@functools.cache
def library(macros: tuple[tuple[str, int], ...]) -> ctypes.CDLL:
    """Compile the search for the host."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "emulated.cpp"
        source.write_text(
            f'#include "{CHECKOUT}/tests/emulator/warps.h"\n#include "search.cu"\n'
            'extern "C" void search_on_host(uint64_t job, uint32_t bytes, unsigned blocks, unsigned threads) {\n'
            "  const auto* given = reinterpret_cast<const qe::SearchJob*>(job);\n"
            "  emulator::run(blocks, threads, [&] { search(given, bytes); });\n}\n"
        )
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

    def kernel(self, family: str, name: str, macros: Mapping[str, int], shared_bytes: int) -> Any:
        return library(tuple(macros.items())).search_on_host

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

    def launch(self, kernel: Any, blocks: int, threads: int, arguments: Sequence[Any], shared_bytes: int) -> None:
        job, warp_bytes = arguments
        kernel(
            ctypes.c_uint64(int(job)), ctypes.c_uint32(int(warp_bytes)), ctypes.c_uint(blocks), ctypes.c_uint(threads)
        )

    def wait(self) -> None:
        self.context.check()


@contextmanager
def emulated_run(context: ExecutionContext, memory: DeviceMemory) -> Iterator[EmulatedRun]:
    yield EmulatedRun(context, memory)
