"""Commits come back from their bytes exactly; what isn't one is refused."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine.errors import StorageError
from qengine.storage.states import Commit, NodeBlock, NodeState, Patch, RelationshipBlock, RelationshipState
from qengine.storage.variant import from_python
from qengine.temporal import Date, Duration
from qengine.write.encoding import DEEPEST, decode, encode
from qengine.write.frames import frame
from tests.examples import examples
from tests.property.commits import commits, exact


@settings(max_examples=examples(600))
@given(commits())
def test_a_commit_comes_back(commit):
    data = encode(commit)
    assert exact(decode(data)) == exact(commit)
    assert encode(decode(data)) == data
    assert not {0xFE, 0xFF} & set(data), "these begin records"


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


def with_value(value):
    return Commit({0: NodeState((), {"p": value})}, {}, 1, 0)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_longest_durations_come_back(sign):
    longest = -(2**63) if sign < 0 else 2**63 - 1
    durations = [Duration.from_parts(longest, longest, 0), Duration.from_parts(0, 0, longest * 10**9)]
    commit = Commit({}, {}, 2, 0, None, (NodeBlock(0, 2, (), {"d": durations}),), (), (), ())
    assert exact(decode(encode(commit))) == exact(commit)


def test_lists_come_back_as_deep_as_they_may_be():
    commit = with_value(nested(DEEPEST))
    assert decode(encode(commit)) == commit
    with pytest.raises(StorageError, match=f"nested deeper than {DEEPEST} times"):
        encode(with_value(nested(DEEPEST + 1)))


@pytest.mark.parametrize(
    ("commit", "why"),
    [
        (with_value(2**63), "more than 64 bits"),
        (with_value([-(2**63) - 1]), "more than 64 bits"),
        (with_value({"date": 1}), "can't be a dict"),
        (with_value((1, 2)), "can't be a tuple"),
        (with_value(b"x"), "can't be a bytes"),
        (with_value(None), "can't be a NoneType"),
        (Commit({1: None}, {}, 1, 0), "the number 1 was never given"),
        (Commit({-1: None}, {}, 1, 0), "the number -1 was never given"),
        (Commit({}, {0: RelationshipState("R", 0, 5, {})}, 1, 1), "the number 5 was never given"),
        (Commit({}, {}, 2**63, 0), "was never given"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(commit, why):
    with pytest.raises(StorageError, match=f"can't be logged: .*{why}"):
        encode(commit)


def changed(place, value):
    """A commit's JSON with another value at a place, a path of indices."""
    commit = Commit(
        {0: NodeState(("A", "B"), {"p": 1, "d": Date.from_days(3)}), 1: None},
        {0: RelationshipState("R", 0, 1, {"w": [1, [2.5]]}), 1: None},
        2,
        2,
    )
    found = inside = json.loads(encode(commit))
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = value
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        ((0,), 2, "it has 5 parts"),
        ((0,), 3, "it has 5 parts"),
        ((0,), 4, "it has version 4 of the encoding"),
        ((0,), True, "begins with a version"),
        ((1,), -1, "one that was given"),
        ((1,), 2**63, "one that was given"),
        ((1,), 1, "one that was given"),
        ((2,), "2", "one that was given"),
        ((3,), {}, "aren't a list"),
        ((3, 0), [], "begins with a number"),
        ((3, 0), [0, []], "there aren't 3 parts"),
        ((3, 1), [0], "comes twice"),
        ((3, 0, 1), ["A", "A"], "aren't different names"),
        ((3, 0, 1), ["A", 1], "aren't different names"),
        ((3, 0, 1), [["A"]], "aren't different names"),
        ((3, 0, 2), [], "aren't an object"),
        ((3, 0, 2, "p"), None, "none that there is"),
        ((3, 0, 2, "p"), 2**63, "of 64 bits"),
        ((3, 0, 2, "p"), {}, "none that there is"),
        ((3, 0, 2, "p"), {"date": 1, "time": 2}, "none that there is"),
        ((3, 0, 2, "p"), {"day": 1}, "of a kind that there isn't"),
        ((3, 0, 2, "p"), {"date": 1.0}, "isn't an integer"),
        ((3, 0, 2, "p"), {"date": 10**15}, "beyond"),
        ((3, 0, 2, "p"), {"localtime": -1}, "it must be from 0"),
        ((3, 0, 2, "p"), {"time": [0]}, "there aren't 2 parts"),
        ((3, 0, 2, "p"), {"time": [0, 10**6]}, "offset is"),
        ((3, 0, 2, "p"), {"time": [0, -1]}, "time is"),
        ((3, 0, 2, "p"), {"localdatetime": 10**30}, "beyond"),
        ((3, 0, 2, "p"), {"datetime": [0, 0, "Nowhere/Else"]}, "There is no time zone"),
        ((3, 0, 2, "p"), {"datetime": [0, 0, "../../etc/passwd"]}, "There is no time zone"),
        ((3, 0, 2, "p"), {"datetime": [0, 0, "+01:00"]}, "a zone isn't a name"),
        ((3, 0, 2, "p"), {"datetime": [0, 0, 1]}, "a zone isn't a name"),
        ((3, 0, 2, "p"), {"duration": [2**63, 0, 0]}, "duration is"),
        ((3, 0, 2, "p"), nested(DEEPEST + 1), "none that there is"),
        ((4, 0, 1), 1, "a type isn't a name"),
        ((4, 0, 2), 2, "one that was given"),
        ((4, 0), [0, "R", 0, 1], "there aren't 5 parts"),
    ],
)
def test_what_is_no_commit_is_refused(place, value, why):
    with pytest.raises(StorageError, match=f"can't be understood: .*{why}"):
        decode(changed(place, value))


def changed_block(place, value):
    """The JSON of a commit with blocks, with another value at a place."""
    nodes = NodeBlock(1, 2, ("A",), {"p": [1, None], "d": [Date.from_days(3), "x"]})
    edges = RelationshipBlock(0, 2, "R", np.array([0, 2]), np.array([1, 2]), {"w": [0.5, [1]]})
    commit = Commit({0: None}, {}, 3, 2, None, (nodes,), (edges,))
    found = inside = json.loads(encode(commit))
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = value
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        ((0,), 1, "it has 8 parts"),
        ((6,), {}, "blocks aren't a list"),
        ((6, 0), [1], "begins with two numbers"),
        ((6, 0, 0), 2, "were never given"),
        ((6, 0, 1), 0, "were never given"),
        ((6, 0, 1), 1, "as many values"),
        ((6,), [[1, 1, [], {}], [1, 1, [], {}]], "comes twice"),
        ((6, 0, 2), ["A", "A"], "aren't different names"),
        ((6, 0, 3), [], "aren't an object"),
        ((6, 0, 3, "p"), [1], "as many values"),
        ((6, 0, 3, "p"), [1, 2**63], "of 64 bits"),
        ((6, 0, 3, "d"), [{"day": 1}, 1], "of a kind that there isn't"),
        ((7, 0, 2), 1, "a type isn't a name"),
        ((7, 0, 3), [0, 3], "an end isn't a number"),
        ((7, 0, 4), [0.5, 1], "an end isn't a number"),
        ((7, 0, 4), [0], "as many values"),
    ],
)
def test_what_is_no_block_is_refused(place, value, why):
    with pytest.raises(StorageError, match=f"can't be understood: .*{why}"):
        decode(changed_block(place, value))


def changed_patch(place, value):
    """The JSON of a commit with patches, with another value at a place."""
    columns = {"p": from_python([1, None], ""), "q": pa.nulls(2)}
    nodes = Patch(np.array([0, 2]), columns, ("A",), ("B",))
    edges = Patch(np.array([1]), {"w": from_python([Date.from_days(3)], "")})
    gone = Patch(np.array([0]), deleted=True)
    found = inside = json.loads(encode(Commit({}, {}, 3, 2, None, (), (), (nodes,), (edges, gone))))
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = value
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        ((0,), 2, "it has 10 parts"),
        ((8,), {}, "patches aren't a list"),
        ((8, 0), {}, "begins with numbers"),
        ((8, 0), [], "begins with numbers"),
        ((8, 0, 0), [0, True], "begins with numbers"),
        ((8, 0, 0), [0, 3], "were never given"),
        ((8, 0, 0), [-1, 2], "were never given"),
        ((8, 0, 0), [2, 0], "don't ascend"),
        ((8, 0, 0), [2, 2], "don't ascend"),
        ((8, 0, 0), [0, 1, 2], "as many values"),
        ((8, 0), [[0], {}], "there aren't 4 parts"),
        ((8, 0, 1), [], "aren't an object"),
        ((8, 0, 1, "p"), [1, {"day": 1}], "of a kind that there isn't"),
        ((8, 0, 1, "p"), [1, 2**63], "of 64 bits"),
        ((8, 0, 1, "p"), [1, "\ud800"], "half of a surrogate pair"),
        ((8, 0, 2), "A", "aren't different names"),
        ((8, 0, 3), ["A", "A"], "aren't different names"),
        ((9, 0, 0), [2], "were never given"),
        ((9, 0, 2), ["A"], "has no labels"),
    ],
)
def test_what_is_no_patch_is_refused(place, value, why):
    with pytest.raises(StorageError, match=f"can't be understood: .*{why}"):
        decode(changed_patch(place, value))


@pytest.mark.parametrize("data", [b"", b"[", b"\xff", b"1" * 5000, b"[" * 100_000, b"[1" + b",[" * 50_000, b"null"])
def test_bytes_that_are_no_values_are_refused(data):
    with pytest.raises(StorageError, match="can't be understood"):
        decode(data)


@settings(max_examples=examples(300))
@given(commits(), st.integers(0, 2**63), st.integers(0, 2**63))
def test_records_have_a_fixed_head(commit, number, synced):
    payload = encode(commit)
    found = frame(number, synced, payload)
    assert found.endswith(payload)
    assert len(found) == 32 + len(payload)
