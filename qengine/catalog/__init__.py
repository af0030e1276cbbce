"""The catalogue: schema, statistics and the built-in functions, and the protocols that planners read."""
