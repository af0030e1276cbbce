"""What EXPLAIN says of lists for which the device's memory that a query may use has no room."""

from __future__ import annotations

from collections.abc import Iterator

from qengine.exec.gpu.count import use_of
from qengine.exec.gpu.device_program import OperatorFacts
from qengine.exec.gpu.placement import Use, placement, scratch_bytes
from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction
from qengine.plan.physical import EdgeLevel, Eliminate, PhysicalPlan, Search
from qengine.plan.traverse import operators

_READ = {
    Use.SEARCH: "read over the link where they are",
    Use.VECTORS: "read over the link in order",
    Use.COPIES: "copied to the GPU as far as there is room",
}


def expected_placement(plan: PhysicalPlan, store: ExecView, limit: int) -> dict[int, list[str]]:
    """Return, by ``id`` of each search and elimination whose lists exceed a limit, where these lie and what crosses.

    Parameters
    ----------
    limit
        Bytes of the device's memory that the query may use.
    """
    found: dict[int, list[str]] = {}
    for operator in operators(plan.root):
        text, search = None, operator
        if isinstance(operator, Eliminate) and operator.schedule("gpu") is None:
            search = operator.search
        if isinstance(search, Search):
            text = _of_lists(store, limit, _bytes_of(store, search), use_of(search))
        elif isinstance(operator, Eliminate):
            facts = OperatorFacts(operator)
            text = _of_lists(store, limit, facts.lists_bytes(store), Use.VECTORS)
            if text is not None and facts.at_random and operator.schedule("cpu") is not None:
                text = f"run on the CPU, since {facts.at_random} reads at random what the GPU has no room for"
        if text is not None:
            found[id(operator)] = [text]
    return found


def _of_lists(store: ExecView, limit: int, n_bytes: int, use: Use) -> str | None:
    placed = placement(limit, n_bytes, int(store.vertex_count), use)
    if placed.is_whole:
        return None
    elsewhere = n_bytes - placed.bytes_of(n_bytes, by_vertex=False)
    how = _READ.get(use)
    if how is None:
        count = -(-n_bytes // max(1, limit - scratch_bytes(limit)))
        how = f"copied to the GPU in about {count} segments, for each of which lists of roots cross the link"
    return f"{elsewhere / 1e6:,.1f} MB of its lists will be in the host's memory, {how}"


def _bytes_of(store: ExecView, search: Search) -> int:
    """Return the bytes of the lists that a search reads."""
    return sum(
        each.nbytes - (0 if each.edge_ids is None else each.edge_ids.nbytes)
        for each in (store.adjacency(index, direction) for index, direction in set(_lists_of(store, search)))
    )


def _lists_of(store: ExecView, search: Search) -> Iterator[tuple[int, Direction]]:
    for level in search.levels:
        for source in (level,) if isinstance(level, EdgeLevel) else level.sources:
            for name in source.types or tuple(info.name for info in store.types):
                if (index := store.type_index(name)) is not None:
                    for direction in source.direction.stored(store.types[index].undirected):
                        yield index, direction
