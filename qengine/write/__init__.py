"""Changes of a graph: what a transaction has touched, the versions that it makes, the log that keeps them."""
