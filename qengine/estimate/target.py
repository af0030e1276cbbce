"""What of a counting plan is sampled, and what is then run over the samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from qengine._frozen import frozen, replace
from qengine.errors import Unsupported
from qengine.estimate.narrowed import Few
from qengine.exec.common.masks import Masks, conditions_hold_out
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.view import ExecView
from qengine.plan.differing import differs
from qengine.plan.expr import Literal, Variable
from qengine.plan.levels import without_order
from qengine.plan.logical import (
    Aggregate,
    Argument,
    Filter,
    Limit,
    LoadCsv,
    Operator,
    ProcedureCall,
    Project,
    Unit,
    Unwind,
)
from qengine.plan.physical import (
    Attach,
    EdgeLevel,
    Level,
    LookUp,
    Members,
    Optional,
    PhysicalPlan,
    Reach,
    Repeat,
    Search,
    SelectPaths,
    Shortest,
    VertexLevel,
    Walk,
)
from qengine.plan.traverse import operators

SAMPLE = "@sample"
"""Column that says to which sample a row of the tail belongs."""

_COUNTABLE = "Estimates are for MATCH … WHERE … patterns, with RETURN count(*) or a plain RETURN at the end."


@frozen
class Target:
    """A search to sample, and the operators that each sampled embedding then goes through.

    ``search``: without seeds, over ``Unit``; every level is sampled. ``tail``: a plan over ``Argument(columns)``, None
    where nothing follows. ``ones``: columns of ``columns`` that hold 1. ``weight``: the tail's column that says how
    often a row counts. ``few``: relationships whose conditions leave few of them. The count is the expected weight
    times ``search.orbits``.
    """

    search: Search
    tail: Operator | None
    columns: tuple[str, ...]
    ones: tuple[str, ...]
    weight: str | None
    few: Mapping[str, Few] = field(default_factory=dict)


def known_to_be_empty(root: Operator) -> bool:
    """Tell whether the plan of a count counts nothing: its pattern contradicts itself, and is planned as no rows."""
    assert isinstance(root, Aggregate)
    operator = root.input
    while isinstance(
        operator, Search | Filter | Project | Attach | Optional | Unwind | Walk | Shortest | LookUp | Members
    ):
        operator = operator.input
    return isinstance(operator, Limit) and isinstance(operator.count, Literal) and operator.count.value == 0


_Matching = Search | Walk | Shortest | Reach | Repeat | SelectPaths

_held_out: PerOperatorCache[bool] = PerOperatorCache()


def sound_root(plan: PhysicalPlan, store: ExecView, masks: Masks) -> Operator:
    """Return the root of a plan whose conditions fail on none of the nodes and relationships that it asks them for.

    What was found is kept where it is the same each time.
    """
    if plan.careful is None:
        return plan.root

    def find() -> tuple[bool, bool]:
        matching = [each for each in operators(plan.root) if isinstance(each, _Matching)]
        keep = all(isinstance(each, Search) and not differs(each) for each in matching)
        return conditions_hold_out(plan.root, store, masks), keep

    return plan.root if _held_out.get(store, plan.root, find) else plan.careful


def target_of(root: Operator) -> Target:
    """Split the plan of a count, ``Aggregate`` of one ``count(*)``, into what is sampled and what follows.

    Raises
    ------
    Unsupported
        If the rows don't begin with a pattern, or something between depends on several rows at once.
    """
    assert isinstance(root, Aggregate)
    above: list[Operator] = []
    ones: list[str] = []
    orbits = 1
    operator, found = root.input, None
    while found is None:
        operator = _of_all(operator)
        match operator:
            case Search(input=Unit()):
                found = operator
            case Search() if (merged := _merge(operator)) is not None:
                if operator.count is not None:
                    ones.append(operator.count)
                orbits *= operator.orbits
                operator = merged
            case Search() | Filter() | Project() | Attach() | Optional() | Unwind() | Members():
                above.append(operator)
                operator = operator.input
            case Walk() | Shortest() | LookUp():
                above.append(operator)
                operator = operator.input
            case ProcedureCall() | LoadCsv():
                what = "calls a procedure" if isinstance(operator, ProcedureCall) else "loads a file"
                raise Unsupported(f"This query can't be estimated: it {what}.", hint=_COUNTABLE)
            case Unit():
                raise Unsupported("This query can't be estimated: it has no pattern.", hint=_COUNTABLE)
            case _:
                raise Unsupported(
                    f"This query can't be estimated: {type(operator).__name__.lower()} depends on more than one row.",
                    hint=_COUNTABLE,
                )
    if not found.levels or not isinstance(found.levels[0], VertexLevel):
        raise Unsupported("This query can't be estimated: it begins with no pattern.", hint=_COUNTABLE)
    if found.count is not None:
        ones.append(found.count)
    search = replace(found, orbits=found.orbits * orbits)
    columns = (*(level.name for level in search.levels), *ones)
    tail = _over(above, Argument((*columns, SAMPLE))) if above else None
    return Target(search, tail, columns, tuple(ones), root.weight)


def _of_all(operator: Operator) -> Operator:
    """Return a search that lists one of each orbit's embeddings as one of all: what follows need not be symmetric."""
    return without_order(operator) if isinstance(operator, Search) and operator.images else operator


def _over(above: list[Operator], leaf: Operator) -> Operator:
    """Put the operators on another leaf, with the sample's number carried through projections."""
    found = leaf
    for operator in reversed(above):
        found = replace(operator, input=found)
        if isinstance(found, Project):
            found = replace(found, items=(*found.items, (SAMPLE, Variable(SAMPLE))))
    return found


def _merge(upper: Search) -> Operator | None:
    """Return one search for two that stand one above the other, below the filters between them; None if it can't be.

    A filter between them may come after both: it looks at one row alone.
    """
    filters: list[Filter] = []
    lower = upper.input
    while isinstance(lower, Filter):
        filters.append(lower)
        lower = lower.input
    lower = _of_all(lower)
    if not isinstance(lower, Search) or not isinstance(lower.input, Unit) or lower.exists or upper.exists:
        return None
    names = [level.name for level in lower.levels]
    place: list[int] = []  # of each level of `upper` in the merged search
    levels: list[Level] = list(lower.levels)
    for index, level in enumerate(upper.levels):
        if index >= upper.seeds:
            place.append(len(levels))
            levels.append(_moved(level, place))
            continue
        if level.name not in names or not isinstance(level, VertexLevel) or not _plain_seed(level):
            return None
        place.append(names.index(level.name))
        _constrain(levels, level, place)
    merged: Operator = replace(
        lower, levels=tuple(levels), emit=tuple(dict.fromkeys((*lower.emit, *upper.emit))), count=lower.count
    )
    for each in reversed(filters):
        merged = replace(each, input=merged)
    return merged


def _plain_seed(level: VertexLevel) -> bool:
    """Tell whether a seed demands nothing but differences."""
    return not (level.labels or level.predicates or level.sources or level.less or level.greater or level.conditions)


def _constrain(levels: list[Level], seed: VertexLevel, place: list[int]) -> None:
    """Add a seed's differences to the later one of the levels that they mention."""
    here = place[-1]
    for other in (place[k] for k in seed.different):
        late, early = max(here, other), min(here, other)
        level = levels[late]
        levels[late] = replace(level, different=(*level.different, early))
    for pair in seed.pairs:
        moved = (place[pair[0]], place[pair[1]], place[pair[2]], place[pair[3]])
        level = levels[max(moved)]
        assert isinstance(level, VertexLevel)
        levels[max(moved)] = replace(level, pairs=(*level.pairs, moved))


def _moved(level: Level, place: list[int]) -> Level:
    """Return a level with the numbers of the levels that it mentions replaced."""
    conditions = tuple(replace(each, left=place[each.left], right=place[each.right]) for each in level.conditions)
    different = tuple(place[k] for k in level.different)
    if isinstance(level, EdgeLevel):
        return replace(
            level, start=place[level.start], end=place[level.end], different=different, conditions=conditions
        )
    return replace(
        level,
        sources=tuple(replace(each, level=place[each.level]) for each in level.sources),
        different=different,
        less=tuple(place[k] for k in level.less),
        greater=tuple(place[k] for k in level.greater),
        pairs=tuple((place[a], place[b], place[c], place[d]) for a, b, c, d in level.pairs),
        conditions=conditions,
    )
