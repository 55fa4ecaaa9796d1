"""Runs the evaluation of a paper: experiments as tables, each with its chart.

An evaluation names its experiments, each a function that returns an `Experiment`, with the minutes
it takes. Experiments that need a cluster are listed with the reason why they are left out. Other
packages add evaluations by an entry point, whose mistakes become one message.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Protocol

from sluice.ingest.entry_points import extension, guarded, offered, refused
from sluice.ingest.suggestions import suggestion
from sluice.model.arguments import checked_arguments
from sluice.model.errors import InvalidInput
from sluice.model.name_types import EvaluationName
from sluice.reporting.charts.chart import Chart
from sluice.reporting.document_html import NotebookView
from sluice.reproductions import GROUP, REPRODUCTIONS, evaluation_names

Cell = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One table or figure of a paper, next to our results.

    name: short, as in "fig-3.5" or "search-time"; the value of `--experiment`.
    setup: workload, cluster, seeds, in a sentence or two.
    rows: by column; some columns are figures of the paper, others are ours.
    why: the reason why they differ, or that they agree; never empty.
    columns: by default those of the first row, in their order.
    """

    name: str
    title: str
    setup: str
    rows: tuple[Mapping[str, Cell], ...]
    why: str
    columns: tuple[str, ...] = ()
    chart: Chart | None = None

    def __post_init__(self) -> None:
        if not self.columns:
            object.__setattr__(self, "columns", tuple(self.rows[0]))

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "name": self.name,
            "title": self.title,
            "setup": self.setup,
            "rows": [dict(row) for row in self.rows],
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reproduction(NotebookView):
    """The experiments of one paper that do not need a cluster of their own.

    left_out: experiments that cannot be run here, each with its reason.
    """

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    left_out: Mapping[str, str]

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "reproduction": self.name,
            "title": self.title,
            "experiments": [experiment.document() for experiment in self.experiments],
            "left_out": dict(self.left_out),
        }


class OnProgress(Protocol):
    """Called with a short text on the running experiment, for a progress line.

    share: how much of this experiment is done, 0 to 1, where it is known.
    """

    def __call__(self, text: str, share: float = 0.0, /) -> None: ...


Maker = Callable[[int, OnProgress], Experiment]
LogMaker = Callable[[Path], Maker]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The evaluation of a paper.

    timed: makers of experiments by name, in the order of the paper, each with the minutes that it
    takes on one core; None if they were not measured.
    on_log: the same for experiments on a log that Sluice does not ship, which `left_out` explains.
    seeds: default number of seeds of an experiment.
    """

    name: str
    title: str
    timed: Mapping[str, tuple[Maker, float | None]]
    left_out: Mapping[str, str]
    on_log: Mapping[str, tuple[LogMaker, float | None]] = field(default_factory=dict)
    seeds: int = 10

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all experiments."""
        return (*self.timed, *self.on_log)

    def with_log(self, log: Path) -> Evaluation:
        """The evaluation with the experiments on this log. Raises InvalidInput if it has none."""
        if not self.on_log:
            raise InvalidInput(f"{self.name} reads no log", where="--log", hint="leave it out")
        made = {name: (maker(log), minutes) for name, (maker, minutes) in self.on_log.items()}
        left_out = {name: why for name, why in self.left_out.items() if name not in made}
        return replace(self, timed={**self.timed, **made}, on_log={}, left_out=left_out)

    @property
    def makers(self) -> Mapping[str, Maker]:
        """The makers of experiments by name."""
        return {name: maker for name, (maker, _) in self.timed.items()}

    def run(
        self,
        names: Sequence[str],
        seeds: int | None,
        on_progress: Callable[[str], None],
        on_fraction: Callable[[float], None] = lambda _: None,
    ) -> Reproduction:
        """The named experiments (all if none is named), with their charts."""
        chosen = names or tuple(self.makers)
        minutes = [self.timed[name][1] or 1.0 for name in chosen]
        made: list[Experiment] = []

        def on_step(text: str, share: float = 0.0, /) -> None:
            on_progress(text)
            done = sum(minutes[: len(made)]) + share * minutes[len(made)]
            if done:  # a step of unknown length shows the time since its start, and not 0 %
                on_fraction(done / sum(minutes))

        for name in chosen:
            on_step(name)
            made.append(self.makers[name](seeds or self.seeds, on_step))
        return Reproduction(
            name=self.name, title=self.title, experiments=tuple(made), left_out=self.left_out
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentEntry:
    """An experiment in the list of all. minutes: on one core; None if it was not measured."""

    evaluation: str
    name: str
    about: str
    minutes: float | None

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {"name": self.name, "about": self.about, "minutes": self.minutes}


@dataclass(frozen=True, slots=True)
class ExperimentList:
    """All experiments of all evaluations, by evaluation."""

    titles: Mapping[str, str]
    entries: tuple[ExperimentEntry, ...]

    def of(self, evaluation: str) -> tuple[ExperimentEntry, ...]:
        """The experiments of one evaluation, in the order of the paper."""
        return tuple(entry for entry in self.entries if entry.evaluation == evaluation)

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "evaluations": [
                {
                    "name": name,
                    "title": title,
                    "experiments": [entry.document() for entry in self.of(name)],
                }
                for name, title in self.titles.items()
            ]
        }


def experiment_list() -> ExperimentList:
    """Every experiment that `reproduce` can run, with what it shows and the minutes it takes."""
    evaluations = [evaluation_of(name) for name in evaluation_names()]
    return ExperimentList(
        {evaluation.name: evaluation.title for evaluation in evaluations},
        tuple(
            ExperimentEntry(
                evaluation=evaluation.name, name=name, about=_about(maker), minutes=minutes
            )
            for evaluation in evaluations
            for name, (maker, minutes) in {**evaluation.timed, **evaluation.on_log}.items()
        ),
    )


def _about(maker: object) -> str:
    """The first sentence of the maker's docstring, without its full stop."""
    first, _, _ = (maker.__doc__ or "").strip().partition("\n")
    return first.removesuffix(".")


def evaluation_of(name: str) -> Evaluation:
    """The evaluation of that name. Raises InvalidInput with the nearest name."""
    evaluation = extension(GROUP, REPRODUCTIONS, name, where="sluice reproduce")
    if name in REPRODUCTIONS:
        assert isinstance(evaluation, Evaluation)
        return evaluation
    entry = offered(GROUP)[name]
    if not isinstance(evaluation, Evaluation) or evaluation.name != name:
        raise refused(entry, f"gave {evaluation!r:.100}, not an Evaluation with this name")
    makers = {
        one: (_guarded(entry, maker), took) for one, (maker, took) in evaluation.timed.items()
    }
    return replace(evaluation, timed=makers)


def _guarded(entry: EntryPoint, maker: Maker) -> Maker:
    """The maker of another package's experiment: its mistakes become one message."""

    @functools.wraps(maker)
    def made(seeds: int, on_progress: OnProgress) -> Experiment:
        experiment = guarded(entry, lambda: maker(seeds, on_progress))
        if not isinstance(experiment, Experiment):
            raise refused(entry, f"gave {type(experiment).__name__}, not an Experiment")
        return experiment

    return made


@checked_arguments
def reproduce(
    name: EvaluationName | str,
    *,
    experiments: Sequence[str] = (),
    seeds: int | None = None,
    log: str | Path | None = None,
    on_progress: Callable[[str], None] | None = None,
    on_fraction: Callable[[float], None] | None = None,
) -> Reproduction:
    """Run the experiments of a paper: all, or the named ones.

    name: one of `evaluation_names()`.  seeds: of each experiment; the evaluation has a default.
    log: a file for the experiments on a log that Sluice does not ship.
    on_progress: called with the name of the running experiment.
    on_fraction: called with the share of their minutes that is done, 0 to 1, as far as it is known.
    Raises InvalidInput for an unknown name, or a log that is missing, wrong or not read.
    """
    evaluation = evaluation_of(name)
    for experiment in experiments:
        if experiment not in evaluation.names:
            raise InvalidInput(
                f"{name} has no experiment {experiment!r}",
                where="--experiment",
                hint=suggestion(experiment, evaluation.names),
            )
        if log is None and experiment in evaluation.on_log:
            raise InvalidInput(
                f"{experiment} is on a log that Sluice does not ship",
                where="--experiment",
                hint="give the log as --log FILE",
            )
    if log is not None:
        evaluation = evaluation.with_log(Path(log))
    return evaluation.run(experiments, seeds, on_progress or _ignore, on_fraction or _ignore)


def _ignore(_: object) -> None:
    pass
