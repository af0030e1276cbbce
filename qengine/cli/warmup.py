"""The command ``qengine warmup``: compiles the GPU's kernels before a query needs them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from qengine.cli.arguments import Parser


def parser() -> Parser:
    """Return the command line's parser."""
    found = Parser(
        prog="qengine warmup",
        description="Compile the kernels for this machine's GPU now, so that no query waits for it.",
    )
    found.add_argument(
        "--package",
        metavar="DIR",
        type=Path,
        help="compile them for GPUs of all kinds instead, without one: a wheel that is built with these files in "
        "build/ready needs not compile them",
    )
    return found


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status.

    Raises
    ------
    DeviceError
        If there is no usable GPU, or no compiler.
    """
    options = parser().parse_args(arguments)
    from qengine.exec.gpu.warmup import warm_up, write_package

    if options.package:
        for path in write_package(options.package):
            print(f"{path}: {path.stat().st_size:,} bytes", flush=True)
        return 0
    for name, seconds in warm_up():
        print(f"{name}: {seconds:.1f} s" if seconds else f"{name}: there already", flush=True)
    return 0
