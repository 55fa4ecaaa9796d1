"""What the user's Python object is: asked in an interpreter of its own.

Importing the user's file runs the user's code. That must not happen in the process that plans and
schedules, so `inspect_python` starts a child (this module as a script) that imports the file, looks
at the object, and prints one JSON document.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sluice.engines.mapreduce import loading
from sluice.engines.mapreduce.environment import inherited
from sluice.engines.mapreduce.task_spec import Step
from sluice.model.errors import InvalidInput

PROBE_S_MAX = 60.0
_UNSUPPORTED = ("mapper_cmd", "combiner_cmd", "reducer_cmd", "mapper_raw", "mapper_pre_filter",
                "combiner_pre_filter", "reducer_pre_filter")  # fmt: skip


def inspect_python(
    folder: str,
    reference: str,
    env: Mapping[str, str],
    *,
    where: str,
    inherits_env: bool = True,
) -> tuple[Step, ...]:
    """The steps of `file.py:Name`. Raises InvalidInput if it cannot be loaded or used."""
    hint = (
        "name a module, a class or an object with functions mapper and reducer, or an mrjob class"
    )
    try:
        child = subprocess.run(
            [sys.executable, "-m", __name__, folder, reference],
            env={**inherited(inherits_env=inherits_env), **env, "PYTHONPATH": _python_path(env)},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=PROBE_S_MAX,
        )
    except subprocess.TimeoutExpired:
        raise InvalidInput(
            f"python {reference!r} took more than {PROBE_S_MAX:g} s to load", where=where, hint=hint
        ) from None
    if child.returncode:
        said = child.stderr.decode("utf-8", "replace").strip().splitlines() or ["no word"]
        raise InvalidInput(f"python {reference!r}: {said[-1]}", where=where, hint=hint)
    return tuple(Step.from_json(record) for record in json.loads(child.stdout))


def _python_path(env: Mapping[str, str]) -> str:
    house = str(Path(__file__).parents[3])  # where the package `sluice` lies
    given = env.get("PYTHONPATH", os.environ.get("PYTHONPATH"))
    return os.pathsep.join(filter(None, (house, given)))


def steps_of(found: object, reference: str) -> list[Step]:
    """The steps of an object that has been loaded. Raises NotLoadable if it is of no use."""
    if loading.is_mrjob(found):
        return _mrjob_steps(found, reference)
    parts = loading.functions(found)
    step = Step(
        style="functions",
        python=reference,
        has_combiner=parts.combiner is not None,
        has_reducer=parts.reducer is not None,
    )
    return [step]


def _mrjob_steps(found: Any, reference: str) -> list[Step]:  # noqa: ANN401  # mrjob has no types
    job = found([])
    steps = []
    for number, step in enumerate(job.steps()):
        if not hasattr(step, "render_mapper"):
            raise loading.NotLoadable(f"step {number} is a {type(step).__name__}, not an MRStep")
        # mrjob fills the slots of a step with None; `step[...]` would show its stand-ins instead.
        for part in _UNSUPPORTED:
            if step[part]:
                raise loading.NotLoadable(f"step {number} has {part}, which only mrjob itself runs")
        described = step.description(number)
        steps.append(
            Step(
                style="mrjob",
                python=reference,
                number=number,
                has_mapper="mapper" in described,
                has_combiner="combiner" in described,
                has_reducer="reducer" in described,
                sorts_values=bool(job.sort_values()),
            )
        )
    return steps


def main() -> None:
    """Load what the arguments name and print its steps; the reason on stderr otherwise."""
    folder, reference = sys.argv[1:]
    answer, sys.stdout = sys.stdout, sys.stderr  # what the user's module prints is no answer
    try:
        found = loading.load(folder, reference)
        steps = [asdict(step) for step in steps_of(found, reference)]
    except loading.NotLoadable as error:
        sys.exit(str(error))
    answer.write(json.dumps(steps))


if __name__ == "__main__":
    main()
