"""Loads the user's module only if its files are what they were when the run started.

An interpreter host loads a job's module once and forks every attempt from there. A host that
starts later would load a module that was edited meanwhile, and one job would run two versions.
"""

from __future__ import annotations

from sluice.engines.mapreduce import loading
from sluice.engines.mapreduce.errors import PermanentFailure
from sluice.engines.mapreduce.fingerprints import code_changes
from sluice.engines.mapreduce.task_spec import TaskSpec

# Outcome of loading by folder and reference: None, or the change that was found. It is kept, for
# a module that was loaded while its file was changed stays loaded when the file is put back.
_outcomes: dict[tuple[str, str], str | None] = {}


def load_verified(spec: TaskSpec) -> None:
    """Load the module of a job into this interpreter, once; attempts are forked from it.

    Raises PermanentFailure, then and at every later call, if one of its files has changed.
    """
    assert spec.step.python is not None
    key = spec.folder, spec.step.python
    if key not in _outcomes:
        _outcomes[key] = _loaded(spec, spec.step.python)
    change = _outcomes[key]
    if change is not None:
        raise PermanentFailure(change)


def _loaded(spec: TaskSpec, reference: str) -> str | None:
    change = next(code_changes(spec.code), None)
    if change is None:
        loading.load(spec.folder, reference)
        change = next(code_changes(spec.code), None)  # an edit during the import
    return change
