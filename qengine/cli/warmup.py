"""The command ``qengine warmup``: compiles the GPU's kernels before a query needs them."""

from __future__ import annotations

from collections.abc import Sequence

from qengine.cli.arguments import Parser


def parser() -> Parser:
    """Return the command line's parser."""
    return Parser(
        prog="qengine warmup",
        description="Compile the kernels for this machine's GPU now, so that no query waits for it.",
    )


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status.

    Raises
    ------
    DeviceError
        If there is no usable GPU.
    """
    parser().parse_args(arguments)
    from qengine.exec.gpu.warmup import warm_up

    for name, seconds in warm_up():
        print(f"{name}: {seconds:.1f} s" if seconds else f"{name}: there already", flush=True)
    return 0
