"""``python -m qengine``: the command line."""

import sys

from qengine.cli.main import main

sys.exit(main())
