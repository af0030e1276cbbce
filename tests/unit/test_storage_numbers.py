"""Numbers of nodes and relationships: found either way, shown to users, saved, and refused where they are damaged."""

from __future__ import annotations

import gc
import json

import numpy as np
import pyarrow as pa
import pytest

from qengine.errors import ExecutionError, StorageError
from qengine.graph import Graph
from qengine.storage import from_records, open_saved, save
from qengine.storage.numbers import NumberList, NumberRange, Numbers
from qengine.storage.states import Commit, NodeState, RelationshipState
from qengine.storage.successor import successor
from tests.fuzz.saved_corruptions import remake


def listed(*numbers):
    return NumberList(lambda: np.array(numbers, np.int64), len(numbers))


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([NumberRange(0, 3), NumberRange(3, 2)], [0, 1, 2, 3, 4]),
        ([NumberRange(0, 2), NumberRange(7, 2)], [0, 1, 7, 8]),
        ([NumberRange(5, 0), listed(4, 2, 9), NumberRange(20, 1)], [4, 2, 9, 20]),
        ([listed(10**12, 3), listed()], [10**12, 3]),
        ([], []),
    ],
)
def test_numbers_and_ids_are_found_of_each_other(runs, expected):
    numbers = Numbers(runs)
    ids = np.arange(len(expected))
    assert numbers.of(ids).tolist() == expected
    assert numbers.of(np.array([-1, *ids[::-1]])).tolist() == [-1, *expected[::-1]]
    assert numbers.places(expected[::-1]).tolist() == ids[::-1].tolist()
    assert numbers.places([-1, 11, 2**62]).tolist() == [-1, -1, -1]
    assert numbers.equal_ids == (expected == list(range(len(expected))))


def test_numbers_that_are_ids_cost_nothing():
    numbers = Numbers([NumberRange(0, 3), NumberRange(3, 2)])
    ids = np.arange(5)
    assert numbers.of(ids) is ids
    assert numbers.nbytes == 0


@pytest.fixture(name="store")
def _store():
    nodes = [{"id": row, "labels": "AB"[row % 2], "properties": {"k": row}} for row in range(6)]
    edges = [{"type": "R", "start": row, "end": (row + 1) % 6, "properties": {"w": row}} for row in range(6)]
    store = from_records(nodes, edges)
    gone = next(node for node in store.nodes(range(6)) if node["k"] == 0)
    cut = {each.id: None for each in store.relationships(range(6)) if gone.id in (each.start, each.end)}
    added = {6: NodeState(("A",), {"k": 6}), 7: NodeState((), {"k": 7})}
    joined = {6: RelationshipState("R", 7, 6, {"w": 6}), 7: RelationshipState("S", 6, 7, {})}
    return successor(store, Commit({gone.id: None, **added}, {**cut, **joined}, 8, 8))


def test_results_parameters_and_functions_go_by_numbers(store):
    graph = Graph(store)
    for device in ("cpu", "reference"):
        rows = graph.query(
            "MATCH (n)-[r]->(m) RETURN n, r, m, id(n), elementId(r), startNode(r), collect(m)[0]", device=device
        ).fetchall()
        assert {6, 7} <= {row[0].id for row in rows}
        for n, r, m, id, element, start, first in rows:
            assert (n.id, m.id, str(r.id)) == (r.start, r.end, element)
            assert (start, first, id) == (n, m, n.id)
            again = graph.query(
                "MATCH (n)-[r]->() WHERE n = $n AND r = $l[0] RETURN n.k, r.w", {"n": n, "l": [r]}, device=device
            )
            assert [tuple(row) for row in again.fetchall()] == [(n["k"], r.get("w"))]
        table = graph.query("MATCH (n)-[r]->() RETURN n, r ORDER BY id(n)", device=device).to_arrow()
        assert [each["id"] for each in table.column("n").to_pylist()] == sorted(row[0].id for row in rows)
        assert {each["id"] for each in table.column("r").to_pylist()} == {row[1].id for row in rows}
        assert all(each["r"]["start"] == each["n"]["id"] for each in table.to_pylist())


def test_a_node_that_is_no_longer_there_is_no_parameter(store):
    before = from_records([{"labels": "A", "properties": {"k": row}} for row in range(9)])
    for node in before.nodes([0, 8]):
        with pytest.raises(ExecutionError, match="another graph"):
            Graph(store).query("RETURN $n", {"n": node}).fetchall()


def test_a_graph_whose_numbers_are_ids_is_saved_as_before(tmp_path):
    save(from_records([{}]), tmp_path)
    assert json.loads((tmp_path / "manifest.json").read_text())["format"] == 2
    assert not list(tmp_path.rglob("numbers.arrow"))


def rewritten(folder, place, values):
    """Write other numbers, with the right checksums."""
    path = next(folder.rglob("numbers.arrow"))
    with pa.ipc.open_file(path.read_bytes()) as reader:
        batch = reader.get_batch(0)
    columns = list(batch.columns)
    columns[place] = pa.array([values], columns[place].type if None not in values else pa.large_list(pa.int64()))
    with path.open("wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(pa.record_batch(columns, schema=batch.schema))
    remake(folder)


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        (0, lambda own: [own[0], *own[:-1]], "numbers of nodes: they aren't different numbers below 8"),
        (0, lambda own: [*own[:-1], 8], "numbers of nodes: they aren't different numbers below 8"),
        (1, lambda own: [*own[:-1], -1], "numbers of R: they aren't different numbers below 8"),
        (0, lambda own: [*own[:-1], None], "numbers of nodes: one is null"),
        (0, lambda own: own[:-1], "numbers of nodes: there are 6 for 7 elements"),
        (1, lambda own: [*own, 7], "numbers of R: there are 6 for 5 elements"),
    ],
)
def test_wrong_numbers_are_refused(store, tmp_path, place, change, message):
    save(store, tmp_path)
    own = next(run.array for run in (store.node_numbers, store.relationship_numbers)[place].runs).tolist()
    rewritten(tmp_path, place, change(own))
    with pytest.raises(StorageError, match=message):
        open_saved(tmp_path, verify="full")


def test_a_flipped_bit_is_found(store, tmp_path):
    save(store, tmp_path)
    path = next(tmp_path.rglob("numbers.arrow"))
    data = bytearray(path.read_bytes())
    at = data.index(store.node_numbers.runs[0].array.tobytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(StorageError, match=r"numbers\.arrow: the checksum of bytes .* is wrong"):
        open_saved(tmp_path).nodes([0])


def test_a_manifest_that_does_not_fit_the_numbers_is_refused(store, tmp_path):
    save(store, tmp_path)
    for change in (
        lambda manifest: manifest["numbers"]["firsts"].pop(),
        lambda manifest: manifest["numbers"].update(next_node=-1),
        lambda manifest: manifest.pop("numbers"),
        lambda manifest: manifest.update(format=2),
    ):
        text = (tmp_path / "manifest.json").read_text()
        remake(tmp_path, change)
        with pytest.raises(StorageError, match="can't be understood"):
            open_saved(tmp_path)
        (tmp_path / "manifest.json").write_text(text)


@pytest.mark.parametrize(("reading", "most"), [(True, 8), (False, 40)])
def test_the_numbers_of_versions_before_are_let_go(reading, most):
    chance = np.random.default_rng(3)
    count = 300
    people = [{"id": n, "labels": ["P"], "properties": {"id": n}} for n in range(count)]
    links = [{"type": "R", "start": int(a), "end": int(b)} for a, b in chance.integers(0, count, (4 * count, 2))]
    graph = Graph.from_records(people, links)
    numbered = {tuple(row) for row in graph.query("MATCH (n) RETURN id(n), n.id").fetchall()}
    for step in range(80):
        label, some = f"L{step % 3}", chance.integers(0, count, 40).tolist()
        graph.query(f"MATCH (n) WHERE n.id IN $some SET n:{label} REMOVE n:L{(step + 1) % 3}", {"some": some})
        if reading:
            graph.query("MATCH (n)-[r]->() RETURN sum(id(n)), sum(id(r))").fetchall()
        else:
            assert graph._store.vertex_count == count  # a version of the graph is made
    gc.collect()
    assert sum(type(each) is NumberList for each in gc.get_objects()) <= most
    assert {tuple(row) for row in graph.query("MATCH (n) RETURN id(n), n.id").fetchall()} == numbered
    assert graph.query("MATCH ()-[r]->() RETURN count(DISTINCT id(r))").value() == len(links)
