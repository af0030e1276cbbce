"""Folders, locks and processors, as this system has them and as one without descriptors of folders has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from qengine import _system
from qengine._system import Folder, NamedFolder, opened, usable_processors

BOTH = pytest.mark.parametrize("kind", [Folder, NamedFolder])


def test_processors() -> None:
    assert 1 <= usable_processors() <= (os.cpu_count() or 1)


@BOTH
def test_files_of_a_folder(kind: type[Folder], tmp_path: Path) -> None:
    with kind(tmp_path) as folder:
        folder.make_folder("inner")
        with open(folder.open("a", os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(b"1\r\n")
        with folder.inside("inner") as inner:
            folder.rename("a", "b", inner)
            assert (folder.names(), inner.names()) == (["inner"], ["b"])
            with open(inner.open_file("b"), "rb") as file:
                assert file.read() == b"1\r\n"
            assert inner.is_file("b")
            inner.remove("b")
            inner.sync()
        folder.remove_folder("inner")
        assert folder.names() == []
        assert folder.is_open
    assert not folder.is_open
    folder.close()


@BOTH
def test_links_are_not_followed(kind: type[Folder], tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "alias").symlink_to("file")
    with kind(tmp_path) as folder:
        with pytest.raises(OSError):
            folder.inside("link")
        with pytest.raises(OSError):
            folder.open_file("alias")
        assert not folder.is_file("alias")
        with pytest.raises(OSError):
            folder.inside("file")
        with pytest.raises(ValueError, match="plain file"):
            folder.open_file("real")
    with pytest.raises(OSError):
        kind(tmp_path / "link", follow=False)
    kind(tmp_path / "link").close()
    with pytest.raises(FileNotFoundError):
        kind(tmp_path / "nothing")


@BOTH
def test_one_has_the_lock(kind: type[Folder], tmp_path: Path) -> None:
    with kind(tmp_path) as folder, kind(tmp_path) as other:
        assert folder.lock(wait=False)
        assert not other.lock(wait=False)
        assert folder.names() == []
        folder.close()
        assert other.lock(wait=False)


@BOTH
def test_a_folder_is_destroyed(kind: type[Folder], tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    folder = kind(tmp_path / "a")
    assert folder.lock(wait=False)
    (tmp_path / "a" / "b").write_text("b")
    folder.destroy()
    assert not folder.is_open
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_opened_locked(tmp_path: Path) -> None:
    with opened(tmp_path, locked=True), opened(tmp_path) as other:
        assert not other.lock(wait=False)


ELSEWHERE = """
import errno, fcntl, mmap, os, signal, sys, types

def locking(descriptor, mode, count):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of a whole file, as far as others lock it
    except OSError:
        raise PermissionError(errno.EACCES, "another has it") from None

def without_descriptors_of_folders(plain):
    def called(path, *arguments, dir_fd=None, src_dir_fd=None, dst_dir_fd=None, **named):
        assert dir_fd is src_dir_fd is dst_dir_fd is None
        if plain is os_open and os.path.isdir(path):
            raise PermissionError(errno.EACCES, "it is a folder")
        return plain(path, *arguments, **named)
    return called

os_open = os.open
sys.modules["msvcrt"] = types.SimpleNamespace(LK_LOCK=1, LK_NBLCK=2, locking=locking)
sys.modules["fcntl"] = None
for name in ("open", "stat", "rename", "replace", "unlink", "mkdir", "rmdir"):
    setattr(os, name, without_descriptors_of_folders(getattr(os, name)))
os.supports_dir_fd = set()
for module, names in (
    (os, "sched_getaffinity geteuid getuid register_at_fork posix_fallocate fork pread pwrite O_DIRECTORY O_NOFOLLOW"),
    (os, "O_NONBLOCK O_CLOEXEC"),
    (signal, "SIGPIPE"),
    (mmap, "MADV_RANDOM MADV_HUGEPAGE MAP_PRIVATE MAP_ANONYMOUS"),
):
    for name in names.split():
        delattr(module, name)
"""
"""Takes from Python what Windows hasn't; macOS lacks some of it, too."""

USED = """
import tempfile
from pathlib import Path
import qengine
from qengine import Graph, _system
from qengine.errors import StorageError
from qengine.cli.main import main

assert _system.folder_class is _system.NamedFolder
with tempfile.TemporaryDirectory() as below:
    place = Path(below) / "deep" / "graph"
    graph = Graph()
    graph.query("UNWIND range(1, 20000) AS i CREATE (:P {i: i, s: 'x' + i})")
    graph.save(place)
    with qengine.open(place) as written:
        written.query("MATCH (p:P) WHERE p.i <= 10 CREATE (p)-[:R]->(:Q)")
        try:
            qengine.open(place).query("CREATE ()")
        except StorageError as error:
            assert "open for writing" in str(error), error
        else:
            raise AssertionError("two write")
        written.checkpoint()
        written.query("CREATE (:Q)")
    with qengine.open(place) as again:
        assert again.query("MATCH (q:Q) RETURN count(*)").fetchall() == [(11,)]
        rows = again.query("MATCH (a:P), (b:Q) RETURN a.s AS s, b ORDER BY s DESC", memory_limit="20M").to_arrow()
        assert rows.num_rows == 220_000
    graph.save(place)
    assert len([each for each in place.iterdir() if each.is_dir()]) == 1
    main([str(place), "-c", "MATCH (p:P) RETURN count(*)"])
"""


def test_a_system_without_what_windows_lacks(tmp_path: Path) -> None:
    places = {"QENGINE_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", ELSEWHERE + USED]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **places}, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "20,000" in done.stdout or "20000" in done.stdout
    assert [each for each in tmp_path.iterdir() if each.name.startswith("qengine-spill")] == []


def test_what_is_synced_on_macos_reaches_the_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(_system.sys, "platform", "darwin")
    monkeypatch.setattr(_system.fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(_system.fcntl, "fcntl", lambda *arguments: asked.append(arguments))
    with open(tmp_path / "a", "wb") as file:
        _system.sync(file.fileno())
        assert asked == [(file.fileno(), 51)]
