"""JSON lines as APOC writes them: an object a line, nodes and relationships by their ``type``.

Values that JSON has no type for are texts, and a member ``types`` of the object then names their types as the headers
of CSV files do (``formats.texts``): ``{"properties": {"born": "1815-12-10"}, "types": {"born": "date"}}``. Points are
objects.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import IO, Any

from qengine._gc import gc_paused
from qengine.errors import ExecutionError, StorageError
from qengine.formats.jsonl_blocks import Blocks
from qengine.formats.literals import literal_text, parse_literal, point_of
from qengine.formats.parts import node_parts, relationship_parts
from qengine.formats.records import Records, add_links, add_nodes
from qengine.formats.texts import TYPES
from qengine.spatial import Point
from qengine.storage.memory import within_memory
from qengine.storage.store import GraphStore
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time

_TEMPORAL: Mapping[type, str] = {
    Date: "date",
    LocalTime: "localtime",
    Time: "time",
    LocalDateTime: "localdatetime",
    DateTime: "datetime",
    Duration: "duration",
}
_AT_ONCE = 4096  # lines that are parsed, or written, together
_HINT = 'A line is {"type": "node", "id": …} or {"type": "relationship", "start": {"id": …}, "end": …}.'
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def write_jsonl(store: GraphStore, path: Path) -> None:
    """Write a graph as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        _write_lines(file, _node_lines(store))
        _write_lines(file, _relationship_lines(store))


def _write_lines(file: IO[str], lines: Iterable[str]) -> None:
    held: list[str] = []
    for line in lines:
        held.append(line)
        if len(held) >= _AT_ONCE:
            file.write("\n".join(held) + "\n")
            held.clear()
    if held:
        file.write("\n".join(held) + "\n")


def _node_lines(store: GraphStore) -> Iterator[str]:
    for part in node_parts(store):
        labels = list(part.labels)
        for id, properties in zip(part.ids.tolist(), part.property_maps(), strict=True):
            line = {"type": "node", "id": str(id), "labels": labels, **_told(properties)}
            yield _encode(line)


def _relationship_lines(store: GraphStore) -> Iterator[str]:
    numbers = count()
    for part in relationship_parts(store):
        direction = {"directed": False} if part.undirected else {}
        ends = zip(part.start.tolist(), part.end.tolist(), part.property_maps(), strict=True)
        for number, (start, end, properties) in zip(numbers, ends, strict=False):
            line = {
                "type": "relationship",
                "id": str(number),
                "label": part.type,
                "start": {"id": str(start)},
                "end": {"id": str(end)},
                **direction,
                **_told(properties),
            }
            yield _encode(line)


def _told(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of an object that hold properties."""
    if not properties:
        return {}
    found, types = {}, {}
    for key, value in properties.items():
        kind = type(value)
        if kind is str or kind is int or kind is bool:
            found[key] = value
        else:
            found[key], types[key] = _json_value(value)
            if types[key] is None:
                del types[key]
    return {"properties": found, "types": types} if types else {"properties": found}


def _json_value(value: Any) -> tuple[Any, str | None]:
    """Return a value as JSON has it, and the type that tells what it is, None where JSON does."""
    match value:
        case float() if math.isfinite(value):
            return value, None
        case Temporal():
            return str(value), _TEMPORAL[type(value)]
        case Point():
            return {"crs": value.crs, "x": value.x, "y": value.y, "z": value.z}, None
        case list() if value and all(isinstance(each, Temporal) and type(each) is type(value[0]) for each in value):
            return [str(each) for each in value], f"{_TEMPORAL[type(value[0])]}[]"
        case list() if all(map(_is_plain, value)):
            return value, None
    return literal_text(value), "any"


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


# ---------------------------------------------------------------- reading


def is_apoc(path: Path) -> bool:
    """Tell whether a file begins as APOC's exports do."""
    with path.open("rb") as file:
        first = next((line for line in file if line.strip()), b"").lstrip(b"\xef\xbb\xbf \t")
    if first[:1] == b"[" or first.startswith(b'{"nodes"'):
        return True
    try:
        record = json.loads(first or b"null")
    except ValueError:
        return first.strip() in (b"{", b"")
    return record is None or (isinstance(record, dict) and record.get("type") in ("node", "relationship"))


@within_memory
def from_jsonl(path: Path, undirected: Iterable[str] = ()) -> GraphStore:
    """Load what APOC exports as JSON, as ``Graph.from_jsonl`` says."""
    with gc_paused():
        return _read(path).store(undirected)


def _read(path: Path) -> Records:
    records, number = Records(str(path)), 0
    blocks = Blocks(records)
    for text, is_whole in _blocks(path):
        if not (blocks.add_whole(text) if is_whole else blocks.add(text)):
            _add_all(records, _objects(text, path, number, is_whole), path, number)
        number += text.count("\n")
    return records


def _objects(text: str, path: Path, number: int, is_whole: bool) -> list[Any]:
    """Return the objects of some lines, before which so many came, or of a whole file."""
    try:
        if is_whole:
            return _whole(json.loads(text))
        lines = ",".join(line for line in text.split("\n") if line.strip())
        found: list[Any] = json.loads(f"[{lines}]")
    except ValueError as error:
        if is_whole:
            raise StorageError(f"{path} is no JSON: {error}", hint=_HINT) from None
        raise StorageError(f"{path}: after object {number} it is no JSON: {error}", hint=_HINT) from None
    return found


def _add_all(records: Records, block: Sequence[Any], path: Path, number: int) -> None:
    """Add objects, of which so many came before."""
    if not _add_plain(records, block):
        for place, found in enumerate(block, number + 1):
            _add(records, found, f"{path}: object {place}")


def _add_plain(records: Records, block: Sequence[Any]) -> bool:
    """Add objects together; tell whether that could be done: they are as they should be, and values mean themselves."""
    try:
        nodes = [found for found in block if found["type"] == "node"]
        links = [found for found in block if found["type"] == "relationship"]
        if len(nodes) + len(links) < len(block) or any("types" in found for found in block):
            return False
        of_nodes, of_links = (_columns_of([found.get("properties") or {} for found in own]) for own in (nodes, links))
        keys = [str(found["id"]) for found in nodes]
        labels = [tuple(found.get("labels") or ()) for found in nodes]
        ends = {
            name: [str(found[end]["id"]) for found in links] for name, end in (("source", "start"), ("target", "end"))
        }
        kinds = [(found["label"], not found.get("directed", True)) for found in links]
        if of_nodes is None or of_links is None:
            return False
    except (KeyError, TypeError, AttributeError):
        return False
    if nodes:
        add_nodes(records, labels, keys, of_nodes)
    if links:
        add_links(records, kinds, ends, of_links)
    return True


def _columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]] | None:
    """Return the members of objects by name, None where a value is an object or a list."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return None if any({dict, list} & set(map(type, column)) for column in columns.values()) else columns


def _add(records: Records, found: Any, place: str) -> None:
    """Add what an object holds.

    Raises
    ------
    StorageError
        For an object of another form.
    """
    try:
        kind = found.get("type")
        if kind == "node":
            records.node(str(found["id"]), tuple(found.get("labels") or ()), _properties(found))
        elif kind == "relationship":
            start, end = str(found["start"]["id"]), str(found["end"]["id"])
            one_way = found.get("directed", True)
            records.relationship(found["label"], start, end, _properties(found), undirected=not one_way)
        else:
            raise StorageError(f"{kind!r:.40} is neither a node nor a relationship")
    except (KeyError, TypeError, AttributeError) as error:
        raise StorageError(f"{place} lacks {error}", hint=_HINT) from None
    except (StorageError, ExecutionError, ValueError) as error:
        message = error.message if isinstance(error, StorageError | ExecutionError) else error
        raise StorageError(f"{place}: {message}", hint=_HINT) from None


def _blocks(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a file, some thousand at a time, or the text of one that is a single value, as is told."""
    with path.open("rb") as file:
        try:
            first = file.read(1 << 12).lstrip(b"\xef\xbb\xbf \t\r\n")
            file.seek(0)
            if first[:1] == b"[" or first.startswith((b'{"nodes"', b"{\n", b"{\r")):
                yield file.read().decode("utf-8-sig"), True
                return
            while lines := file.readlines(1 << 20):
                text = b"".join(lines).decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
                yield text if text.endswith("\n") else text + "\n", False
        except ValueError as error:
            raise StorageError(f"{path} is no JSON: {error}", hint=_HINT) from None


def _whole(found: Any) -> list[Any]:
    """Return the objects of a file that is one array, or one object with nodes and relationships."""
    if isinstance(found, dict) and "nodes" in found:
        nodes, links = found["nodes"], found.get("rels") or found.get("relationships") or ()
        return [*({"type": "node", **each} for each in nodes), *({**each, "type": "relationship"} for each in links)]
    return found if isinstance(found, list) else [found]


def _properties(found: Mapping[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = found.get("properties") or {}
    types = found.get("types")
    for key, value in properties.items():
        if type(value) is dict:
            properties[key] = point_of(value)
        elif type(value) is list and value and type(value[0]) is dict:
            properties[key] = [point_of(each) for each in value]
    if types:
        for key, name in types.items():
            properties[key] = _typed(properties[key], name)
    return properties


def _typed(value: Any, name: str) -> Any:
    if name == "any":
        return parse_literal(value)
    parse: Callable[[str], Any] | None = TYPES.get(name.removesuffix("[]").lower())
    if parse is None:
        raise StorageError(f"{name!r} is no type")
    return [parse(each) for each in value] if name.endswith("[]") else parse(value)
