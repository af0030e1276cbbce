"""Reads of the generated network while it grows: ``python -m tests.bench.network.inserts --size s``.

What is inserted are persons, forums, posts, comments, likes, memberships and friends, each as a transaction, as often
as the network has them. Each short and interactive question is asked with the same parameters of a graph that gets
inserts before every read and of one that never gets any, by turns; processor time of all threads, in milliseconds.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp, log
from pathlib import Path
from typing import Any

from qengine import Graph
from tests.bench.network.parameters import Parameters
from tests.bench.network.tables import SIZES, NetworkSize, prepare
from tests.bench.network.workload import Question, questions

_PERSON = """
MATCH (city:City {id: $city})
CREATE (p:Person {id: $id, firstName: $first, lastName: 'Last1', gender: 'female', birthday: date('1990-05-01'),
  creationDate: $date, locationIP: '10.0.7.7', browserUsed: 'Firefox', email: ['mail1.example.org'], speaks: ['en']})
  -[:isLocatedIn]->(city)
WITH p
UNWIND $tags AS tag
MATCH (t:Tag {id: tag})
CREATE (p)-[:hasInterest]->(t)"""
_LIKE = "MATCH (p:Person {id: $person}), (m:LABEL {id: $message}) CREATE (p)-[:likes {creationDate: $date}]->(m)"
_FORUM = """
MATCH (p:Person {id: $person})
CREATE (f:Forum {id: $id, title: 'Forum of ' + $id, creationDate: $date})-[:hasModerator]->(p)
WITH f
UNWIND $tags AS tag
MATCH (t:Tag {id: tag})
CREATE (f)-[:hasTag]->(t)"""
_MEMBER = """
MATCH (f:Forum {id: $forum}), (p:Person {id: $person})
CREATE (f)-[:hasMember {joinDate: $date}]->(p)"""
_POST = """
MATCH (p:Person {id: $person}), (f:Forum {id: $forum}), (c:Country {id: $country})
CREATE (m:Post {id: $id, creationDate: $date, locationIP: '10.0.7.7', browserUsed: 'Firefox', language: 'en',
  content: 'Post ' + $id, length: 90})-[:hasCreator]->(p), (f)-[:containerOf]->(m), (m)-[:isLocatedIn]->(c)
WITH m
UNWIND $tags AS tag
MATCH (t:Tag {id: tag})
CREATE (m)-[:hasTag]->(t)"""
_COMMENT = """
MATCH (p:Person {id: $person}), (parent:LABEL {id: $message}), (c:Country {id: $country})
CREATE (m:Comment {id: $id, creationDate: $date, locationIP: '10.0.7.7', browserUsed: 'Firefox',
  content: 'Comment ' + $id, length: 90})-[:hasCreator]->(p), (m)-[:replyOf]->(parent), (m)-[:isLocatedIn]->(c)
WITH m
UNWIND $tags AS tag
MATCH (t:Tag {id: tag})
CREATE (m)-[:hasTag]->(t)"""
_KNOWS = "MATCH (a:Person {id: $person}), (b:Person {id: $friend}) CREATE (a)-[:knows {creationDate: $date}]->(b)"

_NEW = 1_000_000_000  # ids of what is inserted begin here
_BEGIN = datetime(2012, 6, 1)


@dataclass(frozen=True)
class Insert:
    """A statement and its parameters."""

    text: str
    params: Mapping[str, Any]


class Inserts:
    """Draws inserts into a network of a size: what it has more of comes more often."""

    def __init__(self, size: NetworkSize, seed: int) -> None:
        self._size = size
        self._dice = random.Random(seed)
        self._count = 0
        self._kinds = {
            self._person: size.persons,
            self._forum: size.forums,
            self._member: size.members,
            self._post: size.posts,
            self._comment: size.comments,
            self._like: size.likes,
            self._friend: size.knows,
        }

    def draw(self) -> Insert:
        """Return the next insert."""
        self._count += 1
        return self._dice.choices(list(self._kinds), list(self._kinds.values()))[0]()

    def _given(self, **names: int) -> dict[str, Any]:
        drawn = {name: int(count * self._dice.random() ** 1.5) for name, count in names.items()}
        date = _BEGIN + timedelta(minutes=self._count)
        tags = sorted({int(self._size.tags * self._dice.random() ** 2) for _ in range(self._dice.randrange(4))})
        return {**drawn, "id": _NEW + self._count, "date": date, "tags": tags}

    def _person(self) -> Insert:
        first = f"First{self._dice.randrange(400)}"
        return Insert(_PERSON, {**self._given(city=self._size.cities), "first": first})

    def _forum(self) -> Insert:
        return Insert(_FORUM, self._given(person=self._size.persons))

    def _member(self) -> Insert:
        return Insert(_MEMBER, self._given(person=self._size.persons, forum=self._size.forums))

    def _post(self) -> Insert:
        countries = self._size.countries
        return Insert(_POST, self._given(person=self._size.persons, forum=self._size.forums, country=countries))

    def _comment(self) -> Insert:
        return self._about(_COMMENT, country=self._size.countries)

    def _like(self) -> Insert:
        return self._about(_LIKE)

    def _about(self, text: str, **names: int) -> Insert:
        """Return what a person does with a post or a comment."""
        size = self._size
        label, first, count = self._dice.choice((("Post", 0, size.posts), ("Comment", size.posts, size.comments)))
        given = self._given(person=size.persons, message=count, **names)
        return Insert(text.replace("LABEL", label), {**given, "message": first + given["message"]})

    def _friend(self) -> Insert:
        return Insert(_KNOWS, self._given(person=self._size.persons, friend=self._size.persons))


@dataclass
class Read:
    """The times of one question, in seconds: in the graph that grows, and in the one that doesn't."""

    question: Question
    growing: list[float]
    still: list[float]

    @property
    def factor(self) -> float:
        """How many times the median in the one that doesn't grow the other takes."""
        return statistics.median(self.growing) / statistics.median(self.still)


def measured(
    folder: Path, size: str, rounds: int, before: int, only: Sequence[str], seed: int
) -> tuple[list[Read], list[float]]:
    """Ask all questions a round, each after so many inserts; return their times, and those of the inserts."""
    still, growing = Graph.from_parquet(folder), Graph.from_parquet(folder)
    parameters, inserts = Parameters(folder, seed), Inserts(SIZES[size], seed)
    asked = [each for each in questions() if each.group in ("short", "interactive")]
    reads = [Read(each, [], []) for each in asked if not only or each.name in only]
    spent = []
    for round in range(rounds + 1):  # the first one makes indexes and plans, in both
        for read in reads:
            values = parameters.draw()
            for _ in range(before):
                insert = inserts.draw()
                spent.append(_spent(growing, insert.text, insert.params)[0])
            text = read.question.texts["cypher"]
            both = ((growing, read.growing), (still, read.still))
            for graph, times in both if round % 2 else both[::-1]:  # the first finds caches that the insert has filled
                time_of, _ = _spent(graph, text, values)
                if round:
                    times.append(time_of)
    return reads, spent


def _spent(graph: Graph, text: str, params: Mapping[str, Any]) -> tuple[float, int]:
    begin = time.process_time()
    rows = len(graph.query(text, params=params, threads=2).to_arrow())
    return time.process_time() - begin, rows


def report(reads: Sequence[Read], spent: Sequence[float]) -> Iterator[str]:
    """Give the lines of a table in Markdown, and a summary."""
    yield "| | question | without inserts, ms | between inserts, ms | factor |\n|---|---|---|---|---|"
    groups: dict[str, list[Read]] = defaultdict(list)
    for read in reads:
        groups[read.question.group].append(read)
        times = (f"{1e3 * statistics.median(each):.2f}" for each in (read.still, read.growing))
        yield f"| {read.question.name} | {read.question.title} | {' | '.join(times)} | {read.factor:.2f} |"
    yield ""
    for name, own in groups.items():
        mean = exp(sum(log(read.factor) for read in own) / len(own))
        sums = [sum(map(sum, each)) for each in ([r.growing for r in own], [r.still for r in own])]
        yield f"- {name}: {mean:.2f} times in the geometric mean of medians, {sums[0] / sums[1]:.2f} of all time."
    yield f"- an insert: {1e3 * statistics.median(spent):.2f} ms in the median of {len(spent)}."


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.network.inserts", description=__doc__)
    add = parser.add_argument
    add("--size", choices=SIZES, default="s", help="of the network (default: s)")
    add("--rounds", type=int, default=5, help="of all questions (default: 5)")
    add("--before", type=int, default=1, help="inserts before each read (default: 1)")
    add("--only", type=lambda text: text.split(","), default=(), help="a,b: names of questions (default: all)")
    add("--seed", type=int, default=1, help="of parameters and inserts (default: 1)")
    add("--data", type=Path, default=Path("bench-data"), help="where the tables are kept (default: bench-data)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = prepare(options.data, options.size)
    found = measured(folder, options.size, options.rounds, options.before, options.only, options.seed)
    print("\n".join(report(*found)))


if __name__ == "__main__":
    main()
