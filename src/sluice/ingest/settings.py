"""Settings of the simulator, of real runs and of policies: one declaration each, as data.

A field of `Settings` carries its name, type, range, default and meaning; `SETTINGS` lists them, and
the schema, `--set` and `settings:` of a workload file all read that list. A key with a prefix
(`fair.slowstart`) holds for one policy: `for_policy` gives the settings as that policy sees them.

Sources: RAS spec, section 10 (contention; calibrated there, so publish the sensitivity with any
result that rests on it); dynamicmr spec, sections 3 and 10 (waits, locality, stragglers); engines
spec, section 8 (limits of real attempts).
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from enum import Enum
from types import MappingProxyType
from typing import Any

from sluice.ingest.nearest import suggestion
from sluice.ingest.yaml_notation import plain_value
from sluice.model.errors import InvalidInput

POLICY_NAMES = ("fifo", "fair", "yarn-like", "dynamicmr", "ras", "ltyarn", "mrorder")

_NUMBER_MAX = 1e12


class SettingKind(Enum):
    """What a setting's value is; a span is a number or a range such as 3..6."""

    NUMBER = "a number"
    WHOLE = "a whole number"
    CHOICE = "a word"
    SPAN = "a number or a range such as 3..6"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key: what it means and which values it takes.

    low, high: the range; above, below: the same without the end itself.
    choices: the words of a choice.  may_be_none: whether `none` switches it off.
    """

    name: str
    kind: SettingKind
    default: object
    meaning: str
    low: float = 0.0
    high: float = _NUMBER_MAX
    above: float = -math.inf
    below: float = math.inf
    choices: tuple[str, ...] = ()
    may_be_none: bool = False

    @property
    def mend(self) -> str:
        """What to give: "give a number from 0 to 1"."""
        none = ", or none" if self.may_be_none else ""
        if self.kind is SettingKind.CHOICE:
            return f"give {' or '.join(self.choices)}{none}"
        low = f"above {self.above:g}" if self.above >= self.low else f"from {self.low:g}"
        if self.below <= self.high:
            return f"give {self.kind.value} {low} to below {self.below:g}{none}"
        high = f" to {self.high:g}" if self.high < _NUMBER_MAX else " up"
        if self.above >= self.low and self.high >= _NUMBER_MAX:
            high = ""
        return f"give {self.kind.value} {low}{high}{none}"

    def checked(self, raw: object) -> object:
        """The value that `raw` means. Raises InvalidInput naming the setting."""
        if self.may_be_none and (raw is None or raw == "none"):
            return None
        if self.kind is SettingKind.CHOICE:
            if raw not in self.choices:
                raise self._refused(raw)
            return raw
        if self.kind is SettingKind.SPAN:
            return self._span(raw)
        return self._number(raw)

    def _number(self, raw: object) -> float | int:
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            raise self._refused(raw)
        if not self.low <= raw <= self.high or not self.above < raw < self.below:
            raise self._refused(raw)
        if self.kind is not SettingKind.WHOLE:
            return float(raw)
        if raw != int(raw):
            raise self._refused(raw)
        return int(raw)

    def _span(self, raw: object) -> tuple[float, float]:
        ends: object = raw
        if isinstance(raw, str) and raw.count("..") == 1:
            ends = [plain_value(end.strip()) for end in raw.split("..")]
        if isinstance(ends, int | float):
            ends = [ends, ends]
        if not isinstance(ends, list | tuple) or len(ends) != 2:  # noqa: PLR2004  # a range has two ends
            raise self._refused(raw)
        low, high = self._number(ends[0]), self._number(ends[1])
        if low > high:
            raise self._refused(raw)
        return (low, high)

    def _refused(self, raw: object) -> InvalidInput:
        shown = json.dumps(raw, default=str)[:60] if not isinstance(raw, str) else repr(raw)[:60]
        return InvalidInput(f"{self.name} is {shown}", mend=self.mend)


def _declared(kind: SettingKind, default: object, meaning: str, **limits: Any) -> Any:  # noqa: ANN401  # it stands for a value of any field's type
    return field(default=default, metadata={"kind": kind, "meaning": meaning, **limits})


def _number(default: float | None, meaning: str, **limits: Any) -> Any:  # noqa: ANN401  # as above
    limits.setdefault("may_be_none", default is None)
    return _declared(SettingKind.NUMBER, default, meaning, **limits)


def _whole(default: int | None, meaning: str, **limits: Any) -> Any:  # noqa: ANN401  # as above
    limits.setdefault("may_be_none", default is None)
    return _declared(SettingKind.WHOLE, default, meaning, **limits)


def _share(default: float, meaning: str) -> Any:  # noqa: ANN401  # as above
    return _declared(SettingKind.NUMBER, default, meaning, high=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, checked; `given` names those that somebody set, in a file or by `--set`.

    by_policy: what was set for one policy only, by the policy's name.
    """

    heartbeat_s: float = _number(
        0.0, "seconds between heartbeats of a node; at 0 a freed slot is refilled at once"
    )
    slowstart: float = _share(1.0, "share of a job's maps done before its reduces may start")
    node_wait_s: float = _number(0.0, "seconds a job waits for a node that holds its input")
    rack_wait_s: float = _number(0.0, "seconds it then waits for a rack that holds its input")
    ramp: float = _share(
        0.5, "share of a job's containers that its early reduces may hold (yarn-like)"
    )
    contention: str = _declared(
        SettingKind.CHOICE,
        "none",
        "whether tasks on one node slow each other down",
        choices=("none", "shared"),
    )
    kappa_cpu: float = _number(0.1, "capacity lost as cpu is over-committed", high=1000.0)
    kappa_io: float = _number(0.5, "capacity lost as io is over-committed (seeks)", high=1000.0)
    kappa_network: float = _number(0.0, "capacity lost as the network is", high=1000.0)
    kappa_memory: float = _number(2.0, "speed lost as memory is (thrashing)", high=1000.0)
    peak: float = _number(1.25, "the most a task's speed exceeds that of its profile", above=0.0)
    thread_cpu: float = _number(50.0, "the most cpu that one task can use, percent", above=0.0)
    fetch_bytes_per_s: float = _number(20e6, "the most that one reduce fetches", above=0.0)
    nic_bytes_per_s: float = _number(110e6, "what a node's network card carries", above=0.0)
    parallel_copies: int = _whole(5, "the most maps that one reduce fetches from at once", low=1)
    jitter: float = _number(0.0, "0.15: each task's length is 15 % off at most", below=1.0)
    spread: str = _declared(
        SettingKind.CHOICE,
        "fixed",
        "how task lengths are distributed; their mean stays that of the profile",
        choices=("fixed", "exponential", "lognormal", "gamma"),
    )
    spread_cv: float = _number(0.5, "coefficient of variation of that", above=0.0, high=100.0)
    p_slow: float = _share(0.0, "chance that an attempt is slow")
    slow_factor: tuple[float, float] = _declared(
        SettingKind.SPAN, (3.0, 6.0), "how many times longer a slow attempt takes", low=1.0
    )
    p_hang: float = _share(0.0, "chance that an attempt never ends by itself")
    replicas: int = _whole(3, "nodes that hold each block of input", low=1, high=1000)
    rack_factor: float = _number(1.3, "length of a map whose input is in its rack", low=1.0)
    remote_factor: float = _number(1.6, "length of a map whose input is in another", low=1.0)
    node_mtbf_s: float | None = _number(None, "mean seconds until a node fails", above=0.0)
    node_repair_s: float | None = _number(None, "mean seconds until it is back", above=0.0)
    node_timeout_s: float = _number(600.0, "seconds of silence that tell a lost node", above=0.0)
    task_failure: float = _share(0.0, "chance that an attempt fails")
    task_timeout_s: float | None = _number(
        600.0, "seconds without progress after which a real task is ended", above=0.0,
        may_be_none=True,
    )  # fmt: skip
    task_wall_s: float | None = _number(None, "seconds after which a real task is ended", above=0.0)
    task_output_bytes_max: int | None = _whole(
        None, "bytes that a real task may write", low=1, high=2.0**60
    )
    task_memory_bytes_max: int | None = _whole(
        None, "bytes of memory that a real task may take", low=1, high=2.0**60
    )
    failures_max: int = _whole(4, "failures of one task that fail its job", low=1, high=1000)
    given: frozenset[str] = frozenset()
    by_policy: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def for_policy(self, policy: str) -> Settings:
        """The settings as one policy sees them: those with its prefix win."""
        own: Mapping[str, Any] = self.by_policy.get(policy, {})
        return replace(self, **own, given=self.given | own.keys())

    def values(self) -> dict[str, object]:
        """Every setting by name, for a report."""
        return {name: getattr(self, name) for name in SETTINGS}


def _setting(declared: Field[Any]) -> Setting:
    return Setting(name=declared.name, default=declared.default, **declared.metadata)


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {one.name: _setting(one) for one in fields(Settings) if one.metadata}
)


def resolve_settings(
    file_settings: Mapping[str, object],
    overrides: Iterable[str] = (),
    *,
    policies: Collection[str] = POLICY_NAMES,
) -> Settings:
    """The settings of a file, then of `--set key=value`, over the defaults; the last one wins.

    policies: names that may stand as a prefix. Raises InvalidInput with the nearest known name.

    >>> resolve_settings({"jitter": 0.1}, ["jitter=0.15"]).jitter
    0.15
    """
    found: dict[str, dict[str, object]] = {"": {}}
    for key, raw in file_settings.items():
        _set(found, key, raw, policies, where="settings")
    for override in overrides:
        key, raw = _split(override)
        _set(found, key, raw, policies, where=f"--set {override[:80]}")
    general: dict[str, Any] = found.pop("")
    return Settings(**general, given=frozenset(general), by_policy=MappingProxyType(found))


def _set(
    found: dict[str, dict[str, object]],
    key: str,
    raw: object,
    policies: Collection[str],
    where: str,
) -> None:
    try:
        prefix, name, value = checked_setting(key, raw, policies=policies)
    except InvalidInput as error:
        raise error.within(where) from None
    found.setdefault(prefix, {})[name] = value


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
            f"{key} names the unknown policy {prefix!r}", mend=suggestion(prefix, policies)
        )
    if name not in SETTINGS:
        raise InvalidInput(f"{key} is no known setting", mend=suggestion(name, SETTINGS))
    return prefix, name, SETTINGS[name].checked(raw)


def _split(override: str) -> tuple[str, object]:
    key, equals, text = override.partition("=")
    if not equals:
        raise InvalidInput(
            "no = in it", where=f"--set {override[:80]}", mend="write it as key=value"
        )
    return key.strip(), _read_value(text.strip())


def _read_value(text: str) -> object:
    """A value as it would be read in a file: a list in brackets, a number, a word."""
    try:
        return json.loads(text) if text.startswith("[") else plain_value(text)
    except (ValueError, RecursionError):
        return text
