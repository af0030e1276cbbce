"""The catalogue of functions: it loads, says what it should, and finds names as users write them."""

from __future__ import annotations

import tomllib

import pytest

import qengine
from qengine._assets import asset
from qengine.catalog.functions import elsewhere, functions, lookup, nearest
from qengine.syntax import parse
from qengine.types import ANY, FLOAT, INTEGER, LIST, STRING, list_of


def test_names_and_aliases_are_unique() -> None:
    names = [name.lower() for function in functions() for name in (function.name, *function.aliases)]
    assert len(names) == len(set(names))


def test_each_function_says_what_it_does() -> None:
    for function in functions():
        assert function.doc.endswith("."), function.name
        assert function.signatures, function.name


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("toUpper", "toupper"),
        ("UPPER", "toupper"),
        ("cOuNt", "count"),
        ("STARTS WITH", "STARTS WITH"),
        ("date.transaction", "date.statement"),
    ],
)
def test_lookup_ignores_case_and_knows_aliases(written: str, key: str) -> None:
    found = lookup(written)
    assert found is not None
    assert found.key == key


def test_lookup_of_an_unknown_name_is_none_and_has_a_neighbour() -> None:
    assert lookup("toUper") is None
    assert nearest("toUper") == "toUpper"
    assert nearest("LENGHT") == "length"
    assert nearest("qqqqqqq") is None


def test_functions_of_other_languages_have_an_answer() -> None:
    graph = qengine.Graph.from_records([])
    with pytest.raises(qengine.SemanticError, match=r"hint: Write size\(x\)\."):
        graph.query("RETURN Len('abc')")
    names = tomllib.loads(asset("catalog", "functions.toml").read_text(encoding="utf-8"))["elsewhere"]
    for name, written in names.items():
        assert lookup(name) is None and elsewhere(name.upper()) == written
        parse("RETURN " + written.replace("…", "x"))


def test_signatures_are_parsed() -> None:
    substring = lookup("substring")
    assert substring is not None
    (signature,) = substring.signatures
    assert [slot.types for slot in signature.parameters] == [(STRING,), (INTEGER,), (INTEGER,)]
    assert [signature.admits(count) for count in range(5)] == [False, False, True, True, False]
    assert str(signature) == "(STRING, INTEGER, INTEGER?) -> STRING"

    coalesce = lookup("coalesce")
    assert coalesce is not None
    (signature,) = coalesce.signatures
    assert signature.parameters[0].types == (ANY,)
    assert (signature.admits(0), signature.admits(1), signature.admits(9)) == (False, True, True)
    assert signature.result.generic == "T"

    split = lookup("split")
    assert split is not None
    assert split.signatures[0].parameters[1].types == (STRING, list_of(STRING))
    assert split.signatures[0].result.types == (list_of(STRING),)
    assert lookup("head").signatures[0].parameters[0].types == (LIST,)  # type: ignore[union-attr]
    assert lookup("pi").signatures[0].admits(0)  # type: ignore[union-attr]
    assert lookup("pi").signatures[0].result.types == (FLOAT,)  # type: ignore[union-attr]


def test_null_rules() -> None:
    own = {function.key for function in functions() if not function.strict and function.kind != "aggregate"}
    assert own == {"IS NULL", "IS NOT NULL", "IN", "coalesce", "nullif", "valuetype", "exists", "IS ::",
                   "IS NORMALIZED", "file", "linenumber", "CAST", "coll.insert"}  # fmt: skip
    assert [function.key for function in functions() if not function.deterministic] == ["rand", "randomuuid"]
