"""Cuts texts into words, many at once: where a word begins and ends is told by the kinds of its characters.

The rules are those of Unicode's text segmentation (UAX #29, word boundaries) that matter for searching: runs of
letters, marks, digits and connectors are words; an apostrophe or a full stop between two letters or two digits belongs
to the word, as does a comma between two digits; each ideograph and each Hiragana is a word.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_OTHER, _LETTER, _DIGIT, _CONNECTOR, _MIDDLE, _COMMA, _IDEOGRAPH, _SPACE = range(8)
_KINDS = {"L": _LETTER, "M": _LETTER, "N": _DIGIT, "Z": _SPACE}
_IDEOGRAPHS = ((0x3040, 0x30A0), (0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, 0x32000))
_MIDDLES = "'.\u2019"
_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85"


@cache
def _kinds() -> Any:
    """Return the kind of each character (uint8 by code point)."""
    category = unicodedata.category
    found = bytearray(sys.maxunicode + 1)
    for code in range(0x32000):  # above these are tags and private characters alone
        kind = category(chr(code))
        found[code] = _CONNECTOR if kind == "Pc" else _KINDS.get(kind[0], _OTHER)
    for code in range(0xE0100, 0xE01F0):  # variation selectors, which are marks
        found[code] = _LETTER
    table = np.frombuffer(found, np.uint8)
    for begin, end in _IDEOGRAPHS:
        part = table[begin:end]
        part[part == _LETTER] = _IDEOGRAPH
    for characters, own in ((_MIDDLES, _MIDDLE), (",", _COMMA), (_SPACES, _SPACE)):
        table[[ord(each) for each in characters]] = own
    return table


def cut(texts: Any, rule: str) -> tuple[Any, Any]:
    """Return the words of texts, one after the other, and how many each text has.

    Parameters
    ----------
    texts
        A StringArray without nulls.
    rule
        "words": see above. "letters": runs of letters and marks. "spaces": what stands between white space. "whole":
        each text that isn't empty is one word.

    Returns
    -------
    StringArray, int64[n texts]
    """
    if rule == "whole":
        lengths = np.asarray(pc.binary_length(texts))
        return texts.filter(pa.array(lengths > 0)), (lengths > 0).astype(np.int64)
    data, offsets = _bytes_of(texts)
    ascii = not len(data) or int(data.max()) < 0x80
    if ascii:
        characters, bounds = data, offsets
    else:
        characters = np.frombuffer(data.tobytes().decode("utf-8").encode("utf-32-le"), np.uint32)
        begins = np.concatenate(([0], np.cumsum((data & 0xC0) != 0x80)))
        bounds = begins[offsets]
    inside, begin = _words(_kinds()[characters], bounds, rule)
    counts = np.concatenate(([0], np.cumsum(begin)))[bounds]
    kept = characters[inside]
    places = (np.cumsum(inside) - 1)[begin]
    if ascii:
        ends, buffer = np.append(places, len(kept)), kept.tobytes()
    else:
        sizes = 1 + (kept >= 0x80).astype(np.int64) + (kept >= 0x800) + (kept >= 0x10000)
        ends = np.concatenate(([0], np.cumsum(sizes)))[np.append(places, len(kept))]
        buffer = kept.tobytes().decode("utf-32-le").encode("utf-8")
    made = pa.StringArray.from_buffers(len(places), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(buffer))
    return made, np.diff(counts)


def _bytes_of(texts: Any) -> tuple[Any, Any]:
    """Return the bytes of all texts (uint8), and where each begins, with the end of the last (int64)."""
    _, ends, data = texts.buffers()
    if ends is None or not len(texts):
        return np.zeros(0, np.uint8), np.zeros(len(texts) + 1, np.int64)
    offsets = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    begin, end = int(offsets[0]), int(offsets[-1])
    held = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return held[begin:end], offsets - begin


def _words(kinds: Any, bounds: Any, rule: str) -> tuple[Any, Any]:
    """Tell which characters belong to a word, and which begin one (both bool by place)."""
    count = len(kinds)
    first = np.zeros(count + 1, np.bool_)  # which begin a text
    first[bounds] = True
    first = first[:count]
    if rule == "spaces":
        inside = kinds != _SPACE
        return inside, inside & (first | ~_shifted(inside))
    if rule == "letters":
        inside = (kinds == _LETTER) | (kinds == _IDEOGRAPH)
        return inside, inside & (first | ~_shifted(inside))
    inside = ((kinds >= _LETTER) & (kinds <= _CONNECTOR)) | (kinds == _IDEOGRAPH)
    middles = np.flatnonzero((kinds == _MIDDLE) | (kinds == _COMMA))
    middles = middles[(middles > 0) & (middles < count - 1)]
    middles = middles[~first[middles] & ~first[middles + 1]]
    before, behind = kinds[middles - 1], kinds[middles + 1]
    letters = (before == _LETTER) & (behind == _LETTER) & (kinds[middles] == _MIDDLE)
    inside[middles[letters | ((before == _DIGIT) & (behind == _DIGIT))]] = True
    alone = kinds == _IDEOGRAPH
    begin = inside & (first | ~_shifted(inside) | alone | _shifted(alone))
    if (kinds == _CONNECTOR).any():  # alone they are no word
        word = np.cumsum(begin) - 1
        solid = np.bincount(word[inside & (kinds != _CONNECTOR)], minlength=int(word[-1]) + 1 if count else 0) > 0
        kept = inside.copy()
        kept[inside] = solid[word[inside]]
        inside, begin = kept, begin & kept
    return inside, begin


def _shifted(flags: Any) -> Any:
    """Return for each place the flag of the one before."""
    found = np.zeros(len(flags), np.bool_)
    found[1:] = flags[:-1]
    return found
