"""Grids for a join, by samples of its tables: their shares, and which heavy keys are joined apart.

A key is common where it has a part worth mentioning of the rows that a cell gets if all are parted evenly, and heavy
where it has as many. Variables that heavy keys are bound to are told apart one after the other, the heaviest first, as
long as that makes the fullest cell smaller; each grid then gets cells as it needs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from qengine._frozen import frozen, replace
from qengine.cluster.hypercube.dealing import Dealer, Path
from qengine.cluster.hypercube.grid import Grid, Grids, hashes_of
from qengine.cluster.hypercube.shares import Load, Shares, Way, choose, fullest

_LEAST_COMMON = 16  # times that a key must occur in a sample to be called common
_COMMON, _HEAVY = 1 / 16, 1.0  # of the rows that a cell would get
_MOST_PARTED = 3  # variables that are told apart: grids are two to the power of them
_GROWTH = 1.3  # by which the cells of the grid that has the fullest one grow
_GAIN = 0.95  # of the cost there may be left where grids are parted further


@frozen
class Layout:
    """The grids of a join. ``loads``: of each grid, what each table sends there."""

    grids: Grids
    loads: tuple[tuple[tuple[Load, ...], ...], ...]


class Sampled:
    """What a table sends, by a sample of its rows.

    Attributes
    ----------
    rows, bytes
        How many rows the table has, and how many bytes are sent of each.
    counts
        Of each of a row's keys how often each hash occurs in the sample: two arrays.
    """

    def __init__(self, dealer: Dealer, sample: Any, rows: int) -> None:
        block = sample.select(list(dealer.columns))
        self.rows, self.size, self.bytes = rows, block.num_rows, 0.0
        self.hashes: list[Any] = []
        self.paths: list[Path] = []
        if self.size:
            table, keys, self.paths = dealer.paths(block)
            self.bytes = table.nbytes / self.size
            self.hashes = [hashes_of(each) for each in keys]
        self.counts = [np.unique(each, return_counts=True) for each in self.hashes]

    def common(self, cells: int) -> Iterable[tuple[int, int, float]]:
        """Yield the common keys: which of a row's keys it is, its hash, and the part of the rows that have it."""
        for place, (hashes, counts) in enumerate(self.counts):
            chosen = (counts >= _LEAST_COMMON) & (counts * cells > _COMMON * self.size)
            for one, count in zip(hashes[chosen].tolist(), counts[chosen].tolist(), strict=True):
                yield place, one, count / self.size

    def load(self, grids: Grids) -> Load:
        """Return what the table sends in all."""
        ranks = [grids.ranks(each) for each in self.hashes]
        return self._load(np.ones(self.size, np.bool_), self.paths, ranks)

    def loads(self, grids: Grids, heavy: frozenset[int]) -> tuple[Load, ...]:
        """Return what the table sends to one of several grids, that with these heavy variables.

        Rows are parted by whether their keys are heavy, as far as a variable that is told apart may be bound to them.
        """
        places = sorted({place for path in self.paths for place, v in enumerate(path.variables) if v in grids.parted})
        ranks = [grids.ranks(each) for each in self.hashes]
        of = {place: (ranks[place] >= 0) & (ranks[place] < grids.heavy) for place in places}
        found = []
        for held in product((False, True), repeat=len(places)):
            is_heavy = dict(zip(places, held, strict=True))
            paths = [path for path in self.paths if _leads(path, is_heavy, grids.parted, heavy)]
            chosen = np.ones(self.size, np.bool_)
            for place, each in is_heavy.items():
                chosen &= of[place] == each
            if paths and chosen.any():
                found.append(self._load(chosen, paths, ranks))
        return tuple(found)

    def _load(self, chosen: Any, paths: Sequence[Path], ranks: Sequence[Any]) -> Load:
        """Return what the chosen rows send by some paths; ``ranks``: of each of a row's keys among the common ones."""
        size = int(np.count_nonzero(chosen))
        if not size:
            return Load(0, 0, ())
        ways = tuple(
            Way(
                path.variables[0],
                (*path.variables, None)[1],
                1.0 if path.goes is None else float(path.goes[chosen].mean()),
            )
            for path in paths
        )
        counts = [np.bincount(each[chosen] + 1, minlength=2) / size for each in ranks]  # keys that aren't common first
        heaviest, hashed = [float(each[1:].max()) for each in counts], [float(each[0]) for each in counts]
        rows = self.rows * size / self.size
        return Load(rows, self.bytes, ways, (heaviest[0], heaviest[-1]), (hashed[0], hashed[-1]))


def _leads(path: Path, is_heavy: dict[int, bool], parted: Sequence[int], heavy: frozenset[int]) -> bool:
    """Tell whether a path leads rows whose keys are heavy or not to the grid of some heavy variables."""
    ends = enumerate(path.variables)
    return all(is_heavy[place] == (variable in heavy) for place, variable in ends if variable in parted)


def layout_of(sampled: Sequence[Sampled], variables: int, gridded: int, cells: int) -> Layout:
    """Return the grids of a join of at most so many cells; ``gridded``: how many of the variables have shares."""
    search = sum(each.rows * each.bytes for each in sampled)
    weights: dict[int, float] = {}  # of keys
    parts: dict[int, float] = {}
    variable_weights: dict[int, float] = {}
    for each in sampled:
        for place, one, part in each.common(cells):
            weights[one] = weights.get(one, 0.0) + part * each.rows * each.bytes / search
            parts[one] = max(parts.get(one, 0.0), part)
            if part * cells > _HEAVY:
                for variable in {path.variables[place] for path in each.paths if place < len(path.variables)}:
                    before = variable_weights.get(variable, 0.0)
                    variable_weights[variable] = max(before, part * each.rows * each.bytes)
    heavy = sorted((one for one in parts if parts[one] * cells > _HEAVY), key=lambda one: (-weights[one], one))
    others = sorted(parts.keys() - set(heavy), key=lambda one: (-weights[one], one))
    common = (*heavy, *others)
    alone = Grids.of((1,) * variables, common, tuple(weights[one] for one in common))
    loads = tuple((each.load(alone),) for each in sampled)
    shares = choose([one for each in loads for one in each], variables, cells, gridded)
    best = Layout(replace(alone, blocks=Grids.of(shares).blocks), (loads,))
    open_ = [each for each in variable_weights if each < gridded]
    order = sorted(open_, key=lambda variable: (-variable_weights[variable], variable))
    least = _cost(best, search)
    for number in range(1, min(len(order), _MOST_PARTED) + 1):
        if 2**number > cells:
            break
        apart = replace(alone, heavy=len(heavy), parted=tuple(sorted(order[:number])))
        found = _parted(sampled, apart, variables, gridded, cells)
        if (price := _cost(found, search)) < _GAIN * least:
            best, least = found, price
    return best


def _parted(sampled: Sequence[Sampled], grids: Grids, variables: int, gridded: int, cells: int) -> Layout:
    """Return a grid for each set of the variables that are told apart; more cells go where the fullest cell is."""
    sets = [
        frozenset(each for each, is_heavy in zip(grids.parted, held, strict=True) if is_heavy)
        for held in product((False, True), repeat=len(grids.parted))
    ]
    loads = [tuple(each.loads(grids, heavy) for each in sampled) for heavy in sets]
    flat = [[one for each in some for one in each] for some in loads]
    chosen: list[Shares] = [(1,) * variables for _ in sets]
    open_ = set(range(len(sets)))
    step = dict.fromkeys(open_, 1)  # most cells that a grid was offered
    while open_:
        place = max(open_, key=lambda each: fullest(flat[each], chosen[each]))
        left = cells - sum(map(prod, chosen)) + prod(chosen[place])
        most = min(left, max(step[place] + 1, int(step[place] * _GROWTH)))
        if most == step[place]:
            open_.discard(place)
            continue
        step[place] = most
        more = choose(flat[place], variables, most, gridded)
        if fullest(flat[place], more) < fullest(flat[place], chosen[place]):
            chosen[place] = more
    blocks = tuple((heavy, Grid(shares)) for heavy, shares in zip(sets, chosen, strict=True))
    return Layout(replace(grids, blocks=blocks), tuple(loads))


def _cost(layout: Layout, search: float) -> float:
    """Return what the fullest cell is expected to get and to search, in bytes, as ``choose`` does."""
    flat = ([one for each in some for one in each] for some in layout.loads)
    most = max(fullest(loads, grid.shares) for loads, (_, grid) in zip(flat, layout.grids.blocks, strict=True))
    return most + search / layout.grids.cells
