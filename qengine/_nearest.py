"""Which known name a misspelled one probably means; what every "Did you mean" asks."""

from __future__ import annotations

from collections.abc import Iterable

_LETTERS_PER_SLIP = 3
_LEAST = 2  # letters of a name that may have a slip


def nearest(name: str, among: Iterable[str]) -> str | None:
    """Return the name that ``name`` is a misspelling of, None if it is one of none.

    A slip is a letter that is wrong, missing, too many, or swapped with its neighbour; a wrong first letter is two, for
    few mistype it. One slip is taken for one, in three letters; upper and lower case are the same.
    """
    wanted = name.lower()
    most = 0 if len(wanted) < _LEAST else max(1, len(wanted) // _LETTERS_PER_SLIP)
    best: str | None = None
    letters = set(wanted)
    for candidate in among:
        other = candidate.lower()
        if len(letters.difference(other)) > most:  # a letter that the other lacks is a slip
            continue
        slips = _slips(wanted, other, most)
        if slips is not None and (best is None or slips < most):
            best, most = candidate, slips
    return best


def _slips(one: str, other: str, most: int) -> int | None:
    """Return how many slips lie between two words (optimal string alignment), None if more than ``most``."""
    if one == other:
        return 0
    if abs(len(one) - len(other)) > most:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        two_before, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            wrong = 0 if letter == wanted else 2 if i == j == 1 else 1
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + wrong)
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, two_before[j - 2] + 1)
            row.append(cost)
        if min(row) > most and min(before) > most:
            return None
    return row[-1] if row[-1] <= most else None
