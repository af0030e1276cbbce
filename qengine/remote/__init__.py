"""Graphs and files that stand on object stores and other filesystems: of pyarrow, and of fsspec where it is installed.

What is mapped, and what is read more than once, must be a file of this machine. So a saved graph is downloaded once, to
a folder of the user's cache that is used again while the saved version stands; files to load are downloaded for as long
as that takes; and what is written is written to this machine first, and then uploaded.
"""

from qengine.remote.places import RemotePath

__all__ = ["RemotePath"]
