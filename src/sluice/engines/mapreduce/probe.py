"""Inspect the user's Python object, in a separate interpreter.

Importing the user's file runs the user's code. That must not happen in the process that plans and
schedules, so `inspect_python` starts a child (this module as a script) that imports the file, looks
at the object, and prints one JSON document: the steps, or the problem.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from sluice.engines.mapreduce import loading
from sluice.engines.mapreduce.environment import inherited
from sluice.engines.mapreduce.task_spec import Step
from sluice.engines.mapreduce.user_errors import load_problem
from sluice.engines.unix_users import acting_user, modules_path
from sluice.model.errors import InvalidInput

PROBE_S_MAX = 60.0
_NAME_ANOTHER = (
    "name a module, a class or an object with functions mapper and reducer, or an mrjob class"
)
_FIX_FILE = "fix the file; nothing has run"
_UNSUPPORTED = ("mapper_cmd", "combiner_cmd", "reducer_cmd", "mapper_raw", "mapper_pre_filter",
                "combiner_pre_filter", "reducer_pre_filter")  # fmt: skip
_PACKAGES = {"site-packages", "dist-packages"}
_GROUP = 2  # arguments of a function of a key and its values
_AS_JOB, _AS_STAGE = "job", "stage"


class Inspected(NamedTuple):
    """The steps of the user's object, and the files of its module and of modules in its folders."""

    steps: tuple[Step, ...]
    files: tuple[str, ...]


def inspect_python(
    folder: str,
    reference: str,
    env: Mapping[str, str],
    *,
    where: str,
    inherits_env: bool = True,
    is_stage: bool = False,
) -> Inspected:
    """The steps and files of `file.py:Name`. Raises InvalidInput if it cannot be loaded or used.

    inherits_env: whether the import sees the environment of this process as well.
    is_stage: whether it is the code of one phase of a graph, which has one step.
    """
    way = _AS_STAGE if is_stage else _AS_JOB
    user = acting_user()
    around = inherited(inherits_env=inherits_env) if user is None else user.environment()
    python = sys.executable if user is None else user.python
    try:
        child = subprocess.run(
            [python, "-P", "-m", __name__, folder, reference, way],
            env={**around, **env, "PYTHONPATH": _python_path(env, python)},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=PROBE_S_MAX,
            **({} if user is None else user.process()),
        )
    except subprocess.TimeoutExpired:
        raise InvalidInput(
            f"python {reference!r} took more than {PROBE_S_MAX:g} s to load",
            where=where,
            hint="start long work in the functions, not at import",
        ) from None
    answer = _answer(child)
    if "steps" not in answer:
        problem = f"python {reference!r}: {answer['problem']}"
        raise InvalidInput(problem, where=where, hint=answer["hint"])
    return Inspected(
        steps=tuple(Step.from_json(record) for record in answer["steps"]),
        files=tuple(answer["files"]),
    )


def _answer(child: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The document that the child printed; a problem in its place if it died before."""
    if child.stdout:  # written at once, as the last act
        answer: dict[str, Any] = json.loads(child.stdout)
        return answer
    lines = child.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
    code = child.returncode
    how = f"exit code {code}" if code >= 0 else f"signal {-code}"
    return {"problem": f"its import ended with {how}: {lines[-1]}", "hint": _FIX_FILE}


def _python_path(env: Mapping[str, str], python: str) -> str:
    if python != sys.executable:
        return os.pathsep.join(modules_path(python))
    source = str(Path(__file__).parents[3])  # the folder of the package `sluice`
    given = env.get("PYTHONPATH", os.environ.get("PYTHONPATH"))
    return os.pathsep.join(filter(None, (source, given)))


def steps_of(found: object, reference: str) -> list[Step]:
    """The steps of a loaded object. Raises NotLoadable if it has none."""
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


def stage_step(found: object, reference: str) -> Step:
    """The step of a phase of a graph: a mapper, a reducer, or a module that has both.

    A bare function of one argument is a mapper, one of a key and values a reducer; with more
    arguments it joins. Raises NotLoadable for an object without any.
    """
    if loading.is_mrjob(found):
        raise loading.NotLoadable("an mrjob class is a whole job, not one of its phases")
    if inspect.isroutine(found):
        arguments = loading.arguments_of(found)
        return Step(
            style="functions",
            python=reference,
            has_mapper=arguments < _GROUP,
            has_reducer=arguments >= _GROUP,
            joins=arguments - 1 if arguments > _GROUP else 0,
        )
    sides = [side for side in ("map", "reduce") if _has(found, side)]
    if not sides:
        raise loading.NotLoadable("there is no function `mapper` or `reducer`")
    parts = loading.functions(found, sides[0])
    arguments = 0 if parts.reducer is None else loading.arguments_of(parts.reducer)
    return Step(
        style="functions",
        python=reference,
        has_mapper="map" in sides,
        has_combiner=parts.combiner is not None,
        has_reducer="reduce" in sides,
        joins=arguments - 1 if arguments > _GROUP else 0,
    )


def _has(found: object, side: str) -> bool:
    try:
        loading.functions(found, side)
    except loading.NotLoadable:
        return False
    return True


def _mrjob_steps(found: Any, reference: str) -> list[Step]:  # noqa: ANN401  # mrjob has no types
    job = found([])
    steps = []
    for number, step in enumerate(job.steps()):
        if not hasattr(step, "render_mapper"):
            raise loading.NotLoadable(f"step {number} is a {type(step).__name__}, not an MRStep")
        # mrjob fills the slots of a step with None; `step[...]` would show its defaults instead.
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


def own_files(folder: str, reference: str) -> list[str]:
    """Files of the loaded modules in the job's folder or in the module's folder, or below them.

    Sluice itself and installed packages are left out, also where they are in such a folder.
    """
    module_file = Path(folder, reference.partition(":")[0]).resolve()
    roots = (Path(folder).resolve(), module_file.parent)
    sluice = Path(__file__).parents[2]
    found = {module_file}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str):
            continue
        path = Path(file).resolve()
        is_own = any(path.is_relative_to(root) for root in roots)
        is_installed = path.is_relative_to(sluice) or not _PACKAGES.isdisjoint(path.parts)
        if is_own and not is_installed and path.is_file():
            found.add(path)
    return sorted(map(str, found))


def main() -> None:
    """Load what the arguments name; print its steps, or the problem."""
    folder, reference, way = sys.argv[1:]
    # The user's module may print, and so may the programs that it starts.
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as answer:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        answer.write(json.dumps(_inspected(folder, reference, way)))


def _inspected(folder: str, reference: str, way: str) -> dict[str, Any]:
    try:
        found = loading.load(folder, reference)
        is_stage = way == _AS_STAGE
        known = [stage_step(found, reference)] if is_stage else steps_of(found, reference)
        steps = [asdict(step) for step in known]
        return {"steps": steps, "files": own_files(folder, reference)}
    except loading.NotLoadable as error:
        return {"problem": str(error), "hint": _NAME_ANOTHER}
    except (Exception, SystemExit) as error:  # noqa: BLE001  # code of the user
        return {"problem": load_problem(error, folder), "hint": _FIX_FILE}


if __name__ == "__main__":
    main()
