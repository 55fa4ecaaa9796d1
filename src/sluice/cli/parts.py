"""The parts of a scheduler on the command line."""

from __future__ import annotations

from typing import TypeVar

from sluice.api.options.parts import PartOptions
from sluice.api.options.scheduling import ChosenScheduler, SchedulerOfFile
from sluice.cli.answers import talk

_Scheduler = TypeVar("_Scheduler", bound=ChosenScheduler | SchedulerOfFile)


def with_parts(options: _Scheduler, parts: PartOptions) -> _Scheduler:
    """The options, whose `tasks` names all parts; says what `--preset auto` is at present."""
    talk_of_preset(parts)
    return parts.chosen(options)


def talk_of_preset(parts: PartOptions) -> None:
    """Say on stderr what `--preset auto` is at present, if it is given. Raises InvalidInput."""
    from sluice.bootstrap.presets import AUTO, auto_sentence

    if parts.preset == AUTO:
        talk(auto_sentence())
