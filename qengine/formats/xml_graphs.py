"""Reads GraphML and GEXF, as networkx, igraph, Gephi, yEd and APOC write them, in one pass without a tree."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.parsers import expat

from qengine._frozen import record
from qengine._gc import gc_paused
from qengine.errors import ExecutionError, StorageError
from qengine.formats.graphml_out import LITERAL_TYPE
from qengine.formats.records import Records
from qengine.formats.texts import TYPES
from qengine.storage.memory import within_memory
from qengine.storage.store import GraphStore

__all__ = ["XmlOptions", "from_gexf", "from_graphml"]

_LABEL = re.compile(r":(?:`((?:[^`]|``)*)`|([^:]+))")
_GRAPHML_TYPES = {"int": "long", "integer": "long", "float": "double", "anyuri": "string"}
_LEFT_OUT = frozenset(("ports", "port", "hyperedge", "endpoint"))
_CHUNK = 1 << 20
_PLAIN = r"[^<>&\"\x00-\x1f\ufffe\uffff]"
_CONTENT = _PLAIN.replace('\\"', "")
_ITEMS = rf'(?P<data>(?:<data key="{_PLAIN}+">{_CONTENT}*</data>)*)'
_DATA = re.compile(r'<data key="([^"]*)">')
_NODE = re.compile(
    rf'^<node id="(?P<id>{_PLAIN}+)"(?: labels="(?P<labels>{_PLAIN}+)")?>{_ITEMS}</node>\n', re.MULTILINE
)
_EDGE = re.compile(
    rf'^<edge id="(?P<id>{_PLAIN}+)" source="(?P<source>{_PLAIN}+)" target="(?P<target>{_PLAIN}+)"'
    rf'(?: label="(?P<label>{_PLAIN}+)")?(?: directed="(?P<directed>true|false)")?>{_ITEMS}</edge>\n',
    re.MULTILINE,
)
"""Lines as ``graphml_out`` writes them."""


@lru_cache(64)
def _lines(form: re.Pattern[str], keys: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of lines that have just these keys in this order: the text of each is a group."""
    items = "".join(f'<data key="{re.escape(key)}">({_CONTENT}*)</data>' for key in keys)
    return re.compile(form.pattern.replace(_ITEMS, items), re.MULTILINE)


@record
class XmlOptions:
    """Names for what a file leaves open: the type of its relationships, a label of its nodes; and types undirected."""

    type: str = "E"
    label: str | None = None
    undirected: Iterable[str] = ()


@record
class _Key:
    """A declared property: its name, what reads its texts, and its value where an element has none."""

    name: str
    entity: str
    parse: Callable[[str], Any]
    default: Any = None


@within_memory
def from_graphml(path: Path, options: XmlOptions) -> GraphStore:
    """Load a GraphML file, as ``Graph.from_graphml`` says."""
    return _GraphML(path, options).load()


@within_memory
def from_gexf(path: Path, options: XmlOptions) -> GraphStore:
    """Load a GEXF file, as ``Graph.from_gexf`` says."""
    return _Gexf(path, options).load()


class _Reader:
    """What both formats share: the parser, its errors, and the element that is being read."""

    name = ""

    def __init__(self, path: Path, options: XmlOptions) -> None:
        self.path = path
        self.records = Records(str(path))
        self.labels = () if options.label is None else (options.label,)
        self.type = options.type
        self.options = options
        self.directed = True
        self.attributes: dict[str, str] | None = None
        self.properties: dict[str, Any] = {}
        self.text: list[str] = []
        self.taken = 0  # lines that the parser hasn't seen
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.buffer_size = 1 << 16
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text.append
        self.parser.EntityDeclHandler = self.refuse

    def load(self) -> GraphStore:
        """Read the file and return its graph."""
        with gc_paused():
            return self._read().store(self.options.undirected)

    def _read(self) -> Records:
        try:
            with self.path.open("rb") as file:
                while chunk := b"".join(file.readlines(_CHUNK)):
                    if not self.take(chunk):
                        self.parser.Parse(chunk, False)
                self.parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise StorageError(f"{self.path}: it is no {self.name}: {error}") from None
        except OSError as error:
            raise StorageError(f"{self.path}: it can't be read: {error.strerror}") from None
        except (KeyError, ValueError, StorageError, ExecutionError) as error:
            line = self.parser.CurrentLineNumber + self.taken
            message = error.message if isinstance(error, StorageError | ExecutionError) else error
            what = f"the attribute {message} is missing" if isinstance(error, KeyError) else message
            raise StorageError(f"{self.path}, line {line}: {what}") from None
        return self.records

    def take(self, chunk: bytes) -> bool:
        """Read some lines without the parser, if they are all of a known form; tell whether that was done."""
        return False

    def refuse(self, *_: Any) -> None:
        """Refuse declared entities, which can blow up a small file."""
        raise StorageError("it declares entities, which are not expanded", hint="Write them out.")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        raise NotImplementedError

    def end(self, tag: str) -> None:
        """End an element."""
        raise NotImplementedError


class _GraphML(_Reader):
    name = "GraphML"

    def __init__(self, path: Path, options: XmlOptions) -> None:
        super().__init__(path, options)
        self.keys: dict[str, _Key] = {}
        self.key: _Key | None = None
        self.defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}}
        self.open: list[dict[str, str]] = []
        self.ways: list[bool] = []
        self.label_sets: dict[str, tuple[str, ...]] = {}

    def take(self, chunk: bytes) -> bool:
        """Read lines that hold an element each, as they are written here, where no text needs to be resolved."""
        if len(self.ways) != 1 or self.open or any(self.defaults.values()):
            return False
        try:
            text = chunk.decode()
        except UnicodeDecodeError:
            return False
        form = _NODE.match(text) or _EDGE.match(text)
        if form is None:
            return False
        keys = tuple(_DATA.findall(form["data"]))
        found = _lines(form.re, keys).findall(text)
        if len(found) < text.count("\n"):
            return False
        names = tuple(name for name in form.re.groupindex if name != "data")
        columns = list(zip(*found, strict=True))
        attributes, texts = dict(zip(names, columns, strict=False)), columns[len(names) :]
        if any(len({*attributes[name]}) > 1 for name in ("labels", "label", "directed") if name in attributes):
            return False
        kept = [
            (self.keys[key], column) for key, column in zip(keys, texts, strict=True) if self._tells(key, attributes)
        ]
        rows = zip(*(map(key.parse, column) for key, column in kept), strict=True) if kept else [()] * len(found)
        try:
            properties = [dict(zip([key.name for key, _ in kept], row, strict=True)) for row in rows]
        except (ValueError, StorageError, ExecutionError):  # the parser knows the line
            return False
        self.taken += len(found)
        if "source" not in attributes:
            written = attributes["labels"][0]
            self.records.nodes(_labels_of(written) if written else self.labels, attributes["id"], properties)
            return True
        way = attributes["directed"][0]
        undirected = way == "false" if way else not self.directed
        self.records.relationships(
            attributes["label"][0] or self.type, undirected, attributes["source"], attributes["target"], properties
        )
        return True

    def _tells(self, key: str, attributes: Mapping[str, Sequence[str]]) -> bool:
        """Tell whether a key is a property that is read, and nothing that an attribute tells."""
        return key in self.keys and not (key in ("labels", "label") and attributes.get(key, ("",))[0])

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if ":" in tag:
            tag = tag.rpartition(":")[2]
        if tag == "data":
            key = attributes["key"]
            told = self.attributes is not None and key in self.attributes and key in ("labels", "label")
            self.key = self.keys.get(key) if self.open and not told else None  # what attributes tell is read there
            self.text.clear()
        elif tag in ("node", "edge"):
            self.flush()
            self.attributes = attributes
            self.properties = dict(self.defaults[tag]) if self.defaults[tag] else {}
            self.open.append(attributes)
        elif tag == "key":
            self.declare(attributes)
        elif tag == "default":
            self.text.clear()
        elif tag == "graph":
            self.flush()
            self.ways.append(self.directed)
            self.directed = attributes.get("edgedefault", "directed" if self.directed else "") == "directed"
        elif tag in _LEFT_OUT:
            raise StorageError(f"there is a {tag}, which graphs here don't have")

    def end(self, tag: str) -> None:
        if tag == "data" or tag.endswith(":data"):
            key = self.key
            if key is not None:
                self.properties[key.name] = key.parse("".join(self.text))
                self.key = None
        elif tag.endswith(("node", "edge")):
            self.flush()
            if self.open:
                self.open.pop()
        elif tag.endswith("default"):
            key = self.key
            text = "".join(self.text)
            if key is not None:
                for entity in ("node", "edge"):
                    if key.entity in (entity, "all"):
                        self.defaults[entity][key.name] = key.parse(text)
        elif tag.endswith("graph"):
            self.directed = self.ways.pop()
        elif tag.endswith("key"):
            self.key = None

    def flush(self) -> None:
        """Add the node or the relationship that was read; a node may hold another graph, whose nodes follow."""
        found, self.attributes = self.attributes, None
        if found is None:
            return
        if "source" in found:
            way = found.get("directed")
            undirected = not self.directed if way is None else way in ("false", "0")
            self.records.relationship(
                found.get("label") or self.type,
                found["source"],
                found["target"],
                self.properties,
                undirected=undirected,
            )
        else:
            written = found.get("labels")
            labels = self.labels if written is None else self.label_sets.get(written)
            if labels is None:
                labels = self.label_sets[written or ""] = _labels_of(written or "")
            self.records.node(found["id"], labels, self.properties)

    def declare(self, attributes: Mapping[str, str]) -> None:
        """Keep what a key's declaration says."""
        self.key = None
        name = attributes.get("attr.name")
        if name is None:  # yEd's graphics
            return
        item = attributes.get("attr.list")
        kind = attributes.get(LITERAL_TYPE, attributes.get("attr.type", "string")).lower()
        parse: Callable[[str], Any] = _parser(kind) if item is None else _list_of(item)
        self.key = self.keys[attributes["id"]] = _Key(name, attributes.get("for", "all"), parse)


class _Gexf(_Reader):
    name = "GEXF"

    def __init__(self, path: Path, options: XmlOptions) -> None:
        super().__init__(path, options)
        self.keys: dict[tuple[str, str], _Key] = {}
        self.entity = "node"
        self.key: _Key | None = None
        self.pending: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "attvalue":
            key = self.keys.get((self.pending[-1][0], attributes.get("for", attributes.get("id", ""))))
            if key is not None:
                self.pending[-1][2][key.name] = key.parse(attributes["value"])
        elif tag in ("node", "edge"):
            defaults = {key.name: key.default for (owner, _), key in self.keys.items() if owner == tag}
            given: dict[str, Any] = {"label": attributes["label"]} if "label" in attributes else {}
            if tag == "edge" and "weight" in attributes:
                given["weight"] = float(attributes["weight"])
            held = {name: value for name, value in defaults.items() if value is not None}
            self.pending.append((tag, attributes, {**held, **given}))
        elif tag == "attributes":
            self.entity = attributes["class"]
        elif tag == "attribute":
            self.key = _Key(attributes["title"], self.entity, _parser(attributes.get("type", "string").lower()))
            self.keys[self.entity, attributes["id"]] = self.key
        elif tag == "default":
            self.text.clear()
        elif tag == "graph":
            self.directed = attributes.get("defaultedgetype", "undirected") == "directed"

    def end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "default":
            text = "".join(self.text)
            if self.key is not None:
                self.key.default = self.key.parse(text)
        elif tag in ("node", "edge") and self.pending:
            _, found, properties = self.pending.pop()
            if tag == "node":
                self.records.node(found["id"], self.labels, properties)
                return
            way = found.get("type")
            undirected = not self.directed if way is None else way == "undirected"
            kind = found.get("kind") or self.type
            self.records.relationship(kind, found["source"], found["target"], properties, undirected=undirected)


def _parser(kind: str) -> Callable[[str], Any]:
    """Return what reads the texts of a type; those of an unknown one are strings."""
    if kind.startswith("list"):  # GEXF's, whose items are separated in several ways
        parse = _parser(kind.removeprefix("list"))
        return lambda text: [parse(each.strip()) for each in re.split(r"[|;,]", text.strip("[]"))]
    kind = _GRAPHML_TYPES.get(kind, kind)
    if kind == "boolean":
        return lambda text: text.strip().lower() in ("true", "1")
    if kind.endswith("[]"):
        parse = TYPES.get(kind[:-2], str)
        return lambda text: [parse(each) for each in text.split(";")] if text else []
    return TYPES.get(kind, str)


def _list_of(item: str) -> Callable[[str], Any]:
    """Return what reads JSON arrays."""
    if item.lower() in ("double", "float"):
        return lambda text: [float(each) for each in json.loads(text)]
    return json.loads


def _labels_of(text: str) -> tuple[str, ...]:
    if not text.startswith(":"):
        return tuple(each for each in text.split(":") if each)
    return tuple((quoted or "").replace("``", "`") or plain for quoted, plain in _LABEL.findall(text))
