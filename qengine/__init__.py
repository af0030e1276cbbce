"""qengine: an embedded, Cypher-style graph pattern query engine on Apache Arrow."""
