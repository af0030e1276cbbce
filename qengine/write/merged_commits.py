"""Commits that follow each other, as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from qengine.storage.arrays import Array
from qengine.storage.states import (
    Commit,
    NodeBlock,
    NodeState,
    Patch,
    RelationshipBlock,
    RelationshipState,
)
from qengine.write.block_table import BlockTable
from qengine.write.patch_table import apply_patches, picked

_S = TypeVar("_S", NodeState, RelationshipState)
_B = TypeVar("_B", NodeBlock, RelationshipBlock)
_FOLDED = 1_000  # elements that are patched one by one, rather than to have a version made before


def merged(commits: Sequence[Commit]) -> Iterator[Commit]:
    """Give what commits have changed one after the other, as one.

    As several, where a patch is of many elements of which commits before it say more: a version is made in between.
    """
    begin = 0
    nodes, relationships = _Elements[NodeState, NodeBlock](), _Elements[RelationshipState, RelationshipBlock]()
    for place, each in enumerate(commits):
        if nodes.count_known(each.node_patches) + relationships.count_known(each.relationship_patches) > _FOLDED:
            yield _whole(nodes, relationships, commits[begin:place])
            begin = place
            nodes, relationships = _Elements(), _Elements()
        nodes.add(each.nodes, each.node_blocks, each.node_patches)
        relationships.add(each.relationships, each.relationship_blocks, each.relationship_patches)
    yield _whole(nodes, relationships, commits[begin:])


def _whole(
    nodes: _Elements[NodeState, NodeBlock],
    relationships: _Elements[RelationshipState, RelationshipBlock],
    commits: Sequence[Commit],
) -> Commit:
    if len(commits) == 1:
        return commits[0]
    rules = [each.rules for each in commits if each.rules is not None]
    return Commit(
        nodes.states,
        relationships.states,
        commits[-1].next_node,
        commits[-1].next_relationship,
        rules[-1] if rules else None,
        tuple(nodes.blocks),
        tuple(relationships.blocks),
        tuple(nodes.patches),
        tuple(relationships.patches),
    )


class _Elements(Generic[_S, _B]):
    """What commits say of nodes, or of relationships."""

    def __init__(self) -> None:
        self.states: dict[int, _S | None] = {}
        self.blocks: BlockTable[_B] = BlockTable()
        self.patches: list[Patch] = []

    def count_known(self, patches: Sequence[Patch]) -> int:
        """Return how many elements of patches have states, or are in blocks."""
        return sum(int(np.count_nonzero(self._known(patch.numbers))) for patch in patches)

    def _known(self, numbers: Array) -> Array:
        known = np.zeros(len(numbers), np.bool_)
        if self.states:
            known |= np.isin(numbers, np.fromiter(self.states, np.int64, len(self.states)))
        for block in self.blocks:
            known |= (numbers >= block.first) & (numbers < block.first + block.count)
        return known

    def add(self, states: Mapping[int, _S | None], blocks: Sequence[_B], patches: Sequence[Patch]) -> None:
        """Add what a commit says, after all else."""
        for patch in patches:
            known = self._known(patch.numbers)
            if known.any():
                own: dict[int, Any] = {number: self._state(number) for number in patch.numbers[known].tolist()}
                apply_patches(own, (patch,))
                self.states.update(own)
                patch = picked(patch, np.flatnonzero(~known))
            self.patches.append(patch)
        self.states.update(states)
        for block in blocks:
            self.blocks.by_first[block.first] = block
        if blocks:
            self.blocks.changed()

    def _state(self, number: int) -> Any:
        if number in self.states:
            return self.states[number]
        block = self.blocks.of(number)
        return None if block is None else block.state(number)
