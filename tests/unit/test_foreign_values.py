"""Values of NumPy and pandas as parameters and as properties: nothing is lost, and what is missing is null."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from qengine import Graph, SemanticError
from qengine.temporal import Duration, LocalDateTime, parse_date_time, parse_local_date_time

LOCAL = parse_local_date_time("2020-01-01T00:00:00.123456789")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.datetime64("2020-01-01T00:00:00.123456789"), LOCAL),
        (np.datetime64(1_500, "ps"), LocalDateTime(1)),
        (pd.Timestamp("2020-01-01T00:00:00.123456789"), LOCAL),
        (pd.Timestamp("2020-01-01T00:00", tz="Europe/Berlin"), parse_date_time("2020-01-01T00:00[Europe/Berlin]")),
        (np.timedelta64(1_500_000_000, "ns"), Duration(0, 0, 1_500_000_000)),
        (np.timedelta64(3, "D"), Duration(0, 3, 0)),
        (np.timedelta64(5, "M"), Duration(5, 0, 0)),
        (np.timedelta64(2, "Y"), Duration(24, 0, 0)),
        (pd.Timedelta("1 days 00:00:00.000000005"), Duration(0, 1, 5)),
        (np.datetime64("NaT", "ns"), None),
        (pd.NaT, None),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
    ],
)
def test_scalars(value: Any, expected: Any) -> None:
    graph = Graph.from_records([{"id": 1, "properties": {"p": value, "q": [value]}}, {"id": 2, "properties": {"p": 1}}])
    text = "MATCH (a) WHERE a.q IS NOT NULL RETURN a.p, a.q[0], $x, $y[0]"
    (row,) = graph.query(text, {"x": value, "y": [value]}).fetchall()
    assert tuple(row) == (expected,) * 4 and {type(each) for each in row} == {type(expected)}


def test_arrays() -> None:
    moments = np.array(["2020-01-01T00:00:00.123456789", "NaT"], "datetime64[ns]")
    graph = Graph.from_records([])
    assert graph.query("RETURN $x", {"x": moments}).value() == [LOCAL, None]
    assert graph.query("RETURN $x", {"x": moments.reshape(2, 1)}).value() == [[LOCAL], [None]]
    assert graph.query("RETURN $x", {"x": np.array(moments[0])}).value() == LOCAL
    assert graph.query("RETURN $x", {"x": np.array(7)}).value() == 7


def test_what_is_no_text_and_what_are_no_parameters_is_said() -> None:
    graph = Graph.from_records([])
    with pytest.raises(SemanticError, match="A statement is a str, not a value of Python's NoneType"):
        graph.query(None)  # type: ignore[arg-type]
    with pytest.raises(SemanticError, match="Parameters are a dict from names to values, not a str"):
        graph.query("RETURN $x", "Peru")  # type: ignore[arg-type]
