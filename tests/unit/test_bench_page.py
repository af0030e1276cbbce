"""The benchmark's page shows what was measured, wrong answers too, and holds no script."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.bench import page, workloads
from tests.bench.cells import Cell, Outcome, Status


@pytest.fixture
def part(tmp_path: Path) -> page.Part:
    suite = workloads.suite("tiny-social", tmp_path).only(["q1", "q2", "load"])
    cells = [
        Cell("qengine", "q1", Status.OK, 7, 0.002),
        Cell("duckdb", "q1", Status.OK, 7, 0.02),
        Cell("kuzu", "q1", Status.TIMEOUT, detail="> 6 s"),
        Cell("qengine", "q2", Status.OK, [[1]], 0.5),
        Cell("duckdb", "q2", Status.OK, [[2]], 0.1),
        Cell("kuzu", "q2", Status.FAILED, detail="<b>no</b>"),
        Cell("qengine", "load", Status.OK, 3, 1.5),
        Cell("duckdb", "load", Status.UNSUPPORTED, detail="no"),
    ]
    return page.Part(suite, ("qengine", "duckdb", "kuzu"), Outcome.of(cells))


def test_the_chart_has_a_bar_for_each_time(part: page.Part) -> None:
    svg = ET.fromstring(page.chart(part))
    name = "{http://www.w3.org/2000/svg}"
    bars = [float(each.get("width", "")) for each in svg.iter(f"{name}rect")]
    texts = [each.text for each in svg.iter(f"{name}text")]
    assert len(bars) == 7 and {"2 ms", "20 ms · 10×", "> 6 s", "failed", "100 ms · 0.2×"} <= set(texts)
    ours, duckdb, kuzu = bars[:3] if texts.index("q1") < texts.index("q2") else bars[3:6]
    assert 0 < ours < duckdb < kuzu


def test_the_page_tells_wrong_answers_and_escapes(part: page.Part) -> None:
    wrong = part.outcome.mismatches({})
    assert len(wrong) == 1 and wrong[0].startswith("q2")
    html = page.page([part], wrong, 12.0)
    assert "class='wrong'" in html and "q2: qengine says" in html and "same answers" not in html
    assert "<script" not in html and "<b>no</b>" not in html and not re.search(r'(?:src|href)="?http', html)
    assert "duckdb: 1.41× our time in the geometric mean of 2; faster than us in 1" in html
    assert "all engines that answered gave the same answers" in page.page([part], [], 1.0).lower()


def test_the_machine_is_told() -> None:
    assert all(page.machine().values())
