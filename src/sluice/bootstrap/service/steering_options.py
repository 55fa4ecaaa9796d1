"""The section `service: {steer: ..}`: how a service changes the cluster that it observes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sluice.bootstrap.steering.kinds import CALLS_PER_S, CALLS_PER_S_MAX, EFFECTS, EVERY_S, KINDS
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput

_EVERY_S_MAX = 86_400
_NUMBERS = {"every_s": (1, _EVERY_S_MAX), "rate": (0.1, CALLS_PER_S_MAX)}
_DEFAULTS: Mapping[str, Any] = {
    "policies": None, "may_change": None, "apply": True, "every_s": EVERY_S, "rate": CALLS_PER_S,
    "undo_at_stop": False, "user": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringOptions:
    """How a cluster is steered. address: of its ResourceManager.

    policies: who decides, in this order.  may_change: the kinds of changes, a subset of `EFFECTS`.
    apply: whether changes are made, or only listed.  every_s: seconds between two rounds.
    rate: the most calls a second.  undo_at_stop: whether all is taken back when the service stops.
    user: as whom to ask, where YARN takes anybody's word; "" for the user of the process.
    """

    address: str
    policies: tuple[str, ...]
    may_change: tuple[str, ...]
    apply: bool
    every_s: float
    rate: float
    undo_at_stop: bool
    user: str

    def document(self) -> dict[str, Any]:
        """The options as JSON."""
        return asdict(self) | {"policies": [*self.policies], "may_change": [*self.may_change]}

    @property
    def sentence(self) -> str:
        """The sentence for users that says what is steered, and how far."""
        effects = " and ".join(EFFECTS[kind] for kind in self.may_change)
        end = "They stay when the service stops."
        if self.undo_at_stop:
            end = "They are taken back when the service stops."
        if not self.apply:
            end = "They are only listed, and nothing is changed (apply: false)."
        return (
            f"{', '.join(self.policies)} may change {effects} at {self.address}, every"
            f" {self.every_s:g} s, with at most {self.rate:g} calls a second. {end}"
        )


def checked_steering(given: object, where: str) -> Mapping[str, Any] | None:
    """The section as a mapping with all keys; None if nothing is to be steered.

    given: true, a list of what may be changed, or a mapping. Raises InvalidInput.
    """
    if given is None or given is False:
        return None
    if isinstance(given, list):
        given = {"may_change": given}
    if given is True:
        given = {}
    if not isinstance(given, dict):
        raise InvalidInput(
            f"steer is {given!r:.60}",
            where=where,
            hint=f"give true, a list of {', '.join(EFFECTS)}, or KEY: VALUE pairs",
        )
    where = f"{where}, steer"
    for key, value in given.items():
        if key not in _DEFAULTS:
            raise InvalidInput(
                f"unknown key {key!r:.60}", where=where, hint=suggestion(str(key), [*_DEFAULTS])
            )
        _check(str(key), value, where)
    return {**_DEFAULTS, **given}


def _check(key: str, value: object, where: str) -> None:
    """Raise InvalidInput for a value that a key cannot have."""
    if key in _NUMBERS:
        low, high = _NUMBERS[key]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= float(str(value)) <= high:
            hint = f"give a number from {low:g} to {high:g}"
            raise InvalidInput(f"{key} is {value!r:.60}", where=where, hint=hint)
    elif key in {"policies", "may_change"}:
        known = [*KINDS] if key == "policies" else [*EFFECTS]
        is_list = isinstance(value, list) and value
        if not is_list or not all(one in known for one in _items(value)):
            hint = f"give a list of {', '.join(known)}"
            raise InvalidInput(f"{key} is {value!r:.60}", where=where, hint=hint)
    elif not isinstance(value, str if key == "user" else bool):
        hint = "give text" if key == "user" else "give true or false"
        raise InvalidInput(f"{key} is {value!r:.60}", where=where, hint=hint)


def _items(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else ()


def steering_options(
    found: Mapping[str, Any] | None, address: str | None, chosen: Iterable[str], where: str
) -> SteeringOptions | None:
    """How the cluster is steered; None if it is not.

    found: as `checked_steering` returns it.  address: of the cluster that is observed.
    chosen: the policies of the service. Those that can steer do, unless `policies` names others.
    Raises InvalidInput if none of them can, or not what may be changed.
    """
    if found is None:
        return None
    if address is None:
        raise InvalidInput(
            "it steers no cluster", where=f"{where}, steer", hint="add `observe: http://rm:8088`"
        )
    policies = found["policies"] or [one for one in chosen if one in KINDS]
    if not policies:
        raise InvalidInput(
            f"the policies of the service ({', '.join(chosen)}) cannot steer a cluster",
            where=f"{where}, steer",
            hint=f"add `policies: [..]` with some of {', '.join(KINDS)}",
        )
    kinds = [KINDS[one] for one in policies]
    idle = [one for one in found["may_change"] or () if one not in kinds]
    if idle:
        raise InvalidInput(
            f"{', '.join(policies)} does not change {', '.join(idle)}",
            where=f"{where}, steer, may_change",
            hint=f"give some of {', '.join(kinds)}, or add policies",
        )
    may_change = tuple(dict.fromkeys(found["may_change"] or kinds))
    return SteeringOptions(
        address=address,
        policies=tuple(dict.fromkeys(one for one in policies if KINDS[one] in may_change)),
        may_change=may_change,
        **{key: found[key] for key in ("apply", "every_s", "rate", "undo_at_stop", "user")},
    )
