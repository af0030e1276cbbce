"""A page that runs the picture's ES module as anywidget does, with a stand-in for the kernel: to look at and to test.

``python -m tests.widget_page FILE.html`` writes one of a graph of 2,000 elements; open it in a browser.
"""

from __future__ import annotations

import base64
import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from qengine import Graph
from qengine.notebook.page import elements
from qengine.notebook.widget import data, library

_PAGE = """<!doctype html><meta charset="utf-8"><title>a picture</title>
<body style="margin:12px;background:#f6f7f9"><div id="place"></div><pre id="told"></pre>
<script type="module">
const text = (place) => JSON.parse(document.getElementById(place).textContent);
const esm = text("esm"), state = text("state");
const bytes = Uint8Array.from(atob(text("library")), (each) => each.charCodeAt(0));
const answers = [];
const model = {
  get: (name) => state[name],
  on: (name, act) => answers.push(act),
  off: (name, act) => answers.splice(answers.indexOf(act), 1),
  send: (content) => { if (state.kernel) setTimeout(() => answers.forEach((act) => act(
    { kind: content.kind }, [new DataView(bytes.buffer)]))); },
};
const { default: widget } = await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })));
const begin = performance.now();
const told = document.getElementById("told");
const tell = (found) => { told.textContent = JSON.stringify({ ...found, milliseconds: performance.now() - begin }); };
document.getElementById("place").addEventListener("qengine:drawn", ({ detail: cy }) => {
  window.cy = cy;
  cy.nodes()[0].emit("tap");
  const faded = cy.elements(".faded").length;
  tell({ drawn: "walkable", nodes: cy.nodes().length, edges: cy.edges().length, faded });
  document.title = "drawn";
});
const end = widget.render({ model, el: document.getElementById("place") });
tell({ drawn: document.querySelector("[data-drawn]").dataset.drawn,
  nodes: document.querySelectorAll("circle").length, edges: document.querySelectorAll("line").length });
</script>
"""


def _held(name: str, value: Any) -> str:
    text = json.dumps(value).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def page(picture: dict[str, Any], *, kernel: bool = True, height: int = 480) -> str:
    """Return a page with a picture; ``kernel``: whether the library arrives."""
    esm = (resources.files("qengine.notebook") / "front" / "graph.mjs").read_text(encoding="utf-8")
    state = {"picture": picture, "height": height, "kernel": kernel}
    held = {"esm": esm, "state": state, "library": base64.b64encode(library()).decode()}
    return _PAGE.replace('<script type="module">', "".join(_held(*each) for each in held.items()) + _SCRIPT)


_SCRIPT = '<script type="module">'


def two_thousand() -> dict[str, Any]:
    """Return the picture of a graph of 800 nodes and 1,200 relationships."""
    graph = Graph()
    graph.query(
        """
        UNWIND range(0, 799) AS i CREATE (n {id: i, name: 'node ' + i}) SET n:$(['A', 'B', 'C'][i % 3])
        """
    )
    graph.query(
        """
        UNWIND range(0, 1199) AS i MATCH (a {id: i % 800}), (b {id: (i * i * 7 + i / 3) % 800})
        CREATE (a)-[:TO {number: i}]->(b)
        """
    )
    found = elements(graph.query("MATCH (a)-[r:TO]->(b) RETURN a, r, b"))
    assert found is not None and len(found.nodes) + len(found.relationships) == 2000
    return data(found)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(two_thousand()), encoding="utf-8")
