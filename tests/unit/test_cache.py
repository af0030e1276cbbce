"""What the cache directory may give: nothing that others can have written."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from qengine import _asset_cache, _cache

MODES = [0o620, 0o602, 0o666]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QENGINE_CACHE_DIR", str(tmp_path / "new" / "cache"))
    found = _cache.cache_folder()
    assert found == tmp_path / "new" / "cache"
    return found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_written_is_the_users_alone(folder: Path) -> None:
    before = os.umask(0o002)
    try:
        _cache.write(folder / "a", b"1")
        _cache.write(folder / "a", b"22")
    finally:
        os.umask(before)
    assert _cache.read(folder / "a") == b"22" and _cache.has(folder / "a")
    assert mode(folder / "a") == 0o600 and mode(folder) == mode(folder.parent) == 0o700
    assert [each.name for each in folder.iterdir()] == ["a"]


def test_what_is_absent_is_not_found(folder: Path) -> None:
    assert _cache.read(folder / "a") is None and not _cache.has(folder / "a")


@pytest.mark.parametrize("others", MODES)
def test_a_file_that_others_can_write_is_not_read(folder: Path, others: int) -> None:
    _cache.write(folder / "a", b"1")
    (folder / "a").chmod(others)
    assert _cache.read(folder / "a") is None and not _cache.has(folder / "a")
    _cache.write(folder / "a", b"2")  # in its place
    assert _cache.read(folder / "a") == b"2" and mode(folder / "a") == 0o600


@pytest.mark.parametrize("others", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_write_is_left_alone(folder: Path, others: int) -> None:
    _cache.write(folder / "a", b"1")
    folder.chmod(others)
    _cache.write(folder / "a", b"2")
    _cache.write(folder / "b", b"2")
    assert _cache.read(folder / "a") is None and not (folder / "b").exists()
    folder.chmod(0o755)
    assert _cache.read(folder / "a") == b"1"


def owned_by(uid: int, is_it: Callable[[int], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files or folders belong to somebody else."""
    fstat = os.fstat

    def pretended(descriptor: int) -> object:
        found = fstat(descriptor)
        owner = uid if is_it(found.st_mode) else os.geteuid()
        return os.stat_result((*found[:4], owner, *found[5:]))

    monkeypatch.setattr(_cache.os, "fstat", pretended)


@pytest.mark.parametrize("is_it", [stat.S_ISREG, stat.S_ISDIR])
def test_what_another_user_owns_is_not_read(
    folder: Path, is_it: Callable[[int], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    _cache.write(folder / "a", b"1")
    owned_by(os.geteuid() + 1, is_it, monkeypatch)
    assert _cache.read(folder / "a") is None and not _cache.has(folder / "a")


def test_what_root_owns_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _cache.write(folder / "a", b"1")
    monkeypatch.setattr(_cache.os, "geteuid", lambda: 1234)
    owned_by(0, lambda _: True, monkeypatch)
    assert _cache.read(folder / "a") == b"1"


def test_another_users_folder_is_not_written_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True)
    owned_by(os.geteuid() + 1, stat.S_ISDIR, monkeypatch)
    _cache.write(folder / "a", b"1")
    assert not list(folder.iterdir())


def test_links_and_pipes_are_not_followed(folder: Path, tmp_path: Path) -> None:
    _cache.write(folder / "a", b"1")
    (folder / "link").symlink_to(folder / "a")
    os.mkfifo(folder / "pipe", 0o600)
    (folder / "folder").mkdir()
    for name in ("link", "pipe", "folder"):
        assert _cache.read(folder / name) is None and not _cache.has(folder / name)
    target = tmp_path / "elsewhere"
    target.write_bytes(b"precious")
    (folder / "b").symlink_to(target)
    _cache.write(folder / "b", b"2")
    assert target.read_bytes() == b"precious" and _cache.read(folder / "b") == b"2"


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QENGINE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def no_home() -> Path:
        raise RuntimeError("There is no home.")

    monkeypatch.setattr(_cache.Path, "home", no_home)
    assert _cache.cache_folder() is None


def test_texts_are_computed_anew_where_others_can_write_them(folder: Path, tmp_path: Path) -> None:
    source, computed = tmp_path / "asset", list[int]()
    source.write_text("text")

    def compute() -> int:
        computed.append(1)
        return len(computed)

    assert [_asset_cache.cached_json("n", source, compute) for _ in range(2)] == [1, 1]
    (file,) = folder.iterdir()
    file.chmod(0o666)
    assert [_asset_cache.cached_json("n", source, compute) for _ in range(2)] == [2, 2]
