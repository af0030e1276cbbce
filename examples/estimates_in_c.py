"""Feed an optimizer that is written in C: it takes cardinalities as a stream of Arrow's C interface.

``estimates.c`` beside this is compiled with the system's compiler, and gets the address of an ``ArrowArrayStream``,
which an ``EstimateTable`` gives away as a PyCapsule.

Run it from anywhere: python examples/estimates_in_c.py
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import qengine
from qengine.estimate import EstimateTable

HERE = Path(__file__).resolve().parent
PATTERN = (
    "MATCH (r:River {name: 'Danube'})-[:flows_through]->(a:Country)-[:borders]-(b:Country)-[:speaks]->(l:Language)"
)


def compiled(compiler: str, folder: str) -> ctypes.CDLL:
    """Return the library that a C compiler makes of ``estimates.c``."""
    library = Path(folder) / "estimates.so"
    options = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, HERE / "estimates.c", "-o", library, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def order_in_c(library: ctypes.CDLL, table: EstimateTable) -> str:
    """Return the order of nodes that the C program finds the cheapest."""
    capsule = table.__arrow_c_stream__()
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    out = ctypes.create_string_buffer(1024)
    order = library.order_of_estimates
    order.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
    if order(address(capsule, b"arrow_array_stream"), out, len(out)):
        raise ValueError("The stream isn't one of estimates.")
    return out.value.decode()


def main() -> None:
    """Print what is estimated of the pattern's parts, and the order that C makes of it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        print("This needs a C compiler.")
        return
    graph = qengine.Graph.from_csv(HERE / "world")
    table = graph.estimate_all(PATTERN, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        print(table)
        print("The order, by a program in C:", order_in_c(compiled(compiler, folder), table))


if __name__ == "__main__":
    main()
