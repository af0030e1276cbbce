"""The graph that analytical queries run on: the social graph with a property of each type that people filter by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from qengine.testing import generate
from tests.bench.analytics.drawn import drawn

SIZES = {
    "20k": generate.SocialSize(2_000, 20_000, 50, 6_000, 200, 20_000),
    "200k": generate.SocialSize(10_000, 200_000, 100, 30_000, 500, 100_000),
    "2M": generate.SocialSize(),
    "20M": generate.SocialSize(1_000_000, 20_000_000, 2_000, 3_000_000, 10_000, 10_000_000),
    "200M": generate.SocialSize(10_000_000, 200_000_000, 5_000, 30_000_000, 50_000, 100_000_000),
}
"""By name: so many acquaintances, and other elements in proportion."""

_LARGE = 10_000_000
"""Acquaintances from which on tables are drawn by all cores, of about the number asked for."""

_SEED = 11
_NULLS = 0.05
_JOBS = 40


def tables(size: str) -> dict[str, pa.Table]:
    """Return the tables of a size, as ``generate.social`` names them.

    ``Person`` also has ``city`` (a string), ``job`` (a string, 5 % null), ``income`` (float64, 5 % null) and ``active``
    (bool); ``knows`` has ``w`` (float64) and ``kind`` (a string).
    """
    if SIZES[size].knows >= _LARGE:
        return drawn(SIZES[size], _JOBS, _NULLS, _SEED)
    made = generate.social(SIZES[size])
    random = np.random.default_rng(_SEED)
    persons, knows = made["nodes_Person"], made["rels_Person_knows_Person"]
    homes = made["rels_Person_lives_in_City"].column("end").to_numpy()
    absent = random.random(len(persons)) < _NULLS
    persons = persons.append_column("city", _texts("City", homes))
    persons = persons.append_column("job", _texts("Job", random.integers(0, _JOBS, len(persons)), absent))
    income = pa.array(random.lognormal(10.0, 0.7, len(persons)).round(2), mask=random.random(len(persons)) < _NULLS)
    persons = persons.append_column("income", income)
    persons = persons.append_column("active", pa.array(random.random(len(persons)) < 0.7))
    knows = knows.append_column("w", pa.array(random.random(len(knows)).round(6)))
    knows = knows.append_column("kind", _texts("kind", random.integers(0, 5, len(knows))))
    return made | {"nodes_Person": persons, "rels_Person_knows_Person": knows}


def prepare(root: Path, size: str) -> Path:
    """Return the folder of a size's Parquet files, written when it is first asked for."""
    folder = root / f"analytics-{size}"
    if not folder.is_dir():
        partial = folder.with_suffix(".partial")
        generate.write_social(partial, tables(size))
        partial.rename(folder)
    return folder


def _texts(prefix: str, numbers: np.ndarray, absent: np.ndarray | None = None) -> pa.Array:
    """Return strings such as ``City7``; null where ``absent``."""
    distinct, places = np.unique(numbers, return_inverse=True)
    names = pa.array([f"{prefix}{number}" for number in distinct.tolist()])
    return names.take(pa.array(places, mask=absent))
