"""What is counted between groups of vertices, as arrays: the same as by dicts."""

from __future__ import annotations

import math
import random

import pytest

from qengine.storage.group_pairs import NO_PAIRS, NOTHING, POWERS, PairCounts

Counted = dict[tuple[int, int], PairCounts]


def drawn(choice: random.Random, n: int, groups: int = 6) -> Counted:
    found: Counted = {}
    for _ in range(n):
        entries = choice.randint(1, 9)
        moments = [float(choice.randint(0, 50)) for _ in POWERS]
        pair = choice.randrange(groups), choice.randrange(groups)
        found[pair] = entries, choice.randint(1, entries), choice.randint(1, entries), *moments  # type: ignore[assignment]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_changes_follow_each_other(seed: int) -> None:
    choice = random.Random(seed)
    expected: Counted = {}
    found = NO_PAIRS
    for _ in range(8):
        now = drawn(choice, choice.randint(0, 6))
        for pair in choice.sample(sorted(expected), min(len(expected), choice.randint(0, 2))):
            now[pair] = NOTHING
        before = dict(found)
        changed = found.changed(now)
        assert dict(found) == before  # it may be another version's
        expected.update(now)
        expected = {pair: each for pair, each in sorted(expected.items()) if each[0]}
        found = changed
        assert list(found.items()) == list(expected.items())
        assert len(found) == len(expected)
    absent = (7, 1)
    assert absent not in found
    assert found.get(absent, NOTHING) is NOTHING
    with pytest.raises(KeyError):
        found[absent]


@pytest.mark.parametrize("seed", range(20))
def test_groups_together(seed: int) -> None:
    choice = random.Random(seed)
    counts = drawn(choice, 20)
    owners, others = ({choice.randrange(7) for _ in range(choice.randint(0, 4))} for _ in range(2))
    of: dict[int, list[PairCounts]] = {}
    for (owner, other), each in counts.items():
        if owner in owners and other in others:
            of.setdefault(owner, []).append(each)
    entries, sources, most, *moments = NO_PAIRS.changed(counts).added(owners, others)
    assert entries == sum(each[0] for own in of.values() for each in own)
    assert sources == sum(max(each[1] for each in own) for own in of.values())
    assert most == max((sum(each[2] for each in own) for own in of.values()), default=0)
    for place, (moment, power) in enumerate(zip(moments, POWERS, strict=True)):
        grown = (sum(each[3 + place] ** (1 / power) for each in own) ** power for own in of.values())
        assert math.isclose(moment, sum(grown), abs_tol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_other_way_round(seed: int) -> None:
    counts = drawn(random.Random(seed), 12)
    turned = {(other, owner): each for (owner, other), each in counts.items()}
    found, back = NO_PAIRS.changed(counts), NO_PAIRS.changed(turned)
    assert found.is_turned(back)
    assert back.is_turned(found)
    pair, each = next(iter(turned.items()))
    assert not found.is_turned(back.changed({pair: (each[0] + 1, *each[1:])}))
    assert not found.is_turned(back.changed({pair: NOTHING}))
    assert found == NO_PAIRS.changed(counts)
    assert found != back.changed({pair: NOTHING})
