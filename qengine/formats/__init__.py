"""Graphs from files and objects of others, and to them.

What goes out and what comes in is a ``Parts`` (``formats.parts``): nodes by label set and relationships by type, their
properties as Arrow columns. Each format has a module that writes it from parts, one that reads it, or both.
"""
