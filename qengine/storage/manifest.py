"""The manifest of a saved graph: all that isn't an array, and the checksums of the files with the arrays.

``catalog/manifest.schema.json`` describes it, and is what a manifest is compared with before anything of it is
believed. Its own checksum is taken over the canonical text of the rest, so a changed byte either changes nothing that
is read or is found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from qengine.catalog.rules import Rules
from qengine.catalog.view import EdgeStatistics
from qengine.storage.arrowfiles import type_digests
from qengine.storage.json_schema import parse, schema, violations
from qengine.storage.kernels import Checksum
from qengine.storage.numbers import NumberRange
from qengine.storage.saved_lists import Digests
from qengine.storage.store import EdgeType, GraphStore, LabelGroup

FORMAT = 4
"""The newest: a log continues the graph. Others are still written in format 2, or 3 where numbers aren't ids, which
older versions read."""
MOST_BYTES = 1 << 25
"""A manifest with more is neither written nor read."""

ADJACENCY, PROPERTIES, STATISTICS, NUMBERS, CHECKSUMS = (
    "adjacency.arrow",
    "properties.arrow",
    "statistics.arrow",
    "numbers.arrow",
    "checksums.bin",
)
DATA_FILES = (ADJACENCY, PROPERTIES, STATISTICS, NUMBERS, CHECKSUMS)
"""The names that files with arrays have."""

_NEEDED = {1: {ADJACENCY, PROPERTIES}, 2: set(DATA_FILES) - {NUMBERS}, 3: set(DATA_FILES)}
_NEEDED[4] = _NEEDED[2]


def encode(manifest: Mapping[str, Any]) -> bytes:
    """Return a manifest's text, with its checksum.

    Raises
    ------
    ValueError
        If it is too large to be read again.
    """
    text = json.dumps({**manifest, "checksum": _checksum(manifest)}, indent=1).encode()
    if len(text) > MOST_BYTES:
        raise ValueError(f"its names take {len(text):,} bytes, and {MOST_BYTES:,} are the most")
    return text


def decode(text: bytes) -> dict[str, Any]:
    """Return the manifest in a text, without its checksum; of one of a newer format nothing but the format is certain.

    Raises
    ------
    ValueError
        If it is no manifest or a damaged one; the message says where.
    """
    manifest = parse(text)
    if not isinstance(manifest, dict) or type(manifest.get("format")) is not int:
        raise ValueError("it names no format")
    if manifest["format"] > FORMAT:
        return manifest
    wrong = next(violations(manifest, schema("manifest"), "manifest"), None)
    if wrong is not None:
        raise ValueError(wrong)
    if manifest.pop("checksum") != _checksum(manifest):
        raise ValueError("its checksum is wrong")
    wrong = _contradiction(manifest)
    if wrong is not None:
        raise ValueError(wrong)
    return manifest


def describe(store: GraphStore, files: Mapping[str, Mapping[str, Any]], *, logged: bool) -> dict[str, Any]:
    """Return the manifest of a graph whose arrays are in ``files`` (bytes and checksum by relative path).

    ``logged``: a log continues it.
    """
    numbered = needs_numbers(store)
    numbers = {"next_node": store.next_node, "next_relationship": store.next_relationship, "firsts": firsts(store)}
    return {
        "format": 4 if logged else 3 if numbered else 2,
        **({"numbers": numbers} if numbered else {}),
        **({"rules": [list(row) for row in store.rules.rows()]} if store.rules.all else {}),
        "files": files,
        "labels": list(store.labels),
        "groups": [
            {"labels": list(store.group_labels(index)), "begin": group.begin, "end": group.end}
            for index, group in enumerate(store.groups)
        ],
        "types": [
            {**asdict(edge_type), "digests": [f"{digest:016x}" for digest in type_digests(store, edge_type)]}
            for edge_type in store.types
        ],
        "schema": repr(store.schema).splitlines(),
        "statistics": {
            edge_type.name: asdict(store.edge_statistics(None, edge_type.name, None)) for edge_type in store.types
        },
    }


def needs_numbers(store: GraphStore) -> bool:
    """Tell whether numbers must be saved: some aren't ids, or some that were given have no element."""
    given = store.next_node, store.next_relationship
    equal = store.node_numbers.equal_ids and store.relationship_numbers.equal_ids
    repeats = len({group.labels for group in store.groups}) < len(store.groups)
    return not equal or repeats or given != (store.vertex_count, store.relationship_count)


def firsts(store: GraphStore) -> list[int]:
    """Return the first number of the nodes and of each type, -1 where they aren't consecutive."""
    runs = (*store.node_numbers.runs, *store.relationship_numbers.runs)
    return [run.first if isinstance(run, NumberRange) else -1 for run in runs]


def groups(manifest: Mapping[str, Any]) -> list[LabelGroup]:
    """Return the label groups in a manifest."""
    return [LabelGroup(frozenset(one["labels"]), one["begin"], one["end"]) for one in manifest["groups"]]


def types(manifest: Mapping[str, Any]) -> list[EdgeType]:
    """Return the relationship types in a manifest."""
    plain = ({name: value for name, value in one.items() if name != "digests"} for one in manifest["types"])
    return [EdgeType(**{**one, "property_keys": tuple(one["property_keys"])}) for one in plain]


def digests(manifest: Mapping[str, Any]) -> list[Digests | None]:
    """Return the digests of each type's relationships in a manifest, None where there are none."""
    found: list[Digests | None] = []
    for one in manifest["types"]:
        forward, backward = (int(digest, 16) for digest in one.get("digests", ("0", "0")))
        found.append((forward, backward) if "digests" in one else None)
    return found


def statistics(manifest: Mapping[str, Any]) -> dict[str, EdgeStatistics]:
    """Return the statistics of each type in a manifest."""
    return {name: EdgeStatistics(**counts) for name, counts in manifest["statistics"].items()}


def rules(manifest: Mapping[str, Any]) -> Rules:
    """Return the rules in a manifest."""
    return Rules.of(manifest.get("rules", ()))


def _contradiction(manifest: Mapping[str, Any]) -> str | None:
    """Return where the parts of a manifest don't fit each other, None where they do."""
    try:
        rules(manifest)
    except ValueError as error:
        return str(error)
    if manifest["format"] < 1:
        return "there is no such format"
    folders = {path.partition("/")[0] for path in manifest["files"]}
    names = {path.partition("/")[2] for path in manifest["files"]}
    if len(folders) != 1 or len(names) != len(manifest["files"]) or not _NEEDED[manifest["format"]] <= names:
        return "its files aren't those of one graph"
    if (manifest["format"] == 1 and CHECKSUMS in names) or (manifest["format"] < 3 and NUMBERS in names):
        return "its files are of another format"
    labels = set(manifest["labels"])
    end, sets = 0, set()
    for row, one in enumerate(manifest["groups"]):
        own = frozenset(one["labels"])
        if one["begin"] != end or one["end"] < end or not own <= labels or len(own) != len(one["labels"]):
            return f"groups[{row}] doesn't follow the one before it, or has labels that there aren't"
        end = one["end"]
        sets.add(own)
    repeats = manifest["format"] < 3 and len(sets) != len(manifest["groups"])
    if repeats or len(labels) != len(manifest["labels"]):
        return "labels are named twice"
    base = 0
    for row, one in enumerate(manifest["types"]):
        if one["index"] != row or one["base"] != base or len(set(one["property_keys"])) != len(one["property_keys"]):
            return f"types[{row}] doesn't follow the one before it, or names a property twice"
        if (manifest["format"] > 1) != ("digests" in one):
            return f"types[{row}] is of another format"
        base += one["count"]
    numbered = NUMBERS in names if manifest["format"] > 3 else manifest["format"] > 2
    if numbered != ("numbers" in manifest):
        return "its numbers are of another format"
    if "numbers" in manifest and len(manifest["numbers"]["firsts"]) != 1 + len(manifest["types"]):
        return "its numbers aren't those of its types"
    by_name = {one["name"]: one for one in manifest["types"]}
    if len(by_name) != len(manifest["types"]) or set(manifest["statistics"]) != set(by_name):
        return "its statistics aren't those of its types"
    for name, counts in manifest["statistics"].items():
        count = by_name[name]["count"]
        if not count <= counts["edges"] <= (2 if by_name[name]["undirected"] else 1) * count:
            return f"statistics.{name} counts {counts['edges']} relationships of {count}"
        if max(counts[one] for one in ("sources", "targets", "max_out", "max_in")) > counts["edges"]:
            return f"statistics.{name} counts more ends than relationships"
    return None


def _checksum(manifest: Mapping[str, Any]) -> str:
    checksum = Checksum()
    checksum.update(json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode())
    return f"{checksum.value:016x}"
