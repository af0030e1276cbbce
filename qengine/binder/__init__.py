"""From the syntax tree to a logical plan: names resolved, types checked, patterns turned into query graphs."""

from qengine.binder.statement import BoundStatement, bind

__all__ = ["BoundStatement", "bind"]
