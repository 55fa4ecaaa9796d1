"""Options of the commands that answer from past runs: which runs, which machines, which prices."""

from __future__ import annotations

from typing import Annotated

from sluice.cli import completion
from sluice.cli import options as given

MACHINES = "Machines and prices"

RunsFromLog = Annotated[
    list[str] | None,
    given.option(
        "Use the runs in this log, or folder of logs; repeatable.",
        "--from-log",
        metavar="PATH",
        panel="Instead of FILE",
    ),
]
Store = Annotated[
    str | None,
    given.option(
        "Profile store: a path or postgresql://... (default: SLUICE_STORE, else your own).",
        metavar="URL",
    ),
]
ProfileOrAll = Annotated[
    str | None,
    given.argument(
        "One profile; default: all.", metavar="NAME", completes=completion.profile_names
    ),
]
Level = Annotated[
    float, given.option("Level of the prediction intervals, e.g. 0.9.", metavar="SHARE")
]
VmType = Annotated[
    str | None,
    given.option(
        "Type of the VMs, from the price list.",
        metavar="TYPE",
        completes=completion.vm_types,
        panel=MACHINES,
    ),
]
Prices = Annotated[
    str | None,
    given.option(
        'Price list of VM types; "example" is a list shipped with Sluice.',
        metavar="PRICES",
        panel=MACHINES,
    ),
]
RentTerm = Annotated[
    str,
    given.choice(
        "Rental term: reserved, on-demand or spot.",
        "reserved|on-demand|spot",
        metavar="TERM",
        panel=MACHINES,
    ),
]
Interruptions = Annotated[
    float,
    given.option(
        "How often a spot VM is taken back in an hour, such as 0.05.",
        "--interruptions",
        metavar="N",
        panel=MACHINES,
    ),
]
Boot = Annotated[
    float,
    given.option(
        "Seconds until another VM takes its place.", "--boot", metavar="SECONDS", panel=MACHINES
    ),
]
LogFormat = Annotated[
    str,
    given.option(
        "Log format: auto, jhist, mr1, rumen, sls, spark, swim, swf, batsim, sacct, squeue, sinfo,"
        " airflow, dbt, ray, tez, philly, alibaba, wfformat, kueue, rm-apps or sluice.",
        "--format",
        metavar="NAME",
        completes=completion.log_formats,
    ),
]
LogSet = Annotated[
    list[str] | None,
    given.option(
        "Set an option of a format; profile='regex -> name' names profiles; repeatable.",
        "--set",
        metavar="KEY=VALUE",
    ),
]
