"""Runs the notebooks in examples/ and takes pictures of them in Chromium: ``python docs/screenshots.py FOLDER``.

Needs nbclient, ipykernel, nbconvert and a ``chromium`` on the path.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
from nbconvert import HTMLExporter

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SIZE = "1100,6000"


def picture(path: Path, folder: Path) -> Path:
    """Execute a notebook, write it as HTML, and return a picture of that."""
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    text, _ = HTMLExporter(template_name="classic").from_notebook_node(notebook)
    page, shot = folder / f"{path.stem}.html", folder / f"{path.stem}.png"
    page.write_text(text, encoding="utf-8")
    browser = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={SIZE}"]
    subprocess.run([*browser, f"--screenshot={shot}", page.as_uri()], check=True, capture_output=True)
    return shot


def main() -> int:
    """Take a picture of each notebook; return the exit code."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(EXAMPLES.rglob("*.ipynb")):
        print(picture(path, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
