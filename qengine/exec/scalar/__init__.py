"""Scalar semantics: what values are, how they compare, and what each operator, function and aggregate gives.

One value at a time, in plain Python: the reference executor runs on nothing else, and the CPU executor falls
back to it where no columnar form exists. ``compile`` (``evaluate.py``) turns a bound expression into a closure
over rows.
"""
