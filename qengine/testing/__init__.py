"""Helpers for tests: data finder, random graphs and queries, comparison of results."""
