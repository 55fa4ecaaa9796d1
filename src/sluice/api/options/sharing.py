"""The options of `share`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.api.options.fields import choice, option, switch
from sluice.api.options.parsers import number

if TYPE_CHECKING:
    from sluice.model.name_types import LeftoversName, SharingPolicyName


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShareOptions:
    """Options of `share`."""

    policy: SharingPolicyName | str = choice(
        "static: fixed shares; mlrf: max-min of the moment; ltrf: least accumulated use;"
        " karma: credits; decay: least decayed use.",
        "static|mlrf|ltrf|karma|decay", "ltrf", metavar="RULE",
    )  # fmt: skip
    leftovers: LeftoversName | str = option(
        "Whether demand that was not met stays.", "keep", metavar="keep|drop"
    )
    discount_price: float | None = option(
        "Price of a borrowed unit, above 0 to 1 (ltrf; default 1).",
        kind=float, parser=number, metavar="ETA",
    )  # fmt: skip
    par: bool = switch("Charge a member that becomes active late (ltrf).")
    round_steps: int | None = option(
        "Steps after which use is forgotten (ltrf; default: never).", kind=int, metavar="N"
    )
    alpha: float | None = option(
        "Part of the capacity shared by credits, 0 to 1 (karma; default 1).",
        kind=float, parser=number, metavar="A",
    )  # fmt: skip
    initial_credits: float | None = option(
        "Credits at the start for each unit of weight (karma; default: enough).",
        kind=float, parser=number, metavar="N",
    )  # fmt: skip
    half_life_steps: float | None = option(
        "Steps after which use counts half (decay; default 4).",
        kind=float, parser=number, metavar="H",
    )  # fmt: skip
    whole_units: bool = switch("Hand out whole units, one at a time.")
    misreports: bool = switch("Search for what each member could gain by false demands.")
