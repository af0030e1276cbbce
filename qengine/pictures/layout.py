"""Where the vertices of a small graph are drawn: distances to pivots, then forces; components side by side.

A component is placed by pivot MDS (Brandes and Pich, "Eigensolver methods for progressive multidimensional scaling of
large data", GD 2006), so that it unfolds, and then by some steps of springs and repulsion (Fruchterman and Reingold,
1991), so that neighbours don't lie on each other. Nothing is random: the same graph always looks the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.float32]
_PIVOTS = 24
_STEPS, _LEAST_STEPS = 120, 40
_WORK = 4e7  # pairs of vertices over all steps: about half a second
_GAP = 1.2  # between components, in lengths of an edge
_GOLDEN = 2.399963  # radians: starts of vertices that distances don't tell apart
_NEAREST = 0.05  # of two vertices, as repulsion sees it
_APART = 1.6  # of the distance between near vertices: an edge is no longer than so much, or it is drawn longer
_ASPECT = 1.5  # width of the whole by its height


def layout(vertices: int, edges: Sequence[tuple[int, int]]) -> Places:
    """Place the vertices of a graph so that an edge is about 1 long, longer where many are close to each other.

    Parameters
    ----------
    vertices
        How many there are.
    edges
        Pairs of vertices; loops and repetitions don't matter.

    Returns
    -------
    numpy.ndarray
        float32 of shape ``(vertices, 2)``: x from 0 on to the right, y from 0 on downwards.
    """
    places = np.zeros((vertices, 2), np.float32)
    if not vertices:
        return places
    pairs = np.asarray([pair for pair in edges if pair[0] != pair[1]], np.int64).reshape(-1, 2)
    neighbours = _neighbours(vertices, pairs)
    component = _components(neighbours)
    parts = [np.flatnonzero(component == each) for each in range(int(component.max()) + 1)]
    parts.sort(key=lambda part: (-len(part), int(part[0])))
    number = np.empty(vertices, np.int64)
    for part in parts:
        number[part] = np.arange(len(part))
        if len(part) > 2:
            near = [number[neighbours[v]] for v in part]
            places[part] = _upright(_relaxed(_unfolded([each.tolist() for each in near]), near))
        elif len(part) == 2:
            places[part[1], 0] = 1
    _pack(parts, places)
    return places


def _neighbours(vertices: int, pairs: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    both = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0) if len(pairs) else pairs
    bounds = np.searchsorted(both[:, 0], np.arange(vertices + 1))
    return [both[bounds[v] : bounds[v + 1], 1] for v in range(vertices)]


def _components(neighbours: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    found = np.full(len(neighbours), -1, np.int64)
    count = 0
    for start in range(len(neighbours)):
        if found[start] >= 0:
            continue
        found[start], stack = count, [start]
        while stack:
            for each in neighbours[stack.pop()].tolist():
                if found[each] < 0:
                    found[each] = count
                    stack.append(each)
        count += 1
    return found


def _unfolded(near: Sequence[Sequence[int]]) -> Places:
    """Return places at which vertices are about as far apart as their shortest path is long."""
    count = len(near)
    distances: list[list[int]] = []
    nearest = np.full(count, count, np.int64)
    pivot = max(range(count), key=lambda v: len(near[v]))
    for _ in range(min(_PIVOTS, count)):
        distances.append(_distances(near, pivot))
        nearest = np.minimum(nearest, distances[-1])
        pivot = int(nearest.argmax())
    squares = np.square(np.asarray(distances, np.float64).T)
    centred = squares - squares.mean(0) - squares.mean(1, keepdims=True) + squares.mean()
    _, axes = np.linalg.eigh(centred.T @ centred)
    found = -0.5 * centred @ axes[:, ::-1][:, :2]
    found = np.hstack([found, np.zeros((count, 2 - found.shape[1]))])
    signs = np.sign(found[np.abs(found).argmax(0), np.arange(2)])  # eigenvectors have no direction of their own
    found *= np.where(signs == 0, 1, signs)
    longest = float(np.asarray(distances).max())
    spread = float(np.ptp(found, axis=0).max()) or 1.0
    turn = np.arange(count) * _GOLDEN  # for those that distances don't tell apart
    found = found * (longest / spread) + 0.3 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return found.astype(np.float32)


def _distances(near: Sequence[Sequence[int]], start: int) -> list[int]:
    found = [-1] * len(near)
    found[start], level = 0, [start]
    while level:
        following = []
        for v in level:
            for each in near[v]:
                if found[each] < 0:
                    found[each] = found[v] + 1
                    following.append(each)
        level = following
    return found


def _relaxed(places: Places, near: Sequence[npt.NDArray[np.int64]]) -> Places:
    """Let vertices repel each other and edges pull, in steps that grow smaller."""
    count = len(places)
    starts, ends = np.repeat(np.arange(count), [len(each) for each in near]), np.concatenate(near)
    starts, ends = starts[starts < ends], ends[starts < ends]
    steps = max(_LEAST_STEPS, min(_STEPS, int(_WORK / count**2)))
    x, y = places[:, 0].copy(), places[:, 1].copy()
    heat = 0.12 * math.sqrt(count)
    for step in range(steps):
        dx, dy = x[:, None] - x, y[:, None] - y
        squares = dx * dx
        squares += dy * dy
        np.maximum(squares, np.float32(_NEAREST), out=squares)
        np.reciprocal(squares, out=squares)  # repulsion of 1 / distance, along the unit vector
        dx *= squares
        dy *= squares
        fx, fy = dx.sum(1), dy.sum(1)
        ex, ey = x[ends] - x[starts], y[ends] - y[starts]
        length = np.sqrt(ex * ex + ey * ey)
        for force, pull in ((fx, ex * length), (fy, ey * length)):
            force += np.bincount(starts, pull, count).astype(np.float32)
            force -= np.bincount(ends, pull, count).astype(np.float32)
        size = np.sqrt(fx * fx + fy * fy) + np.float32(1e-9)
        most = np.minimum(size, np.float32(heat * (1 - step / steps) + 0.01)) / size
        x += fx * most
        y += fy * most
    length = float(np.median(np.hypot(x[ends] - x[starts], y[ends] - y[starts])))
    squares = np.square(x[:, None] - x) + np.square(y[:, None] - y)
    np.fill_diagonal(squares, np.inf)
    apart = float(np.quantile(np.sqrt(squares.min(1)), 0.25))
    return np.stack([x, y], axis=1) / np.float32(max(1e-3, min(length, _APART * apart)))


def _upright(places: Places) -> Places:
    """Turn a component so that it lies along the page, with its least corner at 0."""
    centred = places - places.mean(0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    turned = centred @ axes[:, ::-1]
    signs = np.sign(turned[np.abs(turned).argmax(0), np.arange(2)])
    turned *= np.where(signs == 0, 1, signs)
    found: Places = (turned - turned.min(0)).astype(np.float32)
    return found


def _pack(parts: Sequence[npt.NDArray[np.int64]], places: Places) -> None:
    """Move the components, the largest first, to places side by side in rows."""
    sizes = [np.ptp(places[part], axis=0) + np.float32(_GAP) for part in parts]
    area = sum(float(size[0] * size[1]) for size in sizes)
    room = max(float(max(size[0] for size in sizes)), math.sqrt(area * _ASPECT))
    left = top = height = 0.0
    for part, size in zip(parts, sizes, strict=True):
        if left and left + float(size[0]) > room + 1e-3:
            left, top, height = 0.0, top + height, 0.0
        places[part] += np.array([left, top], np.float32)
        left += float(size[0])
        height = max(height, float(size[1]))
