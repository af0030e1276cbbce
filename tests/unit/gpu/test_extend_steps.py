"""The steps that the GPU's extension does for each row and slot, run on the host against backtracking."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine.exec.cpu.resolve import resolve
from tests.property.search_cases import Masks, Oracle, cases

CHECKOUT = Path(__file__).resolve().parents[3]
CAPACITY = 200_000


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    compiler = shutil.which("g++") or shutil.which("c++")
    assert compiler, "the host library was built without a compiler"
    path = tmp_path_factory.mktemp("extend") / "extend.so"
    source = Path(__file__).with_name("extend_on_host.cpp")
    include = CHECKOUT / "kernels" / "include"
    subprocess.run(
        [
            compiler,
            "-std=c++17",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
            f"-I{include}",
            source,
            "-o",
            path,
        ],
        check=True,
    )
    loaded = ctypes.CDLL(str(path))
    loaded.extend_on_host.restype = ctypes.c_int64
    return loaded


@settings(max_examples=300)
@given(case=cases(), piece=st.sampled_from([1, 3, 1000]))
def test_steps_find_all_embeddings(library: Any, case: Any, piece: int) -> None:
    store, search, seeds, rows = case
    rows = rows if search.seeds else 1
    expected: Counter[Any] = Counter()
    for row in range(rows):
        for values in Oracle(store, search).embeddings([int(column[row]) for column in seeds]):
            expected[(row, *values)] += 1
    resolved = resolve(store, search, Masks())
    if resolved is None:
        assert not expected
        return
    given_seeds = [np.array(column, np.int64) for column in seeds]
    addresses = (ctypes.c_void_p * len(seeds))(*(column.ctypes.data for column in given_seeds))
    out = np.empty((CAPACITY, len(search.levels) + 1), np.int64)
    n = library.extend_on_host(
        ctypes.c_void_p(resolved.plan.ctypes.data),
        ctypes.c_int64(rows),
        addresses,
        ctypes.c_int64(piece),
        ctypes.c_void_p(out.ctypes.data),
        ctypes.c_int64(CAPACITY),
    )
    assert n <= CAPACITY
    assert Counter(map(tuple, out[:n].tolist())) == expected
