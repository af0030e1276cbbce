"""The operators of the CPU executor: each file turns one kind of plan node into a stage of the pipeline."""
