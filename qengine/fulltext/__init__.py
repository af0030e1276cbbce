"""Full-text search: analyzers, inverted indexes of texts, the language of queries and their scores."""
