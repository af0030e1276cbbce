"""CUDA code is compiled on a machine without a GPU, kept, and lays out the plan's structs as the host does."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from qengine.errors import DeviceError, InternalError, QueryTimeout
from qengine.exec.common import fold_plan, match_plan, predicate_programs, sampled_neighbours
from qengine.exec.gpu import (
    bfs_plan,
    bit_rows,
    candidate_job,
    compiled,
    count_kernels,
    dfs_plan,
    elimination_steps,
    extend,
    first_rows,
    nvrtc,
    pcsr_build,
    reach,
    reach_job,
    sample_job,
)
from qengine.exec.gpu import folds as device_folds
from qengine.exec.gpu.cliques import CLIQUE_CHAIN, CLIQUE_INDEX, CLIQUE_TASK
from qengine.exec.gpu.closed_walk_counts import GROUP, REMAINS, REST, REST_SHARED, STRIP, WINDOW
from qengine.exec.gpu.eliminate_matrix import MATRIX, WORK_QUEUE
from qengine.exec.gpu.families import FAMILIES, MESSAGE_WINDOW
from qengine.exec.gpu.neighbourhoods import NEIGHBOURS
from qengine.exec.gpu.row_products import ROW_PRODUCTS, SHARED_BYTES, WAYS
from qengine.exec.gpu.symmetric_links import LINK_SQUARES, SYMMETRIC_LINKS
from qengine.plan.kernels.gpu import MOST_KINDS
from tests.layouts import device_layouts, layouts

CHECKOUT = Path(__file__).resolve().parents[3]
STRUCTS = {
    "Pcsr": match_plan.PCSR,
    "PlanSpan": match_plan.SPAN,
    "PlanSource": match_plan.SOURCE,
    "PlanRange": match_plan.RANGE,
    "PlanPair": match_plan.PAIR,
    "PlanColumn": match_plan.COLUMN,
    "PlanCondition": match_plan.CONDITION,
    "PlanEdgeType": match_plan.EDGE_TYPE,
    "PlanLevel": match_plan.LEVEL,
    "MatchPlan": match_plan.PLAN,
}


@pytest.fixture(autouse=True)
def compiler() -> None:
    try:
        nvrtc.version()
    except DeviceError as error:  # the test extra brings it wherever there is one
        pytest.skip(f"this platform has no NVRTC: {error}")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QENGINE_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_every_family_is_known() -> None:
    assert {path.stem for path in (CHECKOUT / "kernels" / "cuda").glob("*/*.cu")} == FAMILIES.keys()


def check_layouts(
    header: str,
    structs: dict[str, np.dtype[Any]],
    *further: str,
    macros: Mapping[str, int | str] = MappingProxyType({"QE_LEVELS": 8}),
) -> None:
    """Check that the device lays structs out as NumPy does; ``further``: assertions that it compiles."""
    source = "\n".join((f'#include "{header}"', "using namespace qe;", *further))
    include = [f"--include-path={CHECKOUT / 'kernels' / folder}" for folder in ("include", "cuda")]
    given = [f"--define-macro={name}={value}" for name, value in macros.items()]
    assert device_layouts(source, structs, (*given, *include)) == layouts(structs)


def test_structs_are_laid_out_as_on_the_host() -> None:
    """The host's layout equals NumPy's by another test; here the device's does."""
    assert set(match_plan.STRUCTS) == set(STRUCTS.values())
    check_layouts("qe/match_plan.h", STRUCTS)


def test_folds_get_what_they_expect() -> None:
    named = {
        "Column": fold_plan.COLUMN,
        "Key": fold_plan.KEY,
        "Task": fold_plan.TASK,
        "Plan": fold_plan.PLAN,
        "Lists": fold_plan.LISTS,
    }
    named |= {"Condition": fold_plan.CONDITION, "DeviceTable": device_folds.TABLE, "FoldRows": device_folds.ROWS}
    check_layouts("fold/fold.cu", {f"fold::{name}": dtype for name, dtype in named.items()})
    check_layouts("fold/first_rows.cu", {"SortKey": first_rows.SORT_KEY})


def test_predicates_get_what_they_expect() -> None:
    check_layouts("filter/predicates.cu", {"PredicateStep": predicate_programs.STEP})


@pytest.mark.parametrize("levels", [0, 8, 64])
def test_the_depth_first_search_gets_what_it_expects(levels: int) -> None:
    branch = dfs_plan.WIDE_BRANCH if levels else dfs_plan.BRANCH
    structs = {
        "DfsSlice": dfs_plan.SLICE,
        "DfsView": dfs_plan.VIEW,
        "DfsCheck": dfs_plan.CHECK,
        "DfsNode": dfs_plan.NODE,
        "DfsPlan": dfs_plan.PLAN,
        "DfsState": dfs_plan.STATE,
        "DfsJob": dfs_plan.JOB,
        "DfsMemo": dfs_plan.MEMO,
        "DfsBranch": branch,
        "DfsStack": np.dtype([*dfs_plan.STACK.descr, ("branches", branch)]),
    }
    sizes = (f"static_assert(kLanes == {dfs_plan.LANES});",)
    check_layouts("search/dfs_plan.cuh", structs, *sizes, macros={"QE_LEVELS": levels})


def test_the_depth_first_stack_is_known_to_be_in_shared_memory() -> None:
    """Where any member of the search's object is called, not inlined, all of it is in local memory."""
    newest = nvrtc.supported_architectures()[-1]
    code = compiled.compile_family("dfs", newest + 9, {"QE_LEVELS": 0}).decode()  # PTX
    assert "ld.shared" in code and "st.shared" in code
    assert ".local" not in code


def test_the_count_by_extension_gets_what_it_expects() -> None:
    names = ("TotalTable", "TotalStep", "TotalState", "TotalJob")
    records = (bfs_plan.TABLE, bfs_plan.STEP, bfs_plan.STATE, bfs_plan.JOB)
    check_layouts("count/count_bfs_job.cuh", dict(zip(names, records, strict=True)))


def test_what_is_reached_gets_what_it_expects() -> None:
    names = ("ReachLayer", "ReachFound", "ReachState", "ReachJob", "ReachEnds")
    records = (reach_job.LAYER, reach_job.FOUND, reach_job.STATE, reach_job.JOB, reach_job.ENDS)
    sizes = (f"static_assert(8 * kBlockWords == {reach.SHARED_BYTES});",)
    check_layouts("walk/reach.cu", dict(zip(names, records, strict=True)), *sizes)


def test_extensions_views_and_lists_get_what_they_expect() -> None:
    tiles = {"SlotTiles": extend.SLOT_TILES, "Survivors": extend.SURVIVORS}
    check_layouts("search/extend.cu", tiles, macros=FAMILIES["extend"][0])
    views = {"SliceBounds": count_kernels.SLICE_BOUNDS, "RootClasses": count_kernels.ROOT_CLASSES}
    check_layouts("count/count_views.cu", views)
    check_layouts("load/pcsr_build.cu", {"ListOrder": pcsr_build.LIST_ORDER})


def test_elimination_gets_what_it_expects() -> None:
    names = ("using namespace qe::eliminate;",)
    for wide in (0, 1):
        macros = {"QE_WIDE": wide, "QE_WINDOW": MESSAGE_WINDOW}
        check_layouts("count/eliminate.cuh", {"Matrix": MATRIX, "WorkQueue": WORK_QUEUE}, *names, macros=macros)
        vectors = {"Factors": elimination_steps.FACTORS, "Parts": elimination_steps.PARTS}
        check_layouts(
            "count/eliminate.cu", vectors, f"static_assert(kLanes == {elimination_steps.LANES});", macros=macros
        )
        around = {"ForestNode": elimination_steps.FOREST_NODE, "ForestPlan": elimination_steps.FOREST_PLAN}
        sizes = (
            f"static_assert(sizeof(Shared) <= {elimination_steps.SHARED.itemsize});",
            f"static_assert(kMostForestNodes == {elimination_steps.MOST_FOREST_NODES});",
        )
        check_layouts("count/rooted_forest.cu", around, *sizes, macros=macros)
        check_layouts("count/eliminate_neighbours.cu", {"Neighbours": NEIGHBOURS}, macros=macros)
        check_layouts("count/masked_product.cu", {"BitRows": bit_rows.BIT_ROWS, "Side": bit_rows.SIDE}, macros=macros)
        cliques = {"CliqueIndex": CLIQUE_INDEX, "CliqueChain": CLIQUE_CHAIN, "CliqueTask": CLIQUE_TASK}
        check_layouts("count/cliques.cu", cliques, macros={**macros, "QE_ROLES": 5})
        links = {"SymmetricLinks": SYMMETRIC_LINKS, "LinkSquares": LINK_SQUARES}
        check_layouts("count/symmetric_links.cu", links, macros=macros)
        sizes = (
            f"static_assert(sizeof(ProductsShared) <= {SHARED_BYTES});",
            f"static_assert(kMostKinds == {MOST_KINDS});",
        )
        check_layouts("count/row_products.cu", {"Ways": WAYS, "RowProducts": ROW_PRODUCTS}, *sizes, macros=macros)
    walks = {"Remains": REMAINS, "Strip": STRIP, "Group": GROUP, "Rest": REST}
    sizes = (
        f"static_assert(kWindowEntries == {WINDOW});",
        f"static_assert(sizeof(RestShared) <= {REST_SHARED});",
    )
    check_layouts("count/closed_walks.cu", walks, *sizes)


def test_the_samplers_get_what_they_expect() -> None:
    structs = {"SampleJob": sample_job.JOB, "SampleTotals": sample_job.TOTALS, "SampleWork": sample_job.WORK}
    structs["GuideLevel"] = sample_job.GUIDE
    check_layouts("qe/sampled_neighbours.h", {"NeighbourJob": sampled_neighbours.JOB})
    check_layouts("sample/sample.cuh", structs, f"static_assert(kMostWarps == {sample_job.MOST_WARPS});")
    shape = FAMILIES["sample_packed"][0]
    sizes = (f"static_assert(kPackedLevels == {sample_job.PACKED_LEVELS});",)
    sizes += (f"static_assert(kPackedSources == {sample_job.PACKED_SOURCES});",)
    check_layouts("sample/sample_packed.cuh", {"PackedGraph": sample_job.PACKED_GRAPH}, *sizes, macros=shape)


def test_the_candidate_graph_gets_what_it_expects() -> None:
    structs = {
        "CandidateLevel": candidate_job.LEVEL,
        "CandidateSource": candidate_job.SOURCE,
        "CandidateStep": candidate_job.STEP,
        "CandidateState": candidate_job.STATE,
        "LevelSignatures": candidate_job.SIGNATURES,
        "CandidateJob": candidate_job.JOB,
        "RunningLists": candidate_job.RUNNING,
    }
    sizes = (f"static_assert(kFilterRounds == {candidate_job.FILTER_ROUNDS});",)
    sizes += (f"static_assert(kRootLanes == {candidate_job.ROOT_LANES});",)
    check_layouts("sample/candidate_graph.cuh", structs, *sizes)


def test_an_error_names_the_file_and_the_line() -> None:
    with pytest.raises(Exception, match=r"wrong\.cu\(2\): error"):
        nvrtc.compile_program("\nint x = y;", "wrong.cu", 90, [])


def test_an_architecture_newer_than_the_compiler_gets_ptx() -> None:
    newest = nvrtc.supported_architectures()[-1]
    assert nvrtc.compile_program("__global__ void k() {}", "k.cu", newest + 9, []).lstrip().startswith(b"//")


def test_a_binary_is_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not compiled.is_compiled("pcsr", 90)
    first = compiled.compiled("pcsr", 90)
    assert compiled.is_compiled("pcsr", 90) and not compiled.is_compiled("pcsr", 80)
    assert not compiled.is_compiled("pcsr", 90, {"A": 1})
    monkeypatch.setattr(compiled, "compile_family", None)
    assert compiled.compiled("pcsr", 90) == first
    assert len(list(cache.iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QENGINE_CACHE_DIR", "/dev/null/cache")
    assert compiled.compiled("pcsr", 90)
    assert not compiled.is_compiled("pcsr", 90)


@pytest.mark.parametrize("change", ["cut", "flip", "empty", "foreign", "writable", "old"])
def test_a_binary_that_is_not_what_was_kept_is_compiled_anew(
    cache: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    cache.chmod(0o700)
    monkeypatch.setattr(compiled, "compile_family", lambda family, *_: f"binary of {family}".encode())
    first = compiled.compiled("pcsr", 90)
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    if change == "cut":
        file.write_bytes(whole[:-1])
    elif change == "flip":
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif change == "empty":
        file.write_bytes(b"")
    elif change == "foreign":  # another family's, under this one's name
        compiled.compiled("signature", 90)
        (other,) = (each for each in cache.iterdir() if each != file)
        other.replace(file)
    elif change == "writable":
        file.write_bytes(whole)
        file.chmod(0o620)
    else:
        file.write_bytes(first)
    assert compiled.compiled("pcsr", 90) == first
    assert file.read_bytes() == whole and file.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(compiled, "compile_family", None)
    assert compiled.compiled("pcsr", 90) == first


def test_who_waits_for_a_compiler_can_be_stopped(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.chmod(0o700)
    begun, may_end, checks = threading.Event(), threading.Event(), list[int]()

    def compile_slowly(*_: Any) -> bytes:
        begun.set()
        assert may_end.wait(60)
        return b"binary"

    def stopped() -> None:
        checks.append(1)
        if begun.is_set():
            raise QueryTimeout("It took too long.")

    monkeypatch.setattr(compiled, "compile_family", compile_slowly)
    with pytest.raises(QueryTimeout):
        compiled.compiled_meanwhile("pcsr", 90, {}, "", stopped)
    assert checks and not compiled.is_compiled("pcsr", 90)
    assert compiled.compiled_meanwhile("pcsr", 90, {}, "", may_end.set) == b"binary"  # by the same compiler
    assert not compiled._under_way and compiled.is_compiled("pcsr", 90)


def test_what_is_needed_soon_is_compiled_side_by_side(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.chmod(0o700)
    all_begun = threading.Barrier(3, timeout=60)

    def compile_beside(family: str, architecture: int, macros: Mapping[str, int | str], preface: str) -> bytes:
        all_begun.wait()
        return str(macros).encode()

    monkeypatch.setattr(compiled, "compile_family", compile_beside)
    variants = [{"QE_A": k} for k in range(3)]
    for macros in variants:
        compiled.compile_ahead("pcsr", 90, macros)
    for macros in variants:
        assert compiled.compiled_meanwhile("pcsr", 90, macros, "", lambda: None) == str(macros).encode()
    assert not compiled._under_way


def test_an_error_of_the_compiler_reaches_who_waits(cache: Path) -> None:
    for _ in range(2):
        with pytest.raises(InternalError, match="doesn't compile"):
            compiled.compiled_meanwhile("pcsr", 90, {}, "no code", lambda: None)
