"""The command: ``python -m tests.bench.capabilities``."""

from __future__ import annotations

import time

from tests.bench.capabilities import cost
from tests.bench.capabilities.table import ENGINES, cells, is_installed, markdown


def main() -> None:
    """Print what the engines that are installed have shown, with their versions and what they cost."""
    names = [name for name in ENGINES if is_installed(name)]
    print(f"As of {time.strftime('%d %B %Y')}; in italics what can't be run here and is told by documentation.\n")
    print(markdown({name: cells(name) for name in names}))
    print()
    print(cost.markdown(names))
    if missing := [name for name in ENGINES if name not in names]:
        print(f"\nNot installed: {', '.join(missing)}.")


if __name__ == "__main__":
    main()
