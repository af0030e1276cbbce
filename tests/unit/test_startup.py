"""What starting up must not import: each costs more than a small query takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
QUERY = "MATCH (c:Country) RETURN count(*) AS n"


def imported(code: str) -> set[str]:
    """Run code in a process of its own and return the top-level packages that it has imported."""
    code += "\nimport sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("package", ["pyarrow", "numpy", "lark", "prompt_toolkit", "pandas", "cupy"])
def test_importing_the_package_leaves_the_libraries_alone(package: str) -> None:
    assert package not in imported("import qengine; assert qengine.Graph")


def test_a_query_on_the_command_line_leaves_terminal_libraries_and_pandas_alone() -> None:
    code = f"""
import sys
from qengine.cli.main import command
sys.argv = ["qengine", "examples/world", "-c", {QUERY!r}, "--format", "csv"]
assert command() == 0
"""
    found = imported(code)
    assert "pyarrow" in found and "pydoc" not in found  # with which pyarrow documents its functions
    assert found.isdisjoint({"prompt_toolkit", "pandas", "polars", "duckdb", "cupy"})


def test_masked_arrays_are_imported_when_one_is_made() -> None:
    code = f"""
import sys
from qengine.cli.main import command
sys.argv = ["qengine", "examples/world", "-c", {QUERY!r}, "--format", "csv"]
assert command() == 0
assert "numpy.ma.core" not in sys.modules
import numpy, pyarrow
masked = numpy.ma.masked_array([1, 2], [False, True])
assert pyarrow.array(masked).to_pylist() == [1, None] and numpy.ma.is_masked(masked)
"""
    assert "numpy" in imported(code)


def test_only_settings_that_a_folder_has_are_read_as_toml() -> None:
    assert "tomllib" not in imported("import qengine.storage, qengine.catalog.functions as f; f.functions()")
