"""Texts that are read as numbers, column by column: the numbers that each text is by itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow.compute as pc
import pytest

from qengine import Graph
from qengine.exec.scalar.text import parse_float, parse_integer

FORMS: dict[str, Callable[[random.Random], str]] = {
    "digits": lambda chance: str(chance.randrange(-(10**5), 10**5)),
    "long": lambda chance: str(chance.choice((2**63 - 1, -(2**63), 10**17, -(10**17)))),
    "decimals": lambda chance: repr(chance.uniform(-1e6, 1e6)),
    "many decimals": lambda chance: f"{chance.random():.25f}",
    "odd": lambda chance: chance.choice(
        (".5", "5.", "-.5", "-0", "007", "1-2", "-", ".", "1.2.3", "--1", "", "00", "-.")
    ),
    "others": lambda chance: chance.choice(("+5", " 12", "0x10", "1e3", "NaN", "a", "Infinity", "５")),
}


@pytest.mark.parametrize(
    "forms", [("digits",), ("digits", "decimals"), ("many decimals",), ("digits", "odd"), tuple(FORMS)]
)
@pytest.mark.parametrize(("name", "one"), [("toInteger", parse_integer), ("toFloat", parse_float)])
def test_each_text_is_the_number_that_it_is_alone(forms: tuple[str, ...], name: str, one: Any) -> None:
    chance = random.Random(len(forms))
    texts = [None if chance.random() < 0.1 else FORMS[chance.choice(forms)](chance) for _ in range(500)]
    if name == "toInteger" and "long" in forms:
        texts = [text for text in texts if text is None or "9223372036854775808" not in text]
    graph = Graph.from_records(
        [{"id": n, "labels": ["P"], "properties": {"i": n, "t": t}} for n, t in enumerate(texts)], []
    )
    for offset in (0, 7):
        found = graph.query(
            f"MATCH (p:P) WHERE p.i >= $o RETURN {name}(p.t) AS x ORDER BY p.i", {"o": offset}
        ).fetchall()
        assert [repr(x) for (x,) in found] == [repr(None if t is None else one(t)) for t in texts[offset:]]


@pytest.mark.parametrize(
    ("name", "texts"), [("toInteger", ["12", None, "-7"]), ("toFloat", ["1.5", None, "-.25", "3"])]
)
def test_plain_numbers_are_read_at_once(monkeypatch: pytest.MonkeyPatch, name: str, texts: list[str | None]) -> None:
    monkeypatch.setattr(pc, "match_substring_regex", lambda *_: pytest.fail("each text is looked at"))
    nodes = [{"id": n, "labels": ["P"], "properties": {"t": t}} for n, t in enumerate(texts * 30)]
    expected = sum(float(text) for text in texts * 30 if text is not None)
    assert Graph.from_records(nodes, []).query(f"MATCH (p:P) RETURN sum({name}(p.t))").value() == expected
