"""What small edits of lists change is told by the lists that were there, and those that are there."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine.plan.pattern import Direction
from qengine.storage.edits import Edit
from qengine.storage.group_pairs import NO_PAIRS
from qengine.storage.list_changes import changed_pairs, list_change

NONE = np.array([], np.int64)
ENDS, LATER = np.array([2, 4], np.uint32), np.array([2, 5], np.uint32)  # of two groups


def test_a_new_vertex_has_no_list_before():
    nodes = [(label, pa.table({"id": ids})) for label, ids in (("A", [0, 1]), ("B", [2, 3]))]
    edges = [("R", "A", "B", pa.table({"start": [0, 1], "end": [2, 3]}))]
    store = Graph.from_arrow(nodes, edges, key="id")._store
    lists = store.adjacency(store.type_index("R"), Direction.OUT)
    came = np.array([4], np.uint32), np.array([0], np.uint32)  # from the new vertex 4, of B, to vertex 0
    edit = Edit(len(lists), NONE, np.array([2], np.int64), np.array([2], np.int64))
    change = list_change(lists, None, edit, *came, np.array([1, 4], np.int64))
    assert change is not None
    assert change.before.owners.tolist() == [1]
    assert change.after.owners.tolist() == [1, 4]
    found = changed_pairs(NO_PAIRS.changed({(0, 1): (2, 2, 1, 0.0, 0.0, 0.0, 0.0)}), change, (ENDS, LATER), sides=True)
    assert found is not None
    assert dict(found) == {
        (0, 1): (2, 2, 1, 0.0, 0.0, 0.0, 0.0), (1, 0): (1, 1, 1, 0.0, 0.0, 0.0, 0.0),
    }  # fmt: skip
