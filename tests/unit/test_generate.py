"""The generators give the same bits as ever, here and in the script that made the graphs of record."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.parquet as pq
import pytest

from qengine.testing import data, generate
from qengine.testing.generate import Csr, EdgeDraws, SocialSize
from qengine.testing.generate.raw import RawStream

SMALL = SocialSize(persons=1_000, knows=8_000, cities=20, posts=500, tags=50, likes=2_000)

# (scale, edge factor, seed) -> vertices, edges, checksum with 16 labels of the same seed
RMAT = {
    (1, 4, 7): (2, 1, "4c1ffbf7acf49dde"),
    (5, 8, 3): (32, 106, "2413f8b4cfcaa873"),
    (10, 16, 42): (1024, 10504, "a8a379040164b88b"),
    (11, 16, 1): (2048, 22727, "07fc8d9ad7e1acdf"),
    (12, 16, 42): (4096, 48352, "aea01392315621a5"),
    (16, 16, 42): (65536, 908974, "f19e2e5439f03f7e"),
}
# (scale, draws, seed) -> the same
ER = {
    (10, 8192, 42): (1024, 8125, "e07cebb23d4ae7fa"),
    (12, 65536, 5): (4096, 65229, "fb703fea24d5f156"),
}


def describe(draws: EdgeDraws, seed: int) -> tuple[int, int, str]:
    graph = generate.to_csr(draws)
    labels = generate.vertex_labels(graph.vertex_count, 16, seed)
    return graph.vertex_count, graph.edge_count, graph.checksum(labels)


@pytest.mark.parametrize("arguments", RMAT)
def test_rmat_has_the_bits_of_record(arguments: tuple[int, int, int]) -> None:
    assert describe(generate.rmat(*arguments), arguments[2]) == RMAT[arguments]


@pytest.mark.parametrize("arguments", ER)
def test_er_has_the_bits_of_record(arguments: tuple[int, int, int]) -> None:
    assert describe(generate.er(*arguments), arguments[2]) == ER[arguments]


def test_to_csr_makes_the_graph_simple_and_undirected() -> None:
    source = np.array([3, 0, 1, 1, 2, 2], np.uint32)
    target = np.array([0, 3, 1, 2, 1, 1], np.uint32)
    graph = generate.to_csr(EdgeDraws(5, source, target))
    assert graph.offsets.tolist() == [0, 1, 2, 3, 4, 4]
    assert graph.neighbors.tolist() == [3, 2, 1, 0]
    assert [ends.tolist() for ends in graph.edges()] == [[0, 1], [3, 2]]


def test_to_csr_takes_a_graph_with_no_edges() -> None:
    none = np.empty(0, np.uint32)
    graph = generate.to_csr(EdgeDraws(3, none, none))
    assert (graph.vertex_count, graph.edge_count) == (3, 0)


def test_one_label_needs_no_draw() -> None:
    assert generate.vertex_labels(4, 1).tolist() == [0, 0, 0, 0]


@pytest.fixture(scope="module")
def labelled() -> tuple[Csr, np.ndarray]:
    graph = generate.to_csr(generate.rmat(10, 16, 42))
    return graph, generate.vertex_labels(graph.vertex_count, 16, 42)


def test_walk_queries_are_connected_induced_and_as_dense_as_asked(labelled: tuple[Csr, np.ndarray]) -> None:
    queries = generate.walk_queries(*labelled, seed=42)
    assert len(queries) > 16
    for name, query in queries.items():
        assert len(query.labels) == (8 if name.startswith("q8") else 12)
        assert query.is_dense() == ("d_" in name)
        reached = {0}
        for _ in query.labels:
            reached |= {v for edge in query.edges if reached & set(edge) for v in edge}
        assert len(reached) == len(query.labels)


def test_a_walk_that_cannot_succeed_gives_none() -> None:
    ends = np.array([0], np.uint32), np.array([1], np.uint32)
    graph = generate.to_csr(EdgeDraws(2, *ends))
    assert generate.walk_query(graph, np.zeros(2, np.int32), 3, RawStream(1)) is None


def test_query_text_is_the_literature_s() -> None:
    assert generate.LabelledQuery((4, 7), ((0, 1),)).to_text() == "t 2 1\nv 0 4 1\nv 1 7 1\ne 0 1"


def test_social_graph_is_written_as_it_was_made(tmp_path: Path) -> None:
    tables = generate.social(SMALL)
    generate.write_social(tmp_path, tables)
    assert {path.stem for path in tmp_path.iterdir()} == set(tables)
    for name, table in tables.items():
        assert pq.read_table(tmp_path / f"{name}.parquet").equals(table)
    knows = tables["rels_Person_knows_Person"]
    pairs = set(zip(knows["start"].to_pylist(), knows["end"].to_pylist(), strict=True))
    assert len(pairs) == knows.num_rows == SMALL.knows
    assert not any(start == end for start, end in pairs)


def test_impossible_social_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 100"):
        SocialSize(persons=150)
    with pytest.raises(ValueError, match="cannot know each other"):
        SocialSize(persons=100, knows=9_900)


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, data.tool(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.shared_data
@pytest.mark.parametrize("kind", ["rmat", "er"])
@pytest.mark.parametrize("scale", [2, 7, 13])
def test_graphs_equal_those_of_the_script(kind: str, scale: int) -> None:
    gen_graph = script("gen_graph")
    arguments = (scale, 6 if kind == "rmat" else 6 << scale, 11)
    theirs_offsets, theirs_neighbors, _ = gen_graph.to_csr(*gen_graph.build(kind, arguments))
    ours = generate.to_csr(generate.rmat(*arguments) if kind == "rmat" else generate.er(*arguments))
    assert np.array_equal(ours.offsets, theirs_offsets)
    assert np.array_equal(ours.neighbors, theirs_neighbors)
    labels = generate.vertex_labels(1 << scale, 9, 11)
    assert np.array_equal(labels, gen_graph.make_labels(1 << scale, 9, 11))
    assert ours.checksum(labels) == gen_graph.checksum(theirs_offsets, theirs_neighbors, labels)


@pytest.mark.shared_data
@pytest.mark.parametrize("dense", [True, False, None])
def test_walks_equal_those_of_the_script(labelled: tuple[Csr, np.ndarray], dense: bool | None) -> None:
    graph, labels = labelled
    gen_graph = script("gen_graph")
    ours, theirs = RawStream(5), gen_graph.Raw(5)
    density = {True: "dense", False: "sparse", None: "any"}[dense]
    for size in (3, 8):
        query = generate.walk_query(graph, labels, size, ours, density=density, max_edges=20, max_hub=200)
        expected = gen_graph.walk_query(
            graph.offsets, graph.neighbors, labels, size, theirs, max_edges=20, dense=dense, max_hub=200
        )
        assert query is None or (list(query.labels), list(query.edges)) == expected
        assert (query is None) == (expected is None)


@pytest.mark.shared_data("enron16", "email-Enron")
def test_walk_queries_give_the_query_files_of_record() -> None:
    edges = pq.read_table(data.data_set("email-Enron/edges.parquet"))
    graph = generate.to_csr(EdgeDraws(36692, *(edges[end].to_numpy().astype(np.uint32) for end in ("src", "dst"))))
    queries = generate.walk_queries(graph, generate.vertex_labels(36692, 16, 42), seed=42)
    for name, query in queries.items():
        assert query.to_text() == data.data_set(f"enron16/{name}").read_text().strip(), name
    assert len(queries) == 32


@pytest.mark.shared_data
def test_social_graph_equals_that_of_the_script() -> None:
    theirs = script("gen_social").social(
        n_person=SMALL.persons,
        n_knows=SMALL.knows,
        n_city=SMALL.cities,
        n_post=SMALL.posts,
        n_tag=SMALL.tags,
        n_likes=SMALL.likes,
        seed=3,
    )
    ours = generate.social(SMALL, seed=3)
    assert len(ours) == len(theirs)
    for name, table in ours.items():
        expected = theirs[name.split("_", 1)[1] if name.startswith("nodes") else "_".join(name.split("_")[2:-1])]
        for column, values in expected.items():
            column = {"src": "start", "dst": "end"}.get(column, column)
            assert table[column].to_pylist() == values.tolist(), (name, column)
