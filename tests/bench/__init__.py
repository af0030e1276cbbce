"""Benchmarks: one command loads the same graphs into several engines, compares their answers, then their times."""
