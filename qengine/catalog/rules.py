"""The rules of a graph: declared indexes, and constraints that each statement has to leave satisfied."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import blake2s

from qengine._frozen import frozen

INDEXES = ("RANGE", "TEXT", "LOOKUP", "POINT", "FULLTEXT", "VECTOR")
"""Kinds of index that can be declared."""

SEARCHED = ("FULLTEXT", "VECTOR")
"""Those that only procedures search."""

ANALYZERS = (
    "english", "keyword", "simple", "standard", "standard-folding", "standard-no-stop-words", "stop", "whitespace",
)  # fmt: skip
"""What a FULLTEXT index can read texts with."""

DEFAULT_ANALYZER = "standard-no-stop-words"

UNIQUE, KEY, EXISTENCE, TYPE = "UNIQUENESS", "KEY", "PROPERTY_EXISTENCE", "PROPERTY_TYPE"
"""Kinds of constraint."""


@frozen
class Rule:
    """An index or a constraint.

    ``kind``: one of ``INDEXES``, or the kind of a constraint. ``entity``: "NODE" or "RELATIONSHIP". ``label``: the
    label or the relationship type whose elements it is of; empty for LOOKUP, which is of all. ``type``: of a constraint
    of kind TYPE, as ``INTEGER | STRING``; of a FULLTEXT index of several labels or types, these as a list in JSON, and
    of one with an analyzer of its own an object in JSON with ``labels`` and ``analyzer``; of a VECTOR index "EUCLIDEAN"
    where vectors are not alike by the cosine; else empty.
    """

    name: str
    kind: str
    entity: str
    label: str
    keys: tuple[str, ...]
    type: str = ""

    @property
    def is_constraint(self) -> bool:
        """Whether statements must satisfy it."""
        return self.kind not in INDEXES

    @property
    def is_unique(self) -> bool:
        """Whether no two elements may have the same values."""
        return self.kind in (UNIQUE, KEY)

    @property
    def is_indexed(self) -> bool:
        """Whether elements are to be found by their values."""
        return self.is_unique or not (self.is_constraint or self.kind in SEARCHED)

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, or relationship types, whose elements it is of."""
        if self.kind == "FULLTEXT" and self.type:
            said = json.loads(self.type)
            return tuple(said if isinstance(said, list) else said["labels"])
        return (self.label,) if self.label else ()

    @property
    def analyzer(self) -> str:
        """What a FULLTEXT index reads texts with."""
        said = json.loads(self.type or "[]")
        return DEFAULT_ANALYZER if isinstance(said, list) else str(said["analyzer"])

    @property
    def needs_values(self) -> bool:
        """Whether each element must have all the properties."""
        return self.kind in (KEY, EXISTENCE)

    @property
    def of_nodes(self) -> bool:
        """Whether it is about nodes."""
        return self.entity == "NODE"

    @property
    def type_name(self) -> str:
        """The kind as SHOW names it, as "NODE_KEY"."""
        bare = self.kind in INDEXES or (self.kind == UNIQUE and self.of_nodes)
        return self.kind if bare else f"{self.entity}_{self.kind}"

    def row(self) -> tuple[str, ...]:
        """Return the rule as strings, of which ``Rules.of`` makes it again."""
        return (self.name, self.kind, self.entity, self.label, self.type, *self.keys)

    @property
    def meaning(self) -> tuple[str, ...]:
        """What it says without its name: the kind first, then the entity."""
        return self.row()[1:]

    def same_as(self, other: Rule) -> bool:
        """Tell whether another rule says the same, whatever its name."""
        return self.meaning == other.meaning

    def named(self) -> Rule:
        """Return the rule with a name made of what it says, if it has none."""
        if self.name:
            return self
        digest = blake2s("\0".join(self.row()).encode(), digest_size=4).hexdigest()
        prefix = "constraint" if self.is_constraint else "index"
        return Rule(f"{prefix}_{digest}", self.kind, self.entity, self.label, self.keys, self.type)


@frozen
class Rules:
    """All rules of a version, in the order in which they were made."""

    all: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, rows: Iterable[Sequence[str]]) -> Rules:
        """Return the rules that ``rows`` has given.

        Raises
        ------
        ValueError
            For rows that are none.
        """
        found = []
        for name, kind, entity, label, type, *keys in rows:
            if kind not in (*INDEXES, UNIQUE, KEY, EXISTENCE, TYPE) or entity not in ("NODE", "RELATIONSHIP"):
                raise ValueError(f"there is no rule of kind {kind!r} for {entity!r}")
            found.append(Rule(name, kind, entity, label, tuple(keys), type))
        return cls(tuple(found))

    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Return the rules as plain data."""
        return tuple(rule.row() for rule in self.all)

    @property
    def indexes(self) -> tuple[Rule, ...]:
        """Declared indexes."""
        return tuple(rule for rule in self.all if not rule.is_constraint)

    @property
    def constraints(self) -> tuple[Rule, ...]:
        """Constraints."""
        return tuple(rule for rule in self.all if rule.is_constraint) if self.all else ()

    def index_node_key(self, key: str) -> bool:
        """Tell whether nodes are to be found by the values of a property: by an index, or by a unique constraint."""
        return any(rule.of_nodes and rule.is_indexed and key in rule.keys for rule in self.all)

    def index_relationship_key(self, type: str, key: str) -> bool:
        """Tell the same of the relationships of a type."""
        found = (rule for rule in self.all if rule.is_indexed and not rule.of_nodes)
        return any(type == rule.label and key in rule.keys for rule in found)

    def named(self, name: str) -> Rule | None:
        """Return the rule with a name."""
        return next((rule for rule in self.all if rule.name == name), None)

    def like(self, wanted: Rule) -> Rule | None:
        """Return the rule that says the same as another."""
        return next((rule for rule in self.all if rule.same_as(wanted)), None)

    def with_rule(self, rule: Rule) -> Rules:
        """Return these and one more."""
        return Rules((*self.all, rule))

    def without(self, rule: Rule) -> Rules:
        """Return these but one."""
        return Rules(tuple(each for each in self.all if each is not rule))


NO_RULES = Rules()
