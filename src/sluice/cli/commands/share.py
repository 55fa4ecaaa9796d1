"""`share`: who receives how much of a shared capacity."""

from __future__ import annotations

from typing import Annotated, Any

from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.files import Files


def _number_option(flag: str, metavar: str, text: str) -> Any:  # noqa: ANN401  # as typer's own
    """An option that takes a number, and has no default. text: its help."""
    return given.option(text, metavar=metavar, parser=given.number(flag))


@app.command()
def share(
    file: given.File,
    *,
    policy: Annotated[
        str,
        given.choice(
            "static: fixed shares; mlrf: max-min of the moment; ltrf: least accumulated use;"
            " karma: credits; decay: least decayed use.",
            "static|mlrf|ltrf|karma|decay",
            metavar="RULE",
        ),
    ] = "ltrf",
    leftovers: Annotated[
        str, given.option("Whether demand that was not met stays.", metavar="keep|drop")
    ] = "keep",
    discount_price: Annotated[
        float | None,
        _number_option(
            "--discount-price", "ETA", "Price of a borrowed unit, above 0 to 1 (ltrf; default 1)."
        ),
    ] = None,
    par: Annotated[
        bool, given.option("Charge a member that becomes active late (ltrf).", "--par")
    ] = False,
    round_steps: Annotated[
        int | None,
        given.option(
            "Steps after which use is forgotten (ltrf; default: never).",
            "--round-steps",
            metavar="N",
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        _number_option(
            "--alpha", "A", "Part of the capacity shared by credits, 0 to 1 (karma; default 1)."
        ),
    ] = None,
    initial_credits: Annotated[
        float | None,
        _number_option(
            "--initial-credits",
            "N",
            "Credits at the start for each unit of weight (karma; default: enough).",
        ),
    ] = None,
    half_life_steps: Annotated[
        float | None,
        _number_option(
            "--half-life-steps", "H", "Steps after which use counts half (decay; default 4)."
        ),
    ] = None,
    whole_units: Annotated[
        bool, given.option("Hand out whole units, one at a time.", "--whole-units")
    ] = False,
    misreports: Annotated[
        bool,
        given.option("Search for what each member could gain by false demands.", "--misreports"),
    ] = False,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Divide a capacity among members, step by step: who lent, who borrowed, and how fair it was.

    Example: sluice share members.yaml --policy ltrf --discount-price 0.5
    """
    from sluice.api import share as api
    from sluice.cli.progress import steps

    files = Files.checked(file, plot=plot)
    with steps("sharing"):
        result = api.share(
            file,
            policy=policy,
            discount_price=discount_price,
            leftovers=leftovers,
            alpha=alpha,
            initial_credits=initial_credits,
            half_life_steps=half_life_steps,
            par=par,
            round_steps=round_steps,
            whole_units=whole_units,
            misreports=misreports,
        )
    for note in result.notes:
        talk(f"note: {note}")
    files.draw(result.plot)
    if as_json:
        print_document(result.document())
        return DONE
    from sluice.reporting.share import tables

    print_views(tables.steps_table(result), tables.members_table(result))
    if misreports:
        print_views(tables.misreports_table(result))
    print_views(tables.share_panel(result))
    return DONE
