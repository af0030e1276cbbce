"""Tables on Ray Data and on Spark; where one is absent it is skipped by its marker."""

import importlib.util
import shutil

import pyarrow as pa
import pytest

from qengine import Graph, QueryTimeout, StorageError, cluster
from qengine.testing.generate.social import SocialSize, social, write_social

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

QUERIES = (
    "MATCH (a:Person)-[:knows]-(b)-[:knows]-(c)-[:knows]-(a) RETURN count(*)",
    "MATCH (c:City)<-[:lives_in]-(p)-[r:knows]->(q)-[:likes]->(o:Post) WHERE o.score > 0.5 AND r.since < 2000 "
    "RETURN c.name, count(*) AS n, avg(p.age) ORDER BY n DESC, c.name LIMIT 7",
    "MATCH (p:Person)-[r:knows]->(q:Person) WHERE r.since = 2001 RETURN p.name, q.name, p.id, q.id ORDER BY p.id, q.id",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("social")
    write_social(path, social(SocialSize(1000, 6000, 20, 500, 30, 2000)))
    return path


@pytest.fixture(scope="module")
def ray_engine():
    ray = pytest.importorskip("ray", reason="ray: Ray isn't installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    yield "ray"
    ray.shutdown()


@pytest.fixture(scope="module")
def spark_engine():
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("spark: Spark or Java isn't installed")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    yield "spark"
    session.stop()


@pytest.fixture(params=[pytest.param("ray", marks=pytest.mark.ray), pytest.param("spark", marks=pytest.mark.spark)])
def engine(request):
    return request.getfixturevalue(f"{request.param}_engine")


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_the_whole_graph(engine, folder, query):
    with cluster.tables(folder, engine=engine, cells=6) as graph:
        assert graph.query(query).fetchall() == Graph.from_parquet(folder).query(query).fetchall()


def test_what_is_sent_is_what_was_expected(engine, folder):
    with cluster.tables(folder, engine=engine, cells=4) as graph:
        told = graph.profile(QUERIES[0]).to_json()
        assert 0.9 < told["sent"]["bytes"] / told["expected_bytes"] < 1.3
        assert told["sent"]["cells"] == 4


def test_frames_and_tables_beside_files(engine, folder):
    people = folder / "nodes_Person.parquet"
    knows = folder / "rels_Person_knows_Person.parquet"
    if engine == "spark":
        from pyspark.sql import SparkSession

        frame = SparkSession.getActiveSession().read.parquet(str(knows))
    else:
        import ray.data

        frame = ray.data.read_parquet(str(knows))
    likes = pa.table({"start": [0, 1, 2], "end": [1, 2, 0]})
    relationships = [("knows", frame), ("likes", likes)]
    whole = Graph.from_arrow({"Person": _read(people)}, [("knows", _read(knows)), ("likes", likes)])
    query = (
        "MATCH (a)-[:likes]->(b)-[r:knows]-(c) RETURN a.name, count(*) AS n, sum(r.since + c.age) ORDER BY n, a.name"
    )
    with cluster.tables({"Person": people}, relationships, engine=engine, cells=3) as graph:
        assert graph.query(query).fetchall() == whole.query(query).fetchall()


def test_errors_of_cells_are_the_querys(engine):
    with cluster.tables({"P": pa.table({"id": [1, 1], "x": [1, 2]})}, engine=engine, cells=2) as graph:
        with pytest.raises(StorageError, match="the key 1 occurs twice"):
            graph.query("MATCH (a) RETURN a.x").fetchall()
        with pytest.raises(QueryTimeout):
            graph.query("MATCH (a) RETURN a.x", timeout=1e-9).fetchall()


def _read(path):
    import pyarrow.parquet as pq

    return pq.read_table(path)
