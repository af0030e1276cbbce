"""A social property graph: persons who know each other, where they live, what they like.

The degrees follow power laws; half of the acquaintances stay within communities of 100 persons, which makes triangles.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from qengine._frozen import frozen
from qengine.testing.generate.graphs import different

_COMMUNITY = 100
_FIRST_NAMES = 3000


@frozen
class SocialSize:
    """How many elements a social graph has; ``likes`` counts draws, of which the distinct ones are kept."""

    persons: int = 100_000
    knows: int = 2_000_000
    cities: int = 500
    posts: int = 300_000
    tags: int = 2_000
    likes: int = 1_000_000

    def __post_init__(self) -> None:
        if self.persons % _COMMUNITY:
            raise ValueError(f"the number of persons must be a multiple of {_COMMUNITY}, not {self.persons}")
        if self.knows > self.persons * _COMMUNITY // 4:
            raise ValueError(f"{self.persons} persons cannot know each other {self.knows} times in this model")


def social(size: SocialSize | None = None, seed: int = 7) -> dict[str, pa.Table]:
    """Make the graph as Arrow tables.

    ``knows`` is directed and simple, with no self-loops. Ids are int64 from 0 for each label.

    Returns
    -------
    dict of str to pyarrow.Table
        ``nodes_Person`` (id, age, name), ``nodes_City`` (id, name), ``nodes_Post`` (id, score, lang), ``nodes_Tag``
        (id, name), and for each relationship type ``rels_<Start>_<type>_<End>`` (start, end, and ``since`` for
        ``knows``).
    """
    size = size or SocialSize()
    random = np.random.default_rng(seed)

    # The order of the draws fixes the graph: keep it.
    ages = random.integers(15, 90, size.persons)
    names = random.integers(0, _FIRST_NAMES, size.persons)
    scores = random.random(size.posts).round(4)
    languages = random.integers(0, 8, size.posts)
    knows_start, knows_end = _knows(random, size)
    since = random.integers(1990, 2025, size.knows)
    homes = _skewed(random, random.permutation(size.cities), size.persons, 0.8)
    fans = _skewed(random, random.permutation(size.persons), size.likes, 0.5)
    liked = _skewed(random, random.permutation(size.posts), size.likes, 0.6)
    post_tags = _skewed(random, random.permutation(size.tags), 2 * size.posts, 0.8)
    person_tags = _skewed(random, random.permutation(size.tags), 4 * size.persons, 0.7)

    persons, posts = np.arange(size.persons), np.arange(size.posts)
    return {
        "nodes_Person": pa.table({"id": persons, "age": ages, "name": _named("Name{:04d}", names)}),
        "nodes_City": pa.table({"id": np.arange(size.cities), "name": _named("City{}", range(size.cities))}),
        "nodes_Post": pa.table({"id": posts, "score": scores, "lang": languages}),
        "nodes_Tag": pa.table({"id": np.arange(size.tags), "name": _named("Tag{}", range(size.tags))}),
        "rels_Person_knows_Person": pa.table({"start": knows_start, "end": knows_end, "since": since}),
        "rels_Person_lives_in_City": pa.table({"start": persons, "end": homes}),
        "rels_Person_likes_Post": _distinct(fans, liked),
        "rels_Post_has_tag_Tag": _distinct(np.repeat(posts, 2), post_tags),
        "rels_Person_interest_Tag": _distinct(np.repeat(persons, 4), person_tags),
    }


def write_social(folder: Path, tables: Mapping[str, pa.Table]) -> None:
    """Write one Parquet file a table into ``folder``, which is made where it is absent."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")


def _knows(random: np.random.Generator, size: SocialSize) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw batches of acquaintances until enough are distinct, then keep a uniform sample of the right size."""
    starts_by_rank = random.permutation(size.persons)
    ends_by_rank = random.permutation(size.persons)
    keys = np.empty(0, np.int64)
    while len(keys) < size.knows:
        start = _skewed(random, starts_by_rank, size.knows, 0.55)
        end = _skewed(random, ends_by_rank, size.knows, 0.55)
        is_local = random.random(size.knows) < 0.5
        neighbor = start // _COMMUNITY * _COMMUNITY + random.integers(0, _COMMUNITY, size.knows)
        end = np.where(is_local, neighbor, end)
        proper = start != end
        keys = different(np.concatenate([keys, _key(start[proper], end[proper])]))
    return _ends(np.sort(random.permutation(keys)[: size.knows]))


def _skewed(random: np.random.Generator, by_rank: NDArray[np.int64], count: int, exponent: float) -> NDArray[np.int64]:
    """Draw ids with weight ``(rank + 11) ** -exponent``; ``by_rank`` gives the id of each rank from 0."""
    weights = (np.arange(1, len(by_rank) + 1) + 10.0) ** -exponent
    cumulative = np.cumsum(weights)
    cumulative /= cumulative[-1]
    ranks = np.searchsorted(cumulative, random.random(count))
    return by_rank[np.minimum(ranks, len(by_rank) - 1)]


def _key(start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    return start << 32 | end


def _ends(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return keys >> 32, keys & 0xFFFFFFFF


def _distinct(start: NDArray[np.int64], end: NDArray[np.int64]) -> pa.Table:
    first, second = _ends(different(_key(start, end)))
    return pa.table({"start": first, "end": second})


def _named(pattern: str, numbers: NDArray[np.int64] | range) -> list[str]:
    return [pattern.format(number) for number in numbers]
