"""What a save writes and deletes in a directory: never what something else wrote, whatever it is called."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qengine
from qengine.errors import StorageError
from qengine.storage import from_records, open_saved, save
from qengine.storage.directory import _HEAD
from tests.examples import examples

OLD = Path(__file__).resolve().parents[1] / "data" / "saved" / "format1"
MARKER = ".qengine-save"
FOLDER = "data-" + "0" * 32


def tiny(value=1):
    return from_records([{"id": 1, "labels": ["A"], "properties": {"v": value}}])


def value_of(path):
    return open_saved(path).nodes([0])[0].properties["v"]


def tree(path):
    """Everything below a directory: what links point to, and the bytes of files; links aren't followed."""
    found = {}
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            place = Path(folder) / name
            inside = os.readlink(place) if place.is_symlink() else place.read_bytes() if place.is_file() else None
            found[str(place.relative_to(path))] = inside
    return found


def marker(makes, replaces="nothing"):
    return _HEAD + f"makes {makes}\nreplaces {replaces}\n".encode()


def refused(path):
    before = tree(path)
    with pytest.raises(StorageError, match="there is something else there"):
        save(tiny(), path)
    assert tree(path) == before


def test_folders_of_others_are_left_alone_whatever_their_names(tmp_path):
    (tmp_path / "data-2023" / "raw").mkdir(parents=True)
    (tmp_path / "data-2024").mkdir()
    (tmp_path / "data-2023" / "raw" / "thesis.txt").write_text("irreplaceable")
    (tmp_path / "data-notes.tmp").write_text("z")
    refused(tmp_path)
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "adjacency.arrow").write_text("another's")
    refused(tmp_path)


@pytest.mark.parametrize("name", ["thesis.tex", "manifest.json", "data-1", ".hidden", FOLDER])
def test_a_directory_with_anything_else_is_refused(tmp_path, name):
    (tmp_path / name).write_text("{}")
    refused(tmp_path)
    with pytest.raises(StorageError, match="there is something else there"):
        save(tiny(), tmp_path / name)
    assert tree(tmp_path) == {name: b"{}"}


def test_the_error_says_why_a_manifest_is_not_replaced(tmp_path):
    save(tiny(), tmp_path)
    manifest = tmp_path / "manifest.json"
    original = manifest.read_bytes()
    for text, why in (
        (b"{}", "it names no format"),
        (original[:-10], ""),
        (json.dumps({**json.loads(original), "format": 99}).encode(), "which a newer qengine wrote"),
    ):
        manifest.write_bytes(text)
        before = tree(tmp_path)
        with pytest.raises(StorageError, match=f"manifest.json can't be replaced: .*{why}"):
            save(tiny(), tmp_path)
        assert tree(tmp_path) == before
    manifest.unlink()
    (tmp_path / "elsewhere").write_bytes(original)
    manifest.symlink_to("elsewhere")
    refused(tmp_path)


def test_files_of_others_beside_a_graph_stay(tmp_path):
    save(tiny(1), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "data-2024").mkdir()
    (tmp_path / "data-2024" / "x.csv").write_text("1")
    (tmp_path / "link").symlink_to("data-2024")
    orphan = tmp_path / FOLDER  # as a crash of the version without markers left it
    orphan.mkdir()
    (orphan / "adjacency.arrow").write_bytes(b"half")
    before = tree(tmp_path)
    save(tiny(2), tmp_path)
    assert value_of(tmp_path) == 2
    mine = {name: inside for name, inside in tree(tmp_path).items() if name in before and name != "manifest.json"}
    assert mine == {
        name: inside
        for name, inside in before.items()
        if name != "manifest.json" and (not name.startswith("data-") or name.startswith(("data-2024", FOLDER)))
    }


def test_a_replaced_folder_with_a_file_of_others_stays(tmp_path):
    save(tiny(1), tmp_path)
    (folder,) = tmp_path.glob("data-*")
    (folder / "notes.txt").write_text("mine")
    before = tree(folder)
    save(tiny(2), tmp_path)
    assert value_of(tmp_path) == 2
    assert tree(folder) == before


def test_a_replaced_folder_that_became_a_link_is_not_followed(tmp_path):
    graph = tmp_path / "graph"
    save(tiny(1), graph)
    (folder,) = graph.glob("data-*")
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    before = tree(tmp_path / "moved")
    save(tiny(2), graph)
    assert tree(tmp_path / "moved") == before
    assert folder.is_symlink()
    assert value_of(graph) == 2


def test_what_the_marker_names_is_deleted_by_the_next_save(tmp_path):
    (tmp_path / MARKER).write_bytes(marker(FOLDER))
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "adjacency.arrow").write_bytes(b"half")
    save(tiny(1), tmp_path)
    assert value_of(tmp_path) == 1
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["thesis.tex", "adjacency.arrow.bak", "properties.arrow"])
def test_a_marked_folder_with_something_of_others_stays(tmp_path, name):
    (tmp_path / MARKER).write_bytes(marker(FOLDER))
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "adjacency.arrow").write_bytes(b"half")
    if name == "properties.arrow":
        (tmp_path / FOLDER / name).mkdir()  # a folder where a save would have a file
    else:
        (tmp_path / FOLDER / name).write_text("precious")
    before = tree(tmp_path / FOLDER)
    save(tiny(1), tmp_path)
    assert tree(tmp_path / FOLDER) == before
    assert not (tmp_path / MARKER).exists()


@pytest.mark.parametrize(
    "text",
    [
        b"mine",
        marker("data-2024"),
        marker(f"../{FOLDER}"),
        marker(FOLDER) + b"more",
        marker(FOLDER).replace(b"makes", b"breaks"),
        b"x" * 5000,
    ],
)
def test_what_only_looks_like_a_marker_deletes_nothing(tmp_path, text):
    (tmp_path / "inside").mkdir()
    for folder in ("data-2024", FOLDER):
        (tmp_path / "inside" / folder).mkdir()
        (tmp_path / "inside" / folder / "adjacency.arrow").write_text("precious")
    (tmp_path / "inside" / MARKER).write_bytes(text)
    before = tree(tmp_path)
    try:
        save(tiny(), tmp_path / "inside")
    except StorageError:
        assert tree(tmp_path) == before
    after = tree(tmp_path)
    assert {name: after.get(name) for name in before if MARKER not in name} == {
        name: inside for name, inside in before.items() if MARKER not in name
    }


def test_a_marker_that_was_not_written_to_the_end_is_replaced(tmp_path):
    whole = marker(FOLDER)
    for length in (0, 5, len(_HEAD), len(_HEAD) + 3, len(whole) - 1):
        path = tmp_path / str(length)
        path.mkdir()
        (path / MARKER).write_bytes(whole[:length])
        save(tiny(1), path)
        assert len(list(path.iterdir())) == 2


def test_a_link_or_a_device_for_a_marker_is_no_marker(tmp_path):
    (tmp_path / "real").write_bytes(marker(FOLDER))
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / MARKER).symlink_to(tmp_path / "real")
    refused(tmp_path / "graph")
    (tmp_path / "graph" / MARKER).unlink()
    os.mkfifo(tmp_path / "graph" / MARKER)
    with pytest.raises(StorageError, match="there is something else there"):
        save(tiny(), tmp_path / "graph")


def test_a_graph_of_the_format_before_is_replaced(tmp_path):
    path = tmp_path / "old"
    shutil.copytree(OLD, path)
    (folder,) = path.glob("data-*")
    save(tiny(3), path)
    assert value_of(path) == 3
    assert not folder.exists()
    assert len(list(path.iterdir())) == 2


def test_a_save_that_fails_leaves_the_directory_as_it_was(tmp_path, monkeypatch):
    save(tiny(1), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    before = tree(tmp_path)

    def full(file):
        raise OSError(28, "No space left on device")

    for name in ("publish", "create"):
        with monkeypatch.context() as patched:
            patched.setattr(f"qengine.storage.directory.SaveFolder.{name}", lambda *args: full(None))
            with pytest.raises(StorageError, match="No space left on device"):
                save(tiny(2), tmp_path)
        assert tree(tmp_path) == before


names = st.sampled_from(
    [
        "data-",
        "data-2024",
        "data-x.tmp",
        FOLDER,
        "manifest.json",
        "manifest.json.tmp",
        "adjacency.arrow",
        "a",
        MARKER,
        "ü",
    ]
) | st.text("abc-.0", min_size=1, max_size=8).filter(lambda name: name.strip("."))
leaves = st.binary(max_size=20) | st.just(marker(FOLDER)) | st.tuples(st.sampled_from(["up", "in", "out", "gone"]))
trees = st.dictionaries(
    names, st.recursive(leaves, lambda inside: st.dictionaries(names, inside, max_size=3)), max_size=4
)


def grow(path, plan, outside):
    """Make a tree: bytes are files, dicts folders, tuples links to the folder above, a sibling, elsewhere, nothing."""
    for name, inside in plan.items():
        place = path / name
        if isinstance(inside, bytes):
            place.write_bytes(inside)
        elif isinstance(inside, dict):
            place.mkdir()
            grow(place, inside, outside)
        else:
            targets = {"up": "..", "in": next(iter(plan)), "out": outside, "gone": "nowhere"}
            place.symlink_to(targets[inside[0]])


@settings(max_examples=examples(90))
@given(plan=trees, later=trees, saved_before=st.booleans())
def test_no_byte_of_others_is_lost(tmp_path_factory, plan, later, saved_before):
    root = tmp_path_factory.mktemp("any")
    outside, path = root / "outside", root / "graph"
    outside.mkdir()
    for name in ("adjacency.arrow", "precious"):
        (outside / name).write_bytes(b"outside")
    path.mkdir()
    if saved_before:
        save(tiny(0), path)
    own = set(tree(path))
    grow(path, {name: inside for name, inside in plan.items() if not (path / name).exists()}, outside)
    foreign = {name: inside for name, inside in tree(root).items() if name.removeprefix("graph/") not in own}

    def kept():
        left = tree(root)
        for name, inside in foreign.items():
            if own_leftover(name):
                continue
            assert left.get(name, "lost") == inside, name

    def own_leftover(name):
        """What a marker proves to be of a save that was cut off, for whoever reads it: this tree wrote that marker."""
        inside = foreign.get(f"graph/{MARKER}")
        proven = isinstance(inside, bytes) and (inside == marker(FOLDER) or _HEAD.startswith(inside))
        return proven and (name == f"graph/{MARKER}" or name.startswith(f"graph/{FOLDER}"))

    for value in (1, 2):
        try:
            save(tiny(value), path)
            assert value_of(path) == value
        except StorageError:
            if saved_before and not (path / MARKER).exists():
                raise
        kept()
        more = {name: inside for name, inside in later.items() if not os.path.lexists(path / name)}
        before = set(tree(root))
        grow(path, {name: inside for name, inside in more.items() if name not in (MARKER, "manifest.json")}, outside)
        after = tree(root)
        foreign.update({name: after[name] for name in set(after) - before})
    shutil.rmtree(root)


KILLER = """
import os, shutil, signal, sys
from qengine.storage import from_records, open_saved, save

path, every = sys.argv[1], int(sys.argv[2])
graphs = [
    from_records([{"id": i, "labels": ["A"], "properties": {"v": version}} for i in range(50)],
                 [{"type": "R", "start": i, "end": (i + version) % 50} for i in range(50)])
    for version in (1, 2)
]
steps, last = 0, None  # of a save: whatever it asks of the file system; which of them is not taken

def step():
    global steps
    steps += 1
    if last is not None and steps > last:
        os.kill(os.getpid(), signal.SIGKILL)

class Counted:
    def __init__(self, file):
        self._file = file
    def write(self, data):
        step()
        half = len(data) // 2
        count = self._file.write(data[:half])  # what is cut off inside a write
        self._file.flush()
        step()
        count += self._file.write(data[half:])
        self._file.flush()
        step()
        return count
    def __getattr__(self, name):
        return getattr(self._file, name)
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self._file.close()

audited = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir")
sys.addaudithook(lambda event, args: step() if event in audited else None)
fsync, fdopen = os.fsync, os.fdopen
os.fsync = lambda file: (step(), fsync(file), step())
os.fdopen = lambda handle, mode: Counted(fdopen(handle, mode)) if "w" in mode else fdopen(handle, mode)
foreign = {"notes.txt": b"mine", "data-2024/x.csv": b"1", "data-x.tmp": b"z"}
save(graphs[0], path)
for name, inside in foreign.items():
    os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
    with open(os.path.join(path, name), "wb") as file:
        file.write(inside)
expected = len(os.listdir(path))
steps = 0
save(graphs[0], path)
in_all, old, outcomes, partial = steps, 0, [], 0
for kill in range(0, in_all + 1, every):
    child = os.fork()
    if not child:
        steps, last = 0, kill
        save(graphs[1 - old], path)
        os._exit(0)
    os.waitpid(child, 0)
    partial += len(os.listdir(path)) > expected
    store = open_saved(path, verify="full")
    (version,) = {node["v"] for node in store.nodes(range(50))}
    for name, inside in foreign.items():
        with open(os.path.join(path, name), "rb") as file:
            assert file.read() == inside
    outcomes.append(version - 1 == old)
    old = version - 1
    if kill % 3 == 0:  # else the leftovers of several kills meet
        save(graphs[old], path)
        assert len(os.listdir(path)) == expected, os.listdir(path)
save(graphs[old], path)
assert len(os.listdir(path)) == expected, os.listdir(path)
fresh = os.path.join(os.path.dirname(path), "fresh")
for kill in range(0, in_all + 1, every):  # the first save into a directory
    child = os.fork()
    if not child:
        steps, last = 0, kill
        save(graphs[0], fresh)
        os._exit(0)
    os.waitpid(child, 0)
    save(graphs[1], fresh)
    assert sorted(name[:4] for name in os.listdir(fresh)) == ["data", "mani"], os.listdir(fresh)
    shutil.rmtree(fresh)
print(in_all, outcomes.count(True), outcomes.count(False), partial)
"""


@pytest.mark.parametrize("every", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_at_any_step_of_a_save_leaves_the_old_or_the_new_graph(tmp_path, every):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", KILLER, str(tmp_path / "graph"), str(every)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    steps, old, new, cut_short = map(int, done.stdout.split())
    assert steps > 50
    assert old > 0
    assert new > 0
    assert cut_short > 0, "some kills hit a save at work"


def test_a_graph_is_saved_over_itself_and_by_its_users_name(tmp_path):
    graph = qengine.Graph.from_records([{"id": 1, "labels": ["A"]}])
    graph.save(tmp_path / "g")
    opened = qengine.open(tmp_path / "g")
    opened.save(tmp_path / "g")
    assert qengine.open(tmp_path / "g").query("MATCH (a:A) RETURN count(*)").value() == 1
