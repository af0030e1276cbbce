"""Expressions over batches: columnar where Arrow or NumPy give the language's answer, else row by row."""
