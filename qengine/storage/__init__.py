"""The immutable graph snapshot: Arrow property columns and PCSR adjacency, loaders, files."""

from __future__ import annotations

from qengine.storage.records import from_records
from qengine.storage.store import EdgeType, GraphStore, LabelGroup
from qengine.storage.tables import from_arrow

__all__ = ["EdgeType", "GraphStore", "LabelGroup", "from_arrow", "from_records"]
