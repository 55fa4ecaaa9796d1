"""The verbs of the command line: what each takes, and the order in which it does its work.

A verb reads and computes first, writes its files next, and prints last. Importing this room makes
all of them known to `app`, in the order in which the help lists them.
"""

from sluice.cli.application import app

# In the order of the help, a line each.
# isort: off
from sluice.cli.commands import running
from sluice.cli.commands import telling
from sluice.cli.commands import pareto
from sluice.cli.commands import ordering
from sluice.cli.commands import capacity
from sluice.cli.commands import history
from sluice.cli.commands import calibration
from sluice.cli.commands import reproduction
from sluice.cli.commands import describing
# isort: on

__all__ = [
    "app",
    "calibration",
    "capacity",
    "describing",
    "history",
    "ordering",
    "pareto",
    "reproduction",
    "running",
    "telling",
]
