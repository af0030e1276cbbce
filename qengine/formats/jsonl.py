"""JSON lines as APOC writes them: an object a line, nodes and relationships by their ``type``.

Values that JSON has no type for are texts, and a member ``types`` of the object then names their types as the headers
of CSV files do (``formats.texts``): ``{"properties": {"born": "1815-12-10"}, "types": {"born": "date"}}``. Points are
objects.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import IO, Any

from qengine._gc import gc_paused
from qengine.errors import ExecutionError, StorageError
from qengine.formats.literals import literal_text, parse_literal, point_of
from qengine.formats.parts import node_parts, relationship_parts
from qengine.formats.records import Records
from qengine.formats.texts import TYPES
from qengine.spatial import Point
from qengine.storage.memory import within_memory
from qengine.storage.store import GraphStore
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time

__all__ = ["from_jsonl", "is_apoc", "write_jsonl"]

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
_TEXT = r'"([^"\\\n]*)"'
_PLAIN = r"(?:,\"properties\":(\{[^][{}\n]*\}))?\}\n"
_NODE = re.compile(rf'^{{"type":"node","id":{_TEXT},"labels":(\[[^][{{}}\n]*\]){_PLAIN}', re.MULTILINE)
_LINK = re.compile(
    rf'^{{"type":"relationship","id":"[^"\\\n]*","label":{_TEXT},"start":{{"id":{_TEXT}}},"end":{{"id":{_TEXT}}}'
    rf'(,"directed":false)?{_PLAIN}',
    re.MULTILINE,
)
"""Lines as they are written here, but for values that aren't plain."""
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
    for block in _blocks(path):
        if isinstance(block, str):
            number += _add_written(records, block, path, number)
            continue
        _add_all(records, block, path, number)
        number += len(block)
    return records


def _add_all(records: Records, block: Sequence[Any], path: Path, number: int) -> None:
    """Add objects, of which so many came before."""
    if not _add_plain(records, block):
        for place, found in enumerate(block, number + 1):
            _add(records, found, f"{path}: object {place}")


def _add_written(records: Records, text: str, path: Path, number: int) -> int:
    """Add the objects of some lines, and return how many they are.

    Of lines that are all as ``write_jsonl`` writes them, with plain values, the properties alone are parsed as JSON.
    """
    count = text.count("\n")
    try:
        if len(links := _LINK.findall(text)) == count:
            kinds, starts, ends, ways, own = zip(*links, strict=True)
            properties = _parsed(own)
            if len({*kinds}) == 1 and len({*ways}) == 1:
                records.relationships(kinds[0], bool(ways[0]), starts, ends, properties)
                return count
        if len(nodes := _NODE.findall(text)) == count:
            keys, labels, own = zip(*nodes, strict=True)
            properties = _parsed(own)
            if len({*labels}) == 1:
                records.nodes(tuple(json.loads(labels[0])), keys, properties)
                return count
        lines = [line for line in text.split("\n") if line.strip()]
        block = json.loads(f"[{','.join(lines)}]")
    except ValueError as error:
        raise StorageError(f"{path}: after object {number} it is no JSON: {error}", hint=_HINT) from None
    _add_all(records, block, path, number)
    return len(block)


def _parsed(properties: Sequence[str]) -> list[Any]:
    """Return JSON's objects, or "" for none, as dictionaries."""
    found: list[Any] = json.loads(f"[{','.join(each or '{}' for each in properties)}]")
    return found


def _add_plain(records: Records, block: Sequence[Any]) -> bool:
    """Add objects together; tell whether that could be done: they are as they should be, and values mean themselves."""
    try:
        nodes = [found for found in block if found["type"] == "node"]
        links = [found for found in block if found["type"] == "relationship"]
        if len(nodes) + len(links) < len(block) or any("types" in found for found in block):
            return False
        of_nodes, of_links = ([found.get("properties") or {} for found in own] for own in (nodes, links))
        if any(type(each) is dict or type(each) is list for own in (*of_nodes, *of_links) for each in own.values()):
            return False
        keys = [str(found["id"]) for found in nodes]
        labels = [tuple(found.get("labels") or ()) for found in nodes]
        starts, ends = ([str(found[end]["id"]) for found in links] for end in ("start", "end"))
        kinds = [(found["label"], not found.get("directed", True)) for found in links]
    except (KeyError, TypeError, AttributeError):
        return False
    if len(set(labels)) == 1:
        records.nodes(labels[0], keys, of_nodes)
    else:
        for node in zip(labels, keys, of_nodes, strict=True):
            records.nodes(node[0], node[1:2], node[2:])
    if len(set(kinds)) == 1:
        records.relationships(*kinds[0], starts, ends, of_links)
    else:
        for kind, start, end, properties in zip(kinds, starts, ends, of_links, strict=True):
            records.relationships(*kind, [start], [end], [properties])
    return True


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


def _blocks(path: Path) -> Iterator[list[Any] | str]:
    """Yield the lines of a file, some thousand at a time, or the objects of one that is a single value."""
    with path.open("rb") as file:
        try:
            first = file.read(1 << 12).lstrip(b"\xef\xbb\xbf \t\r\n")
            file.seek(0)
            if first[:1] == b"[" or first.startswith((b'{"nodes"', b"{\n", b"{\r")):
                yield _whole(json.loads(file.read().decode("utf-8-sig")))
                return
            while lines := file.readlines(1 << 20):
                text = b"".join(lines).decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
                yield text if text.endswith("\n") else text + "\n"
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
