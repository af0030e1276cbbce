"""Writes a graph as GraphML, as APOC does: labels and types as attributes, properties as data with a declared key each.

Types that GraphML lacks are named by the attribute ``qengine.type`` of a key, as the headers of CSV files name them
(``formats.texts``); others read such data as strings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.errors import StorageError
from qengine.formats.literals import name_text
from qengine.formats.parts import node_parts, relationship_parts
from qengine.formats.texts import column_texts, literal_texts
from qengine.storage.store import GraphStore
from qengine.temporal.arrow import to_values

LITERAL_TYPE = "qengine.type"
"""The attribute of a key that tells a type that GraphML lacks."""
_OPENING = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
"""
_PLAIN = {"boolean": "boolean", "long": "long", "double": "double", "string": "string"}
_NO_XML = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]"
_ROWS = 1 << 14
_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;"))
_IN_ATTRIBUTES = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def write_graphml(store: GraphStore, path: Path) -> None:
    """Write a graph as GraphML.

    Raises
    ------
    StorageError
        For names with characters that XML can't hold.
    """
    keys: dict[tuple[str, str, str], str] = {}
    nodes = [(part, _columns("node", part.columns, keys)) for part in node_parts(store)]
    links = [(part, _columns("edge", part.columns, keys)) for part in relationship_parts(store)]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(_OPENING)
        file.write('<key id="labels" for="node" attr.name="labels" attr.type="string"/>\n')
        file.write('<key id="label" for="edge" attr.name="label" attr.type="string"/>\n')
        for (entity, name, kind), id in keys.items():
            file.write(f'<key id="{id}" for="{entity}" attr.name={_attribute(name)} {_type(kind)}/>\n')
        both_ways = bool(links) and all(part.undirected for part, _ in links)
        file.write(f'<graph id="G" edgedefault="{"undirected" if both_ways else "directed"}">\n')
        for node_part, columns in nodes:
            labels = _labels(node_part.labels)
            ids = pa.array(node_part.ids).cast(pa.string())
            opening = _joined('<node id="n', ids, f'" labels={_attribute(labels)}>' if labels else '">')
            first = f'<data key="labels">{_escaped(pa.array([labels]))[0].as_py()}</data>' if labels else ""
            file.writelines(_lines(opening, first, columns, "</node>"))
        number = 0
        for part, columns in links:
            start, end = (pa.array(each).cast(pa.string()) for each in (part.start, part.end))
            ids = pa.array(np.arange(number, number + len(part.start))).cast(pa.string())
            number += len(part.start)
            way = ' directed="false"' if part.undirected and not both_ways else ""
            rest = f'" label={_attribute(part.type)}{way}>'
            opening = _joined('<edge id="e', ids, '" source="n', start, '" target="n', end, rest)
            first = f'<data key="label">{_escaped(pa.array([part.type]))[0].as_py()}</data>'
            file.writelines(_lines(opening, first, columns, "</edge>"))
        file.write("</graph>\n</graphml>\n")


def _columns(entity: str, columns: Mapping[str, Any], keys: dict[tuple[str, str, str], str]) -> list[tuple[str, Any]]:
    """Return for each property the id of its key, which is declared, and its texts."""
    found = []
    for name, array in columns.items():
        kind, texts = _texts(array)
        id = keys.setdefault((entity, name, kind), f"d{len(keys)}")
        found.append((id, _escaped(texts)))
    return found


def _texts(array: Any) -> tuple[str, Any]:
    """Return a column's type, ``string[json]`` and the like for lists that are JSON arrays, and its texts."""
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        kind, _ = column_texts(array.slice(0, 0))
        if kind.removesuffix("[]") in _PLAIN and not array.flatten().null_count and not _has_odd(array.flatten()):
            values = [None if each is None else json.dumps(each) for each in to_values(array)]
            return kind, pa.array(values, pa.string())
        return "any", literal_texts(array)
    kind, texts = column_texts(array)
    if kind == "string" and pc.any(pc.match_substring_regex(texts, _NO_XML)).as_py():
        return "any", literal_texts(array)
    return kind, texts


def _has_odd(items: Any) -> bool:
    """Tell whether there are floats that JSON lacks."""
    return bool(pa.types.is_floating(items.type) and not pc.all(pc.is_finite(items), min_count=0).as_py())


def _type(kind: str) -> str:
    if kind.endswith("[]"):
        return f'attr.type="string" attr.list="{kind[:-2]}"'
    return f'attr.type="{_PLAIN[kind]}"' if kind in _PLAIN else f'attr.type="string" {LITERAL_TYPE}="{kind}"'


def _labels(labels: tuple[str, ...]) -> str:
    return "".join(f":{label if ':' not in label and label[:1] != '`' else _quoted(label)}" for label in labels)


def _quoted(label: str) -> str:
    text = name_text(label)
    return text if text.startswith("`") else f"`{text}`"


def _attribute(text: str) -> str:
    if pc.match_substring_regex(pa.scalar(text), _NO_XML).as_py():
        raise StorageError(f"GraphML can't hold the name {text!r}", hint="Rename it, or export to another format.")
    return quoteattr(text, _IN_ATTRIBUTES)


def _escaped(texts: Any) -> Any:
    for character, entity in _ESCAPES:
        texts = pc.replace_substring(texts, character, entity)
    return texts


def _joined(*parts: Any) -> Any:
    kind = pa.large_string()
    arrays = [pa.scalar(part, kind) if isinstance(part, str) else part.cast(kind) for part in parts]
    return pc.binary_join_element_wise(*arrays, pa.scalar("", kind), null_handling="replace", null_replacement="")


def _lines(opening: Any, first: str, columns: list[tuple[str, Any]], closing: str) -> Iterator[str]:
    """Yield the text of the elements of a part, many at a time."""
    for begin in range(0, len(opening), _ROWS):
        parts: list[Any] = [opening.slice(begin, _ROWS), first]
        for id, texts in columns:
            own = texts.slice(begin, _ROWS).cast(pa.large_string())
            ends = (pa.scalar(text, pa.large_string()) for text in (f'<data key="{id}">', "</data>", ""))
            opened, closed, separator = ends
            wrapped = pc.binary_join_element_wise(opened, own, closed, separator)  # null where the text is
            parts.append(wrapped)
        yield "".join(f"{line}\n" for line in _joined(*parts, closing).to_pylist())
