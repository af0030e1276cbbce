"""The commonest slips and the full text of their errors, as ``grammar/mistakes.toml`` holds them."""

from __future__ import annotations

import tomllib

import pytest

from qengine._assets import asset
from qengine.errors import QuerySyntaxError
from qengine.syntax import parse

MISTAKES = tomllib.loads(asset("grammar", "mistakes.toml").read_text(encoding="utf-8"))["mistake"]


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake["name"] for mistake in MISTAKES])
def test_error_text(mistake: dict[str, str]) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(mistake["query"])
    assert str(caught.value) == mistake["error"].rstrip("\n")


def test_most_slips_have_a_hint() -> None:
    assert len(MISTAKES) >= 60
    assert all("\nhint: " in mistake["error"] for mistake in MISTAKES)
