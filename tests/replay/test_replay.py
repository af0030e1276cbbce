"""What queries are planned to, the ways that they are run and what they give is as it was: see ``README.md``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.replay.compare import changes
from tests.replay.record import read, record, to_text
from tests.replay.suites import FOREIGN, SUITES, cases

EXPECTED = Path(__file__).parent / "expected"


@pytest.mark.parametrize("suite", SUITES)
def test_replay(suite: str, request: pytest.FixtureRequest) -> None:
    replay(suite, request.config.getoption("--update-golden"))


@pytest.mark.shared_data
@pytest.mark.parametrize("suite", FOREIGN)
def test_replay_of_statements_that_others_wrote(suite: str, request: pytest.FixtureRequest) -> None:
    replay(suite, request.config.getoption("--update-golden"))


def replay(suite: str, update: bool) -> None:
    """Compare a suite with its file, or write that anew."""
    path = EXPECTED / f"{suite}.txt"
    before = read(path.read_text()) if path.exists() else {}
    records = [record(case) for case in cases(suite)]
    found = changes(before, {each.title: each for each in records})
    if update:
        path.write_text(to_text(records))
        assert not found.results, found.text(suite)
        return
    assert not found, found.text(suite)


def test_every_file_is_of_a_suite() -> None:
    assert {path.stem for path in EXPECTED.glob("*.txt")} == {*SUITES, *FOREIGN}
