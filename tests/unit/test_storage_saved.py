"""Saved graphs: they come back as they were; damaged and foreign directories are refused; a crash loses nothing."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.catalog.view import Incidence
from qengine.errors import StorageError
from qengine.plan.pattern import Direction
from qengine.storage import from_arrow, from_records, open_saved, save
from qengine.storage import saved as saved_module
from qengine.storage.adjacency import Form
from qengine.storage.json_schema import schema, violations
from qengine.storage.manifest import decode, encode

FLIPS = 1200
OLD = Path(__file__).resolve().parents[1] / "data" / "saved" / "format1"


def graph(seed=0, nodes=30, relationships=80):
    """A small graph with everything in it: mixed and missing properties, loops, parallels, an undirected type."""
    rng = random.Random(seed)
    values = [None, 1, 2.5, "word", True, [1, "a"], 2**62]
    return from_records(
        [
            {
                "id": row,
                "labels": rng.sample(["A", "B", "C"], rng.randrange(3)),
                "properties": {"n": row, "mixed": rng.choice(values), "name": f"name {row}" if row % 3 else None},
            }
            for row in range(nodes)
        ],
        [
            {
                "type": rng.choice(["R", "S", "U"]),
                "start": rng.randrange(nodes),
                "end": rng.randrange(nodes),
                "properties": {"w": rng.random()} if row % 2 else {},
            }
            for row in range(relationships)
        ],
        undirected=["U"],
    )


def contents(store):
    """Everything that a graph tells, as plain values."""
    arrays = [
        [None if array is None else array.tolist() for array in (one.offsets, one.keys, one.neighbours, one.edge_ids)]
        + [one.form, one.lo, one.hi, one.home_groups, one.reason, None if one.groups is None else one.groups.tobytes()]
        for edge_type in store.types
        for direction in (Direction.OUT, Direction.BOTH if edge_type.undirected else Direction.IN)
        for one in (store.adjacency(edge_type.index, direction),)
    ]
    groups = [(sorted(group.labels), group.begin, group.end) for group in store.groups]
    entities = [
        *((node.labels, dict(node.properties)) for node in store.nodes(range(store.vertex_count))),
        *(
            (edge.type, edge.start, edge.end, dict(edge.properties))
            for edge in store.relationships(range(store.relationship_count))
        ),
    ]
    return repr((groups, store.labels, store.types, repr(store.schema), repr(store.statistics), arrays, entities))


@pytest.fixture(name="saved")
def _saved(tmp_path):
    path = tmp_path / "graph"
    save(graph(), path)
    return path


def test_what_was_saved_comes_back(saved):
    opened = open_saved(saved)
    assert contents(opened) == contents(graph())
    assert opened.statistics.edges(None, "R", None) == graph().statistics.edges(None, "R", None)
    out = opened.adjacency(0, Direction.OUT)
    assert not out.neighbours.flags.owndata, "the file is mapped, not copied"


def test_every_form_comes_back(tmp_path, monkeypatch):
    for form in Form:
        monkeypatch.setattr("qengine.storage.pcsr_build.choose", lambda keys, entries, form=form: (form, "a reason"))
        save(graph(3), tmp_path / form.name)
        opened = open_saved(tmp_path / form.name)
        assert opened.adjacency(0, Direction.IN).form is form
        assert contents(opened) == contents(graph(3))


def test_an_empty_graph_and_an_opened_one_can_be_saved(saved, tmp_path):
    save(from_records([]), tmp_path / "empty")
    assert open_saved(tmp_path / "empty").vertex_count == 0
    opened = open_saved(saved)
    save(opened, saved)
    assert contents(opened) == contents(open_saved(saved)) == contents(graph())


def test_replacing_leaves_one_graph_and_old_readers_alone(saved):
    old = open_saved(saved)
    save(graph(1), saved)
    assert contents(open_saved(saved)) == contents(graph(1))
    assert contents(old) == contents(graph())
    assert len(list(saved.iterdir())) == 2


def test_a_flipped_byte_is_refused_or_harmless(saved):
    expected = contents(graph())
    files = sorted(path for path in saved.rglob("*") if path.is_file())
    assert len(files) == 5
    rng = np.random.default_rng(11)
    refused = 0
    for trial in range(FLIPS):
        path = files[trial % len(files)]
        original = path.read_bytes()
        damaged = bytearray(original)
        damaged[int(rng.integers(len(damaged)))] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            assert contents(open_saved(saved)) == expected
        except StorageError as error:
            refused += 1
            assert str(path) in error.message
            assert error.hint
        path.write_bytes(original)
    assert refused > FLIPS * 0.9
    assert contents(open_saved(saved)) == expected


def test_statistics_come_back(tmp_path):
    first = graph(nodes=20_000, relationships=20_000)
    first.statistics.values("node", "mixed", "A")
    save(first, tmp_path)
    opened = open_saved(tmp_path)
    known = dict(opened.statistics.known_values())
    assert ("node", "n", None) not in known and ("node", "mixed", "A") in known
    assert all(found == first.statistics.values(*of) for of, found in known.items())
    assert dict(opened.statistics.known_pairs()) == dict(first.statistics.known_pairs()) != {}
    for known in ("known_acyclic", "known_antiparallel"):
        assert dict(getattr(opened.statistics, known)()) == dict(getattr(first.statistics, known)()) != {}


def test_what_is_counted_from_one_end_alone_is_not_saved(tmp_path):
    first = graph()
    type = first.types[0].name
    counted = first.statistics.edges_by_label_sets(type)
    save(first, tmp_path)
    opened = open_saved(tmp_path)
    assert np.array_equal(opened.statistics.edges_by_label_sets(type), counted)


def test_what_is_known_of_kinds_of_relationships_comes_back(tmp_path):
    first = graph(nodes=200)
    before = first.nbytes
    a, b = (Incidence((name,), True, False, None) for name in "RS")
    back = tuple(Incidence(each.types, False, True, each.labels) for each in (a, b))
    asked = {label: first.together(label, a, b) for label in (None, "A")}
    odds = first.mixed_closing_odds(("A", None, None), ((a, back[0]), (b, back[1]), (a, back[0])))
    assert first.nbytes > before  # degrees of samples
    save(first, tmp_path)
    opened = open_saved(tmp_path)
    for known in ("known_together", "known_mixed_triangles"):
        assert dict(getattr(opened.statistics, known)()) == dict(getattr(first.statistics, known)()) != {}
    assert {label: opened.together(label, a, b) for label in asked} == asked
    assert opened.mixed_closing_odds(("A", None, None), ((a, back[0]), (b, back[1]), (a, back[0]))) == odds
    assert opened.statistics.nbytes == 0  # nothing had to be looked up


def test_triangles_of_a_version_that_kept_one_number_of_them_are_left_out(tmp_path, monkeypatch):
    first = graph(nodes=200)
    out, into = (Incidence(("R",), *ways, None) for ways in ((True, False), (False, True)))
    first.mixed_closing_odds((None, None, None), ((out, into), (out, into), (into, out)))
    ((key, _),) = first.statistics.known_mixed_triangles()
    monkeypatch.setattr("qengine.storage.statistics.Statistics.known_mixed_triangles", lambda self: [(key, (2.0,))])
    monkeypatch.setattr("qengine.storage.statistics_file._VERSION", "5")
    save(first, tmp_path)
    monkeypatch.undo()
    assert open_saved(tmp_path).statistics.known_mixed_triangles() == []


@pytest.mark.parametrize(("version", "missing"), [("2", ("acyclic", "antiparallel")), ("4", ("antiparallel",))])
def test_statistics_of_versions_without_facts_of_types_are_read(tmp_path, monkeypatch, version, missing):
    monkeypatch.setattr("qengine.storage.statistics_file._VERSION", version)
    for fact in missing:
        monkeypatch.setattr(f"qengine.storage.statistics.Statistics.known_{fact}", lambda self: [])
    first = graph(nodes=5_000, relationships=20_000)
    first.statistics.values("node", "n", "A")
    save(first, tmp_path)
    monkeypatch.undo()
    opened = open_saved(tmp_path)
    assert dict(opened.statistics.known_values()) == dict(first.statistics.known_values()) != {}
    for fact in missing:
        assert getattr(opened.statistics, f"known_{fact}")() == []
        assert getattr(opened, fact)("R") == getattr(first, fact)("R")


def test_dates_and_texts_of_statistics_come_back(tmp_path):
    days = pa.array(range(20_000), pa.int32()).cast(pa.date32())
    words = pa.array([f"word {row % 900}" if row % 7 else None for row in range(20_000)])
    first = from_arrow({"A": pa.table({"id": range(20_000), "day": days, "word": words})})
    save(first, tmp_path)
    known = dict(open_saved(tmp_path).statistics.known_values())
    assert {key for _, key, _ in known} == {"id", "day", "word"}
    assert all(found == first.statistics.values(*of) for of, found in known.items())


def test_a_graph_saved_without_statistics_opens(tmp_path):
    path = tmp_path / "old"
    shutil.copytree(OLD, path)
    expected = contents(open_saved(path))
    manifest = decode((path / "manifest.json").read_bytes())
    del manifest["files"][next(name for name in manifest["files"] if name.endswith("statistics.arrow"))]
    (path / "manifest.json").write_bytes(encode(manifest))
    assert contents(open_saved(path)) == expected


def test_statistics_of_another_version_are_counted_anew(tmp_path, monkeypatch):
    monkeypatch.setattr("qengine.storage.statistics_file._VERSION", "0")
    save(graph(nodes=20_000), tmp_path)
    monkeypatch.undo()
    opened = open_saved(tmp_path)
    assert opened.statistics.known_values() == []
    assert opened.statistics.values("node", "n", "A") == graph(nodes=20_000).statistics.values("node", "n", "A")


@pytest.mark.parametrize("name", ["adjacency.arrow", "properties.arrow", "statistics.arrow", "manifest.json"])
def test_truncated_and_missing_files_are_refused(saved, name):
    path = next(saved.rglob(name))
    for length in (0, 1, path.stat().st_size - 1):
        copy = path.read_bytes()
        path.write_bytes(copy[:length])
        with pytest.raises(StorageError, match=name):
            open_saved(saved)
        path.write_bytes(copy)
    path.unlink()
    with pytest.raises(StorageError, match="there is no saved graph" if name == "manifest.json" else name):
        open_saved(saved)


def test_a_newer_format_is_refused(saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    (saved / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
    with pytest.raises(StorageError, match="it has format 99; this version of qengine reads formats up to 4") as raised:
        open_saved(saved)
    assert "Install a newer qengine" in raised.value.hint


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"[" * 100_000, b'{"format": 1}', b'{"format": "1"}', b"\xff"])
def test_what_is_no_manifest_is_refused(saved, text):
    (saved / "manifest.json").write_bytes(text)
    with pytest.raises(StorageError, match="it can't be understood"):
        open_saved(saved)


def test_a_failed_save_keeps_the_old_graph(saved, monkeypatch):
    def full(store, file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(saved_module._FILES, "properties.arrow", full)
    with pytest.raises(StorageError, match="No space left on device"):
        save(graph(1), saved)
    assert contents(open_saved(saved)) == contents(graph())
    assert len(list(saved.iterdir())) == 2


def test_the_manifest_follows_its_schema(saved):
    wanted = schema("manifest")
    manifest = json.loads((saved / "manifest.json").read_text())
    assert list(violations(manifest, wanted, "manifest")) == []
    del manifest["groups"][0]["begin"]
    manifest["types"][0]["count"] = "many"
    assert len(list(violations(manifest, wanted, "manifest"))) == 2
    text = (saved / "manifest.json").read_bytes()
    assert encode(decode(text)) == text


def test_a_graph_is_opened_that_was_asked_for_properties_that_are_not_there(tmp_path: Path) -> None:
    graph = Graph.from_records(
        [{"id": 0, "labels": "A", "properties": {"x": 1}}],
        [{"type": "T", "start": 0, "end": 0, "properties": {"w": 1}}, {"type": "S", "start": 0, "end": 0}],
    )
    assert graph.query("MATCH (n)-[r]->() WHERE r.w = 1 RETURN n.x").fetchall() == [(1,)]
    assert graph.query("MATCH (n:A {y: 1})-[r {v: 1}]->() RETURN n.x").fetchall() == []
    assert graph.query("MATCH (n:B {x: 1}) RETURN n.x").fetchall() == []
    graph.save(tmp_path / "graph")
    assert Graph.open(tmp_path / "graph").node_count == 1
