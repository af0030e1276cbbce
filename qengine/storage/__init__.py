"""The immutable graph snapshot: Arrow property columns and PCSR adjacency, loaders, files.

The constructors of ``qengine.Graph`` say what each loader takes and which errors it raises.
"""

from __future__ import annotations

from qengine.storage.edgelist import from_edge_list
from qengine.storage.files import from_csv, from_parquet
from qengine.storage.graphfile import from_graph_file
from qengine.storage.records import from_records, of_types
from qengine.storage.saved import Verify, open_saved, save
from qengine.storage.store import EdgeType, GraphStore, LabelGroup
from qengine.storage.tables import from_arrow

__all__ = [
    "EdgeType",
    "GraphStore",
    "LabelGroup",
    "Verify",
    "from_arrow",
    "from_csv",
    "from_edge_list",
    "from_graph_file",
    "from_parquet",
    "from_records",
    "of_types",
    "open_saved",
    "save",
]
