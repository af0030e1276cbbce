"""Generated analytical queries: shapes, filters, keys, aggregates and orders, each as Cypher and as SQL."""
