"""Appends tables to a graph: few rows as a statement would, many as columns of a new version.

Few are kept beside the version that they are added to, and in the log of a folder, which costs what they are. Of many
a version is made at once, and a folder is saved anew, which costs what the graph is, but little for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from qengine._gc import gc_paused
from qengine.catalog.rules import Rule
from qengine.errors import StorageError
from qengine.exec.context import ExecutionContext
from qengine.storage.memory import within_memory
from qengine.storage.progress import Progress
from qengine.storage.states import Commit, NodeBlock, RelationshipBlock
from qengine.storage.store import GraphStore
from qengine.storage.successor import successor
from qengine.storage.variant import is_present
from qengine.temporal.arrow import to_values
from qengine.write.given_tables import Extension, Options, Tables, resolved
from qengine.write.known_nodes import LiveNodes, StoredNodes
from qengine.write.live import LiveGraph
from qengine.write.overlay import Changes, Overlay
from qengine.write.rules import check_touched
from qengine.write.versions import Writer

__all__ = ["Options", "append"]

_FEW = 1_000  # rows that are always added one by one
_MOST = 65_536  # that ever are
_ROW = 8_192  # bytes of a graph that are copied and saved in the time that one such row takes
_HELD = 4  # times the tables' bytes, with what is made of them
_LOOKS = 256  # rows between two looks at the limits


_CheckRule = Callable[[Rule, GraphStore, ExecutionContext], None]


@within_memory
def append(
    writer: Writer,
    nodes: Any,
    relationships: Any,
    options: Options,
    context: ExecutionContext,
    check_rule: _CheckRule,
) -> Changes:
    """Append tables as ``Graph.append_arrow`` says, without committing; where it fails, nothing was changed.

    ``check_rule``: checks that a version satisfies a constraint.

    Raises
    ------
    StorageError
        As ``given_tables.resolved``.
    ExecutionError
        ``ConstraintValidationFailed``.
    """
    context.check()
    tables = Tables(nodes, relationships, options)
    with context.memory.holding("Append") as holding, gc_paused():
        holding.set(_HELD * tables.nbytes)
        if _is_few(tables, writer.overlay):
            return _append_rows(writer, tables, context)
        return _append_columns(writer, tables, context, check_rule)


def _is_few(tables: Tables, overlay: Overlay) -> bool:
    store = overlay.base.store
    if any(name not in store.relationship_types for name in tables.undirected):
        return False  # only a version says that a type is undirected
    return tables.rows <= max(_FEW, min(_MOST, store.nbytes // _ROW))


def _check_directions(tables: Tables, store: GraphStore) -> None:
    directed = {kind.name for kind in store.types if not kind.undirected} & tables.undirected
    if directed:
        raise StorageError(
            f"the relationships of type {min(directed)} have a direction", hint="Leave the type out of undirected."
        )


# ---------------------------------------------------------------- few rows


def _append_rows(writer: Writer, tables: Tables, context: ExecutionContext) -> Changes:
    overlay = writer.overlay
    _check_directions(tables, overlay.base.store)
    graph = LiveGraph(overlay)
    graph.begin(context)
    extension = resolved(tables, LiveNodes(graph, context.check), context.check)
    overlay.changes = Changes()
    mark = overlay.mark()
    try:
        _add(extension, overlay, context.check)
        check_touched(graph, mark)
    except BaseException:
        overlay.take_back(mark)
        raise
    return overlay.changes


def _add(extension: Extension, overlay: Overlay, check: Callable[[], None]) -> None:
    for block in extension.nodes:
        for properties in _maps(block.columns, block.rows, check):
            overlay.create_node(block.labels, {key: value for key, value in properties.items() if value is not None})
    for each in extension.replaced:
        numbers = each.numbers.tolist()
        overlay.read_ahead(numbers, [])
        for number, properties in zip(numbers, _maps(each.columns, len(numbers), check), strict=True):
            _set(overlay, number, properties)
    for links in extension.relationships:
        ends = zip(links.start.tolist(), links.end.tolist(), strict=True)
        for (start, end), properties in zip(ends, _maps(links.columns, len(links.start), check), strict=True):
            kept = {key: value for key, value in properties.items() if value is not None}
            overlay.create_relationship(links.type, start, end, kept)


def _maps(columns: Mapping[str, Any], count: int, check: Callable[[], None]) -> Iterator[dict[str, Any]]:
    """Give the properties of each row, with nulls."""
    for first in range(0, count, _LOOKS):
        check()
        values = [to_values(array.slice(first, _LOOKS)) for array in columns.values()]
        for row in range(min(_LOOKS, count - first)):
            yield {key: own[row] for key, own in zip(columns, values, strict=True)}


def _set(overlay: Overlay, number: int, given: Mapping[str, Any]) -> None:
    state = overlay.node(number)
    assert state is not None
    count = sum(value is not None or key in state.properties for key, value in given.items())
    new = {key: value for key, value in {**state.properties, **given}.items() if value is not None}
    overlay.set_node_properties(number, state, new, count)


# ---------------------------------------------------------------- many rows


def _append_columns(writer: Writer, tables: Tables, context: ExecutionContext, check_rule: _CheckRule) -> Changes:
    store = writer.sealed()
    _check_directions(tables, store)
    extension = resolved(tables, StoredNodes(store), context.check)
    context.check()
    with Progress("Appending", tables.rows) as progress:
        made = successor(store, _commit(extension, store), extension.undirected)
        progress.advance(tables.rows)
    for rule in made.rules.constraints:
        if _is_about(rule, extension, store):
            check_rule(rule, made, context)
    changes = _counted(extension, store)
    context.check()
    writer.rebase(made)
    return changes


def _commit(extension: Extension, store: GraphStore) -> Commit:
    """Return what is appended as the changes of a version."""
    next_node, next_relationship = store.next_node, store.next_relationship
    nodes, relationships = [], []
    for block in extension.nodes:
        nodes.append(NodeBlock(next_node, block.rows, tuple(block.labels), block.columns))
        next_node += block.rows
    for links in extension.relationships:
        count = len(links.start)
        relationships.append(
            RelationshipBlock(next_relationship, count, links.type, links.start, links.end, links.columns)
        )
        next_relationship += count
    return Commit(
        {},
        {},
        next_node,
        next_relationship,
        node_blocks=tuple(each for each in nodes if each.count),
        relationship_blocks=tuple(each for each in relationships if each.count),
        node_patches=tuple(extension.replaced),
    )


def _is_about(rule: Rule, extension: Extension, store: GraphStore) -> bool:
    if not rule.of_nodes:
        return any(block.type == rule.label for block in extension.relationships)
    return bool(extension.replaced) or any(rule.label in block.labels for block in extension.nodes)


def _counted(extension: Extension, store: GraphStore) -> Changes:
    """Return what was done, as counts; ``store``: the version before."""
    found = Changes()
    for block in extension.nodes:
        found.nodes_created += block.rows
        found.labels_added += block.rows * len(block.labels)
        found.properties_set += sum(int(is_present(array).sum()) for array in block.columns.values())
    for each in extension.replaced:
        ids = store.node_numbers.places(each.numbers)
        for key, array in each.columns.items():
            column = store.node_property(key)
            given = is_present(array)
            set_here = given if column is None else given | is_present(column.take(ids))
            found.properties_set += int(set_here.sum())
    for links in extension.relationships:
        found.relationships_created += len(links.start)
        found.properties_set += sum(int(is_present(array).sum()) for array in links.columns.values())
    return found
