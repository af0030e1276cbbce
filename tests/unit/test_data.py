"""The finder of the open graphs: its default, its environment variable, and its refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from qengine.testing import data


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data" / "yeast").mkdir(parents=True)
    (tmp_path / "tools").mkdir()
    monkeypatch.setenv(data.ENVIRONMENT_VARIABLE, str(tmp_path))
    return tmp_path


def test_environment_names_the_root(root: Path) -> None:
    assert data.shared_root() == root
    assert data.data_set("yeast") == root / "data" / "yeast"


def test_default_is_beside_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(data.ENVIRONMENT_VARIABLE, raising=False)
    beside = (Path(__file__).resolve().parents[3] / "shared").resolve()  # it may be a link
    assert data.shared_root() == (beside if (beside / "data").is_dir() else None)


def test_absent_root_is_none_and_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(data.ENVIRONMENT_VARIABLE, str(tmp_path / "nowhere"))
    assert data.shared_root() is None
    with pytest.raises(FileNotFoundError, match=data.ENVIRONMENT_VARIABLE):
        data.data_set("yeast")


def test_absent_data_set_is_named(root: Path) -> None:
    with pytest.raises(FileNotFoundError, match="hprd"):
        data.data_set("hprd")
    with pytest.raises(FileNotFoundError, match=r"gen\.py"):
        data.tool("gen.py")


@pytest.mark.shared_data("yeast")
def test_the_shared_data_set_is_found() -> None:
    assert (data.data_set("yeast") / "edges.parquet").is_file()
