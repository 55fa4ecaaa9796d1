"""`workload`: workload files that are made rather than measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import typer

from sluice.api.options.fields import choice, count, keywords, option
from sluice.api.options.parsers import number
from sluice.api.options.scheduling import Seeded
from sluice.cli.application import CommandGroup, app
from sluice.cli.failures import DONE
from sluice.cli.flattened import flattened

group = typer.Typer(cls=CommandGroup, rich_markup_mode="rich")
app.add_typer(group, name="workload", help="Make workload files, to try schedulers on.")


def _amount(text: str, default: float) -> float:
    made: float = option(text, default, metavar="X", parser=partial(number, low=0))
    return made


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DayOptions:
    """Options of `workload day`, but for the seed."""

    load: float = _amount("Work over what all slots can do.", 0.7)
    contention: str = choice(
        "Whether tasks slow each other down.", "none|shared", "none", metavar="NAME"
    )
    hours: float = _amount("Length of the day.", 1.0)
    nodes: int = count("Nodes of 4 map and 2 reduce slots.", 8, low=1, high=1000)
    dags: float = _amount("Share of jobs that are graphs of stages.", 0.0)
    stragglers: float = _amount("Chance that an attempt takes 3 to 6 times as long.", 0.03)
    cv: float = _amount("Coefficient of variation of task lengths.", 0.5)
    deadlines: float = _amount("By which all deadlines are multiplied.", 1.0)


@group.command()
@flattened
def day(*, seeded: Seeded, options: DayOptions) -> int:
    """Print a workload file: a made day of four tenants, with deadlines and penalties.

    Example: sluice workload day --seed 1 --load 0.9 > day.yaml
    """
    import sys

    from sluice.reporting.exports.workload_text import workload_text
    from sluice.reproductions.loop.day import Day

    made = Day(**keywords(seeded, options))
    comment = f"Made by: sluice workload day --seed {seeded.seed}"
    sys.stdout.write(workload_text(made.document(), name="day.yaml", comment=comment))
    return DONE
