"""The input files of a real job, and the splits that its phases read of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sluice.engines.mapreduce.fingerprints import InputVersion
from sluice.engines.mapreduce.inputs import input_files, input_splits
from sluice.engines.mapreduce.phase_roles import PhaseRole, with_splits
from sluice.engines.mapreduce.splits import Split
from sluice.model.job import Phase, RunSpec


class FilesRead(NamedTuple):
    """The input files of a job, once each; the splits of all its phases; and their roles, with the
    number of splits of each.
    """

    inputs: tuple[InputVersion, ...]
    splits: tuple[Split, ...]
    roles: tuple[PhaseRole, ...]

    @classmethod
    def of(
        cls,
        run: RunSpec,
        roles: Sequence[PhaseRole],
        phases: Sequence[Phase],
        made: Mapping[str, int],
        where: str,
    ) -> FilesRead:
        """Look at all input files of a job whose phases have these roles.

        made: input patterns that jobs before it make, each with the part files to expect.
        Raises InvalidInput naming a pattern that matches nothing.
        """
        inputs: dict[str, InputVersion] = {}
        splits: list[Split] = []
        counts: list[int] = []
        for role, phase in zip(roles, phases, strict=True):
            patterns = run.input_of(phase.name) if role.reads_files else ()
            there = [pattern for pattern in patterns if pattern not in made]
            found = input_files(run.folder, there, where=where)
            inputs |= {one.path: one for one in found}
            own = list(input_splits(found, run.split_bytes, where))
            splits += own
            counts.append(len(own) + sum(made.get(pattern, 0) for pattern in patterns))
        return cls(tuple(inputs.values()), tuple(splits), with_splits(roles, counts))
