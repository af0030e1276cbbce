"""The tutorial of traders, from its script of LOAD CSV to the answers that everybody knows."""

from __future__ import annotations

import pytest

from qengine import Graph
from qengine.testing.data import data_set

ADDRESS = "https://data.neo4j.com/northwind/"


@pytest.fixture(scope="module")
def graph() -> Graph:
    folder = data_set("small/northwind")
    graph = Graph()
    graph.import_urls = {ADDRESS: folder}
    for _ in graph.script((folder / "northwind.cypher").read_text(encoding="utf-8")):
        pass
    return graph


@pytest.mark.shared_data("small/northwind")
def test_what_is_loaded(graph: Graph) -> None:
    nodes = "MATCH (n) RETURN labels(n)[0] AS label, count(*) AS nodes ORDER BY label"
    assert graph.query(nodes).fetchall() == [
        ("Category", 8),
        ("Customer", 91),
        ("Order", 830),
        ("Product", 77),
        ("Supplier", 29),
    ]
    relationships = "MATCH ()-[r]->() RETURN type(r) AS type, count(*) AS relationships ORDER BY type"
    assert graph.query(relationships).fetchall() == [
        ("ORDERS", 2155),
        ("PART_OF", 77),
        ("PURCHASED", 830),
        ("SUPPLIES", 77),
    ]


@pytest.mark.shared_data("small/northwind")
def test_queries_of_the_tutorial(graph: Graph) -> None:
    categories = """
        MATCH (s:Supplier)-->(:Product)-->(c:Category)
        RETURN s.companyName AS Company, collect(DISTINCT c.categoryName) AS Categories ORDER BY Company LIMIT 2
    """
    assert graph.query(categories).fetchall() == [
        ("Aux joyeux ecclésiastiques", ["Beverages"]),
        ("Bigfoot Breweries", ["Beverages"]),
    ]
    produce = """
        MATCH (c:Category {categoryName: 'Produce'})<--(:Product)<--(s:Supplier)
        RETURN DISTINCT s.companyName AS ProduceSuppliers ORDER BY ProduceSuppliers
    """
    assert graph.query(produce).fetchall() == [
        ("G'day",),
        ("Grandma Kelly's Homestead",),
        ("Mayumi's",),
        ("Plutzer Lebensmittelgroßmärkte AG",),
        ("Tokyo Traders",),
    ]
    purchased = """
        MATCH (cust:Customer)-[:PURCHASED]->(:Order)-[o:ORDERS]->(p:Product),
              (p)-[:PART_OF]->(c:Category {categoryName: 'Produce'})
        RETURN DISTINCT cust.contactName AS CustomerName, sum(o.quantity) AS TotalProductsPurchased
        ORDER BY TotalProductsPurchased DESC, CustomerName LIMIT 3
    """
    assert graph.query(purchased).fetchall() == [
        ("Roland Mendel", 353),
        ("Horst Kloss", 242),
        ("Jose Pavarotti", 152),
    ]
