"""Queries that parse but mean nothing (or aren't built), and the full text of their errors."""

from __future__ import annotations

from typing import Any

import pytest

from qengine.binder import bind
from qengine.builtin_procedures import BUILT_IN
from qengine.errors import SemanticError, Unsupported
from qengine.syntax import parse
from qengine.testing.catalog import SOCIAL

GOLDEN = "semantic_errors"


def test_error_text(golden_case: Any) -> None:
    (statement,) = parse(golden_case.query)
    with pytest.raises((SemanticError, Unsupported)) as caught:
        bind(statement, golden_case.query, SOCIAL, {"given": 1}, procedures=BUILT_IN)
    golden_case.check(f"{caught.value}\ncode: {caught.value.code}")
