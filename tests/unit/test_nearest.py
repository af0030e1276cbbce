"""Which name is suggested for a misspelled one: only one that is near."""

from __future__ import annotations

import random
from functools import cache

import pytest

from qengine import Graph, QengineError
from qengine._nearest import nearest
from qengine.catalog import functions

NAMES = ("name", "population", "area", "KNOWS", "age", "toInteger", "n")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("nmae", "name"),
        ("anme", "name"),
        ("nam", "name"),
        ("namee", "name"),
        ("NAME", "name"),
        ("knows", "KNOWS"),
        ("knwos", "KNOWS"),
        ("popluation", "population"),
        ("poulaton", "population"),
        ("ag", "age"),
        ("N", "n"),
        ("game", None),  # a first letter is seldom mistyped
        ("m", None),
        ("ares", "area"),
        ("ears", None),
        ("notion", None),
        ("toFloat", None),
        ("", None),
    ],
)
def test_only_near_names_are_suggested(written: str, meant: str | None) -> None:
    assert nearest(written, NAMES) == meant


def distance(one: str, other: str) -> int:
    """Return how many slips lie between two words, by trying all ways to write one as the other."""

    @cache
    def left(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return len(one) - i + len(other) - j
        ways = [left(i + 1, j) + 1, left(i, j + 1) + 1]
        ways.append(left(i + 1, j + 1) + (0 if one[i] == other[j] else 2 if i == j == 0 else 1))
        if one[i : i + 2] == other[j : j + 2][::-1] and len(one[i : i + 2]) == 2:
            ways.append(left(i + 2, j + 2) + 1)
        return min(ways)

    return left(0, 0)


def test_none_that_is_near_is_passed_over() -> None:
    draw = random.Random(1)
    for _ in range(3000):
        written, *known = ("".join(draw.choices("abcd", k=draw.randint(0, 9))) for _ in range(4))
        most = 0 if len(written) < 2 else max(1, len(written) // 3)
        near = [(distance(written, each), place) for place, each in enumerate(known)]
        slips, place = min(near)
        assert nearest(written, known) == (known[place] if slips <= most else None), (written, known)


def test_the_nearest_of_several_is_suggested_and_the_first_of_equals() -> None:
    assert nearest("countr", ["count", "country", "counter"]) == "count"
    assert nearest("country", ["counter", "Country"]) == "Country"
    assert nearest("x", []) is None


@pytest.mark.parametrize("written", ["spatial", "levenshtein", "soundex", "uuid", "similarity"])
def test_functions_that_are_far_off_are_not_suggested(written: str) -> None:
    assert functions.nearest(written) is None


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("MATCH (city:City) RETURN ctiy", "Did you mean `city`?"),
        ("MATCH (city:City) RETURN river", None),
        ("RETURN tointger('1')", "Did you mean `toInteger`?"),
        ("RETURN levenshtein('a', 'b')", None),
        ("MACTH (n) RETURN n", "Did you mean MATCH?"),
        ("MATCH (n) RETRUN n", "Did you mean RETURN?"),
        ("/*+ oder(n) */ MATCH (n) RETURN n", "Did you mean `order`?"),
        ("/*+ nonsense */ MATCH (n) RETURN n", "Hints are order(a, b, …)"),
        ("SELECT name FROM Person", "This is Cypher, not SQL"),
        ("SHOW TABLES", "SHOW lists INDEXES"),
        ("DROP INDEX x", "SHOW INDEXES lists them"),
    ],
)
def test_errors_suggest_near_names_only(text: str, hint: str | None) -> None:
    graph = Graph.from_records([{"id": 1, "labels": "City", "properties": {"name": "Lima"}}])
    with pytest.raises(QengineError) as caught:
        graph.query(text)
    if hint is None:
        assert "Did you mean" not in str(caught.value)
    else:
        assert caught.value.hint is not None and caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("MATCH (n:Ctiy) RETURN n", "Did you mean `City`?"),
        ("MATCH (n:Volcano) RETURN n", None),
        ("MATCH (n) RETURN n.nmae", "Did you mean `name`?"),
        ("MATCH (n) RETURN n.elevation", None),
        ("MATCH ()-[:IM]->() RETURN 1", "Did you mean `IN`?"),
        ("MATCH ()-[:KNOWS]->() RETURN 1", None),
    ],
)
def test_notices_suggest_near_names_only(text: str, hint: str | None) -> None:
    nodes = [{"id": 1, "labels": "City", "properties": {"name": "Lima"}}]
    graph = Graph.from_records(nodes, [{"type": "IN", "start": 1, "end": 1}])
    (notice,) = graph.prepare(text).notices
    assert notice.hint == hint
