"""How a schema is told where relationship types connect nodes of many label sets."""

from itertools import product

from qengine import Graph


def graph(sets: list[str]) -> Graph:
    """Return a graph of a node for each set of labels, and a relationship between each two."""
    nodes = [{"id": place, "labels": list(labels)} for place, labels in enumerate(sets)]
    ends = product(range(len(sets)), repeat=2)
    return Graph.from_records(nodes, [{"type": "R", "start": start, "end": end} for start, end in ends])


def told(graph: Graph) -> list[str]:
    return [line for line in str(graph.schema).splitlines() if "-[" in line]


def test_few_pairs_are_told_one_by_one():
    assert told(graph(["A", "AB", "C"])) == [
        f"(:{start})-[:R]->(:{end})" + ("  9" if start == end == "A" else "")
        for start, end in product(["A", "A:B", "C"], repeat=2)
    ]


def test_many_pairs_are_told_by_labels():
    found = graph(["A", "AB", "BC", "C", "ABC", "D"])
    assert told(found) == ["(:A|B|C|D)-[:R]->(:A|B|C|D)  36"]
    assert len(found.schema.relationships[0].endpoints) == 36


def test_ends_with_other_labels_behind_them_are_told_apart():
    sets = ["A", "B", "AB", "C", "D", ""]
    nodes = [{"id": place, "labels": list(labels)} for place, labels in enumerate(sets)]
    ends = [*product([0, 1, 2], [3, 4]), *product([3, 4], [0, 1, 2]), (5, 5), (0, 5)]
    found = Graph.from_records(nodes, [{"type": "R", "start": start, "end": end} for start, end in ends])
    assert sorted(line.split("  ")[0] for line in told(found)) == sorted(
        ["()-[:R]->()", "(:A)-[:R]->()", "(:A)-[:R]->(:C|D)", "(:B)-[:R]->(:C|D)", "(:C|D)-[:R]->(:A|B)"]
    )
