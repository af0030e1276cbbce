"""What is known of four nodes and more together, where degrees and pairs of relationships that meet say too little."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from qengine._frozen import frozen, replace
from qengine.optimizer.order import CostModel
from qengine.optimizer.order_problem import Problem, mask_of

_ALIKE = 1.25  # times as many, or as few: what says less is left to what is known of smaller parts
_LEAST = 1e-9


@frozen
class LargerPart:
    """Nodes of a pattern, by name.

    ``times`` returns how many times as many matches as degrees let expect, so many as it is told, they have, whatever
    is asked of several of them; None where that isn't known.
    """

    names: tuple[str, ...]
    times: Callable[[float], float | None]


def with_larger_parts(problem: Problem, parts: Iterable[LargerPart], number: Mapping[str, int]) -> Problem:
    """Return a problem that knows how many matches some parts have."""
    found: dict[int, tuple[float, float]] = {}
    bare: CostModel | None = None
    model: CostModel | None = None
    for each in parts:
        part = mask_of(number[name] for name in each.names)
        if part in found or any(part == known for known, _ in problem.pairs):
            continue
        if bare is None or model is None:
            bare, model = CostModel(replace(problem, pairs=())), CostModel(problem)
        rows = bare.rows(part)
        times = each.times(rows)
        if times is not None:
            found[part] = times, times * model.rows(part) / max(rows, _LEAST)
    pairs = [
        (part, max(factor, _LEAST))
        for part, (times, factor) in sorted(found.items(), key=lambda each: -each[0].bit_count())
        if not 1.0 / _ALIKE < times < _ALIKE
    ]
    return replace(problem, pairs=[*pairs, *problem.pairs]) if pairs else problem
