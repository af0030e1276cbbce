"""The built-in procedures: what a graph holds, with the names and columns of Neo4j 5, and cheapest paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from qengine.catalog.procedures import Procedure, Procedures, parse_signature
from qengine.cheapest_paths import SIGNATURE, cheapest_paths
from qengine.types import Kind, Type
from qengine.vector_search import NODES, RELATIONSHIPS, nearest_elements

if TYPE_CHECKING:
    from qengine.exec.context import ExecutionContext
    from qengine.storage.store import GraphStore

BUILT_IN = Procedures()
EVERYWHERE = Procedures(BUILT_IN)
"""The procedures of all graphs; ``qengine.procedure`` adds to them."""

_TYPES = {
    Kind.BOOLEAN: "Boolean",
    Kind.INTEGER: "Long",
    Kind.FLOAT: "Double",
    Kind.STRING: "String",
    Kind.DATE: "Date",
    Kind.TIME: "Time",
    Kind.LOCAL_TIME: "LocalTime",
    Kind.DATETIME: "DateTime",
    Kind.LOCAL_DATETIME: "LocalDateTime",
    Kind.DURATION: "Duration",
    Kind.POINT: "Point",
}

Reader = Callable[["GraphStore", "ExecutionContext"], Any]
NamedReader = Callable[["ExecutionContext", Any], Any]


def _built_in(signature: str) -> Callable[[Reader], Reader]:
    def register(read: Reader) -> Reader:
        def called(store: Any, context: ExecutionContext, args: Sequence[Any]) -> Any:
            return read(store, context)

        description = (read.__doc__ or "").partition("\n")[0]
        BUILT_IN.register(Procedure(parse_signature(signature), called, description))
        return read

    return register


def _with_names(signature: str) -> Callable[[NamedReader], NamedReader]:
    """Register what takes names, or null for all."""

    def register(read: NamedReader) -> NamedReader:
        def called(store: Any, context: ExecutionContext, args: Sequence[Any]) -> Any:
            return read(context, args[0])

        description = (read.__doc__ or "").partition("\n")[0]
        BUILT_IN.register(Procedure(parse_signature(signature), called, description))
        return read

    return register


@_built_in("db.labels() :: (label :: STRING)")
def _labels(store: GraphStore, context: ExecutionContext) -> Iterable[Any]:
    """List all labels that nodes have."""
    return ((name,) for name in store.labels)


@_built_in("db.relationshipTypes() :: (relationshipType :: STRING)")
def _relationship_types(store: GraphStore, context: ExecutionContext) -> Iterable[Any]:
    """List all types that relationships have."""
    return ((kind.name,) for kind in store.types if kind.count)


@_built_in("db.propertyKeys() :: (propertyKey :: STRING)")
def _property_keys(store: GraphStore, context: ExecutionContext) -> Iterable[Any]:
    """List all property keys of nodes and relationships."""
    return ((key,) for key in dict.fromkeys((*store.property_keys("node"), *store.property_keys("relationship"))))


@_built_in("db.ping() :: (success :: BOOLEAN)")
def _ping(store: GraphStore, context: ExecutionContext) -> Iterable[Any]:
    """Answer: the graph is there."""
    return ((True,),)


@_built_in("db.awaitIndex(indexName :: STRING, timeOutSeconds = 300 :: INTEGER) :: VOID")
def _await_index(store: GraphStore, context: ExecutionContext) -> None:
    """Wait until an index answers; indexes are made when a query first uses them, so that nothing is waited for."""


@_built_in("db.awaitIndexes(timeOutSeconds = 300 :: INTEGER) :: VOID")
def _await_indexes(store: GraphStore, context: ExecutionContext) -> None:
    """Wait until all indexes answer; they are made when a query first uses them, so that nothing is waited for."""


@_built_in("db.index.fulltext.awaitEventuallyConsistentIndexRefresh() :: VOID")
def _await_texts(store: GraphStore, context: ExecutionContext) -> None:
    """Wait until FULLTEXT indexes have all changes; a search sees each that was committed, so nothing is waited for."""


@_built_in(
    "db.index.fulltext.listAvailableAnalyzers() :: "
    "(analyzer :: STRING, description :: STRING, stopwords :: LIST<STRING>)"
)
def _analyzers(store: GraphStore, context: ExecutionContext) -> Iterable[Any]:
    """List what FULLTEXT indexes can read texts with."""
    from qengine.fulltext.analyzers import ANALYZERS

    return ((each.name, each.description, sorted(each.stop_words)) for each in ANALYZERS)


@_built_in("db.schema.visualization() :: (nodes :: LIST<ANY>, relationships :: LIST<ANY>)")
def _visualization(store: GraphStore, context: ExecutionContext) -> Iterator[Any]:
    """Show each label as a node, and each type between two labels as a relationship, as maps."""
    labels = {name: -1 - place for place, name in enumerate(store.labels)}
    nodes = [
        {"id": id, "labels": [name], "properties": {"name": name, "indexes": [], "constraints": []}}
        for name, id in labels.items()
    ]
    links = dict.fromkeys(
        (each.type, start, end)
        for each in store.schema.relationships
        for starts, ends in each.endpoints
        for start in starts
        for end in ends
    )
    relationships = [
        {"id": -1 - place, "type": type, "start": labels[start], "end": labels[end], "properties": {"name": type}}
        for place, (type, start, end) in enumerate(links)
    ]
    yield nodes, relationships


@_built_in(
    "db.schema.nodeTypeProperties() :: (nodeType :: STRING, nodeLabels :: LIST<STRING>, propertyName :: STRING?, "
    "propertyTypes :: LIST<STRING>?, mandatory :: BOOLEAN)"
)
def _node_type_properties(store: GraphStore, context: ExecutionContext) -> Iterator[Any]:
    """List the properties of nodes by their labels, with their types and whether all of them have it."""
    groups: dict[tuple[str, ...], list[Any]] = {}
    for index, group in enumerate(store.groups):
        if group.begin < group.end:
            groups.setdefault(store.group_labels(index), []).append((group.begin, group.end))
    for node in store.schema.nodes:
        name = "".join(f":`{label}`" for label in node.labels)
        spans = groups.get(node.labels, [])
        if not spans:
            continue
        for key, type in node.properties.items():
            column = store.node_property(key)
            everywhere = column is not None and all(_present(column, begin, end) for begin, end in spans)
            yield name, list(node.labels), key, _type_names(type), everywhere
        if not node.properties:
            yield name, list(node.labels), None, None, False


@_built_in(
    "db.schema.relTypeProperties() :: (relType :: STRING, propertyName :: STRING?, propertyTypes :: LIST<STRING>?, "
    "mandatory :: BOOLEAN)"
)
def _rel_type_properties(store: GraphStore, context: ExecutionContext) -> Iterator[Any]:
    """List the properties of relationships by their type, with their types and whether all of them have it."""
    for index, kind in enumerate(store.schema.relationships):
        if not kind.count:
            continue
        for key, type in kind.properties.items():
            column = store.relationship_property(index, key)
            yield f":`{kind.type}`", key, _type_names(type), column is not None and _present(column, 0, kind.count)
        if not kind.properties:
            yield f":`{kind.type}`", None, None, False


def _present(column: Any, begin: int, end: int) -> bool:
    """Tell whether no value of a range is null."""
    import numpy as np

    step = 65_536
    return all(None not in column.values(np.arange(first, min(end, first + step))) for first in range(begin, end, step))


def _type_names(type: Type) -> list[str]:
    """Return the names that Neo4j gives to a property's type; of one with values of several types, "Any"."""
    if type.kind is Kind.LIST:
        item = None if type.item is None else _TYPES.get(type.item.kind)
        return [f"{item or 'Any'}Array"]
    return [_TYPES.get(type.kind, "Any")]


@_built_in("dbms.components() :: (name :: STRING, versions :: LIST<STRING>, edition :: STRING)")
def _components(store: GraphStore, context: ExecutionContext) -> Iterator[Any]:
    """Name the engine and its version."""
    from qengine import __version__

    yield "qengine", [__version__], "embedded"


@_built_in("dbms.functions() :: (name :: STRING, signature :: STRING, description :: STRING, aggregating :: BOOLEAN)")
def _functions(store: GraphStore, context: ExecutionContext) -> Iterator[Any]:
    """List the functions, once for each signature, those of users last."""
    from qengine.catalog.functions import functions, special_functions

    for each in functions():
        if each.kind in ("scalar", "aggregate") and each.available:
            for signature in each.signatures:
                yield each.name, f"{each.name}{signature}", each.doc, each.kind == "aggregate"
    for name, shown, doc in special_functions():
        yield name, f"{name}{shown}", doc, False
    for user in (context.procedures or EVERYWHERE).functions():
        yield user.name, user.signature, user.about.doc, user.aggregate


@_built_in("dbms.procedures() :: (name :: STRING, signature :: STRING, description :: STRING, mode :: STRING)")
def _procedures(store: GraphStore, context: ExecutionContext) -> Iterator[Any]:
    """List the procedures that a statement may call."""
    for each in context.procedures or EVERYWHERE:
        yield each.name, str(each.signature), each.description, "READ"


@_with_names(
    "dbms.listConfig(names = null :: ANY?) :: (name :: STRING, value :: STRING, isDynamic :: BOOLEAN, "
    "defaultValue :: STRING, description :: STRING, startupValue :: STRING, isExplicitlySet :: BOOLEAN, "
    "validValues :: STRING, isDeprecated :: BOOLEAN)"
)
def _settings(context: ExecutionContext, names: Any) -> Iterator[Any]:
    """List the limits that a statement can be given, with those that this one has."""
    wanted = _flat(names)
    folder = context.imports.directory
    for name, value, default, values, description in (
        ("device", "auto", "auto", "auto, cpu, gpu, reference", "What a statement runs on."),
        ("gpu_memory_limit", context.gpu_memory_limit, None, "bytes, or a text like 2GB", "Bytes on each GPU."),
        ("import_directory", folder, None, "a folder", "Where LOAD CSV may read; Graph.import_directory sets it."),
        ("memory_limit", context.memory_limit, None, "bytes, or a text like 2GB", "Bytes of a statement's rows."),
        ("spill_directory", context.spill_directory, None, "a folder", "Where rows go that memory has no room for."),
        ("threads", context.threads, None, "1 and more", "Worker threads of a statement."),
        ("timeout", context.timeout, None, "seconds", "After which a statement fails."),
    ):
        if names is None or name in wanted:
            told, usual = ("" if each is None else str(each) for each in (value, default))
            yield name, told, True, usual, description, usual, told != usual and name != "threads", values, False


@_with_names(
    "dbms.listTransactions(ids = null :: ANY?) :: (database :: STRING, transactionId :: STRING, "
    "currentQueryId :: STRING, connectionId :: STRING, clientAddress :: STRING, username :: STRING, "
    "currentQuery :: STRING, startTime :: STRING, status :: STRING, elapsedTime :: DURATION, parameters :: MAP, "
    "allocatedBytes :: INTEGER)"
)
def _transactions(context: ExecutionContext, names: Any) -> Iterator[Any]:
    """List the statements that run on the graph, this one among them."""
    from datetime import UTC, datetime, timedelta

    wanted, now = _flat(names), datetime.now(UTC)
    for name, each in _running(context):
        if names is None or name in wanted:
            begin = datetime.fromtimestamp(each.began, UTC)
            status = "Terminated" if each.control.stop else "Running"
            given = {
                key: value for key, value in each.parameters.items() if isinstance(value, bool | int | float | str)
            }
            where = name.replace("transaction", "query"), "", "", ""
            spent = max(now - begin, timedelta())
            yield "qengine", name, *where, each.text, begin.isoformat(), status, spent, given, each.memory_peak


@_with_names("dbms.killTransactions(ids :: ANY?) :: (transactionId :: STRING, username :: STRING?, message :: STRING)")
def _terminated(context: ExecutionContext, names: Any) -> Iterator[Any]:
    """Stop statements that run on the graph, by their transactions' ids."""
    running = dict(_running(context))
    for name in _flat(names):
        found = running.get(name)
        if found is None:
            yield name, None, "Transaction not found."
            continue
        found.interrupt()
        yield name, "", "Transaction terminated."


def _running(context: ExecutionContext) -> list[tuple[str, ExecutionContext]]:
    """Return the executions that the graph of one has accepted, with the ids of their transactions, oldest first."""
    found = () if context.running is None else context.running()
    return [(f"qengine-transaction-{each.number}", each) for each in found]


def _flat(names: Any) -> list[str]:
    """Return the texts of a list of texts and lists of them."""
    if isinstance(names, list | tuple):
        return [name for each in names for name in _flat(each)]
    return [] if names is None else [str(names)]


def _cheapest(store: Any, context: ExecutionContext, args: Sequence[Any]) -> Any:
    """Find the cheapest path between two nodes, or to all nodes, by a property of relationships."""
    start, end, options = args
    return cheapest_paths(store, context.check, start, end, options)


def _query_nodes(store: Any, context: ExecutionContext, args: Sequence[Any]) -> Any:
    """Find the nodes whose vectors are most like one, by a VECTOR index, with their scores from 0 to 1."""
    return nearest_elements(store, context, "NODE", *args)


def _query_relationships(store: Any, context: ExecutionContext, args: Sequence[Any]) -> Any:
    """Find the relationships whose vectors are most like one, by a VECTOR index, with their scores from 0 to 1."""
    return nearest_elements(store, context, "RELATIONSHIP", *args)


def _text_nodes(store: Any, context: ExecutionContext, args: Sequence[Any]) -> Any:
    """Find the nodes whose texts a query matches, by a FULLTEXT index, with their scores, best first."""
    from qengine.fulltext.search import found_elements

    return found_elements(store, context, "NODE", *args)


def _text_relationships(store: Any, context: ExecutionContext, args: Sequence[Any]) -> Any:
    """Find the relationships whose texts a query matches, by a FULLTEXT index, with their scores, best first."""
    from qengine.fulltext.search import found_elements

    return found_elements(store, context, "RELATIONSHIP", *args)


_TEXT_INPUTS = "(indexName :: STRING, queryString :: STRING, options = null :: MAP?)"
TEXT_NODES = f"db.index.fulltext.queryNodes{_TEXT_INPUTS} :: (node :: NODE, score :: FLOAT)"
TEXT_RELATIONSHIPS = (
    f"db.index.fulltext.queryRelationships{_TEXT_INPUTS} :: (relationship :: RELATIONSHIP, score :: FLOAT)"
)

for _signature, _search in (
    (NODES, _query_nodes),
    (RELATIONSHIPS, _query_relationships),
    (TEXT_NODES, _text_nodes),
    (TEXT_RELATIONSHIPS, _text_relationships),
):
    BUILT_IN.register(Procedure(parse_signature(_signature), _search, (_search.__doc__ or "").partition("\n")[0]))

BUILT_IN.register(Procedure(parse_signature(SIGNATURE), _cheapest, (_cheapest.__doc__ or "").partition("\n")[0]))
