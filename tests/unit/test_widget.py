"""Pictures to walk through: what is sent to the page, what a browser makes of it, and what comes with the package."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import qengine
from qengine import Graph, SemanticError
from qengine.notebook import widget
from qengine.notebook.display import bundles
from qengine.notebook.page import elements
from tests.browser import CHROMIUM, Browser
from tests.widget_page import page, two_thousand

VENDOR = resources.files("qengine.notebook") / "vendor"
PATHS = "MATCH p = (:Country {name: 'Peru'})-[:borders]-(:Country)-[:part_of]->() RETURN p"


@pytest.fixture(scope="module")
def world() -> Graph:
    return qengine.example()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    with Browser() as found:
        yield found


def told(browser: Browser, html: str, tmp_path: Path, until: str) -> dict[str, Any]:
    file = tmp_path / "page.html"
    file.write_text(html, encoding="utf-8")
    browser.open(file.as_uri())
    browser.wait(until)
    found: dict[str, Any] = json.loads(browser.evaluate("document.getElementById('told').textContent"))
    return found


def picture(graph: Graph, text: str) -> dict[str, Any]:
    found = elements(graph.query(text))
    assert found is not None
    return widget.data(found)


def test_vendored_files_are_those_of_the_release_with_their_licence() -> None:
    folders = [each for each in VENDOR.iterdir() if each.is_dir()]
    assert [each.name for each in folders] == ["cytoscape"]
    for folder in folders:
        said = tomllib.loads((folder / "vendor.toml").read_text(encoding="utf-8"))
        held = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}
        held.pop("vendor.toml")
        assert said["licence"] == "MIT" and said["files"] == held
        assert "Permission is hereby granted" in (folder / "LICENSE").read_text(encoding="utf-8")
        assert f'version="{said["version"]}"'.encode() in (folder / "cytoscape.esm.min.mjs").read_bytes()


def test_what_is_drawn_is_what_the_rows_hold(world: Graph) -> None:
    found = picture(world, PATHS)
    captions = [node[0] for node in found["nodes"]]
    assert captions[0] == "Peru" and {"Chile", "Brazil", "South America"} <= set(captions)
    assert {edge[2]: edge[4] for edge in found["edges"]} == {"borders": False, "part_of": True}
    assert found["kinds"][0][0] == "Country" and sum(kind[2] for kind in found["kinds"]) == len(captions)
    json.dumps(found, allow_nan=False)


def test_what_holds_no_relationship_is_no_widget(world: Graph) -> None:
    assert world.query("MATCH (c:Country) RETURN c").to_widget() is None


def test_the_library_goes_to_the_page_that_asks(world: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget")
    result = world.query(PATHS)
    shown = result.to_widget(height=300)
    assert shown.picture == picture(world, PATHS) and shown.height == 300 and len(result.fetchall()) > 3
    assert len(json.dumps(shown.get_state())) < 40_000, "without the library"
    sent: list[Any] = []
    monkeypatch.setattr(shown, "send", lambda content, buffers: sent.append((content, buffers)))
    shown._handle_custom_msg({"kind": "other"}, [])
    shown._handle_custom_msg({"kind": "library"}, [])
    assert sent == [({"kind": "library"}, [widget.library()])]


def test_without_the_package_it_is_told(world: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    widget._widget_class.cache_clear()
    with pytest.raises(SemanticError, match="need anywidget"):
        world.query(PATHS).to_widget()


def test_an_output_has_the_still_picture_beside_the_widget(world: Graph) -> None:
    pytest.importorskip("anywidget")
    first, table = bundles(world.query(PATHS), walkable=True)
    assert first["image/svg+xml"].startswith("<svg") and "model_id" in first["application/vnd.jupyter.widget-view+json"]
    assert "text/html" in table and "application/vnd.jupyter.widget-view+json" not in table


def test_a_browser_draws_it(browser: Browser, world: Graph, tmp_path: Path) -> None:
    found = told(browser, page(picture(world, PATHS)), tmp_path, "document.title === 'drawn'")
    assert found["drawn"] == "walkable" and found["nodes"] == 7 and found["edges"] == 10
    assert found["faded"] == 6, "all but the neighbours of the first node, which was clicked"
    assert "name: 'Peru'" in browser.evaluate("document.querySelector('#place').innerText")
    browser.evaluate("""(() => {
        const find = document.querySelector("input");
        find.value = "chile";
        find.dispatchEvent(new Event("input"));
    })()""")
    assert "1 found" in browser.evaluate("document.querySelector('#place').innerText")


def test_two_thousand_elements_are_drawn(browser: Browser, tmp_path: Path) -> None:
    found = told(browser, page(two_thousand()), tmp_path, "document.title === 'drawn'")
    assert (found["nodes"], found["edges"]) == (800, 1200) and found["faded"] > 1900
    named = "window.cy.nodes('.named').length"
    assert browser.evaluate(named) == 0, "no name could be read"
    browser.evaluate("void window.cy.zoom({ level: 3, position: window.cy.nodes()[0].position() })")
    browser.wait(f"{named} > 0")
    assert browser.evaluate(named) < 400, "only what is seen"


def test_without_a_kernel_the_picture_stands_still(browser: Browser, world: Graph, tmp_path: Path) -> None:
    found = told(browser, page(picture(world, PATHS), kernel=False), tmp_path, "document.querySelector('circle')")
    assert found["drawn"] == "still" and (found["nodes"], found["edges"]) == (7, 10)


def test_names_and_values_are_texts_not_markup(browser: Browser, tmp_path: Path) -> None:
    graph = Graph()
    evil = "<img src=x onerror='document.title=1'></script><script>document.title=2</script>"
    graph.query("CREATE (:$($evil) {name: $evil})-[:$($evil) {p: $evil}]->(:B)", {"evil": evil})
    held = page(picture(graph, "MATCH (a)-[r]->(b) RETURN a, r, b"))
    found = told(browser, held, tmp_path, "document.title === 'drawn'")
    assert found["nodes"] == 2 and browser.evaluate("document.querySelectorAll('img').length") == 0
    assert evil in browser.evaluate("document.querySelector('#place').innerText")
