"""Golden files: a query, and below it the full text that it must give.

A file holds cases, each a title, the input, and the expected text::

    ### the title
    MATCH (n) RETURN n
    ----
    Project n
      ...

A test module names its folder (``GOLDEN = "logical_plans"``) and takes the fixture ``golden_case``: it runs once for
each case. ``pytest --update-golden`` writes the expected texts anew; read the difference before you commit it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@dataclass
class GoldenCase:
    path: Path
    title: str
    query: str
    expected: str
    update: bool = False

    def check(self, actual: str) -> None:
        """Compare with the expected text, or write it when updating."""
        actual = actual.strip("\n")
        if self.update and actual != self.expected:
            self.expected = actual
            cases = [self if case.title == self.title else case for case in read(self.path)]
            self.path.write_text("\n".join(case.text() for case in cases))
        assert actual == self.expected

    def text(self) -> str:
        return f"### {self.title}\n{self.query}\n----\n{self.expected}\n"


def read(path: Path) -> list[GoldenCase]:
    cases = []
    for block in ("\n" + path.read_text()).split("\n### ")[1:]:
        title, _, body = block.partition("\n")
        query, _, expected = (body + "\n").partition("\n----\n")
        cases.append(GoldenCase(path, title, query, expected.strip("\n")))
    assert len({case.title for case in cases}) == len(cases), f"{path}: two cases have one title"
    return cases


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "golden_case" in metafunc.fixturenames:
        files = sorted((FOLDER / metafunc.module.GOLDEN).glob("*.txt"))
        cases = [case for path in files for case in read(path)]
        for case in cases:
            case.update = metafunc.config.getoption("--update-golden")
        metafunc.parametrize("golden_case", cases, ids=[f"{case.path.stem}: {case.title}" for case in cases])
