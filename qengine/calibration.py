"""Measures on a machine what the cost model adds up: the constants of ``catalog/cost/cpu.toml``.

The cost of a plan is a sum: so many lists found, ids read, vertices bound, each times what one takes. The model
says how many, given 1 for one constant and 0 for the others. Patterns are counted by the real search in several orders,
or by elimination, or matched in two parts that are joined, on a graph whose sizes the model knows well (edges at
random), and the constants are fitted to the times: least squares of the logarithms. What the patterns say little about
follows the general speed of the machine.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from qengine import optimizer
from qengine._frozen import frozen
from qengine.binder import bind
from qengine.catalog.costs import costs, using
from qengine.graph import Graph
from qengine.optimizer.elimination.calls import schedule_cost
from qengine.optimizer.joins import joining_cost
from qengine.plan.physical import Eliminate, HashJoin, Search
from qengine.plan.traverse import operators
from qengine.prepared import Prepared
from qengine.syntax import parse

SECTIONS = ("search", "elimination", "join")
"""What is measured, by the names in the catalogue."""

Floats = npt.NDArray[np.float64]

_PATTERNS = {
    "triangle": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(a)",
    "square": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a)",
    "path": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)",
    "star": "(a)-[:R]-(b), (a)-[:R]-(c), (a)-[:R]-(d)",
    "tailed triangle": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(a)-[:R]-(d)",
    "diamond": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(a), (b)-[:R]-(d)-[:R]-(c)",
    "house": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a), (a)-[:R]-(e)-[:R]-(b)",
    "labelled path": "(a:A)-[:R]-(b:B)-[:R]-(c:A)-[:R]-(d:B)",
    "labelled square": "(a:A)-[:R]-(b:B)-[:R]-(c:A)-[:R]-(d)-[:R]-(a)",
}
_ELIMINATED = {
    "path": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(e)",
    "directed path": "(a)-[:S]->(b)-[:S]->(c)-[:S]->(d)",
    "path either way": "(a)-[:S]-(b)-[:S]-(c)-[:S]-(d)",
    "labelled star": "(a:A)-[:R]-(b:B), (a)-[:R]-(c:A), (a)-[:R|S]-(d:B)",
    "triangle": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(a)",
    "tailed triangle": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(a)-[:R]-(d)",
    "labelled triangle": "(a)-[:R]-(b:A)-[:R]-(c:B)-[:R]-(a)",
    "triangle either way": "(a)-[:S]-(b)-[:S]-(c)-[:S]-(a)",
    "directed triangle": "(a)-[:S]->(b)-[:S]->(c)-[:S]->(a)",
    "diamond": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(a), (b)-[:R]-(d)-[:R]-(c)",
    "square": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a)",
    "square of two types": "(a)-[:R]-(b)-[:S]->(c)-[:R]-(d)-[:S]->(a)",
    "house": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a), (a)-[:R]-(e)-[:R]-(b)",
    "pentagon": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(e)-[:R]-(a)",
    "kite": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(a), (b)-[:R]-(d)-[:R]-(c), (d)-[:R]-(e)",
    "wheel": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a), (a)-[:R]-(e)-[:R]-(b), (c)-[:R]-(e)-[:R]-(d)",
    "clique": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(a), (a)-[:R]-(d)-[:R]-(b), (c)-[:R]-(d)",
    "filtered path": "(a WHERE a.p < 8)-[:R]-(b WHERE b.p > 2)-[:R]-(c WHERE c.p <> 5)",
    "filtered star": "(a WHERE a.p <> 5)-[:R]-(b WHERE b.p > 2), (a)-[:R]-(c WHERE c.p > 3), (a)-[:S]->(d)",
}
_JOINED = {
    "a, b | b, c": "(a)-[:R]-(b)-[:R]-(c)",
    "a, b, c | c, d": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)",
    "a, b, c | c, d, e": "(a:A)-[:R]-(b:A)-[:R]-(c:B), (c)-[:R]-(d:A)-[:R]-(e:B)",
    "a, b, c | a, d, c": "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a)",
    "a, b, c, d | d, e, a": "(a:A)-[:R]-(b:B)-[:R]-(c:A)-[:R]-(d:B)-[:R]-(e:A)-[:R]-(a)",
    "a, b | b, c, d": "(a)-[:R]-(b:A)-[:R]-(c:A)-[:R]-(d:A)",
}
_ORDERS = ("abcde", "badce", "cabde", "dabce", "bcade")
_MODES = ("DIFFERENT RELATIONSHIPS ", "REPEATABLE ELEMENTS ")
_DEGREE = 12  # relationships of a node on average
_LONGEST = 2.0  # seconds: longer queries are left out
_SHORTEST = 5e5  # nanoseconds: below it a query takes what no constant stands for
_ROUNDS = 100
_NEAR = 1e-7  # of a constant's logarithm
_SEARCHES = "searches"  # stands among a join's constants for how much longer its searches take than the model says
_LOYALTY = 0.3  # how strongly constants keep together, against one query


@frozen
class Calibration:
    """``constants``: nanoseconds by name. ``before``, ``after``: the factor by which costs miss times, on average."""

    constants: Mapping[str, float]
    before: float
    after: float


def calibrate(
    section: str = "search",
    vertices: int = 20_000,
    clock: Callable[[], float] = time.process_time,
    progress: Callable[[str], None] = lambda message: None,
) -> Calibration:
    """Measure the constants of one section of the catalogue.

    Parameters
    ----------
    section
        One of ``SECTIONS``.
    vertices
        Of the graph that is searched.
    clock
        Seconds of this process.
    progress
        Told what is measured next.
    """
    progress("make a graph")
    graph = _graph(vertices)
    base = dict(costs("cpu", section))
    if section == "join":
        base[_SEARCHES] = 1.0
    times, events = [], []
    for number, text in enumerate(texts := queries(section)):
        progress(f"{number + 1} of {len(texts)}: {text}")
        with using(base, section):
            query = graph.prepare(text)
        one = ({each: float(each == name) for each in base} for name in base)
        counted = np.array([_cost(query, section, constants) for constants in one])
        if counted @ np.array(list(base.values())) > _LONGEST * 1e9:
            continue
        seconds = min(_seconds(query, clock) for _ in range(3))
        if seconds * 1e9 >= _SHORTEST:
            times.append(seconds * 1e9)
            events.append(counted)
    found = fitted(np.array(times), np.array(events).reshape(len(times), len(base)), list(base.values()))
    constants = dict(zip(base, found.tolist(), strict=True))
    constants.pop(_SEARCHES, None)
    return Calibration(
        constants,
        _missed(times, events, list(base.values())),
        _missed(times, events, found),
    )


def queries(section: str = "search") -> list[str]:
    """Return texts: counts whose order is given, or that are eliminated, or rows of two parts that are joined."""
    if section == "join":
        found = []
        for hint, pattern in _JOINED.items():
            every = " + ".join(f"id({name})" for name in sorted(set(hint) & set("abcde")))  # else rows are counted
            found += [f"/*+ join({hint}) */ MATCH {mode}{pattern} RETURN sum({every})" for mode in _MODES]
        return found
    if section == "elimination":
        texts = (f"MATCH {mode}{pattern} RETURN count(*)" for pattern in _ELIMINATED.values() for mode in _MODES)
        return [f"/*+ eliminate */ {text}" for text in texts]
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


@functools.lru_cache(maxsize=1)
def _graph(vertices: int) -> Graph:
    """Return a graph with relationships at random, each between two nodes and once, two labels and a property.

    R has no direction; S, which joins the same nodes, has one. All sections are measured on the same graph.
    """
    rng = np.random.default_rng(1)
    ends = np.sort(rng.integers(0, vertices, (2, vertices * _DEGREE // 2)), axis=0)
    ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    picked = random.Random(1)
    nodes = [{"id": row, "labels": picked.choice("AB"), "properties": {"p": row % 10}} for row in range(vertices)]
    relationships = [{"type": name, "start": start, "end": end} for name in "RS" for start, end in ends.T.tolist()]
    return Graph.from_records(nodes, relationships, undirected=["R"])


def _cost(query: Prepared, section: str, constants: Mapping[str, float]) -> float:
    """Return what a query costs by these constants, in the order or by the steps that it runs in."""
    store, text = query._view.current().store, query.text
    if section == "elimination":
        with using(constants, section):
            plan = query._planned.physical
            found = [] if plan is None else [each for each in operators(plan.root) if isinstance(each, Eliminate)]
            return sum(schedule_cost(store, each, schedule) for each in found for schedule in each.schedules[:1])
    if section == "join":
        return _cost_of_join(query, constants)
    with using(constants, section):
        ordered = optimizer.plan(bind(parse(text)[0], text, store).plan, store)
    return sum(each.cost or 0.0 for each in operators(ordered.root) if isinstance(each, Search))


def _cost_of_join(query: Prepared, constants: Mapping[str, float]) -> float:
    plan = query._planned.physical
    joins = [] if plan is None else [each for each in operators(plan.root) if isinstance(each, HashJoin)]
    cost = 0.0
    for join in joins:
        sides = [[each for each in operators(side) if isinstance(each, Search)] for side in (join.input, join.build)]
        probed, held = (each[0].rows or 0.0 if each else 0.0 for each in sides)
        with using(constants, "join"):
            cost += joining_cost(probed, held, join.rows or 0.0)
        cost += constants[_SEARCHES] * sum(search.cost or 0.0 for side in sides for search in side)
    return cost


def _seconds(query: Prepared, clock: Callable[[], float]) -> float:
    begin = clock()
    query.run(threads=1, device="cpu").value()
    return clock() - begin


def _missed(times: Sequence[float], events: Sequence[Floats], constants: Sequence[float] | Floats) -> float:
    if not times:
        return 1.0
    logs = np.log(np.array(times) / np.maximum(np.array(events) @ np.array(constants), 1e-9))
    return float(np.exp(np.abs(logs).mean()))
