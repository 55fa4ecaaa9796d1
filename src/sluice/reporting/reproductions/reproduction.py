"""What running a paper's evaluation again came to: tables, each with its chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sluice.reporting.charts.chart import Chart

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
