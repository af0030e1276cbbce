"""All queries of the openCypher TCK: what is right parses, and what is wrong in form is refused by its name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from qengine.errors import QuerySyntaxError
from qengine.syntax import parse
from qengine.testing.data import shared_root

# Errors of form. The others (types, scopes) are the binder's.
OF_FORM = frozenset(
    (
        *("UnexpectedSyntax", "InvalidRelationshipPattern", "InvalidClauseComposition", "InvalidNumberLiteral"),
        *("IntegerOverflow", "FloatingPointOverflow", "InvalidParameterUse", "InvalidUnicodeLiteral"),
        *("InvalidUnicodeCharacter", "NoSingleRelationshipType", "RequiresDirectedRelationship", "CreatingVarLength"),
    )
)


def queries() -> list[tuple[str, dict[str, Any]]]:
    root = shared_root()
    assert root is not None
    scenarios = json.loads((root / "tck" / "scenarios.json").read_text())
    return [(step["query"], step["expect"] or {}) for scenario in scenarios for step in scenario["steps"]]


@pytest.mark.shared_data
def test_every_query_with_a_result_parses() -> None:
    right = [query for query, expect in queries() if expect.get("kind") != "error"]
    assert len(right) >= 2000
    for query in right:
        assert len(parse(query)) == 1, query


@pytest.mark.shared_data
def test_every_error_of_form_has_its_name() -> None:
    wrong = [(query, expect["detail"]) for query, expect in queries() if expect.get("detail") in OF_FORM]
    # YIELD * is right in a call that stands alone only; procedures are refused as a whole.
    wrong = [(query, detail) for query, detail in wrong if "YIELD *" not in query]
    # A name without a type may be of a relationship of an earlier clause, which is wrong in another way: the binder's.
    wrong = [(query, detail) for query, detail in wrong if "[NO_COLON]" not in query]
    assert len(wrong) >= 40
    for query, detail in wrong:
        with pytest.raises(QuerySyntaxError) as caught:
            parse(query)
        assert caught.value.code == detail, query


@pytest.mark.shared_data
def test_the_parser_refuses_nothing_that_is_wrong_in_meaning_only() -> None:
    meaning = [(query, expect["detail"]) for query, expect in queries()
               if expect.get("kind") == "error" and expect["detail"] not in OF_FORM]  # fmt: skip
    refused = []
    for query, detail in meaning:
        try:
            parse(query)
        except QuerySyntaxError as error:
            refused.append((query, detail, error.code))
    assert not refused
