"""Graphs and files in buckets of an S3 server that runs here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from qengine import Graph, StorageError, cluster
from qengine.cluster.cluster import Cluster
from qengine.cluster.processes import Processes
from qengine.remote.places import place_of

pytestmark = [pytest.mark.slow, pytest.mark.s3, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
COUNT = "MATCH (a:City)-[:located_in]->(b:Country) RETURN count(*)"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address behind which buckets are, with a bucket called ``graphs``."""
    moto = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    running = moto.ThreadedMotoServer(port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys).create_bucket(Bucket="graphs")
    yield f"{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in (
        ("QENGINE_CACHE_DIR", str(tmp_path / "cache")),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_SECRET_ACCESS_KEY", "y"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", f"http://{server}"),
    ):
        monkeypatch.setenv(name, value)
    return f"s3://graphs/{tmp_path.name}"


def test_a_graph_is_saved_in_a_bucket_and_opened(bucket: str) -> None:
    world = qengine.example()
    for _ in range(2):
        world.save(f"{bucket}/world")
    with qengine.open(f"{bucket}/world", verify="full") as graph:
        assert graph.query(COUNT).value() == world.query(COUNT).value()
    with pytest.raises(StorageError, match="there is no saved graph"):
        qengine.open(f"{bucket}/nothing")


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_tables_are_exported_to_a_bucket_and_loaded(bucket: str, format: str) -> None:
    world = qengine.example()
    world.export(f"{bucket}/{format}", format)
    loaded = getattr(Graph, f"from_{format}")(f"{bucket}/{format}")
    assert loaded.query(COUNT).value() == world.query(COUNT).value()


def test_worker_processes_open_a_graph_in_a_bucket(bucket: str) -> None:
    world = qengine.example()
    world.save(f"{bucket}/world")
    rows = (
        "MATCH (a:City)-[:located_in]->(b:Country) WHERE a.name < b.name RETURN b.name, count(*) AS n ORDER BY b.name"
    )
    path = f"{bucket}/world"
    with Cluster(path, Processes(path, 2), least_cost=0.0) as graph:  # so that no query is too small for workers
        found = graph.query(rows)
        assert found.fetchall() == world.query(rows).fetchall()
        assert found.stats.device_reason == "in parts, by workers"
    with cluster.open(path, workers=2) as graph:
        assert graph.query(COUNT).value() == world.query(COUNT).value()


def test_worker_processes_read_tables_in_a_bucket(bucket: str) -> None:
    made = {
        "nodes_City": pa.table({"id": [1, 2, 3], "name": ["x", "y", "z"]}),
        "rels_City_ROAD_City": pa.table({"start": [1, 2, 3, 1], "end": [2, 3, 1, 3], "km": [4, 5, 6, 7]}),
    }
    place = place_of(f"{bucket}/tables")
    assert place is not None
    for name, table in made.items():
        pq.write_table(table, place.below(f"{name}.parquet").path, filesystem=place.store)
    query = "MATCH (a:City)-[r:ROAD]->(b:City)-[:ROAD]->(c) RETURN c.name, sum(r.km) AS n ORDER BY n"
    whole = Graph.from_parquet(f"{bucket}/tables").query(query).fetchall()
    with cluster.tables(f"{bucket}/tables", workers=2, cells=4) as graph:
        assert graph.query(query).fetchall() == whole
        assert graph.profile(query).to_json()["sent"]["cells"] > 1


def test_a_bucket_that_is_not_there_is_told(server: str, bucket: str) -> None:
    for use in (qengine.open, Graph.from_parquet):
        with pytest.raises(StorageError, match="s3://elsewhere/graph: "):
            use("s3://elsewhere/graph")
    with pytest.raises(StorageError, match=r"s3://elsewhere/graph.*: it can't be written"):
        Graph().save("s3://elsewhere/graph")
