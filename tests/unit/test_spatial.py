"""Points as Python has them: made, compared, hashed, pickled, stored and read back."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import qengine
from qengine import Graph, Point
from qengine.errors import ExecutionError
from qengine.spatial import parse_point

POINTS = [
    Point(3, 4),
    Point(-0.0, 1e-300),
    Point(1, 2, 3),
    Point(13.4, 52.5, crs="wgs-84"),
    Point(13.4, -90, 8848.86, crs="WGS-84-3D"),
    Point(1e300, 1 / 3),
]


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_a_text_gives_the_point(point: Point) -> None:
    assert parse_point(str(point)) == point
    assert eval(repr(point), {"Point": Point}) == point
    assert pickle.loads(pickle.dumps(point)) == point


def test_equality() -> None:
    assert Point(1, 2) == Point(1.0, 2.0, crs="cartesian") != Point(1, 2, crs="wgs-84")
    assert len({Point(0.0, 1), Point(-0.0, 1), Point(0, 1, 0)}) == 2
    assert Point(1, 2) != (1, 2)


def test_points_cant_be_changed() -> None:
    point = Point(1, 2)
    with pytest.raises(AttributeError):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del point.y


@pytest.mark.parametrize(("longitude", "same"), [(180, 180), (181, -179), (-181, 179), (-541, 179), (720, 0)])
def test_longitudes_go_round(longitude: float, same: float) -> None:
    assert Point(longitude, 0, crs="wgs-84").x == same


@pytest.mark.parametrize(
    ("coordinates", "crs"),
    [((1, 91), "wgs-84"), ((1, float("nan")), None), ((float("inf"), 1), None), ((1, 2, 3), "cartesian"),
     ((1, 2), "cartesian-3d"), ((1, 2), "moon")],
)  # fmt: skip
def test_no_points(coordinates: tuple[float, ...], crs: str | None) -> None:
    with pytest.raises(ExecutionError):
        Point(*coordinates, crs=crs)


@pytest.mark.parametrize("text", ["", "point()", "point({x: 1.0, y: 2.0})", "point({x: ., y: 2.0, crs: 'cartesian'})"])
def test_no_texts_of_points(text: str) -> None:
    with pytest.raises(ExecutionError):
        parse_point(text)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_points_come_back_from_a_folder_and_its_log(tmp_path: Path, device: str) -> None:
    graph = Graph.from_records(
        [{"id": place, "labels": ["P"], "properties": {"n": place, "at": at}} for place, at in enumerate(POINTS)]
    )
    graph.save(tmp_path / "graph")
    late = [Point(7, 8), Point(7, 8, 9)]
    with qengine.open(tmp_path / "graph") as opened:
        opened.query("UNWIND $late AS at CREATE (:P {n: 10, at: at, all: [at, at]})", {"late": late})
        assert opened.query("MATCH (p:P) WHERE p.at IN $late RETURN count(*)", {"late": late}).fetchall() == [(2,)]
    with qengine.open(tmp_path / "graph") as opened:
        found = opened.query("MATCH (p:P) RETURN p.at, p.all ORDER BY p.n, p.at", device=device).fetchall()
        assert [row[0] for row in found] == [*POINTS, *late]
        assert [row[1] for row in found][-2:] == [[at, at] for at in late]
        opened.checkpoint()
    with qengine.open(tmp_path / "graph") as opened:
        texts = opened.query("MATCH (p:P {n: 10}) RETURN p.at AS at ORDER BY at").to_arrow()
        assert texts.column("at").to_pylist() == [str(at) for at in late]


def test_points_of_few_bytes_are_spilled() -> None:
    graph = Graph()
    query = "UNWIND range(1, 60000) AS i WITH point({x: i % 1000, y: 1}) AS p RETURN DISTINCT p ORDER BY p LIMIT 2"
    assert graph.query(query, memory_limit="24 MB").fetchall() == [(Point(0, 1),), (Point(1, 1),)]
