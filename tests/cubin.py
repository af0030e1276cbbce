"""Reads what kernels take of a multiprocessor from their binaries, as ``cuobjdump --dump-resource-usage`` does."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

SYNTAX_ONLY = "--fdevice-syntax-only"
"""NVRTC's option that ends after the front-end: warnings and static assertions in a twentieth of the time."""

UNOPTIMISED = "--Ofast-compile=max"
"""Compiles kernels in a tenth of the time."""

_REGISTERS, _MOST_THREADS = 0x2F, 0x05
"""Attributes in sections ``.nv.info``: of a kernel's symbol, and in the section of a kernel."""

_SIZED = 4
"""The format of an attribute that is followed by its size, and by so many bytes."""

_SYMBOL_BYTES = 24


@dataclass(frozen=True, slots=True)
class Resources:
    """What one kernel takes. ``most_threads``: of a block, None where the kernel doesn't say.

    ``shared_bytes``: what it declares; from compute capability 8.0 on also what the system reserves.
    """

    registers: int
    shared_bytes: int
    most_threads: int | None


def resources(binary: bytes) -> dict[str, Resources]:
    """Return what each kernel of a cubin takes."""
    sections = _sections(binary)
    names = _symbols(binary, sections)
    registers = {}
    for attribute, value in _attributes(_content(binary, sections[".nv.info"])):
        if attribute == _REGISTERS:
            symbol, count = struct.unpack("<II", value)
            registers[names[symbol]] = count
    found = {}
    for section in sections:
        if section.startswith(".text."):
            name = section.removeprefix(".text.")
            shared = sections.get(f".nv.shared.{name}", (0, 0, 0))[2]
            own = dict(_attributes(_content(binary, sections[f".nv.info.{name}"])))
            threads = own.get(_MOST_THREADS)
            most = None if threads is None else struct.unpack("<III", threads)[0]
            found[name] = Resources(registers[name], shared, most)
    return found


def _sections(binary: bytes) -> dict[str, tuple[int, int, int]]:
    """Return of each section the type, the place and the size."""
    assert binary.startswith(b"\x7fELF")
    (table,) = struct.unpack_from("<Q", binary, 40)
    size, n, of_names = struct.unpack_from("<HHH", binary, 58)
    records = [struct.unpack_from("<IIQQQQ", binary, table + k * size) for k in range(n)]
    names = records[of_names][4]
    return {_text(binary, names + record[0]): (record[1], record[4], record[5]) for record in records}


def _symbols(binary: bytes, sections: dict[str, tuple[int, int, int]]) -> list[str]:
    _, at, size = sections[".symtab"]
    names = sections[".strtab"][1]
    starts = (struct.unpack_from("<I", binary, at + k)[0] for k in range(0, size, _SYMBOL_BYTES))
    return [_text(binary, names + start) for start in starts]


def _text(binary: bytes, at: int) -> str:
    return binary[at : binary.index(b"\0", at)].decode()


def _content(binary: bytes, section: tuple[int, int, int]) -> bytes:
    _, at, size = section
    return binary[at : at + size]


def _attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(content):
        kind, attribute, size = struct.unpack_from("<BBH", content, at)
        n = size if kind == _SIZED else 0  # others have their value in the place of the size
        yield attribute, content[at + 4 : at + 4 + n]
        at += 4 + n
