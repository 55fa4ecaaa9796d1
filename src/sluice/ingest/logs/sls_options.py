"""The facts that a file of SLS does not give, and that are chosen."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.model.settings import SettingKind, declared, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Choices for SLS files; slots are those of a node, used if a node has no memory entry.

    SLS itself gives a node 10 GB and 10 cores, which is ten containers of 1 GB and 1 core.
    """

    profile: str = declared(
        SettingKind.CHOICE,
        "job",
        "what a trace's profiles are named after, for its jobs have no name",
        choices=("job", "queue", "user"),
    )
    seed: int | None = whole(None, "seed of what SYNTH draws; none = its own rand_seed")
    jobs: int | None = whole(None, "how many jobs SYNTH draws; none = its own num_jobs", low=1)
    task_time: str = declared(
        SettingKind.CHOICE,
        "s",
        "unit of SYNTH's task times: s as documented, or ms as SLS reads them",
        choices=("s", "ms"),
    )
    node_map_slots: int = whole(5, "map slots of a node", high=10_000)
    node_reduce_slots: int = whole(5, "reduce slots of a node", high=10_000)

    @property
    def unit_s(self) -> float:
        """Seconds in a unit of SYNTH's task times."""
        return 1.0 if self.task_time == "s" else 0.001
