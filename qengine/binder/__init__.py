"""From a syntax tree to a bound logical plan: scopes, types, aggregation rules, query graphs."""
