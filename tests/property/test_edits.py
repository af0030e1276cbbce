"""Edits of sequences are what plain lists say: where elements go, what numbers and values they have."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine.storage.columns import PropertyColumn
from qengine.storage.edits import NOTHING, Edit, Order, taken
from qengine.storage.numbers import NumberList, NumberPieces, NumberRange
from qengine.storage.patched_columns import patched
from qengine.storage.splicing import spliced_entries


@st.composite
def edits(draw):
    before = draw(st.integers(0, 12))
    removed = sorted(draw(st.sets(st.integers(0, before - 1)))) if before else []
    again = draw(st.lists(st.sampled_from(removed), unique=True)) if removed else []
    sources = draw(st.permutations([*again, *range(before, before + draw(st.integers(0, 4)))]))
    at = sorted(draw(st.lists(st.integers(0, before), min_size=len(sources), max_size=len(sources))))
    return Edit(before, *(np.array(each, np.int64) for each in (removed, at, sources)))


def expected(edit):
    """The sources of all elements."""
    found, gone = [], set(edit.removed.tolist())
    for place in range(edit.before + 1):
        found += [source for at, source in zip(edit.at.tolist(), edit.sources.tolist(), strict=True) if at == place]
        if place < edit.before and place not in gone:
            found.append(place)
    return found


@given(edits())
def test_places_of_an_edit(edit):
    sources = expected(edit)
    assert edit.count == len(sources)
    assert edit.pieces.all().tolist() == sources
    assert Order.of(edit).pieces.all().tolist() == sources
    assert edit.old_places.tolist() == [source if source < edit.before else NOTHING for source in sources]
    new = {source: place for place, source in enumerate(sources)}
    assert edit.new_places.tolist() == [new.get(old, 2**32 - 1) for old in range(edit.before)]
    wanted = np.array(sources, np.int64)
    for form in (edit, Order.of(edit)):
        assert form.find(wanted).tolist() == list(range(len(sources)))
    assert edit.added.tolist() == [new[source] for source in edit.sources.tolist()]
    stays = np.setdiff1d(np.arange(edit.before), edit.removed)
    assert edit.follow(stays).tolist() == [new[old] for old in stays.tolist()]
    points, shifts = edit.moves
    shift = shifts[np.searchsorted(points, stays, side="right")]
    assert (stays.astype(np.uint32) + shift).tolist() == [new[old] for old in stays.tolist()]
    old, stayed = edit.back(np.arange(len(sources)))
    come = dict(zip(edit.sources.tolist(), edit.at.tolist(), strict=True))
    assert stayed.tolist() == [source not in come for source in sources]
    assert old.tolist() == [come.get(source, source) for source in sources]


@given(edits(), st.sampled_from(["range", "pieces", "list"]), st.randoms(use_true_random=False))
def test_numbers_after_an_edit(edit, kind, chance):
    old = NumberRange(5, edit.before)
    if kind == "list":
        shuffled = np.array(chance.sample(range(100), edit.before), np.int64)
        old = NumberList(lambda: shuffled, edit.before)
    elif kind == "pieces" and edit.before > 1:
        half = edit.before // 2
        old = NumberPieces(np.array([0, half]), np.array([50, 10]), edit.before)
    fresh = 200 + np.arange(int((edit.sources >= edit.before).sum()), dtype=np.int64)
    whole = [*old.of(np.arange(edit.before)).tolist(), *fresh.tolist()]
    wanted = [whole[source] for source in expected(edit)]
    for form in (edit, Order.of(edit)):
        found = form.numbers(old, fresh)
        assert found.count == len(wanted)
        assert found.of(np.arange(found.count)).tolist() == wanted
        assert found.places(np.array([*wanted, 199, -1])).tolist() == [*range(len(wanted)), -1, -1]
        assert [found.number(place) for place in range(found.count)] == wanted
        assert [found.place(number) for number in (*wanted, 199, -1)] == [*range(len(wanted)), -1, -1]


@given(edits(), st.data())
def test_columns_after_an_edit(edit, data):
    values = st.none() | st.sampled_from(["a", "b", "long"])
    begin = data.draw(st.integers(0, edit.before))
    own = data.draw(st.lists(values, max_size=edit.before - begin))
    old = {begin + place: value for place, value in enumerate(own)}
    column = PropertyColumn(begin, pa.array(own, pa.string())) if any(own) else None
    changed = data.draw(st.dictionaries(st.integers(0, edit.count - 1), values)) if edit.count else {}
    wanted = [old.get(source) if any(own) else None for source in expected(edit)]
    for id, value in changed.items():
        wanted[id] = value
    for whole in (False, True):
        for form in (edit, Order.of(edit)):
            found = patched(column, form, edit.count, changed, whole=whole)
            if found is None:
                assert not any(wanted)
                continue
            assert found.values(np.arange(edit.count)) == wanted
            assert found.present <= len(found.array) - found.array.null_count
            if whole:
                assert (found.begin, found.end) == (0, edit.count)


def test_many_pieces_and_few_give_the_same_rows():
    chance = np.random.default_rng(1)
    old = pa.array(np.arange(20_000), pa.int64(), mask=chance.random(20_000) < 0.1)
    for count in (10, 3_000):
        removed = np.sort(chance.choice(20_000, count, replace=False))
        at = np.sort(chance.integers(0, 20_001, count))
        edit = Edit(20_000, removed, at, 20_000 + np.arange(count))
        fresh = pa.array(-np.arange(count), pa.int64())
        whole = pa.concat_arrays([old, fresh])
        assert taken(edit.pieces, old, fresh).equals(whole.take(pa.array(edit.pieces.all())))


@pytest.mark.parametrize("moves", [False, True])
def test_entries_of_long_lists_are_those_of_the_pieces(moves):
    """So many that several threads copy them."""
    rng, before = np.random.default_rng(1), 1_200_000
    removed = np.unique(rng.integers(0, before, 300))
    at = np.sort(rng.integers(0, before, 400))
    edit = Edit(before, removed, at, before + np.arange(len(at)))
    stays = np.setdiff1d(np.arange(before), removed)
    old = rng.choice(stays, before).astype(np.uint32)
    added = rng.integers(0, before, len(at)).astype(np.uint32)
    moved = edit.new_places[old] if moves else old
    expected = np.concatenate((moved, added))[edit.pieces.all()]
    assert (spliced_entries(old, edit, added, edit if moves else None) == expected).all()
