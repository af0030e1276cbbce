"""Queries and the logical plans that the binder makes of them, with the warnings that come along."""

from __future__ import annotations

from typing import Any

from qengine.binder import bind
from qengine.builtin_procedures import BUILT_IN
from qengine.errors import render
from qengine.plan.text import to_text
from qengine.syntax import parse
from qengine.testing.catalog import SOCIAL
from qengine.testing.verify import verify

GOLDEN = "logical_plans"


def test_logical_plan(golden_case: Any) -> None:
    (statement,) = parse(golden_case.query)
    bound = bind(statement, golden_case.query, SOCIAL, procedures=BUILT_IN)
    verify(bound.plan)
    notices = [render(notice, golden_case.query) for notice in bound.notices]
    golden_case.check("\n".join([to_text(bound.plan), *notices]))
