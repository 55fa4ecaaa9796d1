"""Settings of the simulator, of real runs and of policies: one declaration each, as data.

A field of `Settings` carries its name, type, range, default and meaning; `SETTINGS` lists them, and
the schema, `--set` and `settings:` of a workload file all read that list. A key with a prefix
(`fair.slowstart`) holds for one policy: `for_policy` gives the settings as that policy sees them.
Settings that only one policy knows stand in `own_settings`, and always take its prefix.

Sources: RAS spec, section 10 (contention; calibrated there, so publish the sensitivity with any
result that rests on it); dynamicmr spec, sections 3 and 10 (waits, locality, stragglers); engines
spec, section 8 (limits of real attempts).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from sluice.ingest.own_settings import OWN_SETTINGS
from sluice.ingest.setting import (
    Setting,
    SettingKind,
    declared,
    flag,
    number,
    setting_of,
    share,
    whole,
    word,
)
from sluice.ingest.suggestions import suggestion
from sluice.ingest.yaml_notation import plain_value
from sluice.model.errors import InvalidInput

POLICY_NAMES = (
    "fifo", "fair", "yarn-like", "dynamicmr", "ras", "ltyarn", "mrorder", "on-demand", "capacity",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, checked; `given` names those that somebody set, in a file or by `--set`.

    by_policy: what was set for one policy only, by the policy's name.
    own: what only the policy at hand knows; see `for_policy`.
    """

    heartbeat_s: float = number(
        0.0, "seconds between heartbeats of a node; at 0 a freed slot is refilled at once"
    )
    slowstart: float = share(1.0, "share of a job's maps done before its reduces may start")
    node_wait_s: float = number(0.0, "seconds a job waits for a node that holds its input")
    rack_wait_s: float = number(0.0, "seconds it then waits for a rack that holds its input")
    ramp: float = share(
        0.5, "share of a job's containers that its early reduces may hold (yarn-like)"
    )
    mode: str = word(
        "pi", "who lends slots: each kind as a whole, or the pools (dynamicmr)", "pi", "pd"
    )
    order: str = word("fair", "whose turn it is (dynamicmr)", "fair", "fifo")
    pct_map: float = share(1.0, "share of the unused map slots that reduces may use (dynamicmr)")
    pct_reduce: float = share(1.0, "share of the unused reduce slots that maps may use (dynamicmr)")
    w_map: float = number(1.0, "what a map takes, against a reduce (dynamicmr)", above=0.0)
    w_reduce: float = number(1.0, "what a reduce takes, against a map (dynamicmr)", above=0.0)
    case5: str = word(
        "at_once",
        "when a map runs away from its data rather than leave a slot idle (dynamicmr, mode pd)",
        "at_once",
        "after_wait",
    )
    prescheduling: bool = flag("maps beside their data in slots beyond the line (dynamicmr)")
    reduce_slots_lent_max: int = whole(100_000, "reduce slots lent by prescheduling at most")
    speculation: str = word(
        "none", "second copies of slow tasks (fifo, fair, static, dynamicmr)", "none", "late"
    )
    spec_cap: float = number(
        0.1, "copies that run at once: below 1 a share of all slots, from 1 on their number"
    )
    slow_task: float = number(25.0, "percentile of rates below which a task is slow", high=100.0)
    slow_node: float = number(25.0, "percentile below which a node gets no copies", high=100.0)
    min_age_s: float = number(60.0, "seconds before an attempt is judged")
    kill_slow: bool = flag("end attempts that take over twice as long as those before")
    sepb: float = share(0.0, "share of all jobs whose waiting tasks come before copies")
    sepb_pool: float = share(0.0, "the same of the jobs of a pool")
    sepb_mode: str = word("global", "which of the two holds", "global", "pool")
    contention: str = word(
        "none", "whether tasks on one node slow each other down", "none", "shared"
    )
    kappa_cpu: float = number(0.1, "capacity lost as cpu is over-committed", high=1000.0)
    kappa_io: float = number(0.5, "capacity lost as io is over-committed (seeks)", high=1000.0)
    kappa_network: float = number(0.0, "capacity lost as the network is", high=1000.0)
    kappa_memory: float = number(2.0, "speed lost as memory is (thrashing)", high=1000.0)
    peak: float = number(1.25, "the most a task's speed exceeds that of its profile", above=0.0)
    thread_cpu: float = number(50.0, "the most cpu that one task can use, percent", above=0.0)
    fetch_bytes_per_s: float = number(20e6, "the most that one reduce fetches", above=0.0)
    nic_bytes_per_s: float = number(110e6, "what a node's network card carries", above=0.0)
    parallel_copies: int = whole(5, "the most maps that one reduce fetches from at once", low=1)
    jitter: float = number(0.0, "0.15: each task's length is 15 % off at most", below=1.0)
    spread: str = declared(
        SettingKind.CHOICE,
        "fixed",
        "how task lengths are distributed; their mean stays that of the profile",
        choices=("fixed", "exponential", "lognormal", "gamma"),
    )
    spread_cv: float = number(0.5, "coefficient of variation of that", above=0.0, high=100.0)
    p_slow: float = share(0.0, "chance that an attempt is slow")
    slow_factor: tuple[float, float] = declared(
        SettingKind.SPAN, (3.0, 6.0), "how many times longer a slow attempt takes", low=1.0
    )
    p_hang: float = share(0.0, "chance that an attempt never ends by itself")
    p_slow_node: float = share(0.0, "chance that a node is slow, and all that runs on it")
    slow_node_factor: float = number(1.5, "how many times longer it takes there", low=1.0)
    replicas: int = whole(3, "nodes that hold each block of input", low=1, high=1000)
    rack_factor: float = number(1.3, "length of a map whose input is in its rack", low=1.0)
    remote_factor: float = number(1.6, "length of a map whose input is in another", low=1.0)
    node_mtbf_s: float | None = number(None, "mean seconds until a node fails", above=0.0)
    node_repair_s: float | None = number(None, "mean seconds until it is back", above=0.0)
    node_timeout_s: float = number(600.0, "seconds of silence that tell a lost node", above=0.0)
    losses_max: int = whole(
        1000, "times that a task is lost with its node before the simulation ends", low=1
    )
    task_failure: float = share(0.0, "chance that an attempt fails")
    task_timeout_s: float | None = number(
        600.0, "seconds without progress after which a real task is ended", above=0.0,
        may_be_none=True,
    )  # fmt: skip
    task_wall_s: float | None = number(None, "seconds after which a real task is ended", above=0.0)
    task_output_bytes_max: int | None = whole(
        None, "bytes that a real task may write", low=1, high=2.0**60
    )
    task_memory_bytes_max: int | None = whole(
        None, "bytes of memory that a real task may take", low=1, high=2.0**60
    )
    failures_max: int = whole(4, "failures of one task that fail its job", low=1, high=1000)
    given: frozenset[str] = frozenset()
    by_policy: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    own: Mapping[str, object] = field(default_factory=dict)

    def for_policy(self, policy: str) -> Settings:
        """The settings as one policy sees them: those with its prefix win."""
        given = self.by_policy.get(policy, {})
        known = OWN_SETTINGS.get(policy, {})
        own = {name: setting.default for name, setting in known.items()}
        own |= {name: given[name] for name in known if name in given}
        general: dict[str, Any] = {name: given[name] for name in given if name not in known}
        return replace(self, **general, own=own, given=self.given | given.keys())

    def values(self) -> dict[str, object]:
        """Every setting by name, for a policy or a report."""
        return {name: getattr(self, name) for name in SETTINGS} | dict(self.own)


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {one.name: setting_of(one) for one in fields(Settings) if one.metadata}
)


def resolve_settings(
    file_settings: Mapping[str, object],
    overrides: Mapping[str, object] | Iterable[str] = (),
    *,
    policies: Collection[str] = POLICY_NAMES,
) -> Settings:
    """The settings of a file, then overrides (`key=value`, or by key), over the defaults.

    An override wins over all that the file says of its key, also for one policy.
    policies: names that may stand as a prefix. Raises InvalidInput with the nearest known name.

    >>> resolve_settings({"jitter": 0.1}, ["jitter=0.15"]).jitter
    0.15
    """
    found = _checked(((key, raw, "settings") for key, raw in file_settings.items()), policies)
    over = _checked(_overrides(overrides), policies)
    general: dict[str, Any] = {**found.pop("", {}), **over.get("", {})}
    by_policy = {
        policy: {name: value for name, value in values.items() if name not in over.get("", {})}
        for policy, values in found.items()
    }
    for policy, values in over.items():
        if policy:
            by_policy[policy] = {**by_policy.get(policy, {}), **values}
    return Settings(**general, given=frozenset(general), by_policy=MappingProxyType(by_policy))


def _overrides(
    overrides: Mapping[str, object] | Iterable[str],
) -> Iterator[tuple[str, object, str]]:
    """Key, raw value and place of each."""
    if isinstance(overrides, Mapping):
        yield from ((key, raw, "settings") for key, raw in overrides.items())
        return
    for override in overrides:
        key, raw = _split(override)
        yield key, raw, f"--set {override[:80]}"


def _checked(
    given: Iterable[tuple[str, object, str]], policies: Collection[str]
) -> dict[str, dict[str, object]]:
    """Values by policy ("" for all) and name."""
    found: dict[str, dict[str, object]] = {}
    for key, raw, where in given:
        try:
            prefix, name, value = checked_setting(key, raw, policies=policies)
        except InvalidInput as error:
            raise error.within(where) from None
        found.setdefault(prefix, {})[name] = value
    return found


def checked_setting(
    key: str, raw: object, *, policies: Collection[str] = POLICY_NAMES
) -> tuple[str, str, object]:
    """The policy ("" for all), the setting's name and its value. Raises InvalidInput.

    >>> checked_setting("fair.slowstart", 0.05)
    ('fair', 'slowstart', 0.05)
    """
    prefix, _, name = key.rpartition(".")
    if prefix and prefix not in policies:
        raise InvalidInput(
            f"{key} names the unknown policy {prefix!r}", hint=suggestion(prefix, policies)
        )
    own = OWN_SETTINGS.get(prefix, {})
    setting = own.get(name) or SETTINGS.get(name)
    if setting is None:
        known = [*(f"{prefix}.{one}" for one in own), *SETTINGS]
        hint = suggestion(key if own else name, known)
        raise InvalidInput(f"unknown setting {key}", hint=hint)
    return prefix, name, setting.checked(raw)


def _split(override: str) -> tuple[str, object]:
    key, equals, text = override.partition("=")
    if not equals:
        raise InvalidInput(
            "no = in it", where=f"--set {override[:80]}", hint="write it as key=value"
        )
    return key.strip(), _read_value(text.strip())


def _read_value(text: str) -> object:
    """A value as it would be read in a file: a list in brackets, a number, a word."""
    try:
        return json.loads(text) if text.startswith("[") else plain_value(text)
    except (ValueError, RecursionError):
        return text
