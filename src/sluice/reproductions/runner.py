"""What running a paper's evaluation again came to: tables, each with its chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.reporting.charts.chart import Chart
from sluice.reproductions import REPRODUCTIONS

Cell = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One table or figure of a paper, beside what comes out here.

    name: short, as in "fig-3.5" or "search-time"; what `--experiment` takes.
    setup: workload, cluster, seeds, in a sentence or two.
    rows: by column; among the columns are those that hold the paper's figures and ours.
    why: why they differ, or that they agree, in plain words; never empty.
    """

    name: str
    title: str
    setup: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Cell], ...]
    why: str
    chart: Chart | None = None

    def document(self) -> dict[str, object]:
        """As plain JSON values."""
        return {
            "name": self.name,
            "title": self.title,
            "setup": self.setup,
            "rows": [dict(row) for row in self.rows],
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """All experiments of one paper that need no foreign cluster.

    left_out: those that cannot be run here, each with its reason.
    """

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    left_out: Mapping[str, str]

    def document(self) -> dict[str, object]:
        """As plain JSON values."""
        return {
            "reproduction": self.name,
            "title": self.title,
            "experiments": [experiment.document() for experiment in self.experiments],
            "left_out": dict(self.left_out),
        }


# Called with a short text on what is running, for a progress line.
OnProgress = Callable[[str], None]
Maker = Callable[[int, OnProgress], Experiment]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A paper's evaluation as it can be run: makers of experiments by name, in the paper's order.

    seeds: how many seeds an experiment takes unless told otherwise.
    """

    name: str
    title: str
    makers: Mapping[str, Maker]
    left_out: Mapping[str, str]
    seeds: int = 10

    def run(self, names: Sequence[str], seeds: int | None, on_progress: OnProgress) -> Reproduction:
        """The named experiments (all for none), with their charts."""
        chosen = names or tuple(self.makers)
        made = []
        for name in chosen:
            on_progress(name)
            made.append(self.makers[name](seeds or self.seeds, on_progress))
        return Reproduction(
            name=self.name, title=self.title, experiments=tuple(made), left_out=self.left_out
        )


def evaluation_of(name: str) -> Evaluation:
    """The evaluation of that name. Raises InvalidInput with the nearest one."""
    if name not in REPRODUCTIONS:
        raise InvalidInput(
            f"{name!r} is no known evaluation",
            where="sluice reproduce",
            hint=suggestion(name, REPRODUCTIONS),
        )
    module, _, attribute = REPRODUCTIONS[name].partition(":")
    evaluation = getattr(import_module(module), attribute)
    assert isinstance(evaluation, Evaluation)
    return evaluation


def reproduce(
    name: str,
    *,
    experiments: Sequence[str] = (),
    seeds: int | None = None,
    on_progress: OnProgress | None = None,
) -> Reproduction:
    """The experiments of a paper (all unless some are named), run here and now.

    name: one of `REPRODUCTIONS`.  seeds: how many each takes; by default the evaluation's own.
    on_progress: is told what is under way. Raises InvalidInput for a name that there is not.
    """
    evaluation = evaluation_of(name)
    for experiment in experiments:
        if experiment not in evaluation.makers:
            raise InvalidInput(
                f"{experiment!r} is no experiment of {name}",
                where="--experiment",
                hint=suggestion(experiment, evaluation.makers),
            )
    return evaluation.run(experiments, seeds, on_progress or _told_to_nobody)


def _told_to_nobody(_: str) -> None:
    pass
