"""Analytical queries by chance, in parts by workers and over tables: what one process answers."""

import pytest

from qengine import Graph
from qengine.cluster.cluster import Cluster
from qengine.testing.compare import difference
from qengine.testing.generate.social import SocialSize
from tests.bench.analytics import tables
from tests.bench.analytics.draw import draw
from tests.examples import examples
from tests.unit.cluster.inline import Inline
from tests.unit.cluster.tables import inline


@pytest.fixture(scope="module")
def planes(tmp_path_factory):
    """The graph as a whole, opened by workers, and in tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tables.SIZES, "small", SocialSize(300, 2000, 20, 400, 30, 1500))
        made = tables.tables("small")
    nodes = {name.removeprefix("nodes_"): table for name, table in made.items() if name.startswith("nodes_")}
    relationships = []
    for name in sorted(made.keys() - {f"nodes_{label}" for label in nodes}):
        _, start, *words, end = name.split("_")
        relationships.append(("_".join(words), start, end, made[name]))
    path = tmp_path_factory.mktemp("sample")
    whole = Graph.from_arrow(nodes, relationships, key="id")
    whole.save(path)
    tabled = inline(nodes, relationships, cells=3, key="id")
    with Cluster(str(path), Inline(path), least_cost=0.0) as parts, tabled as cells:
        yield whole, parts, cells


@pytest.mark.parametrize("query", list(draw(examples(27), 7)), ids=lambda query: query.name)
def test_analytical_queries(planes, query):
    whole, parts, cells = planes
    expected = whole.query(query.cypher, threads=1).fetchall()
    for plane in (parts, cells):
        told = difference(expected, plane.query(query.cypher).fetchall(), ordered="ORDER BY" in query.cypher)
        assert told is None, f"{query.cypher}\n{told}"
