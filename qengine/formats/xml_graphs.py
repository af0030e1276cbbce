"""Reads GraphML and GEXF, as networkx, igraph, Gephi, yEd and APOC write them, in one pass without a tree."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

import pyarrow as pa

from qengine._frozen import record
from qengine._gc import gc_paused
from qengine.errors import ExecutionError, StorageError
from qengine.formats.graphml_out import LITERAL_TYPE
from qengine.formats.records import Records, add_links, add_nodes
from qengine.formats.texts import TYPES, column_values
from qengine.formats.xml_forms import Form, Forms
from qengine.storage.memory import within_memory
from qengine.storage.store import GraphStore

_LABEL = re.compile(r":(?:`((?:[^`]|``)*)`|([^:]+))")
_GRAPHML_TYPES = {"int": "long", "integer": "long", "float": "double", "anyuri": "string"}
_LEFT_OUT = frozenset(("ports", "port", "hyperedge", "endpoint"))
_CHUNK = 1 << 20
_OTHER_ENCODING = re.compile(rb"""[^<]*<\?xml[^>]*encoding=["'](?!utf-?8|us-ascii)""", re.IGNORECASE)
_ELEMENT = re.compile(r"<(?:node|edge)\b")
_MANY = 64  # texts that Arrow reads in less time
_BY_PARSER = {parse: type for type, parse in TYPES.items() if type not in ("boolean", "any", "point")}
_MOST = 1 << 16  # characters that the parser takes before elements are tried again


@record
class XmlOptions:
    """Names for what a file leaves open: relationships' type, nodes' label, the property of ids, undirected types."""

    type: str = "E"
    label: str | None = None
    undirected: Iterable[str] = ()
    key: str | None = None


@record
class _Key:
    """A declared property: its name, what reads its texts, and its value where an element has none."""

    name: str
    entity: str
    parse: Callable[[str], Any]
    default: Any = None

    def column(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return the values of texts."""
        if self.parse is str:
            return texts
        type = _BY_PARSER.get(self.parse) if len(texts) > _MANY else None
        return list(map(self.value, texts)) if type is None else column_values(pa.array(texts), type, self.name)

    def value(self, text: str) -> Any:
        """Return the value of a text; none for an empty one that is neither a string nor a list.

        Raises
        ------
        StorageError
            For a text of another type, with the property.
        """
        if not text.strip() and self.parse in _OF_ONE:
            return None
        try:
            return self.parse(text)
        except (ValueError, StorageError, ExecutionError) as error:
            message = error.message if isinstance(error, StorageError | ExecutionError) else error
            raise StorageError(f"property {self.name} has {text!r:.100}: {message}") from None


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
        self.forms = self.known_forms()
        self.fed = 0  # bytes that the parser has seen
        self.taken = 0  # lines that it hasn't
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
            return self._read().store(self.options.undirected, self.options.key)

    def _read(self) -> Records:
        try:
            with self.path.open("rb") as file:
                self._read_from(file)
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

    def _read_from(self, file: IO[bytes]) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")()
        by_forms = True
        while chunk := file.read(_CHUNK):
            if by_forms and (_OTHER_ENCODING.match(chunk) if not self.fed and not self.taken else False):
                by_forms = False
            held = decoder.getstate()[0]
            try:
                text = decoder.decode(chunk) if by_forms else ""
            except UnicodeDecodeError:  # the parser says what is wrong
                by_forms, chunk = False, held + chunk
            if by_forms:
                self._take(text)
            else:
                self.parser.Parse(chunk, False)
        self.parser.Parse(decoder.getstate()[0] if by_forms else b"", True)

    def _take(self, text: str) -> None:
        """Read a piece of the file: by forms where elements have some, else by the parser."""
        begin, step = 0, 1
        while begin < len(text):
            if self.parser.CurrentByteIndex in (self.fed, -1) and self.is_between():
                before = begin
                for form, values, end in self.forms.runs(text, begin, ("node", "edge")):
                    if not self.add(form, values):
                        break
                    begin = end
                if begin > before:
                    self.taken += text.count("\n", before, begin)
                    step = 1 if self.forms.pay else step
            following = _ELEMENT.search(text, begin + step)
            end = len(text) if following is None else following.start()
            piece = text[begin:end].encode()
            self.parser.Parse(piece, False)
            self.fed += len(piece)
            begin, step = end, min(2 * step, _MOST)

    def known_forms(self) -> Forms:
        """Return the forms that elements may have."""
        raise NotImplementedError

    def is_between(self) -> bool:
        """Tell whether the next element of the graph may begin here."""
        raise NotImplementedError

    def add(self, form: Form, values: list[tuple[str, ...]]) -> bool:
        """Add elements of one form; tell whether that could be done."""
        raise NotImplementedError

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

    def known_forms(self) -> Forms:
        return Forms({"data": (("key",), None)})

    def is_between(self) -> bool:
        if len(self.ways) != 1 or self.open:
            return False
        self.flush()
        return True

    def add(self, form: Form, values: list[tuple[str, ...]]) -> bool:
        texts = dict(zip(form.places, zip(*values, strict=True), strict=True))
        attributes = {name: column for (tag, name), column in texts.items() if tag == form.tag}
        columns: dict[str, Sequence[Any]] = {
            name: [value] * len(values) for name, value in self.defaults[form.tag].items()
        }
        try:
            for (tag, name), column in texts.items():
                told = name in ("labels", "label") and name in attributes
                if tag == "data" and not told and (key := self.keys.get(name)) is not None:
                    columns[key.name] = key.column(column)
            if form.tag == "node":
                labels = attributes.get("labels")
                own = [self.labels] * len(values) if labels is None else list(map(self.labels_of, labels))
                add_nodes(self.records, own, attributes["id"], columns)
                return True
            kinds = [each or self.type for each in attributes.get("label", ("",) * len(values))]
            one_way = [each not in ("false", "0") for each in attributes.get("directed", ())]
            ways = [not each for each in one_way or [self.directed] * len(values)]
            add_links(self.records, list(zip(kinds, ways, strict=True)), attributes, columns)
        except (KeyError, ValueError, StorageError, ExecutionError):  # the parser knows the line
            return False
        return True

    def labels_of(self, written: str) -> tuple[str, ...]:
        """Return the labels of a node's attribute."""
        labels = self.label_sets.get(written)
        if labels is None:
            labels = self.label_sets[written] = _labels_of(written)
        return labels

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
                self.properties[key.name] = key.value("".join(self.text))
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
                        self.defaults[entity][key.name] = key.value(text)
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
            labels = self.labels if written is None else self.labels_of(written)
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

    def known_forms(self) -> Forms:
        return Forms({"attvalue": (("for", "id"), "value")}, within=("attvalues",))

    def is_between(self) -> bool:
        return not self.pending

    def add(self, form: Form, values: list[tuple[str, ...]]) -> bool:
        texts = dict(zip(form.places, zip(*values, strict=True), strict=True))
        attributes = {name: column for (tag, name), column in texts.items() if tag == form.tag}
        defaults = [key for (owner, _), key in self.keys.items() if owner == form.tag and key.default is not None]
        columns: dict[str, Sequence[Any]] = {key.name: [key.default] * len(values) for key in defaults}
        try:
            if "label" in attributes:
                columns["label"] = attributes["label"]
            if form.tag == "edge" and "weight" in attributes:
                columns["weight"] = list(map(float, attributes["weight"]))
            for (tag, name), column in texts.items():
                if tag == "attvalue" and (key := self.keys.get((form.tag, name))) is not None:
                    columns[key.name] = key.column(column)
            if form.tag == "node":
                add_nodes(self.records, [self.labels] * len(values), attributes["id"], columns)
                return True
            kinds = [each or self.type for each in attributes.get("kind", ("",) * len(values))]
            ways = [each == "undirected" for each in attributes.get("type", ())]
            kinds_and_ways = zip(kinds, ways or [not self.directed] * len(values), strict=True)
            add_links(self.records, list(kinds_and_ways), attributes, columns)
        except (KeyError, ValueError, StorageError, ExecutionError):  # the parser knows the line
            return False
        return True

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "attvalue":
            key = self.keys.get((self.pending[-1][0], attributes.get("for", attributes.get("id", ""))))
            if key is not None:
                self.pending[-1][2][key.name] = key.value(attributes["value"])
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
                self.key.default = self.key.value(text)
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
        return _truth
    if kind.endswith("[]"):
        parse = TYPES.get(kind[:-2], str)
        return lambda text: [parse(each) for each in text.split(";")] if text else []
    return TYPES.get(kind, str)


def _truth(text: str) -> bool:
    if (word := text.strip().lower()) not in _TRUTHS:
        raise ValueError("it is neither true nor false")
    return _TRUTHS[word]


def _list_of(item: str) -> Callable[[str], Any]:
    """Return what reads JSON arrays."""
    if item.lower() in ("double", "float"):
        return lambda text: [float(each) for each in json.loads(text)]
    return json.loads


def _labels_of(text: str) -> tuple[str, ...]:
    if not text.startswith(":"):
        return tuple(each for each in text.split(":") if each)
    return tuple((quoted or "").replace("``", "`") or plain for quoted, plain in _LABEL.findall(text))


_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_OF_ONE = {_truth, *TYPES.values()} - {str}
"""What reads texts that hold one value, other than a string."""
