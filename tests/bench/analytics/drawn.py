"""Tables of hundreds of millions of relationships, drawn and sorted in parts by all cores.

The same model as ``qengine.testing.generate.social``, drawn otherwise: each part of an array has a stream of random
numbers of its own, so that the tables depend on the size and the seed alone, not on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from qengine.testing.generate.graphs import different
from qengine.testing.generate.social import SocialSize

_PART = 1 << 20
_SHARDS = 256
_COMMUNITY = 100
_FIRST_NAMES = 3_000
_OFFSET = 11.0
"""The weight of the rank r is (r + 11) to a power."""

_Ids = NDArray[np.int64]
_Random = np.random.Generator
_T = TypeVar("_T")
_Draw = Callable[[_Random, int, int], tuple[_Ids, _Ids]]
"""Draws pairs by random numbers, the place of the first, and how many are drawn at most."""


def drawn(size: SocialSize, jobs: int, nulls: float, seed: int) -> dict[str, pa.Table]:
    """Return the tables of ``tables.tables``, of about as many relationships as the size says.

    Parameters
    ----------
    jobs
        Different values of ``job``.
    nulls
        The share of persons without a job, and of those without an income.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = _Parts(pool, seed)
        homes = parts.skewed(size.persons, size.cities, 0.8)
        persons = {
            "id": np.arange(size.persons),
            "age": parts.array(size.persons, lambda random, n: random.integers(15, 90, n)),
            "name": parts.texts(parts.uniform(size.persons, _FIRST_NAMES), _FIRST_NAMES, "Name{:04d}"),
            "city": parts.texts(homes, size.cities, "City{}"),
            "job": parts.texts(parts.uniform(size.persons, jobs), jobs, "Job{}", nulls),
            "income": pa.array(
                parts.array(size.persons, lambda random, n: random.lognormal(10.0, 0.7, n).round(2)),
                mask=parts.array(size.persons, lambda random, n: random.random(n) < nulls),
            ),
            "active": parts.array(size.persons, lambda random, n: random.random(n) < 0.7),
        }
        posts = {
            "id": np.arange(size.posts),
            "score": parts.array(size.posts, lambda random, n: random.random(n).round(4)),
            "lang": parts.uniform(size.posts, 8),
        }
        knows = parts.linked(size.knows * 16 // 15, _acquaintances(parts, size))
        found = len(knows["start"])
        knows["since"] = parts.array(found, lambda random, n: random.integers(1990, 2025, n))
        knows["w"] = parts.array(found, lambda random, n: random.random(n).round(6))
        knows["kind"] = parts.texts(parts.uniform(found, 5), 5, "kind{}")
        likes = parts.linked(size.likes, parts.pairs((size.persons, 0.5), (size.posts, 0.6)))
        tagged = parts.linked(2 * size.posts, parts.of_each(2, (size.tags, 0.8)))
        interests = parts.linked(4 * size.persons, parts.of_each(4, (size.tags, 0.7)))
        return {
            "nodes_Person": pa.table(persons),
            "nodes_City": _named(size.cities, "City{}"),
            "nodes_Post": pa.table(posts),
            "nodes_Tag": _named(size.tags, "Tag{}"),
            "rels_Person_knows_Person": pa.table(knows),
            "rels_Person_lives_in_City": pa.table({"start": np.arange(size.persons), "end": homes}),
            "rels_Person_likes_Post": pa.table(likes),
            "rels_Post_has_tag_Tag": pa.table(tagged),
            "rels_Person_interest_Tag": pa.table(interests),
        }


def _named(count: int, pattern: str) -> pa.Table:
    return pa.table({"id": np.arange(count), "name": [pattern.format(k) for k in range(count)]})


def _acquaintances(parts: _Parts, size: SocialSize) -> _Draw:
    """Return what draws ends of acquaintances: one in two is of the same community."""
    starts, ends = parts.ranked(size.persons), parts.ranked(size.persons)

    def draw(random: _Random, begin: int, n: int) -> tuple[_Ids, _Ids]:
        start = starts[_ranks(random, n, size.persons, 0.55)]
        end = ends[_ranks(random, n, size.persons, 0.55)]
        near = start // _COMMUNITY * _COMMUNITY + random.integers(0, _COMMUNITY, n)
        end = np.where(random.random(n) < 0.5, near, end)
        proper = start != end
        return start[proper], end[proper]

    return draw


def _ranks(random: _Random, n: int, count: int, exponent: float) -> _Ids:
    """Draw ranks below ``count`` with weights of ``(rank + 11) ** -exponent``, by the inverse of their integral."""
    power = 1.0 - exponent
    low, high = _OFFSET**power, (count + _OFFSET) ** power
    ranks = (low + random.random(n) * (high - low)) ** (1.0 / power) - _OFFSET
    return np.minimum(ranks.astype(np.int64), count - 1)


class _Parts:
    """Arrays drawn in parts by the threads of a pool."""

    def __init__(self, pool: ThreadPoolExecutor, seed: int) -> None:
        self._pool = pool
        self._seed = seed
        self._arrays = 0

    def array(self, count: int, draw: Callable[[_Random, int], NDArray[Any]]) -> NDArray[Any]:
        """Return an array of ``count`` numbers."""
        found: NDArray[Any] = np.empty(count, draw(np.random.default_rng(0), 1).dtype)

        def fill(random: _Random, begin: int, n: int) -> None:
            found[begin : begin + n] = draw(random, n)

        for _ in self._each(count, fill):
            pass
        return found

    def uniform(self, count: int, end: int) -> _Ids:
        """Return numbers from 0 to ``end``, without it."""
        return self.array(count, lambda random, n: random.integers(0, end, n))

    def skewed(self, count: int, ids: int, exponent: float) -> _Ids:
        """Return ids of which some come far oftener than others."""
        by_rank = self.ranked(ids)
        return self.array(count, lambda random, n: by_rank[_ranks(random, n, ids, exponent)])

    def ranked(self, ids: int) -> _Ids:
        """Return the ids in an order drawn at random."""
        self._arrays += 1
        return np.random.default_rng((self._seed, self._arrays)).permutation(ids)

    def texts(self, numbers: _Ids, count: int, pattern: str, nulls: float = 0.0) -> pa.ChunkedArray:
        """Return a string for each number below ``count``, null for a share of them."""
        names = pa.array([pattern.format(k) for k in range(count)])

        def named(random: _Random, begin: int, n: int) -> pa.Array:
            absent = random.random(n) < nulls if nulls else None
            return names.take(pa.array(numbers[begin : begin + n], mask=absent))

        return pa.chunked_array(list(self._each(len(numbers), named)))

    def pairs(self, first: tuple[int, float], second: tuple[int, float]) -> _Draw:
        """Return what draws pairs of ids, each of so many and skewed by so much."""
        starts, ends = self.ranked(first[0]), self.ranked(second[0])
        return lambda random, begin, n: (starts[_ranks(random, n, *first)], ends[_ranks(random, n, *second)])

    def of_each(self, times: int, other: tuple[int, float]) -> _Draw:
        """Return what draws ``times`` ids for each owner."""
        ends = self.ranked(other[0])
        return lambda random, begin, n: (np.arange(begin, begin + n) // times, ends[_ranks(random, n, *other)])

    def linked(self, count: int, draw: _Draw) -> dict[str, Any]:
        """Return the columns of the different pairs among ``count`` drawn ones, in their order."""

        def keys(random: _Random, begin: int, n: int) -> _Ids:
            start, end = draw(random, begin, n)
            return different(start << 32 | end)

        drawn = list(self._each(count, keys))
        last = max(int(each[-1]) for each in drawn) >> 32
        bounds = np.array([(last + 1) * k // _SHARDS << 32 for k in range(_SHARDS + 1)])
        cuts = [np.searchsorted(each, bounds) for each in drawn]

        def merged(shard: int) -> _Ids:
            pieces = (each[cut[shard] : cut[shard + 1]] for each, cut in zip(drawn, cuts, strict=True))
            return different(np.concatenate(list(pieces)))

        return self._ends(list(self._pool.map(merged, range(_SHARDS))))

    def _ends(self, shards: Sequence[_Ids]) -> dict[str, Any]:
        begins = np.cumsum([0, *map(len, shards)])
        start, end = np.empty(begins[-1], np.int64), np.empty(begins[-1], np.int64)

        def split(shard: int) -> None:
            place = slice(begins[shard], begins[shard + 1])
            np.right_shift(shards[shard], 32, out=start[place])
            np.bitwise_and(shards[shard], 0xFFFFFFFF, out=end[place])

        for _ in self._pool.map(split, range(len(shards))):
            pass
        return {"start": start, "end": end}

    def _each(self, count: int, work: Callable[[_Random, int, int], _T]) -> Iterator[_T]:
        """Yield what is made of each part: of its own random numbers, its beginning and its length."""
        self._arrays += 1
        array = self._arrays

        def made(begin: int) -> _T:
            random = np.random.default_rng((self._seed, array, begin))
            return work(random, begin, min(_PART, count - begin))

        return self._pool.map(made, range(0, count, _PART))
