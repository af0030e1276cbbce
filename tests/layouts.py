"""How the device lays structs out, by the compiler's own arithmetic: NVRTC 13.0 knows no ``offsetof``."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from qengine.exec.gpu import nvrtc
from tests.cubin import UNOPTIMISED

_OPTIONS = ("--device-as-default-execution-space", "--std=c++17", "-diag-suppress=177,20044")
_FOUND = re.compile(r"\.global \.align 8 \.(b8|u64) layouts\[\d+\] = \{([^}]*)\}")


def device_layouts(
    source: str, structs: Mapping[str, npt.DTypeLike], options: tuple[str, ...]
) -> dict[str, dict[str, int]]:
    """Return for each struct its size, as "", and the places of the fields that a dtype has.

    Numbers are initial values of an array of the device, which stand in the PTX.
    """
    fields = {name: tuple(np.dtype(dtype).names or ()) for name, dtype in structs.items()}
    numbers, lines = [], [source]
    for k, (name, each) in enumerate(fields.items()):
        lines.append(f"extern __device__ {name} laid_out_{k};")
        numbers.append(f"sizeof({name})")
        numbers += [f"(const char*)&laid_out_{k}.{field} - (const char*)&laid_out_{k}" for field in each]
    lines.append(f'extern "C" __device__ unsigned long long layouts[] = {{{", ".join(numbers)}}};')
    newer = nvrtc.supported_architectures()[-1] + 9
    text = nvrtc.compile_program("\n".join(lines), "layout.cu", newer, [*_OPTIONS, UNOPTIMISED, *options]).decode()
    kind, values = _FOUND.findall(text)[0]
    written = np.array(values.split(","), dtype=np.uint8 if kind == "b8" else np.uint64).tobytes()
    found = iter(
        np.frombuffer(written.ljust(8 * len(numbers), b"\0"), np.uint64).tolist()
    )  # zeros at the end aren't written
    return {name: {field: next(found) for field in ("", *each)} for name, each in fields.items()}


def layouts(structs: Mapping[str, npt.DTypeLike]) -> dict[str, dict[str, int]]:
    """Return the same of NumPy's."""
    dtypes = {name: np.dtype(dtype) for name, dtype in structs.items()}
    return {
        name: {"": dtype.itemsize, **{field: place for field, (_, place, *_) in (dtype.fields or {}).items()}}
        for name, dtype in dtypes.items()
    }
