"""`workload`: workload files that are made rather than measured."""

from __future__ import annotations

from typing import Annotated

import typer

from sluice.api.options.fields import keywords
from sluice.api.options.parsers import number
from sluice.api.options.scheduling import Seeded
from sluice.cli import options as given
from sluice.cli.application import CommandGroup, app
from sluice.cli.failures import DONE
from sluice.cli.flattened import flattened

group = typer.Typer(cls=CommandGroup, rich_markup_mode="rich")
app.add_typer(group, name="workload", help="Make workload files, to try schedulers on.")


def _share(flag: str, words: str) -> object:
    return given.option(words, flag, metavar="X", parser=number(flag, low=0))


@group.command()
@flattened
def day(
    *,
    seeded: Seeded,
    load: Annotated[float, _share("--load", "Work over what all slots can do.")] = 0.7,
    contention: Annotated[
        str, given.choice("Whether tasks slow each other down.", "none|shared", metavar="NAME")
    ] = "none",
    hours: Annotated[float, _share("--hours", "Length of the day.")] = 1.0,
    nodes: Annotated[
        int, given.count("Nodes of 4 map and 2 reduce slots.", "--nodes", low=1, high=1000)
    ] = 8,
    dags: Annotated[float, _share("--dags", "Share of jobs that are graphs of stages.")] = 0.0,
    stragglers: Annotated[
        float, _share("--stragglers", "Chance that an attempt takes 3 to 6 times as long.")
    ] = 0.03,
    cv: Annotated[float, _share("--cv", "Coefficient of variation of task lengths.")] = 0.5,
    deadlines: Annotated[
        float, _share("--deadlines", "By which all deadlines are multiplied.")
    ] = 1.0,
) -> int:
    """Print a workload file: a made day of four tenants, with deadlines and penalties.

    Example: sluice workload day --seed 1 --load 0.9 > day.yaml
    """
    import sys

    from sluice.reporting.exports.workload_text import workload_text
    from sluice.reproductions.loop.day import Day

    made = Day(
        **keywords(seeded),
        load=load,
        contention=contention,
        hours=hours,
        nodes=nodes,
        dags=dags,
        stragglers=stragglers,
        cv=cv,
        deadlines=deadlines,
    )
    comment = f"Made by: sluice workload day --seed {seeded.seed}"
    sys.stdout.write(workload_text(made.document(), name="day.yaml", comment=comment))
    return DONE
