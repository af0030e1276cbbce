"""Stems of English words: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980."""

from __future__ import annotations

import re

_SECOND = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_THIRD = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_FOURTH = dict.fromkeys(
    ("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion",
     "ou", "ism", "ate", "iti", "ous", "ive", "ize"), ""
)  # fmt: skip


def _suffixes(table: dict[str, str]) -> re.Pattern[str]:
    longest_first = sorted(table, key=lambda suffix: -len(suffix))
    return re.compile(f"({'|'.join(longest_first)})$")


_SECOND_ENDS, _THIRD_ENDS, _FOURTH_ENDS = map(_suffixes, (_SECOND, _THIRD, _FOURTH))
_PLAIN = re.compile("[a-z]+")


def stem(word: str) -> str:
    """Return the stem of a word in lower case; what isn't of the letters a to z, or has fewer than three, stays."""
    if len(word) < 3 or not _PLAIN.fullmatch(word):
        return word
    word = _past(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replaced(word, _SECOND_ENDS, _SECOND, 0)
    word = _replaced(word, _THIRD_ENDS, _THIRD, 0)
    found = _FOURTH_ENDS.search(word)
    if found and _measure(begin := word[: found.start()]) > 1 and (found[1] != "ion" or begin.endswith(("s", "t"))):
        word = begin
    return _ended(word)


def _kinds(word: str) -> str:
    """Return "v" for each vowel of a word and "c" for each consonant: y is a vowel behind a consonant."""
    found = ""
    for letter in word:
        found += "v" if letter in "aeiou" or (letter == "y" and found.endswith("c")) else "c"
    return found


def _measure(word: str) -> int:
    """Return how often consonants follow vowels."""
    return _kinds(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _kinds(word)


def _is_short(word: str) -> bool:
    """Tell whether a word ends with consonant, vowel, consonant, the last none of w, x, y."""
    return _kinds(word).endswith("cvc") and word[-1] not in "wxy"


def _doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _kinds(word).endswith("c")


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        begin = word.removesuffix(suffix)
        if begin != word and _has_vowel(begin):
            if begin.endswith(("at", "bl", "iz")):
                return f"{begin}e"
            if _doubled(begin) and begin[-1] not in "lsz":
                return begin[:-1]
            return f"{begin}e" if _measure(begin) == 1 and _is_short(begin) else begin
    return word


def _replaced(word: str, ends: re.Pattern[str], table: dict[str, str], least: int) -> str:
    """Replace the longest suffix of a table, where what stands before it is long enough."""
    found = ends.search(word)
    if found and _measure(word[: found.start()]) > least:
        return word[: found.start()] + table[found[1]]
    return word


def _ended(word: str) -> str:
    if word.endswith("e"):
        begin = word[:-1]
        if _measure(begin) > 1 or (_measure(begin) == 1 and not _is_short(begin)):
            word = begin
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
