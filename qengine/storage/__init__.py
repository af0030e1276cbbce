"""The immutable graph snapshot: Arrow property columns and PCSR adjacency, loaders, files."""
