"""Shares: those of the literature, and what they send, counted cell by cell."""

import itertools
import random

import numpy as np
import pytest

from qengine.cluster.hypercube.grid import Grid, Grids, rows_by_cell
from qengine.cluster.hypercube.shares import Load, Way, choose, fullest, sent


def ring(variables, tables=1):
    ways = [Way(place, (place + 1) % variables) for place in range(variables)]
    return [Load(1e6, 16, tuple(ways[place::tables])) for place in range(tables)]


@pytest.mark.parametrize(
    ("loads", "variables", "cells", "shares"),
    [
        (ring(3, 3), 3, 1, (1, 1, 1)),
        (ring(3, 3), 3, 8, (2, 2, 2)),  # p^(1/3) each (Beame, Koutris and Suciu 2013)
        (ring(3, 3), 3, 70, (4, 4, 4)),
        (ring(4, 4), 4, 16, (1, 4, 1, 4)),  # opposite corners
        ([Load(1e6, 16, (Way(place, place + 1),)) for place in range(3)], 4, 16, (1, 4, 4, 1)),  # a path: not its ends
        ([Load(1e6, 16, (Way(0, place),)) for place in (1, 2, 3)], 4, 9, (9, 1, 1, 1)),  # a star: its centre
        ([Load(1e9, 16, (Way(0, 1),)), Load(9, 16, (Way(1, 2),)), Load(1, 16, (Way(2, 0),))], 3, 8, (1, 8, 1)),
        ([Load(1e6, 16, (Way(0),))], 1, 5, (5,)),
    ],
)
def test_shares_of_known_patterns(loads, variables, cells, shares):
    found = choose(loads, variables, cells)
    assert found == shares, (fullest(loads, found), fullest(loads, shares))


def test_a_heavy_key_gets_no_share():
    light = [Load(1e6, 16, (Way(0, 1),)), Load(1e6, 16, (Way(1, 2),))]
    heavy = [Load(1e6, 16, (Way(0, 1),), (0.0, 0.9)), Load(1e6, 16, (Way(1, 2),), (0.9, 0.0))]
    assert choose(light, 3, 16) == (1, 16, 1)
    found = choose(heavy, 3, 16)
    assert found[1] < 16 and found[0] > 1 and found[2] > 1
    assert fullest(heavy, found) < fullest(heavy, (1, 16, 1))


def test_no_shares_are_better_than_those_that_are_chosen():
    chance = random.Random("shares")
    for _ in range(20):
        variables, cells = chance.randint(2, 4), chance.randint(1, 12)
        pairs = [
            (place, chance.choice([each for each in range(variables) if each != place])) for place in range(variables)
        ]
        loads = [Load(chance.randint(1, 1000), 16, (Way(*pair),), (0.0, 1e-9)) for pair in pairs]
        search = sum(load.rows * load.bytes for load in loads)

        def cost(shares, loads=loads, search=search):
            return fullest(loads, shares) + search / np.prod(shares)

        every = itertools.product(range(1, cells + 1), repeat=variables)
        least = min(cost(shares) for shares in every if np.prod(shares) <= cells)
        assert cost(choose(loads, variables, cells)) == pytest.approx(least)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_sent_is_what_was_expected(seed):
    chance = random.Random(f"sent {seed}")
    shares = tuple(chance.randint(1, 3) for _ in range(4))
    ways = {(chance.randrange(4), chance.randrange(4)) for _ in range(chance.randint(1, 5))}
    ways = [(one, other) for one, other in ways if one != other] or [(0, 1)]
    grid, rows = Grids.of(shares), 20_000
    hashes = [np.random.default_rng([seed, end]).integers(0, 2**63, rows).astype(np.uint64) for end in (0, 1)]
    reached = np.uint64(0)
    for one, other in ways:
        reached = reached | grid.line({one: hashes[0], other: hashes[1]}, rows)
    copies = sum(len(places) for _, places in rows_by_cell(reached, grid.cells))
    expected = sent([Load(rows, 1, tuple(Way(*each) for each in ways))], shares)
    assert copies == pytest.approx(expected, rel=0.03)


def test_cells_of_a_row_agree_with_it_and_are_all_that_do():
    grid = Grid((2, 5, 3, 4))  # 120 cells: two words
    bound = {1: np.array([4, 0]), 3: np.array([2, 3])}
    reached = grid.line(bound, 2)
    found = {(cell, int(row)) for cell, places in rows_by_cell(reached, grid.cells) for row in places}
    assert found == {
        (cell, row)
        for cell in range(grid.cells)
        for row in (0, 1)
        if all(grid.coordinates(cell)[variable] == bound[variable][row] for variable in bound)
    }


def test_variables_are_hashed_apart_and_evenly():
    grid = Grid((4, 4))
    hashes = np.random.default_rng(1).integers(0, 2**63, 40_000).astype(np.uint64)
    both = grid.coordinate(hashes, 0) * 4 + grid.coordinate(hashes, 1)
    assert np.bincount(both, minlength=16) == pytest.approx(2500, rel=0.1)


HEAVY = Grids(
    blocks=tuple(
        (frozenset(heavy), Grid(shares))
        for heavy, shares in (((), (2, 3, 1)), ((0,), (3, 2, 2)), ((1,), (40, 1, 2)), ((0, 1), (2, 2, 1)))
    ),
    common=(11, 5, 7, 3),
    weights=(0.5, 0.3, 0.2, 0.1),
    heavy=3,
    parted=(0, 1),
)


def test_each_triple_of_keys_has_one_cell_in_grids_that_join_heavy_ones_apart():
    keys = np.arange(14, dtype=np.uint64)
    triples = np.array(list(itertools.product(keys, keys, keys)), np.uint64)
    fits = [[HEAVY.fits(cell, variable, triples[:, variable]) for variable in range(3)] for cell in range(HEAVY.cells)]
    assert HEAVY.cells == 6 + 12 + 80 + 4
    assert (np.logical_and.reduce(fits, axis=1).sum(axis=0) == 1).all()
    for bound in ((0, 1), (1, 2), (0, 2), (2,)):
        line = HEAVY.line({variable: triples[:, variable] for variable in bound}, len(triples))
        found = {(cell, int(row)) for cell, places in rows_by_cell(line, HEAVY.cells) for row in places}
        agree = np.logical_and.reduce([[fits[cell][v] for v in bound] for cell in range(HEAVY.cells)], axis=1)
        assert found == set(zip(*map(np.ndarray.tolist, np.nonzero(agree)), strict=True))


def test_common_keys_are_dealt_evenly():
    weights = tuple(1 / place for place in range(2, 40))
    grids = Grids.of((8,), tuple(range(38)), weights)
    along = [int(place) for place in np.concatenate([np.flatnonzero(each) for each in zip(*(
        grids.fits(cell, 0, np.arange(38, dtype=np.uint64)) for cell in range(8)), strict=True)])]  # fmt: skip
    filled = np.bincount(along, weights=weights, minlength=8)
    assert filled.max() / filled.mean() < 1.4  # the heaviest key alone has 1.27 times the mean
