"""Queries of all kinds on graphs of odd shapes: what grows faster than what it visits."""
