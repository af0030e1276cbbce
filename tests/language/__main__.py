"""Writes the pages: ``python -m tests.language``."""

from tests.language.pages import FOLDER, pages

for name, text in pages().items():
    (FOLDER / name).write_text(text, encoding="utf-8")
