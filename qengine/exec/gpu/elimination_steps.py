"""What kernels of an elimination on the device read and write: blocks by step, and the launches over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine.exec.common.relations import Relations
from qengine.exec.common.runtime import Runtime
from qengine.exec.gpu.bit_rows import side_of
from qengine.exec.gpu.eliminate_matrix import ALL, DeviceMatrix, work_queue
from qengine.exec.gpu.families import MESSAGE_WINDOW
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.row_products import ROW_PRODUCTS, run_row_products
from qengine.exec.gpu.triangle_counts import TriangleCounter
from qengine.exec.host.eliminate import Unfit, indicator_vector
from qengine.plan.elimination import (
    Domain,
    ForestNode,
    MaskedForest,
    MaskedProduct,
    Matrix,
    NodeIndicator,
    RootedForest,
)
from qengine.plan.kernels.gpu import MOST_FOREST_NODES
from qengine.plan.kernels.shapes import RowProducts
from qengine.plan.kernels.sums import MOST_FACTORS
from qengine.plan.physical import Eliminate

__all__ = [
    "FACTORS",
    "FLAGS",
    "FOREST_NODE",
    "FOREST_PLAN",
    "LANES",
    "MOST_SUMS",
    "PARTS",
    "SHARED",
    "SUMS",
    "TOTAL",
    "TOTAL_BLOCKS",
    "DeviceSteps",
    "Unfit",
    "blocks_of",
    "integer",
]

MOST_SUMS = 24
FACTORS = _native.record(f"u8[{MOST_FACTORS}] of; u4 n unused")
SUMS = _native.record(f"FACTORS[{MOST_SUMS}] of; u8 n", FACTORS=FACTORS)
PARTS = _native.record("u8 sums open")
FOREST_NODE = _native.record("i4 start vector link first count slot")
FOREST_PLAN = _native.record(
    "u8 nodes children tops matrices vectors roots scratch scratch_bytes; i4 n_nodes n_tops n_slots; u4 n n_roots words"
)
_ROW, _SUMMED = -1, -2
"""Slots of nodes that are rows of the root, and of those of which only the sum is wanted."""

SHARED = np.dtype(
    [("totals", "<u8", (MOST_FOREST_NODES, 2)), ("sums", "<u8", (32, 3)), ("pushed", "<u8", (MOST_FOREST_NODES,)),
     ("root", "<u8", 2), ("ends", "<u4", (3, MOST_FOREST_NODES))], align=True
)  # fmt: skip
"""At most so large: a number has one word or two, a sum one more."""

_FOREST_WORDS, _FEWEST_WORDS = 25_000, 5_120
"""Of a block's shared memory for what it adds up: at most, so that two blocks run at a time, and at least."""

_THREADS = 256
_AROUND_THREADS = 512
LANES = 32
TOTAL_BLOCKS = 256
FLAGS = 16
"""Bytes before the totals: uint32 whether a number was too large, whether a count was negative, whether a weight was
too large, whether a product that is added up was."""

TOTAL = 24
"""Bytes of a total: products of 128 bits are added up."""


class Roots(Protocol):
    """The roots for which steps over pairs are run at a time."""

    def size(self, domain: Domain) -> int:
        """Return how many pairs of these roots a domain has."""


class DeviceSteps:
    """One execution of the program. ``vectors``: blocks by step, None for a vector of ones.

    ``piece``: the roots that steps over pairs are run for now. ``share``: what of a call this device does now: all that
    it leaves out is 0 in what the call gives. ``n_totals``: sums of products over vertices that it
    finds. ``counted``: triangles by the step of their sides and whether by pair, which have the same 64 bits in any
    execution.
    """

    def __init__(
        self,
        operator: Eliminate,
        runtime: Runtime,
        relations: Relations,
        n_totals: int,
        wide: bool,
        run: DeviceRun,
        held: list[Resident],
        counted: dict[tuple[int, bool], Any],
    ) -> None:
        self.operator = operator
        self.steps = operator.steps
        self.store = runtime.store
        self.context = runtime.context
        self.relations = relations
        self.wide = wide
        self.run = run
        self.held = held
        self.counted = counted
        self.n = int(self.store.vertex_count)
        self.width = 16 if wide else 8
        self.vectors: dict[int, Any] = {}
        self.matrices: dict[int, DeviceMatrix] = {}
        self.piece: Roots | None = None
        self.share = ALL
        self.rows: dict[int, tuple[int, npt.NDArray[np.uint64]]] = {}
        self.blocks: list[Any] = []  # what kernels may still use
        self.sizes: dict[int, int] = {}  # of those that may be used again, in bytes, by their ``id``
        self.spare: dict[int, list[Any]] = {}  # of these, by their bytes, those that only launched kernels need
        self.state = self.allocate(FLAGS + TOTAL * n_totals, "the totals", clear=True)

    def weights(self, matrix: DeviceMatrix, vector: Any, most: int) -> Any:
        """Return a block that gets a vector's numbers as weights of a matrix's vertices."""
        to = self.allocate(4 * max(1, matrix.rows), "weights")
        bounds = matrix.record["lo"], np.uint32(matrix.rows), np.uint32(most)
        address = np.uint64(0 if vector is None else vector.ptr)
        flag = np.uint64(self.flag + np.uint64(8))
        self.launch("vector_weights", blocks_of(matrix.rows), address, *bounds, np.uint64(to.ptr), flag)
        return to

    def size(self, domain: Domain) -> int:
        """Return how many vertices there are, or pairs of the roots that are done now."""
        if domain is None:
            return self.n
        assert self.piece is not None
        return self.piece.size(domain)

    # ------------------------------------------------------------ steps

    def own(self, own: NodeIndicator) -> Any:
        """Make the vector on the device where one node's labels decide, else on the host."""
        if not own.nodes and not own.loops:
            return None
        if own.loops or len(own.nodes) > 1 or own.nodes[0][2]:
            host = indicator_vector(self.relations, own)
            if self.wide:
                host = np.stack((host, np.zeros_like(host)), axis=1)
            self.upload(host)
            return self.blocks[-1]
        out = self.allocate(self.width * self.n, "a vector", clear=True)
        for begin, end in self.store.label_ranges(own.nodes[0][1]).tolist():
            if begin < end:
                bounds = np.uint64(begin), np.uint64(end)
                self.launch("eliminate_ones", blocks_of(end - begin), *bounds, np.uint64(out.ptr))
        return out

    def ones(self, n: int) -> Any:
        """Return a vector of n numbers, each 1."""
        out = self.allocate(self.width * max(1, n), "a vector")
        if n:
            self.launch("eliminate_ones", blocks_of(n), np.uint64(0), np.uint64(n), np.uint64(out.ptr))
        return out

    def matrix_product(self, factors: Sequence[DeviceMatrix]) -> DeviceMatrix:
        """Multiply matrices that link the same pairs."""
        numbered = [each for each in factors if each.record["values"]]
        if len(numbered) < 2:
            return numbered[0] if numbered else factors[0]
        return numbered[0].with_values(
            self.product([int(each.record["values"]) for each in numbered], factors[0].entries)
        )

    def vector_product(self, factors: Sequence[Any], n: int) -> Any:
        """Multiply vectors of n numbers."""
        blocks = [block for block in factors if block is not None]
        return self.product([block.ptr for block in blocks], n) if len(blocks) > 1 else (*blocks, None)[0]

    def product(self, pointers: Sequence[int], n: int) -> Any:
        """Multiply arrays of n numbers."""
        out = self.allocate(self.width * n, "a product")
        factors = np.zeros((), FACTORS)
        factors["of"][: len(pointers)], factors["n"] = pointers, len(pointers)
        self.launch("eliminate_product", blocks_of(n), factors, np.uint64(n), np.uint64(out.ptr), self.flag)
        return out

    def message(self, matrix: DeviceMatrix, vector: int | None, n: int) -> Any:
        """Multiply a matrix by a vector; the result has n numbers."""
        out = self.allocate(self.width * max(1, n), "a vector", clear=True)
        record, to = matrix.record, np.uint64(out.ptr)
        if not matrix.entries:
            return out
        if not record["values"] and not self.address(vector):
            self.launch("eliminate_lengths", blocks_of(matrix.rows), record, to)
            return out
        windows = -(-matrix.entries // MESSAGE_WINDOW)
        sums = 2 * (self.width + 8) * windows
        cut = self.allocate(sums + 4 * windows, "the rows that are cut")
        parts = np.array((cut.ptr, cut.ptr + sums), PARTS)
        blocks = blocks_of(windows * LANES)
        self.launch("eliminate_message", blocks, record, self.address(vector), to, parts, self.flag)
        self.launch("eliminate_join", blocks, record, parts, to, self.flag)
        self.let_go(cut)
        return out

    def vertex_triangles(self, place: int) -> Any:
        """Return for each vertex how many pairs of a matrix's entries close a triangle with it, in both orders."""
        matrix = self.matrices[place]
        out = self.allocate(self.width * max(1, self.n), "a vector", clear=True)
        if matrix.entries:
            counts = np.uint64(self.counted_triangles(place, by_pair=False).ptr)
            rows = np.uint32(matrix.rows)
            self.launch("triangle_ends", blocks_of(matrix.rows), counts, matrix.record["lo"], rows, np.uint64(out.ptr))
        return out

    def triangles_of_pairs(self, place: int) -> DeviceMatrix:
        """Return a matrix with the triangles of each of its pairs as its numbers."""
        matrix = self.matrices[place]
        out = self.allocate(self.width * matrix.entries, "a matrix")
        if matrix.entries:
            counts = np.uint64(self.counted_triangles(place, by_pair=True).ptr)
            rows, _ = self.owners(matrix)
            self.launch_all("triangle_sides", matrix.record, rows, counts, np.uint64(out.ptr))
        return matrix.with_values(out)

    def triangles(self) -> TriangleCounter:
        """Return what counts triangles."""
        return TriangleCounter(self.store, self.run, self.held, self.blocks, self.share)

    def counted_triangles(self, place: int, *, by_pair: bool) -> Any:
        """Return the triangles of each vertex or pair of a matrix, counted now or by an execution before."""
        if (place, by_pair) not in self.counted:
            self.counted[place, by_pair] = self.triangles().count(self.matrices[place], by_pair)
        return self.counted[place, by_pair]

    def owners(self, matrix: DeviceMatrix) -> tuple[np.uint64, np.uint64]:
        """Find the row of each entry, and where each row's ids stop to be less than its own; return where they are."""
        block = self.allocate(8 * matrix.rows + 4 * matrix.entries, "the rows of pairs")
        middles, rows = np.uint64(block.ptr), np.uint64(block.ptr + 8 * matrix.rows)
        self.launch_all("eliminate_owners", matrix.record, rows, middles)
        return rows, middles

    def triangle_sums(self, place: int, vector: int | None) -> DeviceMatrix:
        """Sum out the third vertices of a simple graph's triangles, each found once for its three pairs."""
        across = self.matrices[place]
        out = self.allocate(self.width * across.entries, "a matrix", clear=True)
        if across.entries:
            rows, middles = self.owners(across)
            to = np.uint64(out.ptr)
            given = across.record, rows, middles, self.address(vector), to, self.deal(), self.flag
            self.launch_all("eliminate_triangle_sums", *given)
            self.launch_all("eliminate_mirror", across.record, rows, to)
            self.run.wait()
        return across.with_values(out)

    def masked_product(self, step: MaskedProduct) -> DeviceMatrix:
        """Sum out the third vertices of triangles."""
        across, left, right = (self.matrices[place] for place in (step.across, step.left, step.right))
        out = self.allocate(self.width * across.entries, "a matrix", clear=True)
        if across.entries:
            rows, _ = self.owners(across)
            matrices = across.record, rows, self.side(left), self.side(right)
            vector, to = self.address(step.vector), np.uint64(out.ptr)
            self.launch_all("masked_product", *matrices, vector, to, self.deal(), self.flag)
            self.run.wait()
        return across.with_values(out)

    def side(self, matrix: DeviceMatrix) -> Any:
        """Return a matrix with rows of bits, as kernels of masked products take it."""
        return side_of(matrix, self.store, self.run, self.held, self.blocks)

    def around(self, step: RootedForest, roots: int, reached: int) -> Any:
        """Sum a forest out around each of some roots; its vertices have numbers below ``reached``."""
        out = self.allocate(self.width * max(1, roots), "a vector", clear=self.share != ALL)
        given = np.uint64(out.ptr), self.deal(), self.flag
        self.launch_forest("rooted_forest", self.forest(step.nodes, step.tops), step.vector, roots, reached, given)
        return out

    def masked_forest(self, step: MaskedForest, reached: int) -> DeviceMatrix:
        """Look the last node's vector around each root up by the rows of ``right``, for the pairs of ``across``."""
        across, right = self.matrices[step.across], self.matrices[step.right]
        out = self.allocate(self.width * across.entries, "a matrix", clear=True)
        if across.entries:
            tables = self.forest(step.nodes, (), last=True)
            given = across.record, right.record, np.uint64(out.ptr), self.deal(), self.flag
            self.launch_forest("masked_forest", tables, None, across.rows, reached, given)
        return across.with_values(out)

    def turned(self, back: DeviceMatrix, matrix: DeviceMatrix) -> DeviceMatrix:
        """Return the pairs of ``back`` with the numbers that ``matrix`` has for them from their other ends."""
        out = self.allocate(self.width * back.entries, "a matrix")
        if back.entries:
            rows, _ = self.owners(back)
            self.launch_all("eliminate_turned", back.record, rows, matrix.record, np.uint64(out.ptr))
        return back.with_values(out)

    def launch_forest(
        self,
        name: str,
        forest: tuple[tuple[npt.NDArray[Any], ...], int],
        vector: int | None,
        roots: int,
        reached: int,
        given: tuple[Any, ...],
    ) -> None:
        """Run a kernel around each root of a forest's tables, which has so many vectors kept; ``given``: the rest."""
        tables, slots = forest
        places = [self.upload(table) for table in tables]
        room = (self.run.device.dynamic_bytes - SHARED.itemsize) // 4
        words = min(_FOREST_WORDS, room, max(_FEWEST_WORDS, self.width * reached))
        shared = SHARED.itemsize + 4 * words
        kernel = self.run.kernel("rooted_forest", name, {"QE_WIDE": int(self.wide)}, shared)
        each = max(256, -(-reached * slots * (self.width + 4) // 256) * 256)
        resident = self.run.device.resident_blocks(kernel, _AROUND_THREADS, shared)
        blocks = max(1, min(resident, self.run.free_bytes() // 2 // each))
        scratch = self.run.allocate(blocks * each, "what roots reach")
        self.blocks.append(scratch)
        sizes = len(tables[0]), len(tables[2]), slots, reached, roots, words
        plan = np.array((*places, self.address(vector), scratch.ptr, each, *sizes), FOREST_PLAN)
        self.run.launch(kernel, blocks, _AROUND_THREADS, (plan, *given), shared)
        self.run.wait()

    def row_products(
        self, of: RowProducts, roots: int, columns: int, most: int | None = None, local: tuple[Any, Any] = (0, 0)
    ) -> Any:
        """Add products of the ways from some roots up; their columns have numbers below ``columns``.

        Parameters
        ----------
        most
            How many columns a row can have, where that is fewer; ``local`` says where its first is.
        local
            The addresses of where the rows of a root of roots begin, and of which one each root is among.
        """
        out = self.allocate(self.width * max(1, roots), "a vector", clear=self.share != ALL)
        task = np.zeros((), ROW_PRODUCTS)
        for ways, to in zip(of.ways, task["ways"], strict=False):
            to["start"], to["link"] = self.matrices[ways.start].record, self.matrices[ways.link].record
            to["through"], to["exponent"] = self.address(ways.through), ways.exponent
        task["weights"], task["factors"] = self.address(of.weights), self.address(of.factors)
        task["ends"], task["owners"] = local
        task["out"], task["n"], task["n_rows"], task["n_kinds"] = out.ptr, columns, roots, len(of.ways)
        most = columns if most is None else most
        run_row_products(self.run, task, most, self.wide, self.flag, self.blocks, self.share)
        return out

    def forest(
        self, given: Sequence[ForestNode], tops: Sequence[int], last: bool = False
    ) -> tuple[tuple[npt.NDArray[Any], ...], int]:
        """Return nodes, children, tops, matrices and vectors as the kernel takes them, and how many it keeps.

        ``last``: that of the last node, too.
        """
        matrices: dict[int, int] = {}
        vectors: dict[int, int] = {}
        children: list[int] = []
        nodes = []
        slots = 0
        read = {child for node in given for child in node.nodes} | ({len(given) - 1} if last else set())
        for number, node in enumerate(given):
            vector = (
                -1
                if not self.address(node.vector)
                else vectors.setdefault(int(self.address(node.vector)), len(vectors))
            )
            start, link = (
                -1 if place is None else matrices.setdefault(place, len(matrices)) for place in (node.start, node.link)
            )
            listed = bool(node.nodes) and number in read
            slot = slots if listed else _SUMMED if node.nodes else _ROW
            nodes.append((start, vector, link, len(children), len(node.nodes), slot))
            slots += listed
            children += node.nodes
        records = np.array([self.matrices[place].record for place in matrices])
        tables = (
            np.array(nodes, FOREST_NODE),
            np.array([*children, 0], np.int32),
            np.array(tops, np.int32),
            records,
        )
        return (*tables, np.array([*vectors, 0], np.uint64)), slots

    # ------------------------------------------------------------ kernels

    def host_rows(self, place: int) -> tuple[int, npt.NDArray[np.uint64]]:
        """Return the first row of a matrix of relationships, and where its rows begin and end, on the host."""
        if place not in self.rows:
            step = self.operator.steps[place]
            assert isinstance(step, Matrix)
            record = self.matrices[place].record
            offsets = np.empty(self.matrices[place].rows + 1, np.uint64)
            if self.matrices[place].rows:
                self.run.read(int(record["offsets"]), offsets)
            else:
                offsets[:] = 0
            self.rows[place] = int(record["lo"]), offsets
        return self.rows[place]

    def forget(self, places: Iterable[int]) -> None:
        """Drop what steps have given."""
        for place in places:
            self.vectors.pop(place, None)
            self.matrices.pop(place, None)

    def kernel(self, family: str, name: str, shared_bytes: int) -> Any:
        """Return a kernel for the width of the numbers."""
        return self.run.kernel(family, name, {"QE_WIDE": int(self.wide)}, shared_bytes)

    def deal(self) -> npt.NDArray[Any]:
        """Return a ``WORK_QUEUE`` of which nothing is taken."""
        return work_queue(self.allocate(8, "what is dealt", clear=True).ptr, self.run.stop_flag, self.share)

    def sum_of(self, block: Any, n: int) -> int:
        """Return the sum of a vector's n numbers."""
        sums = np.zeros((), SUMS)
        sums["n"], sums["of"][0]["of"][0], sums["of"][0]["n"] = 1, block.ptr, 1
        to = self.allocate(TOTAL, "a total", clear=True)
        flag = np.uint64(self.flag + np.uint64(12))
        blocks = min(TOTAL_BLOCKS, blocks_of(n))
        self.launch("eliminate_sums", blocks, sums, np.uint64(n), np.uint64(to.ptr), flag)
        words = np.zeros(TOTAL // 8, np.uint64)
        self.read(to, words)
        return integer(words)

    @property
    def flag(self) -> np.uint64:
        """The address of the flag that says that a number was too large."""
        return np.uint64(self.state.ptr)

    def address(self, place: int | None) -> np.uint64:
        """Return the address of a vector, 0 of ones."""
        block = None if place is None else self.vectors[place]
        return np.uint64(0 if block is None else block.ptr)

    def allocate(self, n_bytes: int, what: str, *, clear: bool = False) -> Any:
        """Return a block that lives as long as the run: kernels may use it until they are waited for.

        A large one may lie in the host's memory in part. It may be one that was let go of: kernels run in order.
        """
        if spare := self.spare.get(n_bytes):
            block = spare.pop()
            if clear:
                self.run.clear(block, n_bytes)
            return block
        self.blocks.append(self.run.zeroed(n_bytes, what, placed=True) if clear else self.run.place(n_bytes, what))
        self.sizes[id(self.blocks[-1])] = n_bytes
        return self.blocks[-1]

    def let_go(self, block: Any) -> None:
        """Let a block be used again by kernels that aren't launched yet, unless it is still some vector's."""
        if (n_bytes := self.sizes.get(id(block))) and all(block is not each for each in self.vectors.values()):
            self.spare.setdefault(n_bytes, []).append(block)

    def upload(self, host: npt.NDArray[Any]) -> int:
        """Copy an array to a block that lives as long as the run; return its address."""
        self.blocks.append(self.run.upload(host, "what elimination begins with"))
        return int(self.blocks[-1].ptr)

    def launch(self, name: str, blocks: int, *arguments: Any) -> None:
        """Start a kernel on vectors."""
        macros = {"QE_WIDE": int(self.wide), "QE_WINDOW": MESSAGE_WINDOW}
        self.run.launch(self.run.kernel("eliminate", name, macros), blocks, _THREADS, arguments)

    def launch_all(self, name: str, *arguments: Any) -> None:
        """Start a kernel on the pairs of matrices, on as many blocks as run at a time."""
        kernel = self.run.kernel("masked_product", name, {"QE_WIDE": int(self.wide)})
        blocks = max(1, self.run.device.resident_blocks(kernel, _THREADS, 0))
        self.run.launch(kernel, blocks, _THREADS, arguments)

    def read(self, block: Any, host: npt.NDArray[Any]) -> None:
        """Wait for the kernels, and fill an array. ``block``: one, or an address."""
        self.run.wait()
        self.run.read(int(getattr(block, "ptr", block)), host)


def integer(words: npt.NDArray[np.uint64]) -> int:
    """Return the number of words, the lowest first."""
    return sum(int(word) << 64 * k for k, word in enumerate(words))


def blocks_of(threads: int) -> int:
    """Return how many blocks have so many threads."""
    return max(1, -(-threads // _THREADS))
