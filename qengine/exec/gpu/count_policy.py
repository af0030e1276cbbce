"""How the counting kernels are launched: a pure function of the device and of the sizes at hand."""

from __future__ import annotations

from qengine._frozen import frozen, replace
from qengine.exec.gpu.properties import DeviceProperties

_WARP = 32
_HUBS = 16384
"""At most so many ids have their members among themselves as rows of bits: 32 MB, which stay in the L2 cache."""

_MOST_SCRATCH, _SCRATCH_SHARE = 1 << 31, 8
"""Bytes of what blocks have in global memory, all together: no more than one part in so many of the device's memory."""

_FEW_ROOTS = 4
"""So few roots a multiprocessor get large blocks: the last of them would work alone for long."""

_FEW_IDS = 1 << 16
"""In a range of so few ids roots of over 512 members get large blocks: bits take little room, so two are resident."""

TILES_AT_ONCE = 16
"""Of a root, that a block counts in turn where roots' lists cross the link: a thread reads its member once."""

_SLOT = 8
_LIGHT_TABLE, _MIDDLE_TABLE = 1024, 8192
"""Of a hash table: bytes of a slot; slots of a warp's, and of a block's where there is room for so many."""

CLIQUE_LIMITS = (64, 256, 768, 65535)
"""Classes of roots, by the size of the slice that is marked."""

_STRIDES = tuple(8 * odd for odd in (1, 3, 5, 7, 9, 11, 13, 17, 21, 27, 33, 41, 51, 63, 79, 99, 123, 153, 191, 257))
"""Words of a bit matrix's row: odd multiples of 8, so that rows start in different banks; few, so that few variants are
compiled.
"""

_SMALL_MATRICES = (64, 128, 256, 768)
"""Members of matrices that one warp restricts, as many as there are variants; larger ones have whole rows."""

_WARP_MATRICES = (64, 128, 192, 192)
"""Of chains of four in each class: larger ones are restricted by all warps."""


def edge_limits(span: int) -> tuple[int, int, int]:
    """Return the classes of ``count_edges``'s roots, as ``CLIQUE_LIMITS``; ``span``: ids of the marked view's range."""
    return 64, 512 if span <= _FEW_IDS else 1024, 2**32 - 1


@frozen
class Launch:
    """One kernel's launch: blocks, threads a block, bytes of shared memory, and what the kernel is compiled for.

    ``values``: further numbers that the kernel takes.
    """

    blocks: int
    threads: int
    shared: int
    macros: dict[str, int]
    values: dict[str, int]

    def compiled_for(self, **macros: int) -> Launch:
        """Return the launch with further macros."""
        return replace(self, macros={**self.macros, **macros})


def hub_words(span: int) -> int:
    """Return the words of a hub's row in a range of ``span`` ids: a multiple of 4, so that what follows is aligned."""
    return -(-min(span, _HUBS) // 128) * 4


def edge_launch(device: DeviceProperties, size_class: int, span: int, n_roots: int, macros: dict[str, int]) -> Launch:
    """Return the launch of ``count_edges`` for a class of ``n_roots``; ``span``: ids of the marked view's range."""
    launch = _edge_launch(device, size_class, span, n_roots, macros)
    teams = launch.threads // _WARP if size_class == 0 else 1
    return replace(launch, blocks=min(launch.blocks, -(-n_roots // teams)))


def _edge_launch(device: DeviceProperties, size_class: int, span: int, n_roots: int, macros: dict[str, int]) -> Launch:
    words = hub_words(span)
    whole = span <= 32 * words
    if size_class == 0:
        table = 32 if whole else 256
        return _filled(
            device, 256, 8 * 4 * (words + table), {**macros, "QE_TEAM_WARP": 1}, range=32 * words, table=table
        )
    if size_class == 1:
        table = 32 if whole else 4096
        threads = 256 if n_roots >= _FEW_ROOTS * device.multiprocessors else 1024
        return _filled(device, threads, 4 * (words + table), macros, range=32 * words, table=table)
    table = 8192
    room = 8 * (device.dynamic_bytes - 4 * table) // 32 * 32
    marked = max(32 * words, min(-(-span // 32) * 32, room))
    table = 32 if marked >= span else table
    return _filled(device, 1024, marked // 8 + 4 * table, macros, range=marked, table=table)


def clique_launch(
    device: DeviceProperties,
    size_class: int,
    span: int,
    largest: int,
    depth: int,
    triangular: bool,
    memory: int = _MOST_SCRATCH,
) -> Launch | None:
    """Return the launch of ``count_cliques`` for a class of roots, None where its matrices take too much memory.

    ``largest``: the most members of any root. ``memory``: the device's bytes that matrices may take.
    """
    words = hub_words(span)
    threads = (256, 256, 512, 512)[size_class]
    most = min(largest, CLIQUE_LIMITS[size_class])
    capacity = -(-most // 16) * 16
    macros = clique_macros(size_class, capacity, depth, triangular)
    stride, small = macros["QE_STRIDE"], macros["QE_SMALL"]
    table = 32 if span <= 32 * words else 1 << (2 * most - 1).bit_length()
    marks = 6 * (words + table)
    small_bytes = max(0, depth - 3) * (4 * _stride(small) * small + 2 * small)
    matrix = 4 * capacity * stride
    room = device.dynamic_bytes
    values = {"table": table, "capacity": capacity}
    if size_class == 0 and matrix + small_bytes + marks <= room:
        warps = min(threads // _WARP, room // (matrix + small_bytes + marks))
        shared = warps * (matrix + small_bytes + marks)
        return _filled(device, warps * _WARP, shared, {**macros, "QE_TEAM_WARP": 1}, **values)
    scratch = threads // _WARP * small_bytes
    if depth == 4:
        scratch = max(scratch, matrix + 2 * capacity)
    if matrix + scratch + marks <= room:
        return _filled(device, threads, matrix + scratch + marks, macros, **values)
    if marks > room:
        return None
    launch = _filled(device, threads, marks, {**macros, "QE_WIDE": 1}, **values, scratch=matrix + scratch)
    return _with_scratch(device, launch, matrix + scratch, memory)


def clique_macros(size_class: int, capacity: int, depth: int, triangular: bool) -> dict[str, int]:
    """Return what ``count_cliques`` is compiled with for a class of roots of at most ``capacity`` members."""
    stride = _stride(capacity)
    if depth <= 4:
        small = _WARP_MATRICES[size_class if depth == 4 else 0]  # chains of three restrict none
    else:
        small = next((each for each in _SMALL_MATRICES if each >= capacity), 32 * stride)
    return {"QE_DEPTH": depth, "QE_STRIDE": stride, "QE_TRIANGULAR": int(triangular), "QE_SMALL": small}


def _with_scratch(device: DeviceProperties, launch: Launch, each: int, memory: int = _MOST_SCRATCH) -> Launch | None:
    """Return a launch of as many blocks as may have so many bytes of global memory each, None where not one may."""
    most = min(_MOST_SCRATCH, memory, device.memory_bytes // _SCRATCH_SHARE) // each
    return replace(launch, blocks=min(launch.blocks, most)) if most else None


def _stride(members: int) -> int:
    """Return the words of a bit matrix's row."""
    return next(each for each in _STRIDES if 32 * each >= members)


def wedge_launches(device: DeviceProperties, span: int) -> dict[str, Launch]:
    """Return the launches that count wedges: ``light`` and ``middle`` by hashing, ``packed`` and ``wide`` by tiles."""
    room = device.dynamic_bytes // 512 * 512
    found = _hashed_launches(device)
    for name, width in (("packed", 2), ("wide", 4)):
        tile = min(room // width, -(-span // 512) * 512)
        macros = {"QE_PACKED": 1} if width == 2 else {}
        found[name] = _filled(device, 1024, tile * width, macros, tile=tile, tiles=-(-span // tile))
    return found


def filter_launch(device: DeviceProperties) -> Launch:
    """Return the launch that drops roots without triangles, a warp a root."""
    return _filled(device, 256, 8 * 4 * 256, {"QE_TEAM_WARP": 1}, table=256)


def house_launches(device: DeviceProperties, span: int) -> dict[str, Launch]:
    """Return the launches that count houses: ``light``, ``middle`` by hashing, ``heavy`` with a counter an id.

    There is no ``heavy`` where a block's counters are too many even for global memory.
    """
    found = _hashed_launches(device)
    heavy: Launch | None
    if 4 * span <= device.dynamic_bytes:
        heavy = _filled(device, 1024, 4 * span, {})
    else:
        heavy = _filled(device, 1024, 0, {"QE_GLOBAL": 1}, scratch=span)
        heavy = _with_scratch(device, heavy, 4 * span)
    return found if heavy is None else {**found, "heavy": heavy}


def _hashed_launches(device: DeviceProperties) -> dict[str, Launch]:
    warps = device.warps_fitting(_SLOT * _LIGHT_TABLE, 8)
    table = min(_MIDDLE_TABLE, 1 << (device.dynamic_bytes // _SLOT).bit_length() - 1)
    light, middle = _SLOT * _LIGHT_TABLE * warps, _SLOT * table
    return {
        "light": _filled(device, warps * _WARP, light, {"QE_TEAM_WARP": 1}, table=_LIGHT_TABLE, most=_LIGHT_TABLE // 2),
        "middle": _filled(device, 512, middle, {}, table=table, most=table // 2),
    }


def _filled(device: DeviceProperties, threads: int, shared: int, macros: dict[str, int], **values: int) -> Launch:
    """Return a launch of as many blocks as the device holds at once."""
    blocks = device.multiprocessors * max(1, device.blocks_each(threads, shared))
    return Launch(blocks, threads, shared, macros, values)
