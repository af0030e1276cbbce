"""A folder on a file system that fills up, one of memory: a transaction that has no room fails, the graph goes on."""

from __future__ import annotations

import subprocess

import pytest

import qengine
from qengine.errors import StorageError

ROOM = 2 << 20
COUNT = "MATCH (n:Unit) RETURN count(n), sum(size(n.text))"


@pytest.fixture
def small(tmp_path):
    """A file system with ``ROOM`` bytes."""
    place = tmp_path / "small"
    place.mkdir()
    try:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(place)]
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a file system can't be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True, capture_output=True)


def fill(graph, length):
    """Make nodes until there is no room; return how many were made."""
    for number in range(10 * ROOM // length):
        try:
            graph.query("CREATE (:Unit {text: $text})", {"text": "x" * length})
        except StorageError as error:
            assert "No space left" in error.message
            return number
    raise AssertionError("the disk is never full")


@pytest.mark.parametrize("durability", ["full", "batched", "none"])
def test_a_transaction_without_room_fails_and_the_graph_goes_on(small, durability):
    (small / "other").write_bytes(b"\0" * (ROOM // 8))
    graph = qengine.open(small / "graph", durability=durability, create=True)
    made = fill(graph, 50_000)
    assert made > 10
    assert graph.query(COUNT).fetchall() == [(made, made * 50_000)]
    with pytest.raises(StorageError):
        graph.query("CREATE (:Unit {text: $text})", {"text": "x" * 50_000})
    with qengine.open(small / "graph", verify="full") as reader:
        assert reader.query(COUNT).fetchall() == [(made, made * 50_000)]
    graph.close()
    (small / "other").unlink()
    with qengine.open(small / "graph", durability=durability) as graph:  # there is room again
        graph.query("CREATE (:Unit {text: 'after'})")
        assert graph.query(COUNT).fetchall() == [(made + 1, made * 50_000 + 5)]
    with qengine.open(small / "graph", verify="full") as graph:
        assert graph.query(COUNT).fetchall() == [(made + 1, made * 50_000 + 5)]


def test_a_checkpoint_without_room_leaves_what_was_there(small):
    with qengine.open(small / "graph", create=True) as graph:
        graph.query("UNWIND range(1, 12) AS i CREATE (:Unit {text: $text})", {"text": "y" * 100_000})
        with pytest.raises(StorageError, match="No space left"):
            graph.checkpoint()
        graph.query("MATCH (n:Unit) WITH n LIMIT 4 DELETE n")
        assert graph.query(COUNT).fetchall() == [(8, 800_000)]
    with qengine.open(small / "graph", verify="full") as graph:
        assert graph.query(COUNT).fetchall() == [(8, 800_000)]


def test_no_graph_is_left_where_there_is_no_room_for_a_new_one(small):
    (small / "other").write_bytes(b"\0" * (ROOM - 4096))
    with pytest.raises(StorageError, match="No space left"):
        qengine.open(small / "graph", create=True)
    (small / "other").unlink()
    with qengine.open(small / "graph", create=True) as graph:
        assert graph.query(COUNT).fetchall() == [(0, 0)]
