"""Queries composed of everything that the grammar lets stand in each other: as text, repeatable by their seed.

``query`` makes queries that mean something: names are known where they are used, types fit, and the result is one bag
of rows. ``derivation`` derives texts from ``grammar/cypher.lark`` itself, so that each rule is used, in places that
nobody thought of; most of these are refused for their meaning. ``agreement`` runs a text by all ways and compares.
"""

from qengine.testing.composed.agreement import Outcome, check
from qengine.testing.composed.derivation import derived_query
from qengine.testing.composed.query import composed_query

__all__ = ["Outcome", "check", "composed_query", "derived_query"]
