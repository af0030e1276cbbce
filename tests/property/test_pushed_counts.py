"""Counts of circles whose vertices are pushed on with weights, many to one vertex, against sums over the edges."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from qengine import Graph


@pytest.mark.parametrize(
    ("messages", "persons", "answers", "parents_each"),
    [(400, 12, 3000, 3), (40, 150, 900, 3), (3000, 5, 3100, 3), (3000, 30, 9000, 1)],
)
def test_circles_by_way_of_what_many_have(messages: int, persons: int, answers: int, parents_each: int) -> None:
    dice = random.Random(messages)
    parents = [{dice.randrange(messages) for _ in range(1 + answer % parents_each)} for answer in range(answers)]
    check(dice, [dice.randrange(persons) for _ in range(messages)], persons, parents)


def test_what_does_not_meet_at_first_does_later() -> None:
    """The last person, with the fewest messages, has many answers to several of them: more than there are answers."""
    alone = [{answer} for answer in range(6000)]
    several = [set(range(6000, 6190)) for _ in range(60)]
    check(random.Random(1), [row // 300 for row in range(6000)] + [20] * 190, 21, alone + several)


def check(dice: random.Random, own: list[int], persons: int, parents: list[set[int]]) -> None:
    """Compare the counts of all orders; ``own``: each message's author, ``parents``: the messages of each answer."""
    messages, answers = len(own), len(parents)
    by = [dice.randrange(persons) for _ in range(answers)]
    friends = {(a, b) for a in range(persons) for b in range(a) if dice.random() < 0.6}
    labels = {"P": persons, "M": messages, "C": answers}
    nodes = [{"id": f"{label}{row}", "labels": label} for label, n in labels.items() for row in range(n)]
    edges = [{"type": "by", "start": f"M{row}", "end": f"P{person}"} for row, person in enumerate(own)]
    edges += [{"type": "by", "start": f"C{row}", "end": f"P{person}"} for row, person in enumerate(by)]
    of = [(row, one) for row, found in enumerate(parents) for one in found]
    edges += [{"type": "of", "start": f"C{row}", "end": f"M{one}"} for row, one in of]
    edges += [{"type": "knows", "start": f"P{a}", "end": f"P{b}"} for a, b in sorted(friends)]
    graph = Graph.from_records(nodes, edges)
    pairs = Counter((own[one], by[row]) for row, one in of)
    expected = sum(n for (a, b), n in pairs.items() if (a, b) in friends or (b, a) in friends)
    circle = "MATCH (c:C)-[:of]->(m:M)-[:by]->(a:P)-[:knows]-(b:P)<-[:by]-(c) RETURN count(*)"
    for order in ("a, m, c, b", "b, c, m, a", "c, m, a, b", "a, b, m, c"):
        assert graph.query(f"/*+ order({order}) */ {circle}", threads=1).fetchall() == [(expected,)], order
