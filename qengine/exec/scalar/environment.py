"""What expressions may ask for besides their row: the graph's properties and labels, the parameters, chance."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from qengine._cached import cached_property
from qengine.errors import ExecutionError, InternalError
from qengine.exec.memory import MemoryAccount
from qengine.exec.scalar.foreign import find_in_graph
from qengine.exec.scalar.parameters import from_python
from qengine.exec.scalar.values import Given, NodeHandle, RelationshipHandle
from qengine.exec.sizes import size_of
from qengine.exec.view import ColumnReader, GraphReader

if TYPE_CHECKING:
    from qengine.plan.expr import Subquery

Row = Mapping[str, Any]

_ALONE = 32  # property values that are read before it looks as if a page were needed
_PAGE = 256  # property values are read and kept in pages of so many ids
_LONG_VALUE = 1 << 12  # bytes of a value, on average, from which each is a page by itself
_PAGES_BYTES = 1 << 22  # what the pages of one property may take before they are dropped
_CACHED_ENTITIES = 1 << 16  # nodes and relationships of which labels and ends are kept


class Environment:
    """Everything outside the row that one execution of a query may read.

    Parameters
    ----------
    store
        The graph; a ``GraphStore`` or a stand-in for it.
    parameters
        The query's parameters as Python values.
    subqueries
        Compiles a ``Subquery`` expression; None where plans hold none.
    seed
        Seed of ``rand()``; None for a different sequence each time.
    memory
        Where the values that expressions make are charged; it also looks at the clock. None: without limits.
    """

    def __init__(
        self,
        store: GraphReader,
        parameters: Mapping[str, Any] | None = None,
        *,
        subqueries: Callable[[Subquery], Callable[[Row], Any]] | None = None,
        seed: int | None = None,
        memory: MemoryAccount | None = None,
    ) -> None:
        self.store = store
        self.memory = MemoryAccount(None) if memory is None else memory
        self.take_parameters(parameters or {})
        self._seed = seed
        self.now = time.time_ns()
        self._subqueries = subqueries
        self._node_readers: dict[str, _Pages | None] = {}
        self._relationship_readers: dict[tuple[int, str], _Pages | None] = {}
        self._labels: dict[int, frozenset[str]] = {}
        self._relationships: dict[int, tuple[int, int, int]] = {}

    @cached_property
    def random(self) -> Callable[[], float]:
        """Returns the next random number; seeded when it is first asked for, which takes as long as a small query."""
        return random.Random(self._seed).random

    def take_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Convert parameters to values of the language, which are what expressions read from now on.

        Raises
        ------
        ExecutionError
            For what is none, or isn't of this graph.
        """
        given: list[Given] = []
        #: The elements among them, or in them.
        self.given_elements = given
        self.parameters = {name: from_python(value, f"${name}", given) for name, value in parameters.items()}
        if self.memory.limit is not None and self.parameters:
            self.memory.holding("Parameters").set(size_of(list(self.parameters.values())))
        if given:
            find_in_graph(given, self.store)

    def reader_of(self, name: str) -> Callable[[Row], Any]:
        """Return the closure that evaluates a parameter: there is one execution, so its value is known.

        Raises
        ------
        ExecutionError
            As ``parameter``.
        """
        value = self.parameter(name)
        return lambda row: value

    def parameter(self, name: str) -> Any:
        """Return a parameter's value.

        Raises
        ------
        ExecutionError
            ``ParameterMissing`` where it wasn't given.
        """
        try:
            return self.parameters[name]
        except KeyError:
            given = ", ".join(f"${known}" for known in sorted(self.parameters)) or "none"
            raise ExecutionError(
                f"Parameter ${name} has no value.", code="ParameterMissing", hint=f"Given were: {given}."
            ) from None

    def subquery(self, expr: Subquery) -> Callable[[Row], Any]:
        """Return the closure that evaluates a subquery for a row."""
        if self._subqueries is None:
            raise InternalError("A subquery expression was left in a lowered plan.")
        return self._subqueries(expr)

    def labels(self, vertex: int) -> frozenset[str]:
        """Return the set of a vertex's labels."""
        found = self._labels.get(vertex)
        if found is None:
            if len(self._labels) >= _CACHED_ENTITIES:
                self._labels.clear()
            found = self._labels[vertex] = frozenset(self.store.labels_of(vertex))
        return found

    def relationship(self, id: int) -> tuple[int, int, int]:
        """Return type index, start and end vertex of a relationship."""
        found = self._relationships.get(id)
        if found is None:
            if len(self._relationships) >= _CACHED_ENTITIES:
                self._relationships.clear()
            ids = np.array([id], dtype=np.int64)
            start, end = self.store.endpoints(ids)
            found = (int(self.store.type_of(ids)[0]), int(start[0]), int(end[0]))
            self._relationships[id] = found
        return found

    def note_relationship(self, id: int, found: tuple[int, int, int]) -> None:
        """Remember type index, start and end vertex of a relationship that was met."""
        if len(self._relationships) < _CACHED_ENTITIES:
            self._relationships[id] = found

    def type_name(self, id: int) -> str:
        """Return the name of a relationship's type."""
        return self.store.types[self.relationship(id)[0]].name

    def node_property(self, id: int, key: str) -> Any:
        """Return a node's property, None where it has none."""
        try:
            reader = self._node_readers[key]
        except KeyError:
            reader = self._node_readers[key] = _pages(
                self.store.node_property(key), self.store.vertex_count, self.memory
            )
        return None if reader is None else reader.value(id)

    def relationship_property(self, id: int, key: str) -> Any:
        """Return a relationship's property, None where it has none."""
        index = self.relationship(id)[0]
        kind = self.store.types[index]
        try:
            reader = self._relationship_readers[index, key]
        except KeyError:
            reader = _pages(self.store.relationship_property(index, key), kind.count, self.memory)
            self._relationship_readers[index, key] = reader
        return None if reader is None else reader.value(id - kind.base)

    def properties(self, entity: NodeHandle | RelationshipHandle) -> dict[str, Any]:
        """Return all properties of a node or relationship; those that are null are absent."""
        if type(entity) is NodeHandle:
            found = [(key, self.node_property(entity.id, key)) for key in self.store.property_keys("node")]
        else:
            keys = self.store.types[self.relationship(entity.id)[0]].property_keys
            found = [(key, self.relationship_property(entity.id, key)) for key in keys]
        return {key: value for key, value in found if value is not None}


class _Pages:
    """Property values by id, the first few read alone, the others in pages; those that are kept take little."""

    __slots__ = ("_alone", "_bytes", "_column", "_count", "_memory", "_page", "_pages")

    def __init__(self, column: ColumnReader, count: int, memory: MemoryAccount) -> None:
        self._column = column
        self._count = count
        self._memory = memory
        self._page = _PAGE if column.nbytes <= _LONG_VALUE * count else 1
        self._pages: dict[int, list[Any]] = {}
        self._bytes = 0
        self._alone = _ALONE

    def value(self, id: int) -> Any:
        if self._alone:
            self._alone -= 1
            return self._column.value(id)
        number, offset = divmod(id, self._page)
        page = self._pages.get(number)
        if page is None:
            page = self._read(number)
        return page[offset]

    def _read(self, number: int) -> list[Any]:
        begin = number * self._page
        page = self._column.values(np.arange(begin, min(begin + self._page, self._count), dtype=np.int64))
        size = size_of(page)
        self._memory.charge(size)
        self._bytes += size
        if self._bytes > _PAGES_BYTES:
            self._pages.clear()
            self._bytes = size
        if size <= _PAGES_BYTES:
            self._pages[number] = page
        return page


def _pages(column: ColumnReader | None, count: int, memory: MemoryAccount) -> _Pages | None:
    return None if column is None else _Pages(column, count, memory)
