"""Values that a shell offers for an option: policies, settings, formats, experiments, profiles.

A shell calls these while a user types. They take what was typed so far, print nothing, and offer
nothing if a store or a file cannot be read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

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
    from sluice.bootstrap.policy_classes import policy_names

    return _starting(policy_names(kind), incomplete)


def setting_values(incomplete: str) -> list[str]:
    """Keys for --set, each with its equals sign; after it the values of a choice or a switch."""
    from sluice.bootstrap.settings import declarations

    settings = declarations().all_settings()
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
    from sluice.ingest.logs.registry import AUTO, format_names

    return _starting((AUTO, *format_names()), incomplete)


def charts(incomplete: str) -> list[tuple[str, str]]:
    """Kinds for --plot, each with what it shows."""
    from sluice.reporting.run.chart_kinds import BUILT_IN, chart_names

    shown = {name: kind.summary for name, kind in BUILT_IN.items()}
    return [(name, shown.get(name, "")) for name in _starting(chart_names(), incomplete)]


def evaluations(incomplete: str) -> list[str]:
    """Names of published evaluations."""
    from sluice.reproductions import evaluation_names

    return _starting(evaluation_names(), incomplete)


def experiments(context: typer.Context, incomplete: str) -> list[str]:
    """Names of the experiments of the evaluation that is named before."""
    from sluice.reproductions import evaluation_names
    from sluice.reproductions.runner import evaluation_of

    # In a command line that ends within an option, the arguments before it are not assigned yet.
    words = [context.params.get("name"), *context.args]
    known = evaluation_names()
    named = next((word for word in words if word in known), None)
    return [] if named is None else _starting(evaluation_of(named).names, incomplete)


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


def profiles_and_files(incomplete: str) -> list[str]:
    """Names of stored profiles, then files: offered values replace a shell's own."""
    return [*profile_names(incomplete), *paths(incomplete)]


def runs_profiles_and_files(incomplete: str) -> list[str]:
    """Ids of recorded runs, names of stored profiles, files."""
    return [*run_ids(incomplete), *profiles_and_files(incomplete)]


def paths(incomplete: str) -> list[str]:
    """Files and folders, each folder with its slash."""
    folder, slash, start = incomplete.rpartition("/")
    try:
        with os.scandir((folder or "/") if slash else ".") as found:
            entries = sorted((one.name, one.is_dir()) for one in found)
    except OSError:
        return []
    return [
        f"{folder}{slash}{name}{'/' if is_folder else ''}"
        for name, is_folder in entries
        if name.startswith(start) and (start or not name.startswith("."))
    ]


def schedulers(incomplete: str) -> list[str]:
    """Names for --schedulers: policies of tasks, after those that are named already."""
    before, comma, last = incomplete.rpartition(",")
    names = task_policies(last) if comma else [*_starting(["all"], last), *task_policies(last)]
    named = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name not in named]


def vm_types(incomplete: str) -> list[str]:
    """Types of VMs in the price list that is shipped with Sluice."""
    from sluice.ingest.price_lists import EXAMPLE, load_price_list

    offers = load_price_list(EXAMPLE).offers
    return _starting(dict.fromkeys(str(offer.vm_type) for offer in offers), incomplete)


def one_of(*names: str) -> Callable[[str], list[str]]:
    """Completes an option that has a few names as values.

    >>> one_of("low", "avg", "up")("a")
    ['avg']
    """
    return lambda incomplete: _starting(names, incomplete)


def run_ids(incomplete: str) -> list[str]:
    """Ids of recorded runs."""
    from sluice.store.runs import Runs

    try:
        return _starting((run.run_id for run in Runs().newest()), incomplete)
    except SluiceError:
        return []
