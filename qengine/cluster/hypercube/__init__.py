"""Queries over tables that no worker holds: their rows are sent to cells, each of which joins what it gets."""
