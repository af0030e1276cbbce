"""Rows on disk: what operators write there where the memory limit leaves no room, and read again."""
