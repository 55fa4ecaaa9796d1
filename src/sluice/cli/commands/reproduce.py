"""`reproduce`: run published evaluations again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sluice.api.options.fields import count, keywords, option
from sluice.cli import completion
from sluice.cli import options as given
from sluice.cli.answers import print_answer, print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.flattened import flattened
from sluice.model.errors import InvalidInput

if TYPE_CHECKING:
    from sluice.reproductions.runner import Reproduction


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReproduceOptions:
    """Options of `reproduce`."""

    experiment: Sequence[str] = option(
        "Run only this experiment; repeatable.", (), metavar="E", completes="experiments"
    )
    seeds: int | None = count("Seeds of each experiment.", low=1, high=1000)
    log: str | None = option(
        "Job log for the experiments whose log Sluice does not ship.", metavar="FILE"
    )
    out: str | None = option("Write each experiment's chart to this folder.", metavar="FOLDER")


@app.command()
@flattened
def reproduce(
    name: Annotated[
        str | None,
        given.argument(
            "pareto, capacity, ordering, dynamicmr, ras, ltyarn, cura, loop, yarn, backfill;"
            " default: all.",
            metavar="NAME",
            completes=completion.evaluations,
        ),
    ] = None,
    *,
    options: ReproduceOptions,
    as_json: given.AsJson = False,
) -> int:
    """Run a paper's evaluation again, and print the results next to the published ones.

    Without a name it lists all experiments, and the minutes that each takes.

    Example: sluice reproduce ordering --experiment table-3.5 --out figures
    """
    from sluice.cli.files import checked_folder
    from sluice.cli.progress import steps
    from sluice.reproductions import runner
    from sluice.reproductions.views import views

    if name is None:
        _check_alone(keywords(options))
        return _print_list(as_json=as_json)
    folder = None if options.out is None else checked_folder("--out", options.out)
    with steps(f"reproducing {name}") as shown:
        made = runner.reproduce(
            name,
            experiments=options.experiment,
            seeds=options.seeds,
            log=options.log,
            on_progress=shown.on_progress,
            on_fraction=shown.on_fraction,
        )
    if folder is not None:
        _draw(made, folder)
    print_answer(made.document, lambda: views(made), as_json=as_json)
    return DONE


def _check_alone(options: Mapping[str, object]) -> None:
    """Raise InvalidInput for an option that has no effect on the list."""
    for name, value in options.items():
        if value not in (None, ()):
            raise InvalidInput(
                "NAME is missing", where=f"--{name}", hint="name the evaluation, such as ordering"
            )


def _print_list(*, as_json: bool) -> int:
    from sluice.reproductions.runner import experiment_list
    from sluice.reproductions.views import list_views

    listed = experiment_list()
    if as_json:
        print_document(listed.document())
    else:
        print_views(*list_views(listed))
        talk("Next: sluice reproduce ordering --experiment table-3.5")
    return DONE


def _draw(made: Reproduction, folder: Path) -> None:
    """Write each chart as an HTML page and as a PNG."""
    folder.mkdir(exist_ok=True)
    for experiment in made.experiments:
        if experiment.chart is None:
            continue
        for ending in (".html", ".png"):
            experiment.chart.save(folder / f"{made.name}-{experiment.name}{ending}")
        talk(f"chart: {folder / f'{made.name}-{experiment.name}.html'}")
