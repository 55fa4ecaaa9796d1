"""The options that compose a scheduler of parts: `--order`, `--slots` and so on, and `--preset`.

What they say together becomes the one name that `--tasks` may give, so that what follows needs to
know of `--tasks` alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from sluice.api.options.fields import option
from sluice.api.options.scheduling import ChosenScheduler, SchedulerOfFile
from sluice.model.errors import InvalidInput
from sluice.policies.composition import AXES

if TYPE_CHECKING:
    from sluice.model.name_types import (
        CopiesName,
        DataName,
        GoalsName,
        MachinesName,
        OrderName,
        PresetName,
        SlotsName,
    )

_PANEL = "Parts of a scheduler"
_Scheduler = TypeVar("_Scheduler", bound=ChosenScheduler | SchedulerOfFile)
_Field = Any  # a field has the type that its line says


def _axis(name: str, question: str) -> _Field:
    members = tuple(AXES[name])
    text = f"{question}: {', '.join(members)}."
    return option(text, completes=members, metavar="NAME", panel=_PANEL)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PartOptions:
    """A combination by its name, and members of the axes."""

    preset: PresetName | str | None = option(
        "A combination by its name, or FILE that holds one.", metavar="NAME", panel=_PANEL
    )
    order: OrderName | str | None = _axis("order", "Whose turn it is")
    goals: GoalsName | str | None = _axis("goals", "Which deadlines are kept first")
    slots: SlotsName | str | None = _axis("slots", "Where a task may run")
    copies: CopiesName | str | None = _axis("copies", "Which slow tasks get a second attempt")
    data: DataName | str | None = _axis("data", "How long a task waits for a node near its input")
    machines: MachinesName | str | None = _axis("machines", "Which nodes there are, and whose")

    @property
    def advice(self) -> str | None:
        """The digest of the advice that preset `auto` follows; None for another preset."""
        from sluice.bootstrap.presets import AUTO, auto_digest

        return auto_digest() if self.preset == AUTO else None

    def chosen(self, options: _Scheduler) -> _Scheduler:
        """The options, whose `tasks` names all that was chosen. Raises InvalidInput.

        Release, admission and settings of a preset's file count where the options have none.
        Parts without a preset add to what the workload says.
        """
        members = {name: getattr(self, name) for name in AXES}
        if self.preset is not None:
            options = _with_preset(options, self.preset)
        given = [name for name, value in members.items() if value is not None]
        if not given:
            return options
        from sluice.bootstrap.compositions import composed_text

        base = options.tasks
        if base is not None and not isinstance(base, str):
            raise InvalidInput(
                "a policy of your own decides all that parts do",
                where=f"--{given[0]}",
                hint="give tasks as a name, or leave the part out",
            )
        added = composed_text(base, members)
        return replace(options, tasks=f"+{added}" if base is None else added)


def _with_preset(options: _Scheduler, preset: str) -> _Scheduler:
    """The options with what a preset says, where they say nothing."""
    from sluice.bootstrap.presets import read_preset
    from sluice.bootstrap.settings import setting_texts

    if options.tasks is not None:
        raise InvalidInput(
            "it is given together with --tasks",
            where="--preset",
            hint="name the combination with one of the two",
        )
    found = read_preset(preset)
    return replace(
        options,
        tasks=found.tasks,
        release=found.release if options.release is None else options.release,
        admission=found.admission if options.admission is None else options.admission,
        settings=[*found.settings, *setting_texts(options.settings)],
    )
