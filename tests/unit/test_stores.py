"""The stores for LangChain and LlamaIndex do what the packages ask of them; skipped where a package isn't installed."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import qengine

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "stores"
pytestmark = pytest.mark.filterwarnings("ignore")  # of the packages about themselves


def example(name: str, package: str) -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(package)
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def test_langchain_asks_and_adds(capsys: pytest.CaptureFixture[str]) -> None:
    module = example("langchain_store", "langchain_community")
    module.main()
    assert capsys.readouterr().out.splitlines() == [
        "['Bolivia', 'Brazil', 'Chile', 'Colombia', 'Ecuador']",
        "Peru borders Bolivia, Brazil, Chile, Colombia and Ecuador.",
        "<Graph 3 nodes, 3 relationships>",
        "[{'a.id': 'Ada', 'w.year': 1843, 'b.id': 'Charles', 'd.text': 'Ada wrote to Charles.'}]",
    ]
    store = module.QengineStore(qengine.example())
    schema = store.get_structured_schema
    assert {"property": "name", "type": "STRING"} in schema["node_props"]["Country"]
    assert {"start": "River", "type": "flows_through", "end": "Country"} in schema["relationships"]
    assert "(:River" in store.get_schema


def test_llamaindex_adds_asks_and_deletes(capsys: pytest.CaptureFixture[str]) -> None:
    module = example("llamaindex_store", "llama_index.core")
    module.main()
    out = capsys.readouterr().out
    assert "<Graph 3 nodes, 3 relationships>" in out and "3 letters around Mary" in out
    assert "[{'name': 'Ada', 'letters': 2}, {'name': 'Charles', 'letters': 1}]" in out
    assert out.splitlines()[-1] == "<Graph 2 nodes, 2 relationships>"


def test_llamaindex_gets_what_it_put_in() -> None:
    module = example("llamaindex_store", "llama_index.core")
    store = module.QengineStore(qengine.Graph())
    chunk = module.ChunkNode(text="Ada wrote.", id_="c1", properties={"page": 3})
    person = module.EntityNode(name="Ada", label="Person", properties={"born": 1815})
    store.upsert_nodes([chunk, person])
    store.upsert_relations([module.Relation(label="MENTIONS", source_id="c1", target_id="Ada")])
    assert store.get() == [person, chunk] and store.get(ids=["c1"]) == [chunk]
    assert store.get(properties={"born": 1815}) == [person] and store.get(properties={"born": 1}) == []
    (found,) = store.get_triplets(relation_names=["MENTIONS"])
    assert found[0] == chunk and found[2] == person and store.get_triplets() == []
    assert store.get_triplets(properties={"page": 3}) == [found] and store.get_triplets(ids=["nobody"]) == []
    assert store.get_rel_map([chunk], ignore_rels=["MENTIONS"]) == []
    store.delete(relation_names=["MENTIONS"])
    store.delete(properties={"born": 1815})
    assert store.get() == [chunk] and store.get_triplets(ids=["c1"]) == []


@pytest.mark.parametrize(
    ("name", "package", "ask"),
    [
        ("langchain_store", "langchain_community", lambda store, text: store.query(text)),
        ("llamaindex_store", "llama_index.core", lambda store, text: store.structured_query(text)),
    ],
)
def test_a_model_changes_nothing(name: str, package: str, ask: Callable[[object, str], object]) -> None:
    graph = qengine.example()
    store = example(name, package).QengineStore(graph)
    before = graph.query("MATCH (n) RETURN count(*)").value()
    ask(store, "MATCH (n) DETACH DELETE n")
    ask(store, "CREATE (n:Evil) RETURN n.x AS x")
    assert graph.query("MATCH (n) RETURN count(*)").value() == before
