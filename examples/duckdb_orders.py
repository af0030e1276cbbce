"""Order DuckDB's joins by sampled estimates, where columns go together as statistics of single columns can't tell.

Persons know persons, mostly of their own city, and like tags, mostly of their own country; few have most of both.
Queries of 5 to 12 joins are drawn from a seed. Each runs in DuckDB as it orders the joins itself; and again so, but
once that takes long the estimates of all connected parts suggest another order, which takes over where it promises to
be done far sooner. Seconds of the processor, one thread each, that of estimating and of what was given up included; of
two runs the shorter one.

Run it from anywhere:
python examples/duckdb_orders.py [--queries 4] [--persons 5000] [--seed 1] [--patience 0.2] [--verbose]
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import qengine
from qengine.estimate import EstimateTable

if TYPE_CHECKING:
    import duckdb

SAMPLES = 2_000
SECONDS = 5.0  # that a query may take, in either order
PATIENCE = 0.2  # seconds of DuckDB's own order before anything is estimated
TURNS = 3.0  # times what ours is expected to take
LOOK = 0.002  # seconds between two looks whether a query is done
MOST_ROWS = 1e6  # of a query: what counts more rows takes as long in any order
ENOUGH_HITS = 30
HASHED, PROBED, FOUND = 80.0, 10.0, 6.0  # nanoseconds of a row that a join hashes, looks up, gives
SCANNED = 2.0  # nanoseconds of a row that is read
CITIES, COUNTRIES, TAGS = 500, 20, 2_000


@dataclass(frozen=True)
class Edge:
    """A relationship of a query: its table, and the variables of its ends."""

    table: str
    start: str
    end: str


@dataclass(frozen=True)
class Query:
    """Edges between variables, of which those of ``conditions`` have one on their own columns."""

    edges: tuple[Edge, ...]
    conditions: Mapping[str, str]

    @property
    def joins(self) -> int:
        """How many tables are joined, less one."""
        return len(self.edges) + len(self.conditions) - 1

    def label(self, name: str) -> str:
        """Return a variable's table."""
        return "Tag" if any(each.table == "likes" and each.end == name for each in self.edges) else "Person"

    def pattern(self) -> str:
        """Return the query as a pattern."""
        seen = set[str]()

        def node(name: str) -> str:
            text = f"({name})" if name in seen else f"({name}:{self.label(name)})"
            seen.add(name)
            return text

        edges = ", ".join(f"{node(each.start)}-[:{each.table}]->{node(each.end)}" for each in self.edges)
        where = " AND ".join(f"{name}.{text}" for name, text in self.conditions.items())
        return f"MATCH REPEATABLE ELEMENTS {edges} WHERE {where}"

    def sql(self) -> str:
        """Return the query as DuckDB gets it, to be ordered by itself."""
        tables = [f'"{each.table}" e{k}' for k, each in enumerate(self.edges)]
        tables += [f'"{self.label(name)}" {name}' for name in self.conditions]
        where = [f"{name}.{text}" for name, text in self.conditions.items()]
        columns: dict[str, list[str]] = {name: [f"{name}.id"] for name in self.conditions}
        for k, each in enumerate(self.edges):
            columns.setdefault(each.start, []).append(f'e{k}."start"')
            columns.setdefault(each.end, []).append(f'e{k}."end"')
        where += [f"{first} = {other}" for first, *others in columns.values() for other in others]
        return f"SELECT count(*) FROM {', '.join(tables)} WHERE {' AND '.join(where)}"


def tables(persons: int, seed: int = 7) -> dict[str, pa.Table]:
    """Return the tables ``Person``, ``Tag``, ``knows`` and ``likes``; the latter have ``start`` and ``end``."""
    rng = np.random.default_rng(seed)
    ids = np.arange(persons)
    city = np.minimum(np.sort(rng.zipf(1.3, persons) % CITIES), CITIES - 1)
    country = city % COUNTRIES
    rank = rng.permutation(persons)

    def skewed(count: int, size: int, exponent: float) -> np.ndarray:
        weights = (1.0 + np.arange(count)) ** -exponent
        return np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(size)).clip(0, count - 1)

    start = rank[skewed(persons, 20 * persons, 0.6)]
    near = (start + np.rint(rng.laplace(0, 50, len(start)))).astype(np.int64) % persons
    end = np.where(rng.random(len(start)) < 0.8, near, rank[skewed(persons, len(start), 0.6)])
    knows = np.unique(start * persons + end)
    fan = rank[skewed(persons, 8 * persons, 0.5)]
    liked = np.unique(fan * TAGS + (skewed(TAGS, len(fan), 0.9) + 97 * country[fan]) % TAGS)
    degree = np.bincount(knows // persons, minlength=persons)
    return {
        "Person": pa.table(
            {
                "id": ids,
                "city": city,
                "country": country,
                "language": np.where(rng.random(persons) < 0.9, country, rng.integers(0, COUNTRIES, persons)),
                "active": np.minimum(degree // 10, 30),
            }
        ),
        "Tag": pa.table({"id": np.arange(TAGS), "theme": (np.arange(TAGS) // 97) % COUNTRIES}),
        "knows": pa.table({"start": knows // persons, "end": knows % persons}),
        "likes": pa.table({"start": liked // TAGS, "end": liked % TAGS}),
    }


def drawn(graph: qengine.Graph, count: int, seed: int) -> list[Query]:
    """Return queries: trees of 3 to 8 relationships, some with one more that closes a cycle, and 2 to 5 conditions."""
    source = random.Random(seed)
    found: list[Query] = []
    while len(found) < count:
        names = ["p0"]
        edges: list[Edge] = []
        for k in range(source.randint(3, 8)):
            here = source.choice([name for name in names if name[0] == "p"])
            tags = [name for name in names if name[0] == "t"]
            roll = source.random()
            if roll < 0.3:
                there = f"t{k}"
                edges.append(Edge("likes", here, there))
            elif roll < 0.4 and tags:
                there = f"p{k + 1}"
                edges.append(Edge("likes", there, source.choice(tags)))
            else:
                there = f"p{k + 1}"
                edges.append(Edge("knows", *((here, there) if source.random() < 0.7 else (there, here))))
            names.append(there)
        if source.random() < 0.5:
            persons = [name for name in names if name[0] == "p"]
            one, other = source.choice(persons), source.choice(persons)
            if one != other and not any({one, other} == {each.start, each.end} for each in edges):
                edges.append(Edge("knows", one, other))
        picked = source.sample(names, min(len(names), source.randint(2, 5)))
        query = Query(tuple(edges), {name: condition(source, name) for name in picked})
        if 5 <= query.joins <= 12 and graph.query(f"{query.pattern()} RETURN toFloat(count(*))").value() <= MOST_ROWS:
            found.append(query)
    return found


def condition(source: random.Random, name: str) -> str:
    """Return a condition on one column of a person or a tag."""
    if name[0] == "t":
        return f"theme = {source.randrange(COUNTRIES)}"
    return source.choice(
        (
            f"city = {source.randrange(40)}",
            f"country = {source.randrange(COUNTRIES)}",
            f"language = {source.randrange(COUNTRIES)}",
            f"active > {source.randint(2, 12)}",
            f"active = {source.randint(1, 20)}",
        )
    )


def neighbours(query: Query) -> dict[str, set[str]]:
    """Return the variables that relationships join to each."""
    found: dict[str, set[str]] = {}
    for each in query.edges:
        found.setdefault(each.start, set()).add(each.end)
        found.setdefault(each.end, set()).add(each.start)
    return found


def expected_rows(query: Query, table: EstimateTable) -> dict[frozenset[str], float]:
    """Return the rows of each part: as estimated, or where samples seldom hit as smaller parts let expect.

    Two parts that differ in a variable each, which no relationship joins, are taken to be independent given what they
    share. Of all such pairs the one that lets expect most counts: what goes together makes rows more, not fewer
    (Chen, Huang, Wang, Salihoglu, Salem, PVLDB 2022).
    """
    joined = neighbours(query)
    rows: dict[frozenset[str], float] = {}
    for nodes, found in table.items():  # small parts first
        rows[nodes] = found.value
        if found.is_exact or found.hits >= ENOUGH_HITS or len(nodes) < 3:
            continue
        ends = [name for name in sorted(nodes) if nodes - {name} in rows]
        expected = [
            rows[nodes - {one}] * rows[nodes - {other}] / max(rows[nodes - {one, other}], 1.0)
            for one, other in combinations(ends, 2)
            if other not in joined[one] and nodes - {one, other} in rows
        ]
        share = found.hits / ENOUGH_HITS if expected else 1.0
        rows[nodes] = share * found.value + (1 - share) * max(expected, default=0.0)
        if not expected and not found.hits:  # a triangle: as its sides let expect
            rows[nodes] = min(
                rows[nodes - {last}] * rows[frozenset((near, last))] / max(rows[frozenset((near,))], 1.0)
                for last in ends
                for near in joined[last] & nodes
            )
    return rows


@dataclass(frozen=True)
class Plan:
    """How the part between some variables is joined: its nanoseconds, its rows, and the joins as DuckDB gets them.

    ``is_scan``: of a table, which each plan reads once.
    """

    cost: float
    rows: float
    text: str
    is_scan: bool = False


class Orders:
    """Joins of one query, bushy ones too, that take least by ``rows``: of each connected part, as estimated."""

    def __init__(self, query: Query, rows: Mapping[frozenset[str], float]) -> None:
        self.query = query
        self.rows = rows
        self.neighbours = neighbours(query)
        self.middles = [frozenset((name,)) for name in sorted(self.neighbours)]
        self.middles += [
            frozenset(pair)
            for pair in combinations(sorted(self.neighbours), 2)
            if pair[1] not in self.neighbours[pair[0]]
        ]

    def best(self) -> Plan:
        """Return the query with its joins in the order that takes least, by dynamic programming over its parts."""
        found: dict[frozenset[str], Plan] = {}
        for nodes in self.rows:  # small parts first
            if len(nodes) == 1:
                found[nodes] = Plan(0.0, self.rows[nodes], self.filtered(next(iter(nodes))))
                continue
            plans = [self.grown(found, nodes - {last}, last) for last in sorted(nodes) if nodes - {last} in found]
            plans += self.joined(found, nodes)
            found[nodes] = min(plans, key=lambda plan: plan.cost)
        plan = found[max(found, key=len)]
        read = SCANNED * sum(SIZES[each.table] for each in self.query.edges)
        return replace(plan, cost=plan.cost + read, text=f"SELECT count(*) FROM ({plan.text})")

    def filtered(self, name: str) -> str:
        """Return the ids of a variable that its condition admits; nothing where it has none."""
        condition = self.query.conditions.get(name)
        return f'SELECT id AS {name} FROM "{self.query.label(name)}" WHERE {condition}' if condition else ""

    def grown(self, found: Mapping[frozenset[str], Plan], nodes: frozenset[str], last: str) -> Plan:
        """Return the plan that joins one variable to a part: by the relationship first that adds fewest rows."""
        plan = found[nodes]
        edges = [each for each in self.query.edges if {each.start, each.end} <= nodes | {last}]
        edges = [each for each in edges if last in (each.start, each.end)]
        rows = {each: self.fan(nodes, each.start if each.end == last else each.end, last) for each in edges}
        edges.sort(key=lambda each: rows[each])
        first, after = rows[edges[0]], self.rows[nodes | {last}]
        for number, edge in enumerate(edges):
            text = f'SELECT "start" AS {edge.start}, "end" AS {edge.end} FROM "{edge.table}"'
            size = float(SIZES[edge.table])
            if number == 0 and last in self.query.conditions:
                text += f" WHERE {last} IN ({self.filtered(last)})"
                size *= self.rows[frozenset((last,))] / SIZES[self.query.label(last)]
            share = number / (len(edges) - 1) if len(edges) > 1 else 1.0
            here = max(first, 1.0) ** (1 - share) * max(after, 1.0) ** share
            other = Plan(0.0, size, text, is_scan=True)
            shared = {edge.start, edge.end} & (nodes | ({last} if number else set()))
            plan = (
                replace(other, rows=here, is_scan=False) if not plan.text else both(plan, other, here, sorted(shared))
            )
        return plan

    def fan(self, nodes: frozenset[str], near: str, last: str) -> float:
        """Return the rows of a part with one relationship more, whatever others there are to its end.

        As many more as it adds to the largest part within that has no other relationship to that end.
        """
        alone = nodes - (self.neighbours[last] - {near})
        grows = [part for part in self.rows if near in part and part <= alone and part | {last} in self.rows]
        part = max(grows, key=len)
        return self.rows[nodes] * self.rows[part | {last}] / max(self.rows[part], 1.0)

    def joined(self, found: Mapping[frozenset[str], Plan], nodes: frozenset[str]) -> list[Plan]:
        """Return the plans that join two parts by what they share: a variable, or two that no relationship joins.

        The latter are the two ways around a cycle, which join by join is closed only at its end.
        """
        plans: list[Plan] = []
        for middle in self.middles:
            if middle < nodes:
                left = set(nodes - middle)
                while left:
                    component = {min(left)}
                    while more := (set[str]().union(*(self.neighbours[name] for name in component)) & left) - component:
                        component |= more
                    left -= component
                    one, other = middle | component, nodes - component
                    if min(len(one), len(other)) > 2 and one in found and other in found and middle < other:
                        plans.append(both(found[one], found[other], self.rows[nodes], sorted(middle)))
        return plans


def both(one: Plan, other: Plan, rows: float, shared: Sequence[str]) -> Plan:
    """Return the join of two plans on some columns; the side that is expected to be smaller is hashed: the right one.

    What is hashed by one column filters the scan that it is looked up for.
    """
    few, many = sorted((one, other), key=lambda plan: plan.rows)
    probed = min(many.rows, rows) if many.is_scan and len(shared) == 1 else many.rows
    cost = one.cost + other.cost + HASHED * few.rows + PROBED * probed + FOUND * rows
    return Plan(cost, rows, f"SELECT * FROM ({many.text}) JOIN ({few.text}) USING ({', '.join(shared)})")


SIZES: dict[str, int] = {}


class Run:
    """A query that DuckDB runs, on a thread of its own, until it is done or stopped.

    ``begin``: when its time began, by ``time.process_time``.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, text: str, begin: float) -> None:
        self.count: int | None = None
        self._connection = connection
        self._begin = begin
        self._thread = threading.Thread(target=self._execute, args=(text,))
        self._thread.start()

    def _execute(self, text: str) -> None:
        import duckdb

        with suppress(duckdb.InterruptException):
            row = self._connection.execute(text).fetchone()
            self.count = None if row is None else int(row[0])

    def done_within(self, seconds: float) -> bool:
        """Tell whether it is done once the process has taken so long since then."""
        while self._thread.is_alive() and (left := seconds - (time.process_time() - self._begin)) > 0:
            self._thread.join(max(left, LOOK))
        return not self._thread.is_alive()

    def stopped(self) -> int | None:
        """Stop it, and return its count if it was done."""
        while self._thread.is_alive():
            self._connection.interrupt()
            self._thread.join(LOOK)
        return self.count


@dataclass(frozen=True)
class Ordered:
    """A query run by our orders: its count, None where it was stopped, seconds of the processor; of estimating, too.

    ``turned``: whether the order is ours; else DuckDB's own was soon done, or ours did not promise to be faster.
    """

    count: int | None
    seconds: float
    estimating: float
    turned: bool


def seconds(run: Ordered) -> float:
    """Return the seconds that a run took."""
    return run.seconds


def plain(own: duckdb.DuckDBPyConnection, query: Query) -> Ordered:
    """Run a query in DuckDB's own order."""
    begin = time.process_time()
    run = Run(own, query.sql(), begin)
    run.done_within(SECONDS)
    return Ordered(run.stopped(), time.process_time() - begin, 0.0, False)


def ordered(
    graph: qengine.Graph,
    own: duckdb.DuckDBPyConnection,
    given: duckdb.DuckDBPyConnection,
    query: Query,
    patience: float = PATIENCE,
) -> Ordered:
    """Run a query in DuckDB's own order, and in ours instead once that promises to be done far sooner.

    Nothing is estimated before DuckDB has worked for ``patience`` seconds: what is done by then leaves nothing to
    gain. Its run goes on meanwhile, and until it has taken ``TURNS`` times as long as ours is expected to take.
    """
    begin = time.process_time()
    run = Run(own, query.sql(), begin)
    if run.done_within(patience):
        return Ordered(run.count, time.process_time() - begin, 0.0, False)
    thinking = time.thread_time()
    table = graph.estimate_all(query.pattern(), samples=SAMPLES, seed=1, threads=1)
    plan = Orders(query, expected_rows(query, table)).best()
    estimating = time.thread_time() - thinking
    if run.done_within(min(TURNS * plan.cost / 1e9, SECONDS)):
        return Ordered(run.count, time.process_time() - begin, estimating, False)
    run.stopped()
    run = Run(given, plan.text, begin)
    run.done_within(SECONDS)
    return Ordered(run.stopped(), time.process_time() - begin, estimating, True)


def main() -> None:
    """Print what the queries take in both orders."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--queries", type=int, default=4)
    parser.add_argument("--persons", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=float, default=PATIENCE)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if not find_spec("duckdb"):
        print("This needs DuckDB: pip install duckdb")
        return
    import duckdb

    made = tables(options.persons)
    SIZES.update({name: len(table) for name, table in made.items()})
    ends = {"knows": ("Person", "Person"), "likes": ("Person", "Tag")}
    graph = qengine.Graph.from_arrow(
        {name: made[name] for name in ("Person", "Tag")},
        [(name, *between, made[name]) for name, between in ends.items()],
    )
    own, given = duckdb.connect(), duckdb.connect()
    for connection in (own, given):
        connection.execute("SET threads = 1")
        for name, table in made.items():
            connection.register("made", table)
            connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM made')
            connection.unregister("made")
    given.execute("SET disabled_optimizers = 'join_order,build_side_probe_side,compressed_materialization'")
    found: list[tuple[Ordered, Ordered]] = []
    for query in drawn(graph, options.queries, options.seed):
        theirs, ours = plain(own, query), ordered(graph, own, given, query, options.patience)
        if theirs.count is not None:  # the first run of each reads more from memory than the next
            theirs, ours = (
                min(theirs, plain(own, query), key=seconds),
                min(ours, ordered(graph, own, given, query, options.patience), key=seconds),
            )
        if None not in (theirs.count, ours.count) and theirs.count != ours.count:
            raise AssertionError(f"{theirs.count} and {ours.count}: {query.pattern()}")
        if options.verbose:
            times = f"{1e3 * theirs.seconds:9.1f} ms, ours {1e3 * ours.seconds:9.1f}"
            print(f"{query.joins:3} joins {ours.count!s:>14} {times}{' turned' if ours.turned else ''}", flush=True)
        found.append((theirs, ours))
    print(summary(found))


def totals(found: Sequence[tuple[Ordered, Ordered]]) -> tuple[float, float]:
    """Return the seconds that queries took in all: in DuckDB's own orders, and in ours."""
    return sum(own.seconds for own, _ in found), sum(each.seconds for _, each in found)


def summary(found: Sequence[tuple[Ordered, Ordered]]) -> str:
    """Return what queries took: DuckDB's own orders, and ours."""
    theirs, ours = totals(found)
    ended = [pair for pair in found if any(each.count is not None for each in pair)]
    own, given = totals(ended)
    ratios = sorted(each.seconds / own.seconds for own, each in found)
    turned = [each for _, each in found if each.turned]
    asked = [each.estimating for _, each in found if each.estimating]
    return "\n".join(
        [
            f"{len(found)} queries: {theirs:.2f} s in DuckDB's own orders, {ours:.2f} s in ours",
            f"{ours / theirs:.2f} times in all, the median {ratios[len(ratios) // 2]:.2f}, the worst {ratios[-1]:.2f}, "
            f"{sum(each > 1.2 for each in ratios)} over 1.2",
            f"{given / own:.2f} times, {own:.2f} and {given:.2f} s, without {len(found) - len(ended)} stopped in both",
            f"{len(asked)} were estimated, in {sum(asked):.2f} s, and {len(turned)} turned to another order",
        ]
    )


if __name__ == "__main__":
    main()
