"""The benchmark of all small patterns: each is counted, checked, and timed (``python -m tests.bench.atlas``)."""
