"""Measures on a machine what the cost model adds up: the constants of ``catalog/cost/cpu.toml``.

The cost of an order is a sum: so many lists found, ids read, vertices bound, each times what one takes. The model
says how many, given 1 for one constant and 0 for the others. Patterns are counted by the real search in several orders
on a graph whose sizes the model knows well (edges at random), and the constants are fitted to the times: least squares
of the logarithms. What the patterns say little about follows the general speed of the machine.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from qengine import optimizer
from qengine._frozen import frozen
from qengine.binder import bind
from qengine.catalog.costs import costs, using
from qengine.graph import Graph, Prepared
from qengine.plan.physical import Search
from qengine.plan.traverse import operators
from qengine.syntax import parse

__all__ = ["Calibration", "calibrate", "fitted", "queries"]

Floats = npt.NDArray[np.float64]

_PATTERNS = {
    "triangle": "(a)--(b)--(c)--(a)",
    "square": "(a)--(b)--(c)--(d)--(a)",
    "path": "(a)--(b)--(c)--(d)",
    "star": "(a)--(b), (a)--(c), (a)--(d)",
    "tailed triangle": "(a)--(b)--(c)--(a)--(d)",
    "diamond": "(a)--(b)--(c)--(a), (b)--(d)--(c)",
    "house": "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "labelled path": "(a:A)--(b:B)--(c:A)--(d:B)",
    "labelled square": "(a:A)--(b:B)--(c:A)--(d)--(a)",
}
_ORDERS = ("abcde", "badce", "cabde", "dabce", "bcade")
_MODES = ("DIFFERENT RELATIONSHIPS ", "REPEATABLE ELEMENTS ")
_DEGREE = 12  # relationships of a node on average
_LONGEST = 2.0  # seconds: longer queries are left out
_SHORTEST = 5e5  # nanoseconds: below it a query takes what no constant stands for
_ROUNDS = 100
_NEAR = 1e-7  # of a constant's logarithm
_LOYALTY = 0.3  # how strongly constants keep together, against one query


@frozen
class Calibration:
    """``constants``: nanoseconds by name. ``before``, ``after``: the factor by which costs miss times, on average."""

    constants: Mapping[str, float]
    before: float
    after: float


def calibrate(
    vertices: int = 20_000,
    clock: Callable[[], float] = time.process_time,
    progress: Callable[[str], None] = lambda message: None,
) -> Calibration:
    """Measure the constants of the search.

    Parameters
    ----------
    vertices
        Of the graph that is searched.
    clock
        Seconds of this process.
    progress
        Told what is measured next.
    """
    progress("make a graph")
    graph = _graph(vertices)
    base = costs("cpu", "search")
    times, events = [], []
    for number, text in enumerate(texts := queries()):
        progress(f"{number + 1} of {len(texts)}: {text}")
        with using(base):
            query = graph.prepare(text)
        counted = np.array([_cost(graph, text, {each: float(each == name) for each in base}) for name in base])
        if counted @ np.array(list(base.values())) > _LONGEST * 1e9:
            continue
        seconds = min(_seconds(query, clock) for _ in range(3))
        if seconds * 1e9 >= _SHORTEST:
            times.append(seconds * 1e9)
            events.append(counted)
    found = fitted(np.array(times), np.array(events).reshape(len(times), len(base)), list(base.values()))
    return Calibration(
        dict(zip(base, found.tolist(), strict=True)),
        _missed(times, events, list(base.values())),
        _missed(times, events, found),
    )


def queries() -> list[str]:
    """Return counting texts whose order is given."""
    found = []
    for pattern in _PATTERNS.values():
        nodes = [name for name in "abcde" if f"({name}" in pattern]
        for mode in _MODES:
            for order in _ORDERS[:3] if ":" in pattern else _ORDERS:
                hint = ", ".join(name for name in order if name in nodes)
                text = f"/*+ order({hint}) */ MATCH {mode}{pattern} RETURN count(*)"
                found += [text] if text not in found else []
    return found


def fitted(times: Floats, events: Floats, base: Sequence[float]) -> Floats:
    """Return constants by which events best add up to times.

    Parameters
    ----------
    times
        float64[queries], above 0.
    events
        float64[queries, constants]: how often each constant counts in each query.
    base
        What constants are expected to be, up to one common factor.
    """
    logs = np.log(np.asarray(base, np.float64))
    if not len(times):
        return np.exp(logs)
    together = _LOYALTY * (np.eye(len(logs)) - 1.0 / len(logs))  # of the changes, what is not common to all

    def misses(changes: Floats) -> Floats:
        expected = np.maximum(events @ np.exp(logs + changes), 1e-9)
        return np.concatenate([np.log(times / expected), -together @ changes])

    changes = np.zeros(len(logs))
    missed = misses(changes)
    for _ in range(_ROUNDS):  # Gauss and Newton, with shorter steps where a whole one misses by more
        parts = events * np.exp(logs + changes)
        slopes = np.vstack([parts / np.maximum(parts.sum(axis=1, keepdims=True), 1e-9), together])
        step = np.linalg.lstsq(slopes, missed, rcond=None)[0]
        while (now := misses(changes + step)) @ now > missed @ missed and np.abs(step).max() > _NEAR:
            step /= 2
        if np.abs(step).max() <= _NEAR:
            break
        changes += step
        missed = now
    return np.exp(logs + changes)


def _graph(vertices: int) -> Graph:
    """Return a graph with relationships at random, each between two nodes and once, and two labels."""
    rng = np.random.default_rng(1)
    ends = np.sort(rng.integers(0, vertices, (2, vertices * _DEGREE // 2)), axis=0)
    ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    picked = random.Random(1)
    nodes = [{"id": row, "labels": picked.choice("AB")} for row in range(vertices)]
    relationships = [{"type": "R", "start": start, "end": end} for start, end in ends.T.tolist()]
    return Graph.from_records(nodes, relationships, undirected=["R"])


def _cost(graph: Graph, text: str, constants: Mapping[str, float]) -> float:
    with using(constants):
        plan = optimizer.plan(bind(parse(text)[0], text, graph._store).plan, graph._store)
    return sum(each.cost or 0.0 for each in operators(plan.root) if isinstance(each, Search))


def _seconds(query: Prepared, clock: Callable[[], float]) -> float:
    begin = clock()
    query.run(threads=1, device="cpu").value()
    return clock() - begin


def _missed(times: Sequence[float], events: Sequence[Floats], constants: Sequence[float] | Floats) -> float:
    if not times:
        return 1.0
    logs = np.log(np.array(times) / np.maximum(np.array(events) @ np.array(constants), 1e-9))
    return float(np.exp(np.abs(logs).mean()))
