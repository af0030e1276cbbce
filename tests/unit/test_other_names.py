"""Who asks for what another library calls it is told what it is called here."""

from __future__ import annotations

import re

import pytest

import qengine
from qengine import Graph
from qengine._elsewhere import OURS

OWNERS = {"graph": Graph(), "Graph": Graph, "result": Graph().query("RETURN 1 AS x"), "qengine": qengine}


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner in OURS for name in OURS[owner]])
def test_a_name_that_others_have_leads_to_ours(owner: str, name: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(OWNERS[owner], name)
    told = str(raised.value)
    assert f"has no attribute {name!r}; write " in told
    ours = re.findall(r"\b(graph|Graph|result|qengine)\.(\w+)", told.partition("; write ")[2])
    assert ours or "row.asdict()" in told or told.endswith("print(result)")
    for whose, what in ours:
        assert hasattr(OWNERS[whose], what), what
    for text in re.findall(r'graph.query\("(.*?)"\)', told):
        assert Graph().query(text).fetchall() == []


def test_slips_are_told_and_nothing_is_made_up() -> None:
    for owner, slip, meant in (
        ("graph", "shcema", "graph.schema"),
        ("result", "fetchal", "result.fetchall"),
        ("Graph", "from_cvs", "Graph.from_csv"),
        ("qengine", "exmaple", "qengine.example"),
        ("qengine", "from_csv", "qengine.Graph.from_csv"),
    ):
        with pytest.raises(AttributeError, match=f"has no attribute '{slip}'; write {re.escape(meant)}$"):
            getattr(OWNERS[owner], slip)
    for owner in OWNERS.values():
        assert not hasattr(owner, "_repr_mimebundle_") and not hasattr(owner, "__arrow_c_schema__")
        with pytest.raises(AttributeError, match=r"has no attribute 'zzzzzz'$"):
            _ = owner.zzzzzz  # type: ignore[attr-defined,union-attr]


@pytest.mark.parametrize("name", ["cluster", "dbapi", "duckdb", "estimate", "learning", "pictures"])
def test_modules_of_their_own_are_there_without_an_import_of_each(name: str) -> None:
    assert qengine.__getattr__(name).__name__ == f"qengine.{name}" and name in dir(qengine)
