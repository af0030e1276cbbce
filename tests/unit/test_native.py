"""The loader takes the library of this checkout and no other, and says how to build one."""

from __future__ import annotations

import subprocess
from pathlib import Path

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
