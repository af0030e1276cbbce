"""Rules of a graph that changes: commands add and drop them, and statements leave what they touch as these require."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from qengine.catalog.rules import TYPE, Rule
from qengine.errors import ExecutionError
from qengine.exec.scalar.compare import equals
from qengine.plan.pattern import LabelIs
from qengine.plan.updates import AddRule, DropRule
from qengine.storage.states import Block, NodeState, Patch, RelationshipState
from qengine.write.column_values import Unbatched
from qengine.write.key_lookup import nodes_by_keys
from qengine.write.live import LiveGraph
from qengine.write.overlay import Overlay
from qengine.write.violations import has_type, violation

_MANY = 16  # elements that are checked together
_State = NodeState | RelationshipState


# ---------------------------------------------------------------- commands


def add_rule(overlay: Overlay, step: AddRule) -> None:
    """Declare an index or a constraint. Whether the graph satisfies it is another matter.

    Raises
    ------
    ExecutionError
        Where there is one that says the same, or has its name.
    """
    rules, rule = overlay.rules, step.rule
    same, named = rules.like(rule), rules.named(rule.name)
    owner = next((each for each in rules.all if _shares_index(each, rule)), None)
    if step.lenient and (same or named):
        return
    if same is not None:
        raise _refused(
            "EquivalentSchemaRuleAlreadyExists", f"Such {_what(rule)} is there already: `{same.name}`.", step
        )
    if named is not None:
        code = "ConstraintWithNameAlreadyExists" if named.is_constraint else "IndexWithNameAlreadyExists"
        raise _refused(code, f"There is {_what(named)} with the name `{rule.name}` already.", step)
    if owner is not None:
        code = "ConstraintAlreadyExists" if owner.is_constraint else "IndexAlreadyExists"
        hint = f"Drop it first: DROP {'CONSTRAINT' if owner.is_constraint else 'INDEX'} `{owner.name}`."
        raise _refused(
            code, f"{_what(owner).capitalize()} of the same properties is there: `{owner.name}`.", step, hint
        )
    overlay.set_rules(rules.with_rule(rule))


def _shares_index(one: Rule, other: Rule) -> bool:
    """Tell whether the index of one is that of the other, or would be, though they say different things."""
    if (one.entity, one.label, one.keys) != (other.entity, other.label, other.keys) or one.kind == other.kind:
        return False
    return all(each.is_unique or each.kind == "RANGE" for each in (one, other))


def drop_rule(overlay: Overlay, step: DropRule) -> None:
    """Take an index or a constraint away.

    Raises
    ------
    ExecutionError
        Where there is none.
    """
    rules = overlay.rules
    found = rules.like(step.rule) if step.rule is not None else rules.named(step.name)
    kind, listed = ("constraint", "CONSTRAINTS") if step.constraint else ("index", "INDEXES")
    if found is not None and found.is_constraint == step.constraint:
        overlay.set_rules(rules.without(found))
        return
    if found is not None and found.is_unique:
        hint = f"Drop the constraint: DROP CONSTRAINT `{found.name}`."
        raise _refused("IndexDropFailed", f"The index `{found.name}` belongs to a constraint.", step, hint)
    if step.lenient:
        return
    what = f"{kind} with the name `{step.name}`" if step.rule is None else f"such {kind}"
    code = "ConstraintDropFailed" if step.constraint else "IndexDropFailed"
    raise _refused(code, f"There is no {what}.", step, f"SHOW {listed} lists them; IF EXISTS leaves it at that.")


def _what(rule: Rule) -> str:
    return "a constraint" if rule.is_constraint else "an index"


def _refused(code: str, message: str, step: AddRule | DropRule, hint: str | None = None) -> ExecutionError:
    return ExecutionError(message, code=code, span=step.span, hint=hint or "Write IF NOT EXISTS to leave it at that.")


# ---------------------------------------------------------------- checks


def check_touched(graph: LiveGraph, mark: int) -> None:
    """Check that what was touched since a mark of the overlay is as the constraints require.

    It takes as long as there are elements that were touched, whatever the graph's size.

    Raises
    ------
    ExecutionError
        ``ConstraintValidationFailed``, with the element, the property and the constraint.
    """
    overlay = graph.overlay
    constraints = overlay.rules.constraints
    if not constraints:
        return
    node_patches, relationship_patches = overlay.patches_since(mark)
    if any(_concerns(patch, rule) for patch in node_patches for rule in constraints if rule.of_nodes):
        overlay.touched_nodes()
    if any(_concerns(patch, rule) for patch in relationship_patches for rule in constraints if not rule.of_nodes):
        overlay.touched_relationships()
    nodes, relationships = overlay.touched_since(mark)
    of_nodes: dict[str, list[Rule]] = {}
    of_relationships: dict[str, list[Rule]] = {}
    for rule in constraints:
        (of_nodes if rule.of_nodes else of_relationships).setdefault(rule.label, []).append(rule)
    node_blocks, relationship_blocks = overlay.blocks_since(mark)
    checks = _Checks(graph)
    for number in nodes if of_nodes else ():
        node = overlay.node(number)
        for label in () if node is None else node.labels:
            for rule in of_nodes.get(label, ()):
                checks.add(rule, number, node)
    for number in relationships if of_relationships else ():
        relationship = overlay.relationship(number)
        for rule in () if relationship is None else of_relationships.get(relationship.type, ()):
            checks.add(rule, number, relationship)
    checks.run()
    for block in node_blocks:
        for label in block.labels:
            for rule in of_nodes.get(label, ()):
                _check_block(graph, block, rule, overlay.touched_nodes())
    for own in relationship_blocks:
        for rule in of_relationships.get(own.type, ()):
            _check_block(graph, own, rule, overlay.touched_relationships())


def _concerns(patch: Patch, rule: Rule) -> bool:
    """Tell whether what a patch does may be other than a rule requires."""
    return rule.label in patch.added or not patch.columns.keys().isdisjoint(rule.keys)


class _Checks:
    """The elements that each rule has to be checked for, in the order in which they were touched."""

    def __init__(self, graph: LiveGraph) -> None:
        self._graph = graph
        self._by_rule: dict[Rule, dict[int, Any]] = {}

    def add(self, rule: Rule, number: int, state: _State | None) -> None:
        """Add an element."""
        self._by_rule.setdefault(rule, {})[number] = state

    def run(self) -> None:
        """Check them all: many together, and one by one where that doesn't tell that all is well."""
        for rule, states in self._by_rule.items():
            if len(states) >= _MANY:
                columns = [[state.properties.get(key) for state in states.values()] for key in rule.keys]
                if _holds(self._graph, rule, columns):
                    continue
            for number, state in states.items():
                _check(self._graph, number, state, (rule,))


def _check_block(graph: LiveGraph, block: Block, rule: Rule, touched: Mapping[int, object]) -> None:
    """Check the elements of a block, but for those ``touched`` one by one, which were checked."""
    if not _holds(graph, rule, [block.columns.get(key) for key in rule.keys]):
        for number, state in block.states():
            if number not in touched:
                _check(graph, number, state, (rule,))


def _holds(graph: LiveGraph, rule: Rule, columns: Sequence[list[Any] | None]) -> bool:
    """Tell whether different elements that a rule is about surely are as it requires; ``columns``: of its keys."""
    given = [column for column in columns if column is not None]
    if len(given) < len(columns):
        return not rule.needs_values
    if rule.needs_values and any(None in column for column in given):
        return False
    if rule.kind == TYPE and not all(value is None or has_type(value, rule.type) for value in given[0]):
        return False
    if not (rule.is_unique and rule.of_nodes):
        return not rule.is_unique
    keys = dict(zip(rule.keys, given, strict=True))
    try:
        rows, _ = nodes_by_keys(graph.overlay, LabelIs(rule.label), keys, graph.context)
    except Unbatched:
        return False
    return len(rows) == sum(None not in values for values in zip(*given, strict=True))  # each finds itself


def _check(graph: LiveGraph, number: int, state: _State, rules: Iterable[Rule]) -> None:
    for rule in rules:
        values = [state.properties.get(key) for key in rule.keys]
        missing = next((key for key, value in zip(rule.keys, values, strict=True) if value is None), None)
        if missing is not None:
            if rule.needs_values:
                raise violation(rule, number, missing, None)
            continue
        if rule.kind == TYPE and not has_type(values[0], rule.type):
            raise violation(rule, number, rule.keys[0], values[0])
        if rule.is_unique and (other := _equal_element(graph, number, values, rule)) is not None:
            raise violation(rule, number, rule.keys[0], values, other=other)


def _equal_element(graph: LiveGraph, number: int, values: list[Any], rule: Rule) -> int | None:
    """Return another element that a rule is about and that has the same values."""
    wanted = dict(zip(rule.keys, values, strict=True))
    found = (
        graph.having(wanted, LabelIs(rule.label)) if rule.of_nodes else graph.relationships_having(rule.label, wanted)
    )
    for other in found:
        if other != number and _is_equal(graph.overlay, other, wanted, rule):
            return other
    return None


def _is_equal(overlay: Overlay, number: int, wanted: Mapping[str, Any], rule: Rule) -> bool:
    state = overlay.node(number) if rule.of_nodes else overlay.relationship(number)
    if state is None:
        return False
    has_label = rule.label in state.labels if isinstance(state, NodeState) else state.type == rule.label
    return has_label and all(equals(state.properties.get(key), value) is True for key, value in wanted.items())
