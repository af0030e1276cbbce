"""Plain data of the planner: bound expressions, query graphs, logical and physical operators."""
