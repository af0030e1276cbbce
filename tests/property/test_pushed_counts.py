"""Counts of circles whose vertices are pushed on with weights, many to one vertex, against sums over the edges."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from qengine import Graph


@pytest.mark.parametrize(("messages", "persons", "answers"), [(400, 12, 3000), (40, 150, 900), (3000, 5, 3100)])
def test_circles_by_way_of_what_many_have(messages: int, persons: int, answers: int) -> None:
    dice = random.Random(messages)
    parents = [{dice.randrange(messages) for _ in range(1 + answer % 3)} for answer in range(answers)]
    own = [dice.randrange(persons) for _ in range(messages)]
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
        assert graph.query(f"/*+ order({order}) */ {circle}").fetchall() == [(expected,)], order
