"""Functions have at most eight parameters; those that read a graph say which part of it, never ``Any``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READERS = [
    ROOT / "qengine/exec",
    ROOT / "qengine/estimate",
    ROOT / "qengine/sampled.py",
    ROOT / "qengine/cardinalities.py",
]
MOST = 8
GRAPHS = {"store", "_store", "graph", "masks", "_masks"}


def annotated(tree: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names and annotations of all parameters and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name | ast.Attribute):
            yield node.target.id if isinstance(node.target, ast.Name) else node.target.attr, node.annotation


def untyped(source: str) -> list[str]:
    return [
        name
        for name, annotation in annotated(ast.parse(source))
        if name in GRAPHS and annotation is not None and ast.unparse(annotation) in ("Any", "object")
    ]


def test_graphs_and_masks_are_typed_where_they_are_read() -> None:
    paths = [path for each in READERS for path in ([each] if each.is_file() else each.rglob("*.py"))]
    assert {str(path): found for path in paths if (found := untyped(path.read_text()))} == {}


@pytest.mark.parametrize("source", ["def f(store: Any): ...", "class A:\n    store: Any", "self.masks: Any = None"])
def test_an_untyped_graph_is_found(source: str) -> None:
    assert len(untyped(source)) == 1


def parameters_of(source: str) -> list[tuple[str, int]]:
    """Return how many parameters each function of a Python file takes, its object apart."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            named = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            rest = (node.args.vararg is not None) + (node.args.kwarg is not None)
            found.append((node.name, rest + sum(each.arg not in ("self", "cls") for each in named)))
    return found


NATIVE = re.compile(r"\b(\w+)\(([^(){};]*)\)\s*(?:const\s*)?(?:noexcept\s*)?[{;]")
"""A definition or declaration (or a call, as a statement), whose parameters are no functions."""


def native_parameters_of(source: str) -> list[tuple[str, int]]:
    """Return the same of a C++ file; a comma in the brackets of a template's arguments separates nothing."""
    found = []
    for name, parameters in NATIVE.findall(re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.DOTALL)):
        while (plain := re.sub(r"<[^<>]*>", "", parameters)) != parameters:
            parameters = plain
        found.append((name, parameters.count(",") + 1 if parameters.strip() else 0))
    return found


def too_long(files: Iterable[Path], count: Callable[[str], list[tuple[str, int]]]) -> list[tuple[str, str, int]]:
    """Return the functions of some files that take more parameters than they may."""
    counted = [(str(file.relative_to(ROOT)), name, n) for file in files for name, n in count(file.read_text())]
    assert counted
    return [each for each in counted if each[2] > MOST]


@pytest.mark.parametrize("path", ["qengine", "tests", "examples"])
def test_no_function_of_python_takes_many_parameters(path: str) -> None:
    assert too_long((ROOT / path).rglob("*.py"), parameters_of) == []


@pytest.mark.parametrize("path", ["host/*/*.cpp", "host/*/*.h", "include/qe/*.h", "cuda/*/*.cu", "cuda/*/*.cuh"])
def test_no_kernel_takes_many_parameters(path: str) -> None:
    assert too_long((ROOT / "kernels").glob(path), native_parameters_of) == []


def test_parameters_are_counted() -> None:
    assert parameters_of("class A:\n    def f(self, a, /, b, *c, d=1, **e): ...") == [("f", 5)]
    source = """
    QE_API int32_t f(const std::map<int, int>& a, int b) { g(); }
    void h(int a,  // one, two
           int b) noexcept;
    """
    assert native_parameters_of(source) == [("f", 2), ("g", 0), ("h", 2)]
