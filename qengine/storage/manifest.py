"""The manifest of a saved graph: all that isn't an array, and the checksums of the files with the arrays.

``catalog/manifest.schema.json`` describes it. Its own checksum is taken over the canonical text of the rest, so a
changed byte either changes nothing that is read or is found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from qengine.catalog.view import EdgeStatistics
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency
from qengine.storage.columns import PropertyColumn
from qengine.storage.kernels import Checksum
from qengine.storage.store import EdgeType, GraphStore, LabelGroup

FORMAT = 1


def encode(manifest: Mapping[str, Any]) -> bytes:
    """Return a manifest's text, with its checksum."""
    return json.dumps({**manifest, "checksum": _checksum(manifest)}, indent=1).encode()


def decode(text: bytes) -> dict[str, Any]:
    """Return the manifest in a text; of one of a newer format nothing but the format is certain.

    Raises
    ------
    ValueError
        If it is no manifest or a damaged one.
    """
    try:
        manifest = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise ValueError("it names no format")
    if manifest["format"] <= FORMAT and manifest.pop("checksum", None) != _checksum(manifest):
        raise ValueError("its checksum is wrong")
    return manifest


def describe(store: GraphStore, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the manifest of a graph whose arrays are in ``files`` (bytes and checksum by relative path)."""
    return {
        "format": FORMAT,
        "files": files,
        "labels": list(store.labels),
        "groups": [
            {"labels": list(store.group_labels(index)), "begin": group.begin, "end": group.end}
            for index, group in enumerate(store.groups)
        ],
        "types": [asdict(edge_type) for edge_type in store.types],
        "schema": repr(store.schema).splitlines(),
        "statistics": {
            edge_type.name: asdict(store.edge_statistics(None, edge_type.name, None)) for edge_type in store.types
        },
    }


def restore(
    manifest: Mapping[str, Any],
    adjacencies: Sequence[Mapping[Direction, Adjacency]],
    node_properties: Mapping[str, PropertyColumn],
    relationship_properties: Sequence[Mapping[str, PropertyColumn]],
) -> GraphStore:
    """Return the graph that a manifest and the arrays of its files make."""
    store = GraphStore(
        [LabelGroup(frozenset(one["labels"]), one["begin"], one["end"]) for one in manifest["groups"]],
        manifest["labels"],
        [EdgeType(**{**one, "property_keys": tuple(one["property_keys"])}) for one in manifest["types"]],
        adjacencies,
        node_properties,
        relationship_properties,
    )
    for name, counts in manifest["statistics"].items():
        store.statistics.know(name, EdgeStatistics(**counts))
    return store


def _checksum(manifest: Mapping[str, Any]) -> str:
    checksum = Checksum()
    checksum.update(json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode())
    return f"{checksum.value:016x}"
