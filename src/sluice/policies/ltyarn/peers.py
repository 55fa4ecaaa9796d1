"""Other rules of sharing for the same tree of queues, to compare with.

Each holds for all queues above the leaves, whatever order the file gives them; leaves keep theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sluice.model.settings import number, share
from sluice.policies.ltyarn.policy import QuantumSettings, QueueSettings, QueueTreePolicy
from sluice.policies.ltyarn.rules import ShareRules


class Memoryless(QueueTreePolicy):
    """MLRF: the queue with the least running work for its weight comes first."""

    name = "mlrf"
    Settings: ClassVar[type[Any]] = QueueSettings

    def rules(self) -> ShareRules:
        return ShareRules(inner_order="mlrf", is_dominant=self.settings.shared == "dominant")


class LongTerm(QueueTreePolicy):
    """LTRF: the queue with the least accumulated use for its weight comes first; nothing else."""

    name = "ltrf"
    Settings = QuantumSettings

    def rules(self) -> ShareRules:
        return _rules(self.settings, "ltrf")


class Karma(QueueTreePolicy):
    """A guaranteed part for each queue, the rest by credits. See `credits`."""

    name = "karma"

    @dataclass(frozen=True, kw_only=True)
    class Settings(QuantumSettings):
        """Source: ltyarn spec, section 8.4."""

        alpha: float = share(1.0, "part of the containers that is shared by credits (karma)")
        initial_credits: float | None = number(
            None,
            "container-seconds of credit at the start, by weight; none: any number (karma)",
            reason="Karma's initial credits; the paper gives every user the same",
        )

    def rules(self) -> ShareRules:
        settings: Any = self.settings
        return replace(
            _rules(settings, "karma"),
            alpha=settings.alpha,
            initial_credits=settings.initial_credits,
        )


class Decay(QueueTreePolicy):
    """The queue with the least decayed use for its weight comes first, as in Slurm."""

    name = "decay"

    @dataclass(frozen=True, kw_only=True)
    class Settings(QuantumSettings):
        """See `PriorityDecayHalfLife` of Slurm, whose default is 7 days."""

        half_life_s: float = number(
            604_800.0,
            "seconds after which use counts half (decay)",
            above=0.0,
            reason="depends on how long a site remembers use; Slurm's PriorityDecayHalfLife",
        )

    def rules(self) -> ShareRules:
        settings: Any = self.settings
        return replace(_rules(settings, "decay"), half_life_s=settings.half_life_s)


def _rules(settings: Any, order: str) -> ShareRules:  # noqa: ANN401  # those of any policy here
    """An order for all queues above the leaves, without charges, rounds and discounts."""
    return ShareRules(
        quantum_s=settings.quantum_s,
        is_adaptive=settings.adaptive,
        inner_order=order,
        charges_apps=False,
        charges_queues=False,
        is_dominant=settings.shared == "dominant",
    )
