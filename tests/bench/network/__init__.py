"""Questions about a generated network of forums, messages, tags and places, each as Cypher and as SQL."""
