"""Running the evaluation of a paper again, beside what the paper says came out of it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.reporting.reproductions import REPRODUCTIONS
from sluice.reporting.reproductions.reproduction import Evaluation, OnProgress, Reproduction


def evaluation_of(name: str) -> Evaluation:
    """The evaluation of that name. Raises InvalidInput with the nearest one."""
    if name not in REPRODUCTIONS:
        raise InvalidInput(
            f"unknown evaluation {name!r}",
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
