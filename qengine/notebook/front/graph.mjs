// A picture of a graph that one can walk through: an ES module in anywidget's form.
//
// model.get("picture"): {nodes: [[caption, kind, told, x, y]], edges: [[start, end, caption, told, directed]],
// kinds: [[name, colour, count]], radius, note}. Texts are set as texts, never as HTML. Cytoscape comes from the
// kernel when the first picture of a page asks for it, so that a saved notebook doesn't hold it with each picture; until
// then, and where there is no kernel, the picture stands still.

const SVG = "http://www.w3.org/2000/svg";
const LIBRARY = Symbol.for("qengine.cytoscape");
const NO_LABEL = "#9aa4b2", LINE = "#7d8794", TEXT = "#1f2430", DIM = "#5b6472";
const MANY_EDGES = 1000, MANY_NODES = 300;

function library(model) {
  globalThis[LIBRARY] ??= new Promise((resolve, reject) => {
    const take = (content, buffers) => {
      if (content?.kind !== "library") return;
      model.off("msg:custom", take);
      const url = URL.createObjectURL(new Blob([buffers[0]], { type: "text/javascript" }));
      import(url).then((module) => resolve(module.default), reject).finally(() => URL.revokeObjectURL(url));
    };
    model.on("msg:custom", take);
    model.send({ kind: "library" });
  });
  return globalThis[LIBRARY];
}

function made(tag, parent, style = {}, text = "") {
  const element = document.createElement(tag);
  Object.assign(element.style, style);
  element.textContent = text;
  parent.append(element);
  return element;
}

function drawn(tag, parent, attributes, told = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (told) drawn("title", element, {}).textContent = told;
  parent.append(element);
  return element;
}

function still(picture, place) {
  const { nodes, edges, radius } = picture;
  const colours = new Map(picture.kinds);
  const right = Math.max(...nodes.map((node) => node[3])) + 2 * radius;
  const bottom = Math.max(...nodes.map((node) => node[4])) + 2 * radius;
  const svg = drawn("svg", place, { viewBox: `0 0 ${right} ${bottom}`, width: "100%", height: "100%" });
  for (const [start, end, , told] of edges) {
    const [[, , , x1, y1], [, , , x2, y2]] = [nodes[start], nodes[end]];
    drawn("line", svg, { x1, y1, x2, y2, stroke: LINE }, told);
  }
  for (const [, kind, told, cx, cy] of nodes)
    drawn("circle", svg, { cx, cy, r: radius, fill: colours.get(kind) ?? NO_LABEL, stroke: "#fff" }, told);
}

function elements({ nodes, edges, kinds }) {
  const order = new Map(kinds.map(([kind], place) => [kind, place]));
  return [
    ...nodes.map(([caption, kind, told, x, y], place) => ({
      data: { id: `${place}`, caption, kind, told },
      classes: `kind${order.get(kind)}`,
      position: { x, y },
    })),
    ...edges.map(([source, target, caption, told, directed]) => ({
      data: { source: `${source}`, target: `${target}`, caption, told },
      classes: directed ? "directed" : "",
    })),
  ];
}

function style({ nodes, edges, kinds, radius }) {
  const label = { "font-size": 11, color: TEXT, "text-outline-color": "#fff", "text-outline-width": 2,
    "min-zoomed-font-size": 8, label: "data(caption)" };
  const named = nodes.length > MANY_NODES ? ".named" : "node";
  return [
    { selector: "node", style: { width: 2 * radius, height: 2 * radius, "background-color": NO_LABEL } },
    ...kinds.map(([, colour], place) => ({ selector: `.kind${place}`, style: { "background-color": colour } })),
    { selector: named, style: { ...label, "text-valign": "bottom", "text-margin-y": 3, "text-max-width": 110,
      "text-wrap": "ellipsis" } },
    { selector: "edge", style: { width: 1.2, "line-color": LINE, "target-arrow-color": LINE, "arrow-scale": 0.8,
      "curve-style": edges.length > MANY_EDGES ? "straight" : "bezier" } },
    { selector: ".directed", style: { "target-arrow-shape": "triangle" } },
    ...(edges.length > 300 ? [] : [{ selector: "edge", style: { ...label, "font-size": 9, color: DIM } }]),
    { selector: ".faded", style: { opacity: 0.12, "text-opacity": 0 } },
    { selector: ".hidden", style: { display: "none" } },
    { selector: ":selected", style: { "border-width": 3, "border-color": TEXT, "line-color": TEXT } },
  ];
}

// Where all is seen, without asking for the size of each element with its label.
function everything({ nodes, radius }, place) {
  const [xs, ys] = [3, 4].map((axis) => nodes.map((node) => node[axis]));
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const [width, height] = [place.clientWidth, place.clientHeight];
  const margin = 2 * radius + 20;
  const zoom = Math.min(2, width / (right - left + 2 * margin), height / (bottom - top + 2 * margin));
  return { zoom, pan: { x: (width - zoom * (left + right)) / 2, y: (height - zoom * (top + bottom)) / 2 } };
}

// Many nodes have names only where they are near enough to be read, and only those that are seen.
function name(cy) {
  const near = cy.zoom() * 11 >= 8 ? cy.extent() : null;
  const seen = cy.nodes().filter((node) => {
    const { x, y } = node.position();
    return near && x >= near.x1 && x <= near.x2 && y >= near.y1 && y <= near.y2;
  });
  cy.batch(() => { cy.nodes(".named").difference(seen).removeClass("named"); seen.addClass("named"); });
}

function walkable(cytoscape, picture, place, told) {
  const cy = cytoscape({
    container: place,
    elements: elements(picture),
    style: style(picture),
    layout: { name: "preset", fit: false },
    ...everything(picture, place),
    minZoom: 0.05,
    maxZoom: 8,
    userZoomingEnabled: false, // until the picture is clicked, so that the wheel scrolls the page
    hideEdgesOnViewport: picture.edges.length > MANY_EDGES,
    textureOnViewport: picture.edges.length > MANY_EDGES,
  });
  place.addEventListener("pointerdown", () => cy.userZoomingEnabled(true));
  place.addEventListener("pointerleave", () => cy.userZoomingEnabled(false));
  cy.on("tap", (event) => {
    const at = event.target === cy ? cy.collection() : event.target;
    const near = at.isNode?.() ? at.closedNeighborhood() : at.union(at.connectedNodes?.() ?? at);
    cy.elements().toggleClass("faded", at.nonempty());
    near.removeClass("faded");
    told.textContent = at.nonempty() ? at.data("told") : "";
  });
  if (picture.nodes.length > MANY_NODES) {
    let waiting = 0;
    cy.on("viewport", () => { clearTimeout(waiting); waiting = setTimeout(() => cy.destroyed() || name(cy), 100); });
  }
  cy.on("mouseover", "node, edge", (event) => {
    if (cy.elements(".faded").empty()) told.textContent = event.target.data("told");
  });
  return cy;
}

function button(parent, text, act) {
  const element = made("button", parent, { cursor: "pointer", font: "inherit", border: "1px solid #d5dae1",
    borderRadius: "4px", background: "#fff", color: TEXT, padding: "1px 8px" }, text);
  element.addEventListener("click", () => act(element));
  return element;
}

function tools(picture, bar, cy, told) {
  for (const [kind, colour, count] of picture.kinds) {
    const shown = button(bar, ` ${kind} ${count.toLocaleString("en")}`, () => {
      const these = cy.nodes().filter((node) => node.data("kind") === kind);
      const hide = shown.style.opacity !== "0.4";
      these.toggleClass("hidden", hide);
      shown.style.opacity = hide ? "0.4" : "1";
    });
    const dot = made("span", shown, { display: "inline-block", width: "9px", height: "9px", borderRadius: "50%",
      background: colour, marginRight: "4px" });
    shown.prepend(dot);
    shown.title = `hide or show ${kind}`;
  }
  const search = made("input", bar, { font: "inherit", width: "9em", border: "1px solid #d5dae1", borderRadius: "4px",
    background: "#fff", color: TEXT });
  search.placeholder = "find";
  search.addEventListener("input", () => {
    const text = search.value.toLowerCase();
    const found = cy.nodes().filter((node) => text && node.data("told").toLowerCase().includes(text));
    cy.elements().toggleClass("faded", text !== "");
    found.removeClass("faded");
    told.textContent = text ? `${found.length.toLocaleString("en")} found` : "";
    if (found.nonempty()) cy.animate({ fit: { eles: found, padding: 60 }, duration: 200 });
  });
  button(bar, "+", () => cy.zoom({ level: cy.zoom() * 1.4, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } }));
  button(bar, "−", () => cy.zoom({ level: cy.zoom() / 1.4, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } }));
  button(bar, "all", () => cy.animate({ fit: { padding: 20 }, duration: 200 }));
}

function render({ model, el }) {
  const picture = model.get("picture");
  const root = made("div", el, { background: "#fff", color: TEXT, border: "1px solid #d5dae1", borderRadius: "6px",
    font: "12px ui-sans-serif, system-ui, sans-serif", overflow: "hidden" });
  const bar = made("div", root, { display: "flex", flexWrap: "wrap", gap: "6px", padding: "6px", minHeight: "22px" });
  const place = made("div", root, { height: `${model.get("height")}px`, position: "relative", overflow: "hidden" });
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", `a graph of ${picture.nodes.length} nodes and ${picture.edges.length} relationships`);
  const told = made("div", root, { padding: "6px", minHeight: "1.4em", color: DIM, whiteSpace: "pre-wrap",
    overflowWrap: "anywhere", maxHeight: "7em", overflowY: "auto" }, picture.note);
  still(picture, place);
  root.dataset.drawn = "still";
  let cy = null, gone = false;
  library(model).then((cytoscape) => {
    if (gone) return;
    place.replaceChildren();
    cy = walkable(cytoscape, picture, place, told);
    cy.one("render", () => {
      root.dataset.drawn = "walkable";
      root.dispatchEvent(new CustomEvent("qengine:drawn", { bubbles: true, detail: cy }));
    });
    tools(picture, bar, cy, told);
  }, (error) => { told.textContent = `The picture stands still: ${error.message}`; });
  return () => { gone = true; cy?.destroy(); };
}

export default { render };
