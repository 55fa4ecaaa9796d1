"""The commands of the command line, in the order of the help; importing them registers them.

A command reads and computes first, writes its files next, and prints last.
"""

from sluice.cli.application import app

# In the order of the help, a line each.
# isort: off
from sluice.cli.commands import simulate
from sluice.cli.commands import run
from sluice.cli.commands import runs
from sluice.cli.commands import explain
from sluice.cli.commands import report
from sluice.cli.commands import predict
from sluice.cli.commands import size
from sluice.cli.commands import whatif
from sluice.cli.commands import plan
from sluice.cli.commands import order
from sluice.cli.commands import capacity
from sluice.cli.commands import pools
from sluice.cli.commands import share
from sluice.cli.commands import fairness
from sluice.cli.commands import profiles
from sluice.cli.commands import calibrate
from sluice.cli.commands import reproduce
from sluice.cli.commands import init
from sluice.cli.commands import demo
from sluice.cli.commands import workload
# isort: on

__all__ = [
    "app",
    "calibrate",
    "capacity",
    "demo",
    "explain",
    "fairness",
    "init",
    "order",
    "plan",
    "pools",
    "predict",
    "profiles",
    "report",
    "reproduce",
    "run",
    "runs",
    "share",
    "simulate",
    "size",
    "whatif",
    "workload",
]
