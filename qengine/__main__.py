"""``python -m qengine``: the command line."""

import sys

from qengine.cli.main import command

sys.exit(command())
