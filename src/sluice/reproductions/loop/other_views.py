"""The pages of the training of advice, and of the live rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sluice.reporting.formatting import counted
from sluice.reproductions.loop.live import MEASURES, PLACES, LiveResult, effects, live_sentences
from sluice.reproductions.loop.training import Trained, spreads, table
from sluice.reproductions.runner import Cell, Experiment


def training_views(found: Sequence[Trained], days: int) -> list[Experiment]:
    """The cost of each combination in the training worlds, and how far that differs."""
    return [
        Experiment(
            name="training",
            title="What advice expects of each combination before a history says more",
            setup=f"Twelve training worlds, {days} days each. The mean logarithm of the cost over"
            " that of fair, over the jobs that all complete: -0.69 is half. Letters as in"
            " bootstrap/advising/candidates.py.",
            rows=tuple(table(found)),
            why="Advice weighs these figures with what the days of a history show.",
        ),
        Experiment(
            name="training-spreads",
            title="How far costs differ between worlds, and between days of a world",
            setup="Standard deviations of the same logarithms, the median of all combinations.",
            rows=tuple(spreads(found)),
            why="The larger they are, the less the expectation counts.",
        ),
    ]


def live_views(place: str, found: Sequence[LiveResult], seeds: int) -> list[Experiment]:
    """Prediction, result and error of each cell of a place, and the effects over none."""
    rows: list[Mapping[str, Cell]] = []
    for one in found:
        row: dict[str, Cell] = {"seed": one.seed, "cell": one.cell.name}
        for measure in MEASURES:
            predicted, measured = one.predicted[measure], one.measured[measure]
            error = one.error(measure)
            said = "" if error is None else f" ({error:+.0%})"
            row[measure] = f"{_shown(predicted)} / {_shown(measured)}{said}"
        rows.append(row)
    shown: list[Mapping[str, Cell]] = [
        {
            "cell": name,
            "measure": measure,
            "predicted": f"{sum(one for one, _ in pairs) / len(pairs):+.0%}",
            "measured": ", ".join(f"{one:+.0%}" for _, one in pairs),
        }
        for name, measure, pairs in effects(found)
    ]
    return [
        Experiment(
            name=place,
            title="The second round: predicted from the first, and measured",
            setup=f"14 jobs of three tenants in processes on {PLACES[place].title}, with a"
            f" straggler, a task that hangs and four deadlines; {counted(seeds, 'seed')}."
            " Cells: predicted / measured. Error: of each measure, the predicted one over the"
            " measured one, less 1.",
            rows=tuple(rows),
            why=" ".join(live_sentences(found)),
        ),
        Experiment(
            name=f"{place}-effects",
            title="Effects over none, predicted and measured",
            setup="A share of none: the mean over the seeds, and each seed.",
            rows=tuple(shown) or ({"cell": "none"},),
            why="The simulation knows the lengths of the first round, not that a task will hang.",
        ),
    ]


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
