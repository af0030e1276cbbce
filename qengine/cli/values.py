"""Values as people and programs read them: as the language writes them, and as JSON."""

from __future__ import annotations

import math
from typing import Any

from qengine.types import Node, Path, Relationship


def to_text(value: Any, inside: bool = False) -> str:
    """Return a value as the language writes it; a string on its own stands without quotes."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'" if inside else value
        case float():
            return _float(value)
        case Node():
            labels = "".join(f":{label}" for label in value.labels)
            return f"({labels}{_map(value.properties, bool(labels))})"
        case Relationship():
            return f"[:{value.type}{_map(value.properties, True)}]"
        case Path():
            return _path(value)
        case list() | tuple():
            return "[" + ", ".join(to_text(item, True) for item in value) + "]"
        case dict():
            return _map(value, False) or "{}"
        case _:
            return str(value)


def to_json(value: Any) -> Any:
    """Return a value as JSON's types: nodes, relationships and paths as objects, what JSON lacks as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else _float(value)
        case Node():
            return {"id": value.id, "labels": list(value.labels), "properties": to_json(dict(value.properties))}
        case Relationship():
            return {
                "id": value.id,
                "type": value.type,
                "start": value.start,
                "end": value.end,
                "properties": to_json(dict(value.properties)),
            }
        case Path():
            return {"nodes": to_json(list(value.nodes)), "relationships": to_json(list(value.relationships))}
        case list() | tuple():
            return [to_json(item) for item in value]
        case dict():
            return {key: to_json(item) for key, item in value.items()}
        case _:
            return str(value)


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _map(entries: Any, space: bool) -> str:
    inside = ", ".join(f"{key}: {to_text(item, True)}" for key, item in entries.items())
    return (" " if space else "") + "{" + inside + "}" if inside else ""


def _path(path: Path) -> str:
    text = to_text(path.nodes[0])
    for before, relationship, after in zip(path.nodes, path.relationships, path.nodes[1:], strict=False):
        forward = relationship.start == before.id
        text += f"-{to_text(relationship)}->" if forward else f"<-{to_text(relationship)}-"
        text += to_text(after)
    return text
