"""``frozen`` and ``record`` beside the dataclasses of the standard library, which it stands for."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine._frozen import KeptHash, frozen, record, replace


def classes(make: Any, make_keyword_only: Any) -> tuple[Any, Any, Any]:
    @make_keyword_only
    class Base:
        """Its fields come last in the signature."""

        span: int = dataclasses.field(default=0, compare=False, repr=False)

    @make
    class Pair(Base):
        """Two fields, one with a default."""

        left: object
        right: object = None
        extra: list[int] = dataclasses.field(default_factory=list, compare=False)

    @make
    class Empty(Base):
        """Nothing to compare."""

    return Base, Pair, Empty


OURS = classes(frozen, frozen(kw_only=True))
THEIRS = classes(
    dataclasses.dataclass(frozen=True, slots=True), dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
)
VALUES = st.one_of(st.integers(0, 2), st.none(), st.tuples(st.integers(0, 1)))
ARGUMENTS = st.tuples(st.lists(VALUES, min_size=1, max_size=2), st.fixed_dictionaries({}, optional={"span": VALUES}))


@given(ARGUMENTS, ARGUMENTS)
def test_content_and_repr_are_as_the_standard_librarys(first: Any, second: Any) -> None:
    ours, theirs = ([kind[1](*positional, **named) for positional, named in (first, second)] for kind in (OURS, THEIRS))
    assert repr(ours[0]) == repr(theirs[0])
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
    if ours[0] == ours[1]:
        assert hash(ours[0]) == hash(ours[1])
    replaced = dataclasses.replace(ours[0], left=ours[1].left)
    assert (replaced.left, replaced.right, replaced.span) == (ours[1].left, ours[0].right, ours[0].span)
    assert dataclasses.asdict(ours[0]) == dataclasses.asdict(theirs[0])


@pytest.mark.parametrize("kinds", [OURS, THEIRS])
def test_the_rest_is_the_same(kinds: tuple[Any, Any, Any]) -> None:
    base, pair, empty = kinds
    assert empty() == empty(span=3)
    assert empty() != base()
    assert pair.__match_args__ == ("left", "right", "extra")
    assert not hasattr(pair(1), "__dict__")
    assert pair(1).extra is not pair(1).extra
    for change in (lambda: setattr(pair(1), "left", 2), lambda: delattr(pair(1), "left")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    with pytest.raises(TypeError):
        pair()
    with pytest.raises(TypeError):
        pair(1, 2, [], 4)
    assert copy.deepcopy(pair([1], empty())) == pair([1], empty())


@pytest.mark.parametrize("make", [record, dataclasses.dataclass(slots=True)])
def test_a_record_can_be_changed(make: Any) -> None:
    @make
    class Point:
        """One field and a list."""

        x: int
        tags: list[int] = dataclasses.field(default_factory=list)

    point = Point(1)
    point.x = 2
    point.tags.append(3)
    assert point == Point(2, [3]) != Point(2)
    assert repr(point).endswith("Point(x=2, tags=[3])")
    assert dataclasses.replace(point, x=4).tags is point.tags
    assert not hasattr(point, "__dict__")
    with pytest.raises(TypeError):
        hash(point)
    with pytest.raises(TypeError):
        Point()


def test_what_users_hold_refuses_changes_outside_of_tests_too() -> None:
    text = """
import qengine
graph = qengine.example()
result = graph.query("MATCH (n:Country) RETURN n.nmae LIMIT 1")
result.fetchall()
for held, field in ((graph.schema, "nodes"), (result.notices[0], "message"), (result.notices[0].span, "start")):
    try:
        setattr(held, field, None)
    except AttributeError:
        continue
    raise SystemExit(f"{held!r} took another {field}")
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@frozen
class _Key(KeptHash):
    name: str
    rest: tuple[object, ...] = ()


def test_a_kept_hash_is_that_of_the_content_and_stays_in_its_process() -> None:
    key = _Key("a", (_Key("b"),))
    assert hash(key) == hash(_Key("a", (_Key("b"),))) != hash(replace(key, name="c"))
    for other in (copy.copy(key), copy.deepcopy(key), pickle.loads(pickle.dumps(key))):
        assert other == key
        assert not hasattr(other, "_hash")  # texts have other hashes in another process
        assert hash(other) == hash(key)
