"""Binaries that come with the package are taken where they fit, and only there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from qengine import _assets
from qengine.cli.main import main
from qengine.exec.gpu import compiled, nvrtc, ready, warmup
from qengine.exec.gpu.families import FAMILIES


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where binaries are, none yet; there is neither a compiler nor a cache."""
    monkeypatch.setenv("QENGINE_CACHE_DIR", "/dev/null/cache")
    monkeypatch.setattr(_assets, "ready_folder", lambda: tmp_path)
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 2))
    monkeypatch.setattr(compiled, "_sources_digest", lambda: "sources")
    ready._opened.cache_clear()
    ready._block.cache_clear()
    yield tmp_path
    ready._opened.cache_clear()
    ready._block.cache_clear()


def compiles(monkeypatch: pytest.MonkeyPatch, family: str, architecture: int = 90, *given: object) -> bool:
    """Whether a variant has to be compiled."""
    monkeypatch.setattr(compiled, "compile_family", lambda *_: b"compiled")
    found = compiled.compiled(family, architecture, *given)  # type: ignore[arg-type]
    assert compiled.is_compiled(family, architecture, *given) is (found != b"compiled")  # type: ignore[arg-type]
    return found == b"compiled"


def test_every_known_variant_comes_with_a_package(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        warmup, "compile_family", lambda family, architecture, macros: f"{family} {architecture} {macros}".encode()
    )
    assert main(["warmup", "--package", str(package)]) == 0
    assert {path.name for path in package.iterdir()} == {f"sm{each}.bin" for each in ready.ARCHITECTURES}
    for family, variants in FAMILIES.items():
        for macros in variants:
            assert compiled.compiled(family, 89, macros) == f"{family} 80 {macros}".encode()
            assert compiled.is_compiled(family, 120, macros)
    assert compiles(monkeypatch, "pcsr", 90, {"QE_ARCHITECTURE": 750}), "no known variant"
    assert compiles(monkeypatch, "pcsr", 90, {}, "struct Estimator {};"), "code of a user"
    assert compiles(monkeypatch, "pcsr", 87) and compiles(monkeypatch, "pcsr", 130), "of other kinds of GPUs"


@pytest.mark.parametrize("other", ["sources", "compiler"])
def test_what_is_made_of_other_sources_is_not_taken(package: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    ready.write(ready.file_of(package, 90), ("sources", 13), {"pcsr": b"ready"})
    assert compiled.compiled("pcsr", 90) == b"ready"
    if other == "sources":
        monkeypatch.setattr(compiled, "_sources_digest", lambda: "changed")
    else:
        monkeypatch.setattr(nvrtc, "version", lambda: (14, 0))
    assert compiles(monkeypatch, "pcsr")


def test_binaries_are_given_back_as_they_were(package: Path) -> None:
    binaries = {f"{family} QE_A={k}": bytes([k]) * size for family in "ab" for k, size in enumerate((0, 3, 500))}
    ready.write(ready.file_of(package, 75), ("sources", 13), binaries)
    assert {name: ready.binary(75, name, ("sources", 13)) for name in binaries} == binaries
    assert ready.binary(75, "a", ("sources", 13)) is None
