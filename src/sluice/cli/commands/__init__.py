"""The verbs of the command line: what each takes, and the order in which it does its work.

A verb reads and computes first, writes its files next, and prints last. Importing this room makes
all of them known to `app`, in the order in which the help lists them.
"""

from sluice.cli.application import app

from sluice.cli.commands import running, telling, describing  # isort: skip  # the order of the help

__all__ = ["app", "describing", "running", "telling"]
