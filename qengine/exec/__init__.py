"""Executors: ``common`` is what all share, ``host`` and ``gpu`` match patterns, ``reference`` is the oracle."""
