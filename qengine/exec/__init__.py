"""Executors: the reference oracle and the CPU engine."""
