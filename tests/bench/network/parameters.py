"""Values for the parameters of the questions, drawn from what is in the network, and how each dialect writes them."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

Value = int | str | datetime

_MOMENT = {"cypher": "localdatetime('{}')", "kuzu": "timestamp('{}')", "sql": "TIMESTAMP '{}'"}
_PARAMETER = re.compile(r"\$([a-z]+\d?)")
_DAYS = 60


class Parameters:
    """Draws a value for each parameter's name; what occurs more often in the network is drawn more often.

    A person has friends, a message answers; tags, classes, countries and first names are those of a message, a tag or a
    person. ``from``, ``mid`` and ``to`` are 60 days apart, at midnight.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._dice = random.Random(seed)

    def draw(self) -> dict[str, Value]:
        """Return values for all names, those of one kind (``country``, ``country2``) different."""
        begin = datetime(2011, 1, 1) + timedelta(days=self._dice.randrange(500))
        home = self._ends("Person_isLocatedIn_City")
        lands = self._ends("City_isPartOf_Country")[home]
        country, country2 = self._two(lands, "Country")
        tag, tag2 = self._two(self._ends("Comment_hasTag_Tag"), "Tag")
        person, person2 = self._two(self._ends("Person_knows_Person"), "")
        return {
            "person": int(person),
            "person2": int(person2),
            "message": int(self._one(self._ends("Comment_replyOf_Post"))),
            "first": str(self._one(pq.read_table(self._folder / "nodes_Person.parquet")["firstName"].to_numpy())),
            "country": country,
            "country2": country2,
            "tag": tag,
            "tag2": tag2,
            "class": f"TagClass{self._one(self._ends('Tag_hasType_TagClass'))}",
            "month": self._dice.randrange(1, 13),
            "year": self._dice.randrange(2004, 2013),
            "length": self._dice.randrange(20, 120),
            "from": begin,
            "mid": begin + timedelta(days=_DAYS),
            "to": begin + timedelta(days=2 * _DAYS),
        }

    def _ends(self, stem: str) -> np.ndarray:
        return pq.read_table(self._folder / f"rels_{stem}.parquet", columns=["end"])["end"].to_numpy()

    def _one(self, values: np.ndarray) -> object:
        return values[self._dice.randrange(len(values))]

    def _two(self, values: np.ndarray, prefix: str) -> tuple[str, str]:
        one = other = self._one(values)
        while other == one:
            other = self._one(values)
        return f"{prefix}{one}", f"{prefix}{other}"


def fill(text: str, values: Mapping[str, Value], dialect: str) -> str:
    """Write the values into a text in place of ``$name``; ``dialect``: cypher, kuzu or sql."""
    return _PARAMETER.sub(lambda found: _literal(values[found[1]], dialect), text)


def _literal(value: Value, dialect: str) -> str:
    if isinstance(value, datetime):
        return _MOMENT[dialect].format(value.isoformat(sep="T" if dialect == "cypher" else " "))
    return f"'{value}'" if isinstance(value, str) else str(value)
