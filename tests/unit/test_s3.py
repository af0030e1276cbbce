"""Graphs and files in buckets of an S3 server that runs here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import qengine
from qengine import Graph, StorageError, cluster

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
    with cluster.open(f"{bucket}/world", workers=2) as graph:
        assert graph.query(COUNT).value() == world.query(COUNT).value()


def test_a_bucket_that_is_not_there_is_told(server: str, bucket: str) -> None:
    for use in (qengine.open, Graph.from_parquet):
        with pytest.raises(StorageError, match="s3://elsewhere/graph: "):
            use("s3://elsewhere/graph")
    with pytest.raises(StorageError, match=r"s3://elsewhere/graph.*: it can't be written"):
        Graph().save("s3://elsewhere/graph")
