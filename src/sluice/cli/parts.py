"""The options that compose a scheduler of parts: `--order`, `--slots` and so on, and `--preset`.

What they say together becomes the one name that `--tasks` may give, so that a command needs to know
of `--tasks` alone. PartOptions without a preset add to what the file says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sluice.api.options.fields import option
from sluice.api.options.scheduling import ChosenScheduler, SchedulerOfFile
from sluice.cli.answers import talk
from sluice.model.errors import InvalidInput
from sluice.policies.composition import AXES

_PANEL = "Parts of a scheduler"
_Scheduler = TypeVar("_Scheduler", bound=ChosenScheduler | SchedulerOfFile)


def _axis(name: str, question: str) -> Any:  # noqa: ANN401  # a field of any type  # a field of any type
    members = tuple(AXES[name])
    text = f"{question}: {', '.join(members)}."
    return option(text, completes=members, metavar="NAME", panel=_PANEL)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PartOptions:
    """A combination by its name, and members of the axes."""

    preset: str | None = option(
        "A combination by its name, or FILE that holds one.", metavar="NAME", panel=_PANEL
    )
    order: str | None = _axis("order", "Whose turn it is")
    goals: str | None = _axis("goals", "Which deadlines are kept first")
    slots: str | None = _axis("slots", "Where a task may run")
    copies: str | None = _axis("copies", "Which slow tasks get a second attempt")
    data: str | None = _axis("data", "How long a task waits for a node near its input")
    machines: str | None = _axis("machines", "Which nodes there are, and whose")

    @property
    def advice(self) -> str | None:
        """The digest of the advice that `--preset auto` follows; None for another preset."""
        from sluice.bootstrap.presets import AUTO, auto_digest

        return auto_digest() if self.preset == AUTO else None

    def chosen(self, options: _Scheduler) -> _Scheduler:
        """The options, whose `tasks` names all that was chosen. Raises InvalidInput.

        Release, admission and settings of a preset's file count where the command was given none.
        """
        members = {name: getattr(self, name) for name in AXES}
        if self.preset is not None:
            options = _with_preset(options, self.preset)
        if all(value is None for value in members.values()):
            return options
        from sluice.bootstrap.compositions import composed_text

        base = options.tasks
        assert base is None or isinstance(base, str), "the command line gives a text"
        added = composed_text(base, members)
        return replace(options, tasks=f"+{added}" if base is None else added)


def _with_preset(options: _Scheduler, preset: str) -> _Scheduler:
    """The options with what a preset says, where the command line says nothing."""
    from sluice.bootstrap.presets import AUTO, auto_sentence, read_preset

    if options.tasks is not None:
        raise InvalidInput(
            "it is given together with --tasks",
            where="--preset",
            hint="name the combination with one of the two",
        )
    found = read_preset(preset)
    if preset == AUTO:
        talk(auto_sentence())
    return replace(
        options,
        tasks=found.tasks,
        release=found.release if options.release is None else options.release,
        admission=found.admission if options.admission is None else options.admission,
        settings=[*found.settings, *options.settings],
    )
