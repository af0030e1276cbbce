"""The loader takes the library of this checkout and no other, and says how to build one."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from qengine import _assets, _native
from qengine.errors import QengineError


def compiled(folder: Path, source: str) -> Path:
    path = folder / "library.so"
    (folder / "library.c").write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, folder / "library.c"], check=True)
    return path


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(_native, "load", _native.load.__wrapped__)
    return monkeypatch


def test_loads_the_library_of_this_checkout() -> None:
    assert _native.load().qe_source_hash().decode() == _assets.source_hash()
    assert _native.load() is _native.load()


def test_without_a_library_the_hint_is_the_command(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(_assets, "library_candidates", list)
    with pytest.raises(QengineError, match="has not been built") as caught:
        _native.load()
    assert caught.value.hint is not None and "cmake -S kernels -B build" in caught.value.hint


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            'int qe_abi_version() { return 1; } const char* qe_source_hash() { return "00"; }',
            "built from other sources",
        ),
        ('int qe_abi_version() { return 999; } const char* qe_source_hash() { return "00"; }', "has version 999, not"),
        ("int other() { return 1; }", "qe_abi_version"),
    ],
)
def test_a_library_that_does_not_fit_is_refused(
    fresh: pytest.MonkeyPatch, tmp_path: Path, source: str, reason: str
) -> None:
    path = compiled(tmp_path, source)
    fresh.setenv("QENGINE_LIBRARY", str(path))
    with pytest.raises(QengineError, match=reason) as caught:
        _native.load()
    assert str(path) in str(caught.value)


def test_records_are_declared_in_one_notation() -> None:
    pair = _native.record("u4 a; f8 b")
    whole = np.dtype([("at", "<u8"), ("n", "<i4", (2, 3)), ("of", pair, 4)])
    assert _native.record("p at; i4[2,3] n; PAIR[4] of", PAIR=pair) == whole
    mirror = _native.struct("qe::Mirror", "p at; i4 m n; f8[3] of; PAIR pair", PAIR=ctypes.c_uint64 * 2)
    assert mirror.__name__ == "Mirror" and ctypes.sizeof(mirror) == 8 + 2 * 4 + 3 * 8 + 16
    assert [mirror.at.offset, mirror.m.offset, mirror.n.offset, mirror.of.offset, mirror.pair.offset] == [
        0,
        8,
        12,
        16,
        40,
    ]


def test_arrays_of_other_types_are_refused() -> None:
    library = _native.declared("qe_renumber u4* u8 u4* u4* i4")()
    table, out = np.arange(3, dtype=np.uint32)[::-1].copy(), np.empty(2, np.uint32)
    assert library.qe_renumber(np.array([2, 0], np.uint32), 2, table, out, 1) == 0
    assert out.tolist() == [0, 2]
    for wrong in (np.array([2, 0], np.int64), np.array([2, 0, 0], np.uint32)[::2]):
        with pytest.raises(ctypes.ArgumentError, match="a kernel got"):
            library.qe_renumber(wrong, 2, table, out, 1)
