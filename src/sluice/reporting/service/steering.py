"""How a service steers a cluster of others, in lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sluice.reporting.service.tables import clock

_SHOWN = 5


def steering_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Lines on what is steered and what is in the way, and the newest decisions with reasons."""
    options = found["options"]
    verb = "Steers" if options["apply"] else "Would steer"
    since = "" if found["as_of"] is None else f", last at {clock(found['as_of'])}"
    yield f"{verb} {options['address']} by {', '.join(options['policies'])}{since}."
    for policy, why in found["problems"].items():
        yield f"{policy} changed nothing: {why}"
    for one in found["decisions"][:_SHOWN]:
        if one["target"]:
            yield _line(one)
    if found["undo"] is not None:
        yield f"To take it back: sluice steer {found['undo']} --address {options['address']}"


def _line(one: Mapping[str, Any]) -> str:
    change = f"{one['setting']} of {one['target']}: {one['before'] or 'none'} -> {one['wanted']}"
    reason = f", as {one['reason']}" if one["reason"] else ""
    why = f" ({one['why']})" if one["why"] else ""
    return f"{clock(one['at'])} {one['outcome']} {change}{reason}{why}"
