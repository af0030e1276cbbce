"""Writes a graph as tables with neo4j-admin's columns: a file a label set, a file a type, as CSV or Parquet.

``nodes_<Labels>`` has ``:ID`` and ``:LABEL``, ``rels_<TYPE>`` has ``:START_ID``, ``:END_ID`` and ``:TYPE``. In CSV each
other column's header tells its type. Parquet has types of its own; what it lacks (values of different types, durations
with months) is text in columns whose metadata say so. ``graph.toml`` tells which types have no direction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.formats.parts import NodePart, RelationshipPart, node_parts, relationship_parts
from qengine.formats.texts import column_texts, literal_texts
from qengine.storage.store import GraphStore

NAME = b"qengine.name"
"""The key in a Parquet field's metadata of the property that it holds, where its name is another."""
ANY = b"qengine.literals"
"""The key in a Parquet field's metadata that tells that it holds literals."""
ARRAY_DELIMITER = ";"
_UNSAFE = re.compile(r"[^\w:.+ -]")
_RESERVED = re.compile(r":|.*:(ID|START_ID|END_ID|LABEL|TYPE|IGNORE)\b", re.DOTALL)
_LONGEST = 100  # characters of a file's name without its ending


def write_csv(store: GraphStore, folder: Path) -> None:
    """Write a graph as CSV files into a folder that exists."""
    from pyarrow import csv

    _write(store, folder, "csv", _csv_columns, csv.write_csv)


def write_parquet(store: GraphStore, folder: Path) -> None:
    """Write a graph as Parquet files into a folder that exists."""
    import pyarrow.parquet as pq

    _write(store, folder, "parquet", _parquet_columns, pq.write_table)


def _write(store: GraphStore, folder: Path, suffix: str, columns: Any, write: Any) -> None:
    taken: set[str] = set()
    for nodes in list(node_parts(store)) or [NodePart((), np.empty(0, np.int64))]:
        path = folder / f"{_stem('nodes_' + ':'.join(nodes.labels), taken)}.{suffix}"
        keys = {":ID": pa.array(nodes.ids), **_labels(nodes)}
        write(_table(keys, columns(nodes.columns)), path)
    both_ways = []
    for links in relationship_parts(store):
        path = folder / f"{_stem('rels_' + links.type, taken)}.{suffix}"
        keys = {":START_ID": pa.array(links.start), ":END_ID": pa.array(links.end), **_type(links)}
        write(_table(keys, columns(links.columns)), path)
        both_ways += [links.type] if links.undirected else []
    if both_ways:
        text = "".join(f"[relationships.{json.dumps(name)}]\nundirected = true\n" for name in both_ways)
        (folder / "graph.toml").write_text(text, encoding="utf-8")


def _stem(wanted: str, taken: set[str]) -> str:
    """Return a file's name without its ending that is no other's, also where case doesn't count."""
    base = _UNSAFE.sub("_", wanted).rstrip(". ")[:_LONGEST]
    name, number = base, 1
    while name.lower() in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name.lower())
    return name


def _labels(nodes: NodePart) -> dict[str, Any]:
    if any(ARRAY_DELIMITER in label or label != label.strip() for label in nodes.labels):
        labels = literal_texts(pa.array([list(nodes.labels)]))[0]
        return {":LABEL{any}": pa.repeat(labels, len(nodes.ids))}
    return {":LABEL": pa.repeat(pa.scalar(ARRAY_DELIMITER.join(nodes.labels) or None, pa.string()), len(nodes.ids))}


def _type(links: RelationshipPart) -> dict[str, Any]:
    return {":TYPE": pa.repeat(pa.scalar(links.type), len(links.start))}


def _table(keys: Mapping[str, Any], columns: Iterable[tuple[Any, Any]]) -> Any:
    fields = [(pa.field(name, array.type), array) for name, array in keys.items()]
    fields += columns
    return pa.table([array for _, array in fields], schema=pa.schema([field for field, _ in fields]))


def _csv_columns(columns: Mapping[str, Any]) -> Iterable[tuple[Any, Any]]:
    for key, array in columns.items():
        kind, texts = column_texts(array, ARRAY_DELIMITER)
        if kind in ("boolean", "long"):
            texts = array  # written the same, and without quotes
        yield pa.field(f"{key}:{kind}", texts.type), texts


def _parquet_columns(columns: Mapping[str, Any]) -> Iterable[tuple[Any, Any]]:
    taken = set(columns)
    for key, array in columns.items():
        name, metadata = key, {}
        if _RESERVED.match(key):
            while _RESERVED.match(name) or name in taken:
                name = "_" + name.replace(":", "_")
            taken.add(name)
            metadata[NAME] = key.encode()
        if _lacks(array.type):
            array, metadata[ANY] = literal_texts(array), b"true"
        yield pa.field(name, array.type, metadata=metadata or None), array


def _lacks(kind: Any) -> bool:
    """Tell whether Parquet has no type for a normal type."""
    if pa.types.is_union(kind) or pa.types.is_interval(kind) or pa.types.is_null(kind):
        return True
    return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _lacks(kind.value_type)
