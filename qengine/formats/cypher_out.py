"""Writes a graph as a script of Cypher that Neo4j runs, too, and ``Graph.from_cypher`` reads.

Nodes are created with a label and a property that tell them apart, relationships find their ends by these, and the last
statements take them away again. Each statement has some hundred rows.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from qengine.errors import StorageError
from qengine.formats.literals import literal_text, name_text
from qengine.formats.parts import node_parts, relationship_parts
from qengine.storage.store import GraphStore

_LABEL, _KEY = "UNIQUE IMPORT LABEL", "UNIQUE IMPORT ID"
"""What marks nodes while a script runs, as in APOC's exports; others where the graph has these itself."""
UNDIRECTED = "// undirected: "
"""What begins a script's first line where types have no direction; a JSON list of them follows."""
_ROWS = 500


def write_cypher(store: GraphStore, path: Path) -> None:
    """Write a graph as a script."""
    with path.open("w", encoding="utf-8") as file:
        for statement in _statements(store):
            file.write(statement)


def _statements(store: GraphStore) -> Iterator[str]:
    both_ways = [part.type for part in relationship_parts(store) if part.undirected]
    if both_ways:
        yield f"{UNDIRECTED}{json.dumps(both_ways)}\n"
    mark, number = _free(_LABEL, store.labels), _free(_KEY, store.property_keys("node"))
    label, key = name_text(mark), name_text(number)
    marked = f"{label} {{{key}: "
    if store.relationship_count:
        yield f"CREATE CONSTRAINT unique_import_name FOR (n:{label}) REQUIRE n.{key} IS UNIQUE;\n"
    for nodes in node_parts(store):
        labels = "".join(f":{name_text(each)}" for each in (*nodes.labels, mark))
        id = _free("id", nodes.columns)
        rows = (
            literal_text({id: own, **_storable(properties)})
            for own, properties in zip(nodes.ids.tolist(), nodes.property_maps(), strict=True)
        )
        for text in _lists(rows):
            yield f"UNWIND [{text}] AS row\nCREATE ({labels}{_of_row({number: id, **_same(nodes.columns)})});\n"
    for links in relationship_parts(store):
        start, end = (_free(name, links.columns) for name in ("start", "end"))
        rows = (
            literal_text({start: one, end: other, **_storable(properties)})
            for one, other, properties in zip(
                links.start.tolist(), links.end.tolist(), links.property_maps(), strict=True
            )
        )
        for text in _lists(rows):
            yield (
                f"UNWIND [{text}] AS row\nMATCH (a:{marked}row.{start}}}), (b:{marked}row.{end}}})\n"
                f"CREATE (a)-[:{name_text(links.type)}{_of_row(_same(links.columns))}]->(b);\n"
            )
    if store.relationship_count:
        yield "DROP CONSTRAINT unique_import_name;\n"
    if store.vertex_count:
        yield f"MATCH (n:{label}) REMOVE n:{label} REMOVE n.{key};\n"


def _free(name: str, taken: Container[str]) -> str:
    """Return a name like the wanted one that none of the graph's is."""
    while name in taken:
        name = f"_{name}"
    return name


def _same(names: Iterable[str]) -> dict[str, str]:
    return {name: name for name in names}


def _of_row(names: Mapping[str, str]) -> str:
    """Return a pattern's properties with the names that they have in a row; those that it lacks are null: not set."""
    entries = ", ".join(f"{name_text(key)}: row.{name_text(name)}" for key, name in names.items())
    return f" {{{entries}}}" if entries else ""


def _storable(properties: dict[str, Any]) -> dict[str, Any]:
    """Return properties that statements can set.

    Raises
    ------
    StorageError
        For a list with a null or a list in it, which graphs hold that were loaded of Arrow tables.
    """
    for key, value in properties.items():
        if type(value) is list and any(each is None or type(each) is list for each in value):
            raise StorageError(
                f"The property {key} has the value {literal_text(value)!s:.80}, which no statement can set",
                hint="Export to another format, or leave nulls out of lists.",
            )
    return properties


def _lists(rows: Iterable[str]) -> Iterator[str]:
    """Join rows, some hundred at a time."""
    all_rows = iter(rows)
    while some := list(islice(all_rows, _ROWS)):
        yield ",\n".join(some)
