"""Values that a shell offers for an option: policies, settings, formats, experiments, profiles.

A shell calls these while a user types. They take what was typed so far, print nothing, and offer
nothing if a store or a file cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable

import typer

from sluice.model.errors import SluiceError
from sluice.model.settings import SettingKind


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    """The names that begin with what was typed.

    >>> _starting(["fair", "fifo", "ras"], "f")
    ['fair', 'fifo']
    """
    return [name for name in names if name.startswith(incomplete)]


def task_policies(incomplete: str) -> list[str]:
    """Names for --tasks."""
    return _policies("tasks", incomplete)


def release_policies(incomplete: str) -> list[str]:
    """Names for --release."""
    return _policies("release", incomplete)


def admission_policies(incomplete: str) -> list[str]:
    """Names for --admission."""
    return _policies("admission", incomplete)


def _policies(kind: str, incomplete: str) -> list[str]:
    from sluice import bootstrap

    return _starting(bootstrap.policy_names(kind), incomplete)


def setting_values(incomplete: str) -> list[str]:
    """Keys for --set, each with its equals sign; after it the values of a choice or a switch."""
    from sluice import bootstrap

    settings = bootstrap.declarations().all_settings()
    key, equals, _ = incomplete.partition("=")
    if not equals:
        return _starting((f"{name}=" for name in settings), incomplete)
    setting = settings.get(key)
    if setting is None:
        return []
    values = ("true", "false") if setting.kind is SettingKind.FLAG else setting.choices
    return _starting((f"{key}={value}" for value in values), incomplete)


def log_formats(incomplete: str) -> list[str]:
    """Names for --from-log-format and --format."""
    from sluice.ingest.logs.formats import AUTO, FORMATS

    return _starting((AUTO, *FORMATS), incomplete)


def evaluations(incomplete: str) -> list[str]:
    """Names of published evaluations."""
    from sluice.reproductions import REPRODUCTIONS

    return _starting(REPRODUCTIONS, incomplete)


def experiments(context: typer.Context, incomplete: str) -> list[str]:
    """Names of the experiments of the evaluation that is named before."""
    from sluice.reproductions import REPRODUCTIONS
    from sluice.reproductions.runner import evaluation_of

    # In a command line that ends within an option, the arguments before it are not assigned yet.
    words = [context.params.get("name"), *context.args]
    named = next((word for word in words if word in REPRODUCTIONS), None)
    return [] if named is None else _starting(evaluation_of(named).makers, incomplete)


def profile_names(incomplete: str) -> list[str]:
    """Names of stored profiles."""
    from sluice.store.home import state_folder
    from sluice.store.profiles import Profiles

    try:
        if not state_folder().exists():
            return []  # opening a store would make one
        with Profiles.existing(None) as profiles:
            return _starting(profiles.names(), incomplete)
    except SluiceError:
        return []


def run_ids(incomplete: str) -> list[str]:
    """Ids of recorded runs."""
    from sluice.store.runs import Runs

    try:
        return _starting((run.run_id for run in Runs().newest()), incomplete)
    except SluiceError:
        return []
