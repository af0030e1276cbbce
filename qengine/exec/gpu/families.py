"""The families of CUDA kernels, ``<family>.cu`` each in a folder of ``kernels/cuda``, and the variants that are known
before a query.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping

from qengine.exec.gpu.count_policy import CLIQUE_LIMITS, TILES_AT_ONCE, clique_macros

MESSAGE_WINDOW = 512
"""Entries of a matrix that a warp takes at a time in an elimination's message."""

_CLIQUE_ROOTS = (64, 128, 256, 768, 1280, 1792, 2304, 2816, 3328)
"""Members of the roots whose cliques are counted by variants that are known before."""

_TEAMS: tuple[Mapping[str, int | str], ...] = ({}, {"QE_TEAM_WARP": 1})


def _counting() -> dict[str, tuple[Mapping[str, int | str], ...]]:
    """Return the variants that count small patterns: a team is a block or a warp."""
    edges = [{"QE_TAKEN": taken, "QE_ORDERED": 1, **team} for taken in (1, 2) for team in _TEAMS]
    cliques = {str(each): each for depth in (3, 4, 5) for each in _cliques(depth)}
    searched = {"QE_SEARCHED": TILES_AT_ONCE, "QE_OVER_LINK": 1}
    tiles: tuple[Mapping[str, int | str], ...] = ({"QE_PACKED": 1}, searched, {"QE_PACKED": 1, **searched})
    linked = ({"QE_OVER_LINK": 1, **team} for team in _TEAMS)
    wedges = [{"QE_PAIRS": 0, **macros} for macros in (*_TEAMS, *tiles, *linked)]
    return {
        "count_cliques": tuple(cliques.values()),
        "count_edges": tuple(edges),
        "count_houses": (*_TEAMS, {"QE_GLOBAL": 1}),
        "count_views": ({},),
        "count_wedges": tuple(wedges),
    }


def _cliques(depth: int) -> Iterator[Mapping[str, int | str]]:
    """Yield the variants for chains of a depth, in shared memory where that of some device holds the matrices."""
    for most in _CLIQUE_ROOTS:
        k = bisect_left(CLIQUE_LIMITS, most)
        macros: dict[str, int | str] = {**clique_macros(k, most, depth, triangular=True)}
        if k == 0:
            yield {**macros, "QE_TEAM_WARP": 1}
        elif most <= (1280, 768, 256)[depth - 3]:
            yield macros
        if k >= (2 if depth <= 4 else 1):
            yield {**macros, "QE_WIDE": 1}


_SAMPLED_TRIANGLES: Mapping[str, int | str] = {
    "QE_DEPTH": 3, "QE_FROM": "0,0,16", "QE_SOURCES": "0,1,2", "QE_DIFFERENT": "0,0,1", "QE_LESS": "0,1,2",
    "QE_GREATER": "0,0,0", "QE_WIDTH": 2, "QE_ID": "uint16_t", "QE_OFFSET": "uint16_t", "QE_COPIED": 1,
    "QE_THREADS": 512,
}  # fmt: skip
"""One of the patterns that samplers are compiled for; the others follow what is asked for."""

ESTIMATORS: Mapping[str, str] = {"wanderjoin": "qe::WanderJoin", "alley": "qe::Alley", "guided": "qe::Guided"}
"""The samplers' structs by the names of methods."""

SAMPLED_LEVELS = (16, 64)
"""The most levels of each variant of the samplers for any plan."""

FAMILIES: Mapping[str, tuple[Mapping[str, int | str], ...]] = {
    **_counting(),
    "candidate_graph": ({},),
    "eliminate": tuple({"QE_WIDE": wide, "QE_WINDOW": MESSAGE_WINDOW} for wide in (0, 1)),
    "rooted_forest": ({"QE_WIDE": 0}, {"QE_WIDE": 1}),
    "row_products": tuple(
        {"QE_WIDE": wide, "QE_KINDS": kinds, "QE_RANKED": ranked}
        for wide in (0, 1)
        for kinds, ranked in ((1, 0), (2, 0), (3, 0), (1, 1), (2, 1))
    ),
    "cliques": tuple(
        {"QE_WIDE": wide, "QE_ROLES": roles, "QE_VALUED": valued}
        for wide, roles in ((0, 3), (0, 4), (0, 5), (0, 6), (0, 7), (1, 4))
        for valued in (0, 1)
    ),
    "masked_product": ({"QE_WIDE": 0}, {"QE_WIDE": 1}),
    "triangle_weight_sums": ({},),
    "eliminate_neighbours": ({"QE_WIDE": 0}, {"QE_WIDE": 1}),
    "symmetric_links": ({"QE_WIDE": 0}, {"QE_WIDE": 1}),
    "triangle_counts": ({},),
    "closed_walks": ({},),
    "dfs": tuple({"QE_LEVELS": levels} for levels in (0, 8, 64)),
    "extend": ({"QE_WINDOW_ROWS": 32},),
    "first_rows": ({},),
    "fold": ({},),
    "count_bfs": ({},),
    "pcsr": ({},),
    "predicates": ({},),
    "pcsr_build": ({},),
    "reach": ({},),
    "row_numbers": ({},),
    "sample": tuple(
        {"QE_LEVELS": levels, "QE_ESTIMATOR": each} for levels in SAMPLED_LEVELS for each in ESTIMATORS.values()
    ),
    "sample_order": ({},),
    "sampled_neighbours": ({},),
    "sample_packed": tuple({**_SAMPLED_TRIANGLES, "QE_ESTIMATOR": each} for each in ESTIMATORS.values()),
    "signature": ({},),
}
"""For each family its variants, as macros. ``qengine warmup`` compiles them; a test compiles them without a GPU."""
