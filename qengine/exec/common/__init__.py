"""What all executors share: the pipeline, batches of columns, expressions, and patterns resolved to arrays."""
