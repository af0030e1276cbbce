"""Strategies of commits with every value that a property may have."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from qengine.catalog.rules import EXISTENCE, INDEXES, KEY, TYPE, UNIQUE, Rule, Rules
from qengine.errors import StorageError
from qengine.storage.states import Commit, NodeBlock, NodeState, Patch, RelationshipBlock, RelationshipState
from qengine.storage.variant import from_python
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time
from qengine.temporal.arrow import to_values
from qengine.temporal.fields import checked_days
from qengine.temporal.native import from_native
from qengine.temporal.values import DAY, SECOND

_LAST_DAY = Date(999_999_999, 12, 31).days
_FIRST_DAY = Date(-999_999_999, 1, 1).days
assert checked_days(_FIRST_DAY) < checked_days(_LAST_DAY)
_ZONES = ("Europe/Stockholm", "America/New_York", "Asia/Kathmandu", "UTC")
_OFFSETS = st.integers(-18 * 3600, 18 * 3600)
_TIMES = st.integers(0, DAY - 1)
_MOMENTS = st.integers(_FIRST_DAY * DAY, (_LAST_DAY + 1) * DAY - 1)
_WIDE = st.integers(-(2**63), 2**63 - 1)

CHARACTERS = st.characters()  # surrogates alone, too
TEMPORAL = st.one_of(
    st.builds(Date.from_days, st.integers(_FIRST_DAY, _LAST_DAY)),
    st.builds(LocalTime.from_nanoseconds, _TIMES),
    st.builds(lambda time, offset: Time.from_utc(time - offset * SECOND, offset), _TIMES, _OFFSETS),
    st.builds(LocalDateTime.from_nanoseconds, _MOMENTS),
    st.builds(DateTime.from_utc, _MOMENTS.map(lambda utc: utc // 2), _OFFSETS),
    st.builds(DateTime.from_utc, st.sampled_from((_FIRST_DAY * DAY, (_LAST_DAY + 1) * DAY - 1)), st.just(0)),
    st.datetimes(timezones=st.sampled_from([ZoneInfo(name) for name in _ZONES])).map(from_native),
    st.builds(Duration.from_parts, _WIDE, _WIDE, st.integers(-(2**63 - 1) * SECOND, 2**63 * SECOND - 1)),
)
SCALARS = st.one_of(
    st.booleans(),
    _WIDE,
    st.floats(),
    st.sampled_from((0.0, -0.0, float("inf"), -float("inf"), float("nan"), 5e-324, 1.7976931348623157e308)),
    st.text(CHARACTERS),
    TEMPORAL,
)
VALUES = SCALARS | st.lists(
    st.recursive(st.none() | SCALARS, lambda inside: st.lists(inside, max_size=3), max_leaves=8), max_size=4
)
PROPERTIES = st.dictionaries(st.text(CHARACTERS), VALUES, max_size=3)
NAMES = st.text(CHARACTERS, max_size=5)
KINDS = st.sampled_from((*INDEXES, UNIQUE, KEY, EXISTENCE, TYPE))
RULES = st.lists(
    st.builds(Rule, NAMES, KINDS, st.sampled_from(("NODE", "RELATIONSHIP")), NAMES, st.lists(NAMES).map(tuple), NAMES),
    max_size=3,
).map(lambda rules: Rules(tuple(rules)).rows())


@st.composite
def commits(draw):
    next_node, next_relationship = draw(st.integers(0, 2**63 - 2)), draw(st.integers(0, 2**63 - 2))
    nodes, relationships = {}, {}
    if next_node:
        numbers = st.integers(0, next_node - 1)
        labels = st.lists(NAMES, unique=True, max_size=3).map(tuple)
        states = st.none() | st.builds(NodeState, labels, PROPERTIES)
        nodes = draw(st.dictionaries(numbers, states, max_size=3))
        if next_relationship:
            states = st.none() | st.builds(RelationshipState, NAMES, numbers, numbers, PROPERTIES)
            relationships = draw(st.dictionaries(st.integers(0, next_relationship - 1), states, max_size=3))
    blocks = draw(_node_blocks(next_node)), draw(_relationship_blocks(next_relationship, next_node))
    patches = draw(_patches(next_node, labels=True)), draw(_patches(next_relationship, labels=False))
    return Commit(nodes, relationships, next_node, next_relationship, draw(st.none() | RULES), *blocks, *patches)


@st.composite
def _patches(draw, following, *, labels):
    found = []
    for _ in range(draw(st.integers(0, 2)) if following else 0):
        numbers = draw(st.lists(st.integers(0, following - 1), unique=True, max_size=3).map(sorted))
        if draw(st.booleans()):
            found.append(Patch(np.array(numbers, np.int64), deleted=True))
            continue
        columns = {name: _array(values) for name, values in draw(_columns(len(numbers))).items()}
        names = st.lists(NAMES, unique=True, max_size=2 * labels).map(tuple)
        found.append(Patch(np.array(numbers, np.int64), columns, draw(names), draw(names)))
    return tuple(found)


def _array(values):
    try:
        return from_python(values, "a property")
    except StorageError:  # what a version couldn't hold either
        return pa.nulls(len(values))


@st.composite
def _runs(draw, following):
    """First numbers and lengths of blocks, ascending."""
    found, least = [], 0
    for _ in range(draw(st.integers(0, 2))):
        if least >= following:
            break
        first = draw(st.integers(least, following - 1))
        count = draw(st.integers(1, min(3, following - first)))
        found.append((first, count))
        least = first + count
    return found


def _columns(count):
    values = st.lists(st.none() | VALUES, min_size=count, max_size=count)
    whole = st.lists(_WIDE, min_size=count, max_size=count)
    return st.dictionaries(st.text(CHARACTERS), values | whole, max_size=2)


@st.composite
def _node_blocks(draw, following):
    labels = st.lists(NAMES, unique=True, max_size=2).map(tuple)
    runs = draw(_runs(following))
    return tuple(NodeBlock(first, count, draw(labels), draw(_columns(count))) for first, count in runs)


@st.composite
def _relationship_blocks(draw, following, next_node):
    found = []
    for first, count in draw(_runs(following)) if next_node else ():
        numbers = st.lists(st.integers(0, next_node - 1), min_size=count, max_size=count)
        ends = (np.array(draw(numbers), np.int64) for _ in range(2))
        found.append(RelationshipBlock(first, count, draw(NAMES), *ends, draw(_columns(count))))
    return tuple(found)


def exact(value):
    """A value with all that makes it what it is: its class, a zero's sign, NaN as equal to itself."""
    if isinstance(value, list):
        return [exact(each) for each in value]
    if isinstance(value, NodeState):
        return value.labels, [(name, exact(each)) for name, each in value.properties.items()]
    if isinstance(value, RelationshipState):
        inside = [(name, exact(each)) for name, each in value.properties.items()]
        return value.type, value.start, value.end, inside
    if isinstance(value, Commit):
        of_nodes = [(number, exact(each)) for number, each in value.nodes.items()]
        of_relationships = [(number, exact(each)) for number, each in value.relationships.items()]
        blocks = [exact(each) for each in (*value.node_blocks, *value.relationship_blocks)]
        blocks += [exact(each) for each in (*value.node_patches, "", *value.relationship_patches)]
        return of_nodes, of_relationships, value.next_node, value.next_relationship, value.rules, blocks
    if isinstance(value, NodeBlock | RelationshipBlock):
        columns = [(name, exact(each)) for name, each in value.columns.items()]
        if isinstance(value, NodeBlock):
            return value.first, value.count, value.labels, columns
        return value.first, value.count, value.type, value.starts.tolist(), value.ends.tolist(), columns
    if isinstance(value, Patch):
        columns = [(name, exact(to_values(array))) for name, array in value.columns.items()]
        return value.numbers.tolist(), columns, value.added, value.removed, value.deleted
    if type(value) is str:
        return str, value
    return type(value), repr(value), getattr(value, "zone", None)
