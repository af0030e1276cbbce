"""What ``qengine --version`` tells: the version, the native library's build, vector instructions, the GPU."""

from __future__ import annotations

import platform
from importlib import metadata

from qengine import __version__
from qengine.errors import QengineError

_ISA = ("none beyond the baseline", "AVX2", "AVX-512")  # by the numbers of kernels/host/base/isa.h


def version_text() -> str:
    """Return some lines; a part that can't be used says why."""
    lines = [f"qengine {__version__}", f"build     {_build()}", f"GPU       {_gpu()}"]
    lines.append(f"Python    {platform.python_version()} on {platform.system()} {platform.machine()}")
    lines.append(f"libraries NumPy {metadata.version('numpy')}, PyArrow {metadata.version('pyarrow')}")
    return "\n".join(lines)


def _build() -> str:
    from qengine import _assets, _native

    try:
        library = _native.load()
    except QengineError as error:
        return error.message
    vectors = _ISA[library.qe_force_isa(-1)]
    where = "a checkout" if _assets.checkout() else "a wheel"
    return f"{library.qe_source_hash().decode()[:12]} of {where}, vector instructions: {vectors}"


def _gpu() -> str:
    from qengine.exec.gpu.device import missing, properties_of, usable

    if (reason := missing()) is not None:
        return f"none: {reason.message}"
    return "; ".join(
        f"{found.name}, compute capability {found.capability / 10:.1f}, {found.memory_bytes / 1e9:.0f} GB"
        for found in map(properties_of, usable())
    )
