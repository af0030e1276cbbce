"""Every kernel compiles for every kind of GPU, without a warning, and what it takes fits one: no GPU is needed.

The compiler's front-end reads every variant for every architecture. Machine code takes twenty times as long: it is made
of one of each family for the oldest, which has the least of everything; in the nets of all, and for two more; for every
architecture with ``--slow``.
"""

from __future__ import annotations

import functools
import logging
import zlib
from collections.abc import Iterator, Mapping
from itertools import product

import pytest

from qengine.errors import DeviceError
from qengine.exec.gpu import (
    candidate_graph,
    cliques,
    closed_walk_counts,
    compiled,
    dfs,
    elimination_steps,
    extend,
    neighbourhoods,
    nvrtc,
    reach,
    row_products,
    sample,
    symmetric_links,
    triangle_counts,
)
from qengine.exec.gpu.count_policy import (
    CLIQUE_LIMITS,
    Launch,
    clique_launch,
    edge_launch,
    filter_launch,
    house_launches,
    hub_words,
    wedge_launches,
)
from qengine.exec.gpu.families import FAMILIES
from qengine.exec.gpu.properties import DeviceProperties
from tests.cubin import SYNTAX_ONLY, Resources, resources
from tests.devices import DEVICES, H200, RTX_2070, of_capability

Macros = Mapping[str, int | str]
ARCHITECTURES = tuple(each.capability for each in DEVICES)
VARIANTS = [(family, macros) for family, variants in FAMILIES.items() for macros in variants]
REGISTERS, UNIT = 1 << 16, 8
"""Of a multiprocessor; a thread gets so many at a time."""

_MANY = 4 * (triangle_counts._HUBS // 32 + triangle_counts._HUB_COUNTERS) + triangle_counts._MARKS + 8
_FEW = 4 * triangle_counts._TOGETHER * 8
_STACKS = (dfs._THREADS, RTX_2070.dynamic_bytes)
_WINDOWS = (extend._WARPS * extend._LANES, extend._SHARED_BYTES)
LAUNCHES = {
    **dict.fromkeys(("candidate_rows", "candidate_filter"), (candidate_graph._THREADS, candidate_graph._SHARED_BYTES)),
    "dfs": _STACKS,
    "reach": (reach.THREADS, reach.SHARED_BYTES),
    **dict.fromkeys(("extend_seeds", "extend_bound", "extend_fill", "extend_count", "count_bfs"), _WINDOWS),
    "sample_walks": (sample._THREADS, sample.TOTALS_BYTES),
    **{f"triangles_of_{of}_many": (triangle_counts._MANY_THREADS, _MANY) for of in ("vertices", "pairs", "links")},
    **{f"triangles_of_{of}_few": (triangle_counts._THREADS, _FEW) for of in ("pairs", "links")},
    "triangles_of_vertices_few": (triangle_counts._THREADS, _FEW + 4 * triangle_counts._HUB_COUNTERS),
    "triangle_corners": (triangle_counts._MANY_THREADS, triangle_counts._CHUNK * 4),
    "rooted_forest": (elimination_steps._AROUND_THREADS, elimination_steps.SHARED.itemsize),
    **{f"neighbours_{of}_many": (neighbourhoods._MANY_THREADS, 16 + (1 << 13)) for of in ("count", "fill")},
    **{f"neighbours_{of}_few": (neighbourhoods._THREADS, 8 * neighbourhoods._WARP_MARKS) for of in ("count", "fill")},
    "links_light": (symmetric_links._THREADS, 8 * symmetric_links._WARP_MARKS),
    "links_heavy": (symmetric_links._THREADS, symmetric_links._BLOCK_MARKS + 2 * symmetric_links._EXACT // 8),
    "link_squares": (symmetric_links._MOST_THREADS, RTX_2070.dynamic_bytes),
    "row_products_light": (row_products._THREADS, row_products.SHARED_BYTES + 8 * row_products._SLOTS),
    "row_products_heavy": (row_products._MOST_THREADS, RTX_2070.dynamic_bytes),
    "cliques_light": (32 * cliques._FEW_WARPS, RTX_2070.dynamic_bytes),
    "cliques_heavy": (cliques._MOST_THREADS, RTX_2070.dynamic_bytes),
    "cliques_global": (cliques._MOST_THREADS, 8),
    "walks_light": (closed_walk_counts._LIGHT_THREADS, closed_walk_counts.REST_SHARED + 8 * closed_walk_counts._SLOTS),
    "walks_heavy": (closed_walk_counts._HEAVY_THREADS, closed_walk_counts.REST_SHARED),
    "walks_strip": (closed_walk_counts._THREADS, closed_walk_counts._STRIP_SHARED),
    "hub_rows": (256, 8 * 4 * hub_words(1 << 31)),
}
"""Threads of a block and dynamic shared memory of kernels that are launched alike everywhere. Others: 256, and none."""


@pytest.fixture(autouse=True, scope="module")
def compiler() -> None:
    try:
        nvrtc.version()
    except DeviceError as error:  # the test extra brings it wherever there is one
        pytest.skip(f"this platform has no NVRTC: {error}")


def test_the_compiler_knows_all_architectures() -> None:
    assert set(ARCHITECTURES) <= set(nvrtc.supported_architectures())


def marks(architecture: int, name: str, *, always: bool = True) -> tuple[pytest.MarkDecorator, ...]:
    """Return when machine code of a variant is made: for two of the newer architectures, by its name, in the nets.

    For the oldest always, or in the nets.
    """
    oldest, *others = ARCHITECTURES
    if architecture == oldest:
        return () if always else (pytest.mark.nets,)
    apart = len(others) // 2
    chosen = others.index(architecture) % apart == zlib.crc32(name.encode()) % apart
    return (pytest.mark.nets if chosen else pytest.mark.slow,)


def called(family: str, macros: Macros) -> str:
    return "-".join((family, *(f"{key[3:]}={value}" for key, value in macros.items())))


def everywhere() -> Iterator[object]:
    """Yield each variant for each architecture."""
    for architecture, (family, macros) in product(ARCHITECTURES, VARIANTS):
        name = called(family, macros)
        when = marks(architecture, name, always=macros == FAMILIES[family][-1])
        yield pytest.param(architecture, family, macros, id=f"{architecture}-{name}", marks=when)


ENDS = (min(ARCHITECTURES), max(ARCHITECTURES))


@pytest.mark.parametrize(
    "architecture", [each if each in ENDS else pytest.param(each, marks=pytest.mark.nets) for each in ARCHITECTURES]
)
def test_no_variant_gives_a_warning(
    architecture: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "_OPTIONS", (*compiled._OPTIONS, SYNTAX_ONLY))
    with caplog.at_level(logging.INFO, nvrtc.__name__):
        for family, macros in VARIANTS:
            compiled.compile_family(family, architecture, macros)
    assert caplog.messages == []


@pytest.mark.parametrize(("architecture", "family", "macros"), list(everywhere()))
def test_every_variant_compiles_and_fits(
    architecture: int, family: str, macros: Macros, caplog: pytest.LogCaptureFixture
) -> None:
    """Here warnings are those of the assembler, too."""
    with caplog.at_level(logging.INFO, nvrtc.__name__):
        binary = compiled.compile_family(family, architecture, macros)
    assert caplog.messages == [], "the compiler warns"
    kernels = resources(binary)
    assert kernels
    device = of_capability(architecture)
    for name, taken in kernels.items():
        threads, shared = LAUNCHES.get(name, (256, 0))
        check_fits(device, name, taken, taken.most_threads or threads, shared)


def check_fits(device: DeviceProperties, name: str, taken: Resources, threads: int, shared: int) -> None:
    """Check that a multiprocessor has room for a block."""
    assert threads <= (taken.most_threads or 1024), name
    assert -(-taken.registers // UNIT) * UNIT * threads <= REGISTERS, f"{name} has {taken.registers} registers"
    own = max(0, taken.shared_bytes - device.reserved_bytes)
    assert own + shared <= device.shared_bytes, f"{name} has {own} bytes of its own, and asks for {shared}"
    assert device.blocks_each(threads, own + shared) >= 1, name


def chosen(device: DeviceProperties) -> Iterator[tuple[str, str, Launch]]:
    """Yield launches that policies choose, for graphs of several sizes: family, kernel, launch."""
    for span in (900, 60_000, 3_000_000):
        for k, taken in product(range(3), (1, 2)):
            launch = edge_launch(device, k, span, span, {"QE_TAKEN": taken, "QE_ORDERED": 1})
            yield "count_edges", "count_edges", launch
        for name, launch in wedge_launches(device, span).items():
            kernel = "tiled" if name in ("packed", "wide") else "hashed"
            yield "count_wedges", f"count_wedges_{kernel}", launch.compiled_for(QE_PAIRS=2)
        for name, launch in house_launches(device, span).items():
            yield "count_houses", "count_houses_array" if name == "heavy" else "count_houses_hashed", launch
    yield "count_houses", "keep_triangular", filter_launch(device)
    sizes = [(0, 64), (1, 256), (2, 700), (3, 1_500), (3, 3_500)]
    for (k, largest), depth, span in product(sizes, (3, 4, 5), (16_384, 3_000_000)):
        made = clique_launch(device, k, span, min(largest, CLIQUE_LIMITS[k]), depth, triangular=(k + depth) % 2 == 0)
        if made is not None:
            yield "count_cliques", "count_cliques", made


@functools.cache
def taken_by(architecture: int, family: str, macros: tuple[tuple[str, int], ...]) -> Mapping[str, Resources]:
    return resources(compiled.compile_family(family, architecture, dict(macros)))


FAMILIES_BY_POLICY = ("count_cliques", "count_edges", "count_houses", "count_wedges")


def by_policy() -> Iterator[object]:
    """Yield each of these families for each device."""
    for device, family in product(DEVICES, FAMILIES_BY_POLICY):
        yield pytest.param(device, family, id=f"{device.name}-{family}", marks=marks(device.capability, family))


@pytest.mark.nets
@pytest.mark.parametrize(("device", "family"), list(by_policy()))
def test_what_policies_choose_fits(device: DeviceProperties, family: str) -> None:
    """With the shared memory that the kernels declare themselves, and with their registers."""
    seen = set()
    for its_family, kernel, launch in chosen(device):
        if its_family != family:
            continue
        macros = tuple(sorted(launch.macros.items()))
        taken = taken_by(device.capability, family, macros)[kernel]
        check_fits(device, f"{kernel} {dict(macros)}", taken, launch.threads, launch.shared)
        seen.add(macros)
    assert seen


def test_older_instructions_can_be_used_on_newer_devices() -> None:
    """What ``pytest --gpu-profile`` runs."""
    properties = H200.within(RTX_2070)
    assert properties.capability == 90 and properties.macros == {"QE_ARCHITECTURE": 750}
    (macros,) = FAMILIES["triangle_weight_sums"]
    newer, older = (
        compiled.compile_family("triangle_weight_sums", 90, {**macros, **each}) for each in ({}, properties.macros)
    )
    assert newer != older and older.startswith(b"\x7fELF")


def test_newer_instructions_are_refused() -> None:
    with pytest.raises(Exception, match="no such instructions"):
        compiled.compile_family("count_houses", 75, {"QE_ARCHITECTURE": 800})
